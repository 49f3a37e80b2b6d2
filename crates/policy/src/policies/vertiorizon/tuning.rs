//! Self-tuning: which number of levels and which merge policy cost least for a mix of operations.
//!
//! 1. A design is rehearsed: its counters admit n buffers, and what they write and how many runs they
//!    leave is counted. A cascade is one merge; a buffer that comes alone is moved and costs nothing. The
//!    last admission drains the part, which every design does alike.
//! 2. With shares u, q and r of updates, point reads and range reads, an operation costs this number of
//!    pages: `u * written / (n * entries of a page) + q * f * runs + r * runs`, where f is the rate of
//!    false positives of a filter.
//!    **Where the costs of the device are known,** a page that is merged counts by its time over that of a block that
//!    is read at random. Merges run beside reads, and the slower of the two is the bound: an operation costs
//!    `(reads^4 + merges^4)^(1/4)`, which is near the greater one and prefers less of the other. Then the totals
//!    count, not the differences of designs: a point read fetches its own block, and the part below has runs and
//!    writes as well. If leveled, two, and T * sqrt(2) for each entry, the paper's `T1 + T^2 / (2 * T1)`. If tiered,
//!    T / sqrt(2) + T, and 2 + T / 2: a table goes down through both levels, and is merged in place in V2 with half
//!    of its runs.
//! 3. Of all designs of 1 to log2 n levels the cheapest is chosen; of equals the one with fewer levels,
//!    and leveling. Another merge policy below has to save a tenth, since the part below is rewritten for it.
//! 4. **Skew.** Where buffers repeat the same keys, j of them together hold less than j buffers, so that a
//!    level grows more slowly, and a merge of level 1 into the next, which rewrites what is repeated, is
//!    worth less. With leveling the first counter gets slack as long as what cascades would write level by
//!    level falls. As one merge they rewrite nothing twice, so that this spares large merges rather than
//!    writing. The repeated share of a buffer is measured from level 1.

use crate::status::{Decision, Fact};
use crate::toolkit::format::count;
use crate::toolkit::horizontal::{Counters, MergePolicy};
use crate::toolkit::observations::{Observations, Operations};
use terrane_types::{Effect, Of, Quantity, Reason, Relation, Term, Unit};

/// Rehearsals are no longer than this: shares hardly depend on n by then.
const LONGEST: u64 = 4096;

/// The most levels of a design.
pub(crate) const LEVELS_MAX: u64 = 16;

/// A number of levels and a merge policy, with what it costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Design {
    pub(crate) levels: u64,
    pub(crate) merge: MergePolicy,
    /// The merge policy of the part below.
    pub(crate) below: MergePolicy,
    pub(crate) slack: u64,
    /// Pages for an operation.
    pub(crate) cost: f64,
}

/// Workload that designs are compared for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    pub(crate) operations: Operations,
    /// n.
    pub(crate) buffers: u64,
    pub(crate) entries_of_a_page: f64,
    pub(crate) false_positives: f64,
    /// Share of a buffer that the next one repeats.
    pub(crate) repeated: f64,
    /// Time of a page that is merged over that of a block that is read at random, if it is known.
    pub(crate) page: Option<f64>,
    /// T.
    pub(crate) size_ratio: f64,
}

/// The share of its cost that another merge policy below has to save.
const SAVES: f64 = 0.1;

/// Buffers written by a round, and the average number of runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rehearsal {
    pub(crate) written: f64,
    /// Buffers written if each cascade went level by level.
    pub(crate) level_by_level: f64,
    pub(crate) runs: f64,
}

/// Step 1.
pub(crate) fn rehearse(admissions: u64, mut counters: Counters, repeated: f64) -> Rehearsal {
    let bytes = |admissions: u64| match admissions {
        0 => 0.0,
        n => repeated + (1.0 - repeated) * n as f64,
    };
    // The admissions in each level, and its runs.
    let mut there = vec![(0u64, 0u64); counters.counts.len()];
    let (mut written, mut level_by_level, mut seen) = (0.0, 0.0, 0u64);
    for _ in 1..admissions {
        let ends = counters.admit();
        let leveled = counters.merge == MergePolicy::Leveling;
        let above = ends.saturating_sub(1);
        let mut moved = 1;
        for (admissions, runs) in there.iter_mut().take(above) {
            moved += std::mem::take(admissions);
            *runs = 0;
            level_by_level += bytes(moved);
        }
        if let Some((admissions, runs)) = there.get_mut(above) {
            let merged = if leveled { moved + *admissions } else { moved };
            written += if merged > 1 { bytes(merged) } else { 0.0 };
            level_by_level += bytes(merged);
            *admissions += moved;
            *runs = if leveled { 1 } else { *runs + 1 };
        }
        seen += there.iter().map(|(_, runs)| runs).sum::<u64>();
    }
    Rehearsal { written, level_by_level, runs: seen as f64 / admissions.max(1) as f64 }
}

impl Workload {
    /// A round of a design, and its admissions: more than n, where they repeat keys.
    pub(super) fn round(&self, levels: u64, merge: MergePolicy, slack: u64) -> (f64, Rehearsal) {
        let n = self.buffers.clamp(1, LONGEST);
        let admissions = (n as f64 - self.repeated) / (1.0 - self.repeated).max(1e-3);
        let admissions = (admissions as u64).clamp(n, LONGEST);
        let counters = Counters { slack, ..Counters::new(merge, levels, n) };
        (admissions as f64, rehearse(admissions, counters, self.repeated))
    }

    /// Step 2.
    pub(crate) fn cost(&self, design: Design) -> f64 {
        let Design { levels, merge, below, slack, .. } = design;
        let (admissions, Rehearsal { written, runs, .. }) = self.round(levels, merge, slack);
        let [updates, points, ranges] = self.shares();
        let (written, of_a_page) = (written / admissions, self.entries_of_a_page);
        let Some(page) = self.page else {
            let pages = written / of_a_page;
            return updates * pages + points * self.false_positives * runs + ranges * runs;
        };
        let (written_below, runs_below) = self.below(below);
        let runs = runs + runs_below;
        let reads = points * (1.0 + self.false_positives * runs) + ranges * runs;
        let merges = updates * (written + written_below) / of_a_page * page;
        let fourth = |cost: f64| cost * cost * cost * cost;
        (fourth(reads) + fourth(merges)).sqrt().sqrt()
    }

    /// Writes of an entry by the part below, and its runs.
    fn below(&self, merge: MergePolicy) -> (f64, f64) {
        let (ratio, root) = (self.size_ratio, std::f64::consts::SQRT_2);
        match merge {
            MergePolicy::Leveling => (ratio * root, 2.0),
            MergePolicy::Tiering => (2.0 + ratio / 2.0, ratio / root + ratio),
        }
    }

    /// The mix; even, if nothing is known.
    pub(crate) fn shares(&self) -> [f64; 3] {
        Observations::shares(self.operations)
    }

    /// The designs that are compared: these levels and merge policies only, if any are given. Below, both are only
    /// where costs are known.
    pub(crate) fn designs(
        &self,
        levels: Option<u64>,
        merge: Option<MergePolicy>,
        below: Option<MergePolicy>,
    ) -> Vec<Design> {
        let most = u64::from(self.buffers.max(2).ilog2()).clamp(1, LEVELS_MAX);
        let levels = levels.map_or(1..=most, |levels| levels..=levels);
        let both = [MergePolicy::Leveling, MergePolicy::Tiering];
        let below = below.or(self.page.is_none().then_some(MergePolicy::Leveling));
        let mut designs = Vec::new();
        for levels in levels {
            for each in both.into_iter().filter(|each| merge.is_none_or(|merge| merge == *each)) {
                let slack = self.slack(levels, each);
                for below in both.into_iter().filter(|each| below.is_none_or(|b| b == *each)) {
                    let design = Design { levels, merge: each, below, slack, cost: 0.0 };
                    designs.push(Design { cost: self.cost(design), ..design });
                }
            }
        }
        designs
    }

    /// Step 4. A twentieth is not skew. With tiering or one level slack changes nothing.
    fn slack(&self, levels: u64, merge: MergePolicy) -> u64 {
        if self.repeated < 0.05 {
            return 0;
        }
        let cost = |slack| self.round(levels, merge, slack).1.level_by_level;
        let mut slack = 0;
        while slack < self.buffers.min(LONGEST) && cost(slack + 1) < cost(slack) {
            slack += 1;
        }
        slack
    }
}

/// Step 3, where the part below has this merge policy.
pub(crate) fn cheapest(designs: &[Design], below: MergePolicy) -> Option<Design> {
    let cheapest = |all: &mut dyn Iterator<Item = &Design>| {
        all.min_by(|a, b| a.cost.total_cmp(&b.cost)).copied()
    };
    let best = cheapest(&mut designs.iter())?;
    let kept = cheapest(&mut designs.iter().filter(|design| design.below == below));
    let saves = |kept: &Design| best.cost <= kept.cost * (1.0 - SAVES);
    Some(kept.filter(|kept| !saves(kept)).unwrap_or(best))
}

/// A choice that was made: at a drain, when the horizontal part is empty.
pub(crate) struct Tuned {
    pub(crate) designs: Vec<Design>,
    pub(crate) chosen: Design,
    /// n.
    pub(crate) buffers: u64,
}

impl Design {
    /// The pages for a thousand operations.
    fn quantity(&self) -> Quantity {
        let name = match (self.merge, self.below) {
            (MergePolicy::Leveling, MergePolicy::Leveling) => "leveling-pages-for-1000-operations",
            (MergePolicy::Tiering, MergePolicy::Leveling) => "tiering-pages-for-1000-operations",
            (MergePolicy::Leveling, _) => "leveling-above-tiering-pages-for-1000-operations",
            (MergePolicy::Tiering, _) => "tiering-above-tiering-pages-for-1000-operations",
        };
        let levels = usize::try_from(self.levels).unwrap_or(usize::MAX);
        Quantity::levels(name, 1, levels, (self.cost * 1e6) as u64)
    }
}

impl Tuned {
    /// The choice with the mix, and its cost beside all others'.
    pub(crate) fn decision(&self, operations: Operations) -> Decision {
        let Design { levels, merge, below, slack, .. } = self.chosen;
        let word = |merge| if merge == MergePolicy::Leveling { "leveling" } else { "tiering" };
        let text = format!(
            "{} in {} above {} costs least for the last operations",
            word(merge),
            count(usize::try_from(levels).unwrap_or(usize::MAX), "level"),
            word(below),
        );
        let cost = self.chosen.quantity();
        let others = self.designs.iter().filter(|design| **design != self.chosen);
        let compared = |design: &Design| {
            Term::new(Unit::Thousandths, cost, Relation::AtMost, design.quantity())
                .so(Effect::Chosen)
        };
        let fact = |name, value| Fact::Number { name, of: Of::Tree, value, unit: Unit::Count };
        let [updates, points, ranges] = operations;
        Decision {
            name: "tuned",
            reason: Reason::new(text, others.map(compared).collect()),
            facts: vec![
                fact("updates", updates),
                fact("point-reads", points),
                fact("range-reads", ranges),
                fact("buffers", self.buffers),
                fact("levels", levels),
                fact("tiered", u64::from(merge == MergePolicy::Tiering)),
                fact("tiered-below", u64::from(below == MergePolicy::Tiering)),
                fact("slack", slack),
            ],
        }
    }
}
