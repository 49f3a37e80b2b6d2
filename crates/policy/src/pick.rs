//! Which table of a level over its capacity goes down: the choices that the literature compares.
//!
//! * **Least overlap**: the table with the least ratio of what it overlaps below to its own bytes.
//! * **Oldest**: the one with the smallest sequence number in it, which has waited longest.
//! * **Round robin**: the first that starts beyond where the last one ended, in key order; then
//!   from the start again. `Cursors` remembers where, level by level.
//! * **Random**: any, drawn from a seed and the names of the tables that there are to choose from;
//!   the same tree always gives the same choice.

use crate::policy::MAX_STATE;
use crate::shape::{MAX_LEVELS, TableInfo};
use std::sync::Arc;

/// How a table is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pick {
    /// The table that overlaps least below, for its size.
    #[default]
    LeastOverlap,
    /// The table that holds the smallest sequence number.
    Oldest,
    /// Table after table in key order.
    RoundRobin,
    /// Any table.
    Random,
}

impl Pick {
    /// The choices, as options spell them.
    pub const NAMES: [&str; 4] = ["least-overlap", "oldest", "round-robin", "random"];

    /// The choice that options spell like this.
    #[must_use]
    pub fn named(name: &str) -> Option<Pick> {
        let all = [Pick::LeastOverlap, Pick::Oldest, Pick::RoundRobin, Pick::Random];
        all.into_iter().find(|pick| pick.name() == name)
    }

    /// This choice, as options spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        let [least_overlap, oldest, round_robin, random] = Self::NAMES;
        match self {
            Pick::LeastOverlap => least_overlap,
            Pick::Oldest => oldest,
            Pick::RoundRobin => round_robin,
            Pick::Random => random,
        }
    }
}

/// A table that may go down.
pub(crate) struct Candidate<'a> {
    pub(crate) table: &'a Arc<TableInfo>,
    /// The tables it overlaps below.
    pub(crate) overlaps: &'a [Arc<TableInfo>],
    /// Bytes of those.
    pub(crate) bytes: u64,
}

impl Candidate<'_> {
    fn ratio(&self) -> f64 {
        self.bytes as f64 / self.table.bytes.max(1) as f64
    }
}

/// The one that goes, of candidates in key order.
pub(crate) fn pick<'c, 'a>(
    how: Pick,
    candidates: &'c [Candidate<'a>],
    seed: u64,
    cursor: Option<&[u8]>,
) -> Option<&'c Candidate<'a>> {
    let mut each = candidates.iter();
    match how {
        Pick::LeastOverlap => each.min_by(|a, b| a.ratio().total_cmp(&b.ratio())),
        Pick::Oldest => each.min_by_key(|c| c.table.first_seq),
        Pick::RoundRobin => each
            .find(|c| cursor.is_none_or(|end| c.table.smallest.as_slice() > end))
            .or_else(|| candidates.first()),
        Pick::Random => {
            let drawn = each.fold(mix(seed), |h, c| mix(h ^ c.table.id.0));
            let at = drawn.checked_rem(candidates.len() as u64)?;
            candidates.get(usize::try_from(at).ok()?)
        }
    }
}

/// Scatters the bits of a number (the finaliser of SplitMix64).
pub(crate) fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Where each level's last table to go down ended. Kept as, for each level, the level (1 byte), the
/// length of the key (2 bytes, little-endian) and the key.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursors(Vec<(u8, Vec<u8>)>);

/// Keys are kept up to this length, so that the cursors of all levels fit into a state. A shortened
/// key lies before the one it stands for: a table may then be chosen again before its turn.
const KEPT: usize = MAX_STATE / MAX_LEVELS - 3;

impl Cursors {
    /// Reads a state; none if it is not one of these.
    pub(crate) fn read(mut state: &[u8]) -> Self {
        let mut cursors = Cursors::default();
        while let Some((&[level, low, high], rest)) = state.split_first_chunk() {
            let length = usize::from(u16::from_le_bytes([low, high]));
            let Some((key, rest)) = rest.split_at_checked(length) else { break };
            cursors.set(level, key.to_vec());
            state = rest;
        }
        if state.is_empty() { cursors } else { Cursors::default() }
    }

    /// The state that keeps them.
    pub(crate) fn state(&self) -> Vec<u8> {
        let mut state = Vec::new();
        for (level, key) in &self.0 {
            let length = u16::try_from(key.len()).unwrap_or(0);
            state.push(*level);
            state.extend(length.to_le_bytes());
            state.extend(key.iter().take(usize::from(length)));
        }
        state
    }

    pub(crate) fn of(&self, level: usize) -> Option<&[u8]> {
        let level = u8::try_from(level).ok()?;
        self.0.iter().find(|(at, _)| *at == level).map(|(_, end)| end.as_slice())
    }

    pub(crate) fn advance(&mut self, level: usize, end: &[u8]) {
        if let Ok(level) = u8::try_from(level) {
            self.set(level, end.iter().take(KEPT).copied().collect());
        }
    }

    fn set(&mut self, level: u8, end: Vec<u8>) {
        match self.0.iter_mut().find(|(at, _)| *at == level) {
            Some((_, old)) => *old = end,
            None => self.0.push((level, end)),
        }
    }
}
