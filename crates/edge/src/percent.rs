//! Percent-encoding of bytes: of keys in paths, in queries and in the file of tokens.

use percent_encoding::percent_decode_str;

/// Decodes a text. Returns `None` if a percent sign is not followed by two hexadecimal digits: the text was not
/// encoded then.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let is_encoded = |rest: &str| {
        let digits = rest.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    text.split('%').skip(1).all(is_encoded).then(|| percent_decode_str(text).collect())
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn a_percent_sign_starts_two_digits() {
        assert_eq!(decode("a%2Fb%00"), Some(b"a/b\0".to_vec()));
        assert_eq!(decode("%25"), Some(b"%".to_vec()));
        for text in ["%", "100%", "%4", "%zz", "%%41", "%4\u{e9}", "a%2"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
