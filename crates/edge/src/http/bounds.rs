//! Bounds of a range: `gte`, `gt`, `lte`, `lt` and `prefix`, all of which its keys satisfy.

use std::ops::Bound;
use terrane::KeyRange;

/// Names of the bounds, for messages.
pub(crate) const NAMES: &str = "gte or gt, lte or lt, prefix";

/// Bounds as they are given.
#[derive(Default)]
pub(crate) struct Bounds {
    pub gte: Option<Vec<u8>>,
    pub gt: Option<Vec<u8>>,
    pub lte: Option<Vec<u8>>,
    pub lt: Option<Vec<u8>>,
    pub prefix: Option<Vec<u8>>,
}

impl Bounds {
    /// Takes the bounds from parameters.
    pub fn take(mut take: impl FnMut(&str) -> Option<Vec<u8>>) -> Self {
        Bounds {
            gte: take("gte"),
            gt: take("gt"),
            lte: take("lte"),
            lt: take("lt"),
            prefix: take("prefix"),
        }
    }

    /// Whether none is given.
    pub fn is_empty(&self) -> bool {
        let Bounds { gte, gt, lte, lt, prefix } = self;
        [gte, gt, lte, lt, prefix].iter().all(|bound| bound.is_none())
    }

    /// Checks the bounds of a deletion. An empty prefix would remove every key, and is often an unset variable.
    ///
    /// # Errors
    /// The bounds that were found instead.
    pub fn check_deletion(&self) -> Result<(), &'static str> {
        match &self.prefix {
            _ if self.is_empty() => Err("no bound"),
            Some(prefix) if prefix.is_empty() => Err("an empty prefix"),
            _ => Ok(()),
        }
    }

    /// Returns the range of the keys that satisfy all bounds.
    ///
    /// # Errors
    /// A sentence about two bounds of a side, or a start after the end.
    pub fn range(self) -> Result<KeyRange, String> {
        let from = one("gte", self.gte, "gt", self.gt)?;
        let to = one("lte", self.lte, "lt", self.lt)?;
        if let (Some(from), Some(to)) = (key_of(&from), key_of(&to))
            && from > to
        {
            return Err("expected a range whose start is not after its end".to_owned());
        }
        let mut range = self.prefix.map_or_else(KeyRange::default, |p| KeyRange::prefix(&p));
        // A prefix includes its start and excludes its end.
        if key_of(&range.from).is_none_or(|start| key_of(&from).is_some_and(|key| key >= start)) {
            range.from = from;
        }
        if key_of(&range.to).is_none_or(|end| key_of(&to).is_some_and(|key| key < end)) {
            range.to = to;
        }
        Ok(range)
    }
}

fn one(
    inclusive: &str,
    included: Option<Vec<u8>>,
    exclusive: &str,
    excluded: Option<Vec<u8>>,
) -> Result<Bound<Vec<u8>>, String> {
    match (included, excluded) {
        (Some(_), Some(_)) => Err(format!("expected {inclusive} or {exclusive}, found both")),
        (Some(key), None) => Ok(Bound::Included(key)),
        (None, Some(key)) => Ok(Bound::Excluded(key)),
        (None, None) => Ok(Bound::Unbounded),
    }
}

fn key_of(bound: &Bound<Vec<u8>>) -> Option<&Vec<u8>> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
        Bound::Unbounded => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(given: &[(&str, &str)]) -> Result<KeyRange, String> {
        let value = |name: &str| given.iter().find(|(other, _)| *other == name);
        Bounds::take(|name| value(name).map(|(_, key)| key.as_bytes().to_vec())).range()
    }

    #[test]
    fn a_range_satisfies_all_bounds() {
        assert_eq!(range(&[]), Ok(KeyRange::default()));
        assert_eq!(range(&[("gte", "a"), ("lt", "b")]), Ok(KeyRange::from("a".."b")));
        assert_eq!(range(&[("gte", "a"), ("lte", "b")]), Ok(KeyRange::from("a"..="b")));
        let after = (Bound::Excluded(b"a".to_vec()), Bound::Unbounded);
        let found = range(&[("gt", "a")]).unwrap();
        assert_eq!((found.from, found.to), after);
        assert_eq!(range(&[("prefix", "b")]), Ok(KeyRange::from("b".."c")));
        assert_eq!(range(&[("prefix", "b"), ("gte", "a")]), Ok(KeyRange::from("b".."c")));
        assert_eq!(range(&[("prefix", "b"), ("gte", "ba")]), Ok(KeyRange::from("ba".."c")));
        assert_eq!(range(&[("prefix", "b"), ("lt", "bb")]), Ok(KeyRange::from("b".."bb")));
        assert_eq!(range(&[("prefix", "b"), ("lte", "c")]), Ok(KeyRange::from("b".."c")));
    }

    #[test]
    fn contradictory_bounds_are_refused() {
        assert!(range(&[("gte", "a"), ("gt", "b")]).unwrap_err().contains("gte or gt"));
        assert!(range(&[("lte", "a"), ("lt", "b")]).unwrap_err().contains("lte or lt"));
        assert!(range(&[("gte", "b"), ("lt", "a")]).is_err());
    }
}
