//! A fuzz target for the head of a request: its target and its preconditions.

use super::bounds::Bounds;
use super::precondition::{Precondition, Simple};
use super::target::{Parameters, Target};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use std::ops::RangeBounds;

/// Parses lines as a path, a query, `If-Match` and `If-None-Match`, and checks that
///
/// * nothing panics;
/// * a keyspace and a key are the same after they are encoded and parsed again;
/// * a range has exactly the keys that satisfy its bounds;
/// * a precondition and the condition of the store that stands for it hold of the same versions.
#[doc(hidden)]
pub fn fuzz_heads(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split('\n');
    let mut line = || lines.next().unwrap_or_default();
    if let Ok(target) = Target::of(line()) {
        check_target(&target);
    }
    if let Ok(parameters) = Parameters::of(line()) {
        check_range(parameters);
    }
    let mut headers = HeaderMap::new();
    for name in [header::IF_MATCH, header::IF_NONE_MATCH] {
        add(&mut headers, name, line());
    }
    if let Ok(precondition) = Precondition::of(&headers) {
        check_precondition(&precondition);
    }
}

fn add(headers: &mut HeaderMap, name: HeaderName, values: &str) {
    for value in values.split('\t').filter(|value| !value.is_empty()) {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.append(&name, value);
        }
    }
}

fn check_target(target: &Target) {
    let encoded = |bytes: &[u8]| percent_encode(bytes, NON_ALPHANUMERIC).to_string();
    let (keyspace, key) = (encoded(target.keyspace.as_bytes()), encoded(&target.key));
    let again = Target::of(&format!("/v1/{keyspace}/keys/{key}"));
    assert!(again.is_ok_and(
        |again| (again.keyspace, again.key) == (target.keyspace.clone(), target.key.clone())
    ));
}

fn check_range(mut parameters: Parameters) {
    let bounds = Bounds::take(|name| parameters.take(name));
    let given = [&bounds.gte, &bounds.gt, &bounds.lte, &bounds.lt, &bounds.prefix];
    let [gte, gt, lte, lt, prefix] = given.map(Clone::clone);
    let keys: Vec<Vec<u8>> =
        [&gte, &gt, &lte, &lt, &prefix].into_iter().flatten().cloned().collect();
    let Ok(range) = bounds.range() else { return };
    // Keys at the bounds, and their immediate successors.
    let after = keys.iter().map(|key| [key.as_slice(), b"\0"].concat());
    for key in keys.iter().cloned().chain(after) {
        let is_within = gte.as_ref().is_none_or(|bound| key >= *bound)
            && gt.as_ref().is_none_or(|bound| key > *bound)
            && lte.as_ref().is_none_or(|bound| key <= *bound)
            && lt.as_ref().is_none_or(|bound| key < *bound)
            && prefix.as_ref().is_none_or(|prefix| key.starts_with(prefix));
        let (from, to) = (range.from.as_ref(), range.to.as_ref());
        assert_eq!((from, to).contains(&&key), is_within, "{key:?}");
    }
}

fn check_precondition(precondition: &Precondition) {
    let Some(simple) = precondition.simple() else { return };
    for version in [None, Some(0), Some(1), Some(12), Some(u64::MAX)] {
        let holds = match simple {
            Simple::Absent => version.is_none(),
            Simple::Present => version.is_some(),
            Simple::Version(wanted) => version == Some(wanted),
        };
        assert_eq!(precondition.check(version).is_ok(), holds, "{simple:?} of {version:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::fuzz_heads;
    use proptest::prelude::*;

    #[test]
    fn heads_that_parse_are_consistent() {
        for head in [
            "/v1/a%2F/keys/%00b\ngte=a&lt=b%25\n\"12\"\n",
            "/v1/%C3%A9/keys/a/b\nprefix=a+&gt=a\n*\n*",
            "\nprefix=%FF%FF&lte=%FF\n\"1\", W/\"2\"\t*\n\"1\"",
            "/v1/\ngte=b&prefix=a\n\n*",
        ] {
            fuzz_heads(head.as_bytes());
        }
    }

    proptest! {
        #[test]
        fn any_head_is_parsed_or_refused(
            path in "(/v1/)?[a-z%0-9F/]{0,12}(/keys/)?[a-z%0-9F/]{0,12}",
            query in "((gte|gt|lte|lt|prefix)=[ab%0F]{0,6}&?){0,4}",
            tags in prop::collection::vec("[\"W/*, 0-9+\t]{0,12}", 2),
        ) {
            fuzz_heads(format!("{path}\n{query}\n{}\n{}", tags[0], tags[1]).as_bytes());
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            fuzz_heads(&bytes);
        }
    }
}
