//! Choices of the table that a level over its capacity sends down, as the literature compares them.
//!
//! * **Least overlap**: the table with the least ratio of what it overlaps below to its own bytes.
//! * **Oldest**: the one with the smallest sequence number, which has waited longest.
//! * **Round robin**: the first that starts after the end of the previous one, in key order, wrapping
//!   around. `Cursors` remembers where, level by level.
//! * **Random**: any, drawn from a seed and the ids of the candidates; the same tree always gives the
//!   same choice.

use crate::policy::MAX_STATE;
use crate::status::Fact;
use std::sync::Arc;
use terrane_types::{MAX_LEVELS, Of, Place, Run, TableInfo};

/// Rule by which a table is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pick {
    /// The table that overlaps least below, for its size.
    #[default]
    LeastOverlap,
    /// The table that holds the smallest sequence number.
    Oldest,
    /// Tables in key order.
    RoundRobin,
    /// Any table.
    Random,
}

impl Pick {
    /// The names of the choices in options.
    pub const NAMES: [&str; 4] = ["least-overlap", "oldest", "round-robin", "random"];

    /// The choice of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Pick> {
        let all = [Pick::LeastOverlap, Pick::Oldest, Pick::RoundRobin, Pick::Random];
        all.into_iter().find(|pick| pick.name() == name)
    }

    /// The name of this choice.
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

/// The tables of a run that may go down, in key order, with the bytes that each overlaps below: one
/// sweep over both runs. Tables that running groups consume, or that overlap such tables, may not.
#[derive(Clone)]
pub(crate) struct Candidates<'a> {
    run: &'a Run,
    below: Option<&'a Run>,
    is_held: &'a dyn Fn(&TableInfo) -> bool,
    /// The next table.
    next: Place,
    /// The first table below that may overlap it.
    under: Place,
}

/// A table that may go down.
#[derive(Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub(crate) table: &'a Arc<TableInfo>,
    /// Bytes of the tables that it overlaps below.
    pub(crate) bytes: u64,
}

impl<'a> Candidates<'a> {
    /// The candidates of `run`, over `below`.
    pub(crate) fn new(
        run: &'a Run,
        below: Option<&'a Run>,
        is_held: &'a dyn Fn(&TableInfo) -> bool,
    ) -> Self {
        let first = Place::default();
        Candidates { run, below, is_held, next: first, under: first }.starting_at(first)
    }

    /// Those that start beyond `end`.
    fn beyond(&self, end: &[u8]) -> Self {
        let next = self.run.tables().partition_point(|t| t.smallest.as_slice() <= end);
        self.clone().starting_at(next)
    }

    fn starting_at(self, next: Place) -> Self {
        let first = self.run.tables().get(next);
        let under = first.zip(self.below).map(|(t, below)| below.first_from(&t.smallest));
        Candidates { next, under: under.unwrap_or_default(), ..self }
    }

    /// Bytes that a table overlaps; `None` if a running group consumes some. Call in key order.
    fn overlap(&mut self, table: &TableInfo) -> Option<u64> {
        let Some(below) = self.below.map(Run::tables) else { return Some(0) };
        let (mut at, mut bytes) = (self.under, 0u64);
        while let Some(other) = below.get(at).filter(|other| other.smallest <= table.largest) {
            at = below.after(at);
            if other.largest < table.smallest {
                self.under = at;
            } else if (self.is_held)(other) {
                return None;
            } else {
                bytes = bytes.saturating_add(other.bytes);
            }
        }
        Some(bytes)
    }
}

impl<'a> Iterator for Candidates<'a> {
    type Item = Candidate<'a>;

    fn next(&mut self) -> Option<Candidate<'a>> {
        loop {
            let table = self.run.tables().get(self.next)?;
            self.next = self.run.tables().after(self.next);
            if !(self.is_held)(table)
                && let Some(bytes) = self.overlap(table)
            {
                return Some(Candidate { table, bytes });
            }
        }
    }
}

impl Candidate<'_> {
    fn ratio(&self) -> f64 {
        self.bytes as f64 / self.table.bytes.max(1) as f64
    }
}

/// Picks a table.
pub(crate) fn pick<'a>(
    how: Pick,
    mut candidates: Candidates<'a>,
    seed: u64,
    cursor: Option<&[u8]>,
) -> Option<&'a Arc<TableInfo>> {
    let picked = match how {
        Pick::LeastOverlap => least_overlap(candidates),
        Pick::Oldest => candidates.min_by_key(|c| c.table.first_seq),
        Pick::RoundRobin => {
            let beyond = cursor.map(|end| candidates.beyond(end));
            beyond.and_then(|mut beyond| beyond.next()).or_else(|| candidates.next())
        }
        Pick::Random => {
            let drawn = candidates.clone().fold(mix(seed), |h, c| mix(h ^ c.table.id.0));
            let at = drawn.checked_rem(candidates.clone().count() as u64)?;
            candidates.nth(usize::try_from(at).ok()?)
        }
    };
    picked.map(|picked| picked.table)
}

/// The first candidate with the least overlap for its size. The walk stops at the first that overlaps
/// nothing, so a level far over its capacity moves such tables without a full walk for each.
fn least_overlap<'a>(candidates: Candidates<'a>) -> Option<Candidate<'a>> {
    let mut least: Option<Candidate> = None;
    for candidate in candidates {
        if least.is_none_or(|least| candidate.ratio() < least.ratio()) {
            least = Some(candidate);
        }
        if candidate.bytes == 0 {
            return Some(candidate);
        }
    }
    least
}

/// Scatters the bits of a number (the finaliser of SplitMix64).
pub(crate) fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The end of the last table that each level sent down. Encoded, for each level, as the level (1 byte),
/// the length of the key (2 bytes, little-endian) and the key.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursors(Vec<(u8, Vec<u8>)>);

/// Keys are truncated to this length, so that the cursors of all levels fit into a state. A truncated
/// key sorts before the original: a table may then be chosen again before its turn.
const KEPT: usize = MAX_STATE / MAX_LEVELS - 3;

impl Cursors {
    /// Decodes a state; empty if it is not valid.
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

    /// Encodes them as a state.
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

    pub(crate) fn facts(self) -> Vec<Fact> {
        let fact = |(level, key): (u8, _)| {
            let of = Of::Levels(level.into(), level.into());
            Fact::Key { name: "cursor", of, key }
        };
        self.0.into_iter().map(fact).collect()
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
