//! Segments of the key space, each with the watches that cover it.

use terrane::KeyspaceId;
use terrane::entry::head;

/// The segments of all keyspaces that have watches.
#[derive(Default)]
pub(crate) struct Segments {
    keyspaces: Vec<(KeyspaceId, KeyspaceSegments)>,
}

/// The segments of a keyspace, in their order. The first starts with the first key.
#[derive(Default)]
pub(crate) struct KeyspaceSegments {
    /// The head of the first key of each.
    heads: Vec<u64>,
    all: Vec<Segment>,
}

/// The keys from one on, up to the next segment.
struct Segment {
    from: Vec<u8>,
    /// The places of the watches that cover it.
    watches: Vec<usize>,
}

/// A range of a watch: the watch's place, its keyspace, its first key, and the first key behind it.
pub(crate) type Covered<'a> = (usize, KeyspaceId, &'a [u8], Option<&'a [u8]>);

impl Segments {
    /// Cuts ranges at their bounds.
    pub(crate) fn new(ranges: &[Covered<'_>]) -> Self {
        let mut ids = Vec::new();
        for (_, keyspace, ..) in ranges {
            if !ids.contains(keyspace) {
                ids.push(*keyspace);
            }
        }
        let of = |id: KeyspaceId| {
            let within = ranges.iter().filter(move |(_, keyspace, ..)| *keyspace == id);
            (id, KeyspaceSegments::new(within.map(|&(watch, _, from, to)| (watch, from, to))))
        };
        Segments { keyspaces: ids.into_iter().map(of).collect() }
    }

    /// Returns the segments of a keyspace, if it has watches.
    pub(crate) fn of(&self, keyspace: KeyspaceId) -> Option<&KeyspaceSegments> {
        self.find(keyspace).and_then(|at| self.at(at))
    }

    /// Returns the place of a keyspace among those that have watches, if it is one.
    pub(crate) fn find(&self, keyspace: KeyspaceId) -> Option<usize> {
        self.keyspaces.iter().position(|(id, _)| *id == keyspace)
    }

    /// Returns the segments of the keyspace at that place.
    pub(crate) fn at(&self, place: usize) -> Option<&KeyspaceSegments> {
        self.keyspaces.get(place).map(|(_, segments)| segments)
    }
}

impl KeyspaceSegments {
    fn new<'a>(ranges: impl Iterator<Item = (usize, &'a [u8], Option<&'a [u8]>)> + Clone) -> Self {
        let ends = ranges.clone().filter_map(|(_, _, to)| to);
        let starts = ranges.clone().map(|(_, from, _)| from);
        let mut bounds: Vec<&[u8]> = starts.chain(ends).chain([&[][..]]).collect();
        bounds.sort_unstable();
        bounds.dedup();
        let segment = |from: &[u8]| Segment { from: from.to_vec(), watches: Vec::new() };
        let mut all: Vec<_> = bounds.iter().map(|from| segment(from)).collect();
        for (watch, from, to) in ranges {
            let reached = all.iter_mut().skip_while(|segment| segment.from.as_slice() < from);
            for segment in reached.take_while(|segment| to.is_none_or(|to| *segment.from < *to)) {
                // Ranges of one watch may overlap.
                if segment.watches.last() != Some(&watch) {
                    segment.watches.push(watch);
                }
            }
        }
        KeyspaceSegments { heads: bounds.into_iter().map(head).collect(), all }
    }

    /// Returns the place of the segment of a key: `at`, where it is that of the key before, or by a search.
    pub(crate) fn place(&self, at: usize, key: &[u8]) -> usize {
        let target = head(key);
        let is_at = self.heads.get(at).is_some_and(|&head| head < target);
        if is_at && self.heads.get(at + 1).is_none_or(|&head| head > target) {
            return at;
        }
        let behind = self.heads.partition_point(|&head| head <= target);
        let last = behind.checked_sub(1).and_then(|last| self.heads.get(last));
        if last != Some(&target) {
            return behind.saturating_sub(1);
        }
        // Segments that start alike differ in their whole keys.
        let first = self.heads.partition_point(|&head| head < target);
        let alike = self.all.get(first..behind).unwrap_or_default();
        let before = alike.partition_point(|segment| segment.from.as_slice() <= key);
        (first + before).saturating_sub(1)
    }

    /// Returns the watches that cover a segment.
    pub(crate) fn watches(&self, at: usize) -> &[usize] {
        self.all.get(at).map_or(&[], |segment| &segment.watches)
    }

    /// Returns the watches that cover any key of a range, some more than once.
    pub(crate) fn touched(&self, from: &[u8], to: Option<&[u8]>) -> impl Iterator<Item = usize> {
        let reached = self.all.get(self.place(0, from)..).unwrap_or_default().iter().enumerate();
        let within = reached
            .take_while(move |(n, segment)| *n == 0 || to.is_none_or(|to| *segment.from < *to));
        within.flat_map(|(_, segment)| &segment.watches).copied()
    }
}
