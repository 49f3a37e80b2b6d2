//! The beginnings of the first keys of fragments, side by side: a search among thousands looks at a few cache lines
//! rather than at a key each.

use super::Fragment;

/// For each fragment the first eight bytes of its first key, and of the first key behind it, without the prefix that
/// all first keys share.
#[derive(Debug, Default)]
pub(super) struct Heads {
    shared: Vec<u8>,
    from: Vec<u64>,
    /// The greatest number for an open end, and for keys that do not begin alike.
    to: Vec<u64>,
    /// The last of each stretch of these: few enough to stay in a near cache.
    top: Vec<u64>,
}

/// The numbers of a stretch: eight cache lines.
const STRETCH: usize = 64;

fn head(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    u64::from_be_bytes(bytes)
}

impl Heads {
    pub fn of(fragments: &[Fragment]) -> Self {
        let (Some(first), Some(last)) = (fragments.first(), fragments.last()) else {
            return Heads::default();
        };
        // They ascend: what the first and the last share, all share.
        let alike = first.from.iter().zip(&*last.from).take_while(|(a, b)| a == b);
        let shared: Vec<u8> = alike.map(|(byte, _)| *byte).collect();
        let of = |key: &[u8]| key.strip_prefix(shared.as_slice()).map_or(u64::MAX, head);
        let from = fragments.iter().map(|fragment| of(&fragment.from)).collect();
        let to: Vec<u64> =
            fragments.iter().map(|fragment| fragment.to.key().map_or(u64::MAX, of)).collect();
        let top = to.chunks(STRETCH).filter_map(|stretch| stretch.last().copied()).collect();
        Heads { shared, from, to, top }
    }

    /// The number of the first fragment that ends above a key.
    #[inline]
    pub fn first_above(&self, key: &[u8], fragments: &[Fragment]) -> usize {
        let Some(rest) = key.strip_prefix(self.shared.as_slice()) else {
            return fragments.partition_point(|fragment| fragment.to.is_at_most(key));
        };
        let head = head(rest);
        let first = STRETCH * self.top.partition_point(|last| *last < head);
        let stretch = self.to.get(first..self.to.len().min(first + STRETCH)).unwrap_or_default();
        let below = first + stretch.partition_point(|to| *to < head);
        if self.to.get(below).is_none_or(|to| *to > head) {
            return below.min(fragments.len());
        }
        // Ends of which only all bytes tell.
        let alike = fragments.get(below..).unwrap_or_default();
        below + alike.partition_point(|fragment| fragment.to.is_at_most(key))
    }

    /// Whether a fragment starts at or below a key.
    #[inline]
    pub fn starts_through(&self, number: usize, key: &[u8], fragment: &Fragment) -> bool {
        let rest = key.strip_prefix(self.shared.as_slice());
        match (self.from.get(number), rest.map(head)) {
            (Some(from), Some(head)) if *from != head => *from < head,
            _ => *fragment.from <= *key,
        }
    }
}
