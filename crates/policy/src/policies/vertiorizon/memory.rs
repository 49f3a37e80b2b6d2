//! State of Vertiorizon: its layout, its counters, and a window of operations.
//!
//! Encoded as [`Counts`]: n, the level of V1, l, the merge policy (0 leveling, 1 tiering, and 2 more if V1 and V2
//! are tiered), whether the horizontal part was made by this policy (0 or 1), the slack of the first counter and the
//! repeated share of a buffer (thousandths), the l counters, then for each part of the window, the oldest first,
//! updates, point reads and range reads, then the nanoseconds of a block that is read and of a page that is merged,
//! which earlier states do not have.

use crate::context::Observed;
use crate::policy::Installed;
use crate::toolkit::admission::Counts;
use crate::toolkit::horizontal::{Counters, MergePolicy};

/// Into how many parts the window is divided: the oldest leaves as a whole.
const PARTS: u64 = 16;

/// Updates, point reads and range reads.
pub(crate) type Operations = [u64; 3];

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
    /// The window, oldest part first.
    pub(super) window: Vec<Operations>,
    /// Nanoseconds of a block that is read at random, and of a page that is merged; 0 if they are not known.
    pub(super) costs: [u64; 2],
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
        let (counters, window) = rest.split_at_checked(usize::try_from(levels).ok()?)?;
        let (window, costs) = window.as_chunks();
        let costs = match *costs {
            [] => [0; 2],
            [block, page] => [block, page],
            _ => return None,
        };
        let vertical = usize::try_from(vertical).ok()?;
        let is_sound = buffers > 0 && levels > 0 && (1..64).contains(&vertical) && counted <= 1;
        let counters = Counters { merge, counts: counters.to_vec(), slack };
        let learned = Learned { repeated, window: window.to_vec(), costs };
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
        numbers.extend(self.learned.window.as_flattened());
        numbers.extend(self.learned.costs);
        self.counts.with(numbers).state()
    }

    /// Notes a step above V2; returns whether it ends an admission.
    pub(crate) fn note(&mut self, installed: &Installed) -> bool {
        self.counts.note(installed)
    }
}

impl Learned {
    /// Adds operations to a window of this many.
    pub(crate) fn observe(&mut self, observed: &Observed, window: u64) {
        for (known, found) in self.costs.iter_mut().zip([observed.block_nanos, observed.page_nanos])
        {
            *known = if found > 0 { found } else { *known };
        }
        let more = [observed.updates, observed.point_reads, observed.range_reads];
        if more == [0; 3] {
            return;
        }
        let total = |part: &Operations| part.iter().copied().fold(0, u64::saturating_add);
        let part = (window / PARTS).max(1);
        match self.window.last_mut().filter(|last| total(last) < part) {
            Some(last) => {
                last.iter_mut().zip(more).for_each(|(n, more)| *n = n.saturating_add(more))
            }
            None => self.window.push(more),
        }
        let mut all = self.window.iter().map(total).fold(0, u64::saturating_add);
        while let Some(first) = self.window.first().map(total)
            && self.window.len() > 1
            && all.saturating_sub(first) >= window
        {
            all = all.saturating_sub(first);
            self.window.remove(0);
        }
    }

    /// Time of a page that is merged over that of a block that is read at random, if both are known.
    pub(super) fn page(&self) -> Option<f64> {
        let [block, page] = self.costs;
        (block > 0 && page > 0).then(|| page as f64 / block as f64)
    }

    /// The operations of the window.
    pub(crate) fn operations(&self) -> Operations {
        let mut sum = [0u64; 3];
        for part in &self.window {
            sum.iter_mut().zip(part).for_each(|(n, more)| *n = n.saturating_add(*more));
        }
        sum
    }
}
