//! Admissions: level 0 is a staging area, and a policy that counts takes about B bytes of it at once.
//!
//! Flushes may be tiny, or arrive while a merge runs. So what is counted is not flushes: once nothing
//! is written below level 0, the oldest runs of level 0 that hold at least three quarters of B are
//! admitted, in one plan. Three quarters, because a flush holds less than its memtable where keys
//! repeat or compress.

use super::view::View;
use crate::policy::{Installed, Step};
use crate::status::{Fact, PolicyStatus};
use std::sync::Arc;
use terrane_types::{
    Effect, Group, Level, MAX_LEVELS, Of, Quantity, Relation, Run, Shape, TableInfo, Term, Unit,
    tables_of,
};

/// The oldest runs of level 0, which go down together.
pub(crate) struct Admission<'a> {
    runs: &'a [Run],
    pub(crate) bytes: u64,
    /// That they are enough.
    pub(crate) term: Term,
}

impl<'a> Admission<'a> {
    /// Their tables, newest run first.
    pub(crate) fn tables(&self) -> Vec<&'a Arc<TableInfo>> {
        tables_of(self.runs).collect()
    }
}

impl<'a> View<'a> {
    /// Returns the due admission, if there is one.
    pub(crate) fn admission(&self) -> Option<Admission<'a>> {
        self.admission_above(MAX_LEVELS)
    }

    /// The same for a policy that counts what is written into levels 1 to `last` only.
    pub(crate) fn admission_above(&self, last: usize) -> Option<Admission<'a>> {
        if self.running.groups().any(|group| (1..=last).contains(&group.destination.level)) {
            return None;
        }
        let enough = self.rule.level_base_bytes - self.rule.level_base_bytes / 4;
        let runs = self.runs(0);
        let mut bytes = 0u64;
        for (at, run) in runs.iter().enumerate().rev() {
            if self.is_any_held_of(0, run) {
                return None;
            }
            bytes = bytes.saturating_add(run.bytes());
            let have = Quantity::level("oldest-waiting-bytes", 0, bytes);
            let enough = Quantity::new("three-quarters-of-level-base-bytes", enough);
            let term = Term::new(Unit::Bytes, have, Relation::AtLeast, enough);
            if term.is(Relation::AtLeast) {
                let term = term.so(Effect::Admitted);
                return Some(Admission { runs: runs.get(at..)?, bytes, term });
            }
        }
        None
    }
}

/// Numbers that a policy remembers, and whether the compaction that is being installed admits: it may
/// have groups that read nothing of level 0. Encoded as that flag (1 byte) and the numbers (8 bytes
/// each, little-endian).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    admits: bool,
    pub(crate) numbers: Vec<u64>,
}

impl Counts {
    pub(crate) fn new(numbers: Vec<u64>) -> Self {
        Counts { admits: false, numbers }
    }

    /// The first number.
    pub(crate) fn first(&self) -> u64 {
        self.numbers.first().copied().unwrap_or(0)
    }

    /// Decodes a state of this many numbers.
    pub(crate) fn read(state: &[u8], numbers: usize) -> Option<Self> {
        Counts::read_any(state).filter(|counts| counts.numbers.len() == numbers)
    }

    /// The same with other numbers.
    pub(crate) fn with(&self, numbers: Vec<u64>) -> Self {
        Counts { admits: self.admits, numbers }
    }

    /// Decodes a state.
    pub(crate) fn read_any(state: &[u8]) -> Option<Self> {
        let (&admits, rest) = state.split_first()?;
        let (values, rest) = rest.as_chunks();
        let fits = admits <= 1 && rest.is_empty();
        let numbers = values.iter().map(|value| u64::from_le_bytes(*value)).collect();
        fits.then_some(Counts { admits: admits == 1, numbers })
    }

    /// Encodes them as a state.
    pub(crate) fn state(&self) -> Vec<u8> {
        let mut state = vec![u8::from(self.admits)];
        for number in &self.numbers {
            state.extend(number.to_le_bytes());
        }
        state
    }

    /// The numbers by name, each of what `of` says, counted from 1.
    pub(crate) fn status(self, name: &'static str, of: impl Fn(usize) -> Of) -> PolicyStatus {
        let fact = |(at, value)| Fact::Number { name, of: of(at), value, unit: Unit::Count };
        PolicyStatus { capacities: Vec::new(), facts: (1..).zip(self.numbers).map(fact).collect() }
    }

    /// Notes a step; returns whether it ends an admission.
    pub(crate) fn note(&mut self, installed: &Installed) -> bool {
        let Step::Group { group, ends, .. } = installed.step else { return false };
        if group.destination.level == 0 {
            return false;
        }
        self.admits |= level0_bytes(installed, group).is_some();
        ends && std::mem::take(&mut self.admits)
    }
}

/// Bytes below level 0.
pub(crate) fn below_level0(shape: &Shape) -> u64 {
    let staged = shape.levels().first().map_or(0, Level::bytes);
    shape.bytes().saturating_sub(staged)
}

/// Bytes that a group takes out of level 0, if it takes any table.
pub(crate) fn level0_bytes(installed: &Installed, group: &Group) -> Option<u64> {
    let found = installed.before.find(group.inputs.clone());
    let mut staged = found.iter().filter(|placed| placed.place.level == 0).peekable();
    staged.peek()?;
    Some(staged.map(|placed| placed.table.bytes).fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_their_state_and_no_other_bytes() {
        for admits in [false, true] {
            for numbers in [vec![], vec![7], vec![0, u64::MAX, 3]] {
                let counts = Counts { admits, numbers: numbers.clone() };
                let state = counts.state();
                assert_eq!(Counts::read_any(&state), Some(counts.clone()));
                assert_eq!(Counts::read(&state, numbers.len()), Some(counts.clone()));
                assert_eq!(Counts::read(&state, numbers.len() + 1), None);
                assert_eq!(counts.first(), numbers.first().copied().unwrap_or(0));
                assert_eq!(counts.with(vec![5]), Counts { admits, numbers: vec![5] });
                assert_eq!(Counts::read_any(&[&state[..], &[0]].concat()), None, "a byte too many");
                assert_eq!(Counts::read_any(&[&[2], &state[1..]].concat()), None, "no flag");
            }
        }
        assert_eq!(Counts::read_any(&[]), None);
    }
}
