//! Patterns of keys: `*`, `?`, `[a-z]`, `[^a]`, and a backslash before a character that stands for itself.
//!
//! After a mismatch only the last `*` takes another byte: whatever an earlier one could take, the last one can take as
//! well. So the time of a match is at most the product of both lengths.

/// Returns whether a key matches a pattern.
pub(crate) fn matches(pattern: &[u8], key: &[u8]) -> bool {
    let (mut pattern, mut key) = (pattern, key);
    // The pattern after the last star, and the key from which on it is tried next.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        if let [b'*', after @ ..] = pattern {
            retry = Some((after, key));
            pattern = after;
            continue;
        }
        let step = match key {
            [] if pattern.is_empty() => return true,
            [] => None,
            [byte, rest @ ..] => one(pattern, *byte).map(|after| (after, rest)),
        };
        if let Some(step) = step {
            (pattern, key) = step;
            continue;
        }
        let Some((after, [_, rest @ ..])) = retry else { return false };
        retry = Some((after, rest));
        (pattern, key) = (after, rest);
    }
}

/// Returns the pattern after its first item, if that matches the byte.
fn one(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    match pattern {
        [] => None,
        [b'?', after @ ..] => Some(after),
        [b'[', class @ ..] => {
            let (is_in, after) = in_class(class, byte);
            is_in.then_some(after)
        }
        [b'\\', literal, after @ ..] | [literal, after @ ..] => (*literal == byte).then_some(after),
    }
}

/// Returns whether a class has the byte, and the pattern after the class.
fn in_class(class: &[u8], byte: u8) -> (bool, &[u8]) {
    let (is_negated, mut rest) = match class {
        [b'^', rest @ ..] => (true, rest),
        _ => (false, class),
    };
    let mut is_in = false;
    loop {
        rest = match rest {
            // A class that is not closed ends with the pattern.
            [] => return (is_in != is_negated, rest),
            [b']', after @ ..] => return (is_in != is_negated, after),
            [b'\\', literal, after @ ..] => {
                is_in |= *literal == byte;
                after
            }
            [low, b'-', high, after @ ..] => {
                let (low, high) = (low.min(high), low.max(high));
                is_in |= (low..=high).contains(&&byte);
                after
            }
            [literal, after @ ..] => {
                is_in |= *literal == byte;
                after
            }
        };
    }
}

/// Returns the bytes with which all keys start that match a pattern.
pub(crate) fn literal_prefix(pattern: &[u8]) -> Vec<u8> {
    let (mut rest, mut prefix) = (pattern, Vec::new());
    loop {
        rest = match rest {
            [] | [b'*' | b'?' | b'[', ..] => return prefix,
            [b'\\', literal, after @ ..] | [literal, after @ ..] => {
                prefix.push(*literal);
                after
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_redis() {
        let matching = [
            ("*", ""),
            ("h?llo", "hello"),
            ("h*llo", "heeeello"),
            ("h[ae]llo", "hallo"),
            ("h[^e]llo", "hallo"),
            ("h[a-c]llo", "hbllo"),
            ("h[c-a]llo", "hbllo"),
            ("a\\*b", "a*b"),
            ("*a*b*", "xxaxxbxx"),
            ("[\\]]", "]"),
        ];
        for (pattern, key) in matching {
            assert!(matches(pattern.as_bytes(), key.as_bytes()), "{pattern} {key}");
        }
        for (pattern, key) in [
            ("", "a"),
            ("a", ""),
            ("h?llo", "hllo"),
            ("h[^e]llo", "hello"),
            ("a\\*b", "axb"),
            ("*a", "ab"),
            ("a*b*c", "abbb"),
        ] {
            assert!(!matches(pattern.as_bytes(), key.as_bytes()), "{pattern} {key}");
        }
    }

    #[test]
    fn nested_stars_take_no_exponential_time() {
        let pattern = "a*".repeat(100) + "b";
        assert!(!matches(pattern.as_bytes(), "a".repeat(10_000).as_bytes()));
    }

    #[test]
    fn a_prefix_ends_at_the_first_wildcard() {
        assert_eq!(literal_prefix(b"user:\\*1[ab]*"), b"user:*1");
        assert_eq!(literal_prefix(b"*"), b"");
    }
}
