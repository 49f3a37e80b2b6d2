//! State of Vertiorizon: its layout, its counters, and a window of operations.
//!
//! Encoded as [`Counts`]: n, the level of V1, l, the merge policy (0 leveling, 1 tiering, and 2 more if V1 and V2
//! are tiered), whether the horizontal part was made by this policy (0 or 1), the slack of the first counter and the
//! repeated share of a buffer (thousandths), the l counters, then the [`Observations`].

use crate::policy::Installed;
use crate::toolkit::admission::Counts;
use crate::toolkit::horizontal::{Counters, MergePolicy};
use crate::toolkit::observations::Observations;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(super) counts: Counts,
    /// n: the capacity of the horizontal part, in buffers.
    pub(crate) buffers: u64,
    /// The level of V1; the levels above it, from 1 on, are the horizontal part.
    pub(crate) vertical: usize,
    /// l, the merge policy, the counters and their slack.
    pub(crate) counters: Counters,
    /// The merge policy of V1 and V2, if it is tuned.
    pub(crate) below: MergePolicy,
    /// Whether all of the horizontal part was put there by the counters.
    pub(crate) counted: bool,
    pub(crate) learned: Learned,
}

/// Knowledge of the operations, independent of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Learned {
    /// Share of a buffer that the next one repeats, in thousandths.
    pub(crate) repeated: u64,
    /// The operations.
    pub(crate) seen: Observations,
}

impl Memory {
    pub(crate) fn new(
        buffers: u64,
        vertical: usize,
        counted: bool,
        counters: Counters,
        learned: Learned,
    ) -> Self {
        let below = MergePolicy::Leveling;
        Memory { counts: Counts::default(), buffers, vertical, counters, below, counted, learned }
    }

    /// l.
    pub(crate) fn levels(&self) -> usize {
        self.counters.counts.len()
    }

    /// Decodes a state, if it is one.
    pub(crate) fn read(state: &[u8]) -> Option<Self> {
        let counts = Counts::read_any(state)?;
        let (&[buffers, vertical, levels, merge, counted, slack, repeated], rest) =
            counts.numbers.split_first_chunk()?;
        let both = [MergePolicy::Leveling, MergePolicy::Tiering];
        let policy = |at: u64| usize::try_from(at).ok().and_then(|at| both.get(at).copied());
        let (merge, below) = (policy(merge % 2)?, policy(merge / 2)?);
        let (counters, seen) = rest.split_at_checked(usize::try_from(levels).ok()?)?;
        let seen = Observations::read(seen)?;
        let vertical = usize::try_from(vertical).ok()?;
        let is_sound = buffers > 0 && levels > 0 && (1..64).contains(&vertical) && counted <= 1;
        let counters = Counters { merge, counts: counters.to_vec(), slack };
        let learned = Learned { repeated, seen };
        let counted = counted == 1;
        is_sound.then(|| Memory {
            counts: counts.clone(),
            buffers,
            vertical,
            counters,
            below,
            counted,
            learned,
        })
    }

    /// Encodes it as a state.
    pub(crate) fn state(&self) -> Vec<u8> {
        let Counters { merge, counts, slack } = &self.counters;
        let mut numbers = vec![
            self.buffers,
            self.vertical as u64,
            counts.len() as u64,
            u64::from(*merge == MergePolicy::Tiering)
                + 2 * u64::from(self.below == MergePolicy::Tiering),
            u64::from(self.counted),
            *slack,
            self.learned.repeated,
        ];
        numbers.extend(counts);
        self.learned.seen.write(&mut numbers);
        self.counts.with(numbers).state()
    }

    /// Notes a step above V2; returns whether it ends an admission.
    pub(crate) fn note(&mut self, installed: &Installed) -> bool {
        self.counts.note(installed)
    }
}
