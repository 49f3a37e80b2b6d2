//! BucketLSM: level 0 in buckets of the key space, which are compacted beside each other ("BucketLSM:
//! Breaking the Compaction Scalability Barrier in LSM-Based Key-Value Stores").
//!
//! The levels below are leveled, as in `leveled.rs`. What follows is of level 0.
//!
//! 1. **Flushes** are cut at the boundaries of the buckets: one table for each bucket with keys. The first
//!    one that has enough keys sets the boundaries, at equal numbers of entries.
//! 2. **Compaction.** Tables of level 0 that overlap are those of one bucket, or of several that were one
//!    when they were flushed. They are due once `l0-compaction-trigger` of them lie over one key; those of
//!    the oldest run also while level 0 has as many runs as other policies stall at. Writes wait by the
//!    tables over one key.
//!    They are merged with the tables of level 1 that they overlap, and cut at the boundaries, so that no
//!    table of level 1 ties two buckets together. The component with the most tables over one key comes
//!    first; among equals, the one with the smallest input. A plan is one bucket, made when a worker is
//!    free.
//! 3. **Temperature.** A bucket that was just compacted is split if its temperature (`buckets.rs`) is above
//!    `split-percent`, and joined with its colder neighbour if it is at `join-percent` or below. New boundaries
//!    bind later flushes. With `only-empty` it must hold no table of level 0.
//! 4. **Levels below** send tables down as soon as their score is above that of the fullest bucket, or no
//!    bucket is due. With `level-one-waits`, level 1 sends nothing down while a bucket that is due waits.
//!
//! **The paper's text and its authors' code differ,** and what they differ in is an option.
//!
//! | option | text | code | here |
//! |---|---|---|---|
//! | `only-empty`: a bucket is split and joined only without tables of level 0 | yes | no | no |
//! | `split-percent` | 200 | 150 | 200 |
//! | `count-present`: shares are of the buckets that there are, not of N | no | yes | no |
//! | `join-hot`: joined even if it has to be split again | yes | yes | no |
//! | `merge-waiting`: within level 0, while a merge below keeps tables waiting | - | yes | no |
//! | `level-one-waits`: level 1 sends nothing down while a bucket that is due waits | no | yes | yes |
//! | `eager`: any bucket may be next once one is due | - | yes | no |
//! | `overlap-percent`: its overlap in the choice of the next one | 0 | 50 | 0 |
//!
//! A hot bucket has its next table before its merge ends, so that with `only-empty` hot buckets are hardly ever
//! split while cold ones are joined: where the hot keys move, writes are then slower than with buckets that stay. So
//! they need not be empty here. The rest is as the text has it or, where it is silent, as it was.

mod buckets;
mod described;
mod full;

use crate::context::{KeySample, PlanContext};
use crate::policy::{Installed, MAX_STATE, Policy, Step};
use crate::status::{Decision, Fact, PolicyStatus};
use crate::toolkit::filters::Filters;
use crate::toolkit::format::{count, size};
use crate::toolkit::group_builder::bytes;
use crate::toolkit::pick::Pick;
use crate::toolkit::trivial_move::move_or_merge;
use crate::toolkit::view::{Vertical, View};
use buckets::{Bucket, Buckets, median};
use full::Full;
use std::sync::Arc;
use terrane_types::{
    Action, Compaction, Effect, FlushPlan, Group, Of, Plan, Quantity, Reason, Relation, Shape,
    TableInfo, Term, Unit, key_range, sort_by, tables_of,
};

/// There may be this many times as many buckets as at first, but at most [`MOST`].
const GROWTH: u64 = 4;

/// The greatest number of buckets.
const MOST: u64 = 256;

/// Medians and boundaries have this many bytes at least.
const KEPT: u64 = 8;

/// The bucket policy and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketLsm {
    /// T: the factor between capacities.
    pub size_ratio: u64,
    /// B: the least capacity of a level.
    pub level_base_bytes: u64,
    /// Size at which a table is closed, in bytes.
    pub target_file_bytes: u64,
    /// Division of filter memory among runs.
    pub filters: Filters,
    /// Tables of a bucket in level 0 that lie over one key before they are merged into level 1.
    pub l0_compaction_trigger: u64,
    /// Whether capacities follow what the deepest level holds.
    pub dynamic_level_bytes: bool,
    /// N: the number of buckets at first.
    pub buckets: u64,
    /// Whether N is the number of workers if that is greater.
    pub follow_workers: bool,
    /// W: the flushes that a temperature is measured over.
    pub window: u64,
    /// The temperature, in percent, above which a bucket is split.
    pub split_percent: u64,
    /// The temperature, in percent, up to which a bucket is joined with a neighbour.
    pub join_percent: u64,
    /// The least number of buckets that joining leaves.
    pub min_buckets: u64,
    /// Whether buckets are joined that would have to be split again.
    pub join_hot: bool,
    /// Whether temperatures are measured by the buckets that are present, not by N.
    pub count_present: bool,
    /// Whether only buckets that hold no table of level 0 are split and joined.
    pub only_empty: bool,
    /// Whether tables of a bucket are merged within level 0 while a merge below keeps them waiting.
    pub merge_waiting: bool,
    /// Whether level 1 sends nothing down while a bucket that is due has to wait.
    pub level_one_waits: bool,
    /// Whether all buckets are due once one is.
    pub eager: bool,
    /// Weight of a bucket's overlap with level 1 in the choice of the next one, in percent; the rest is that of its
    /// tables.
    pub overlap_percent: u64,
}

impl Default for BucketLsm {
    fn default() -> Self {
        BucketLsm {
            size_ratio: 10,
            level_base_bytes: 4 << 20,
            target_file_bytes: 2 << 20,
            filters: Filters::Uniform,
            l0_compaction_trigger: 4,
            dynamic_level_bytes: true,
            buckets: 4,
            follow_workers: true,
            window: 10,
            split_percent: 200,
            join_percent: 50,
            min_buckets: 1,
            join_hot: false,
            count_present: false,
            only_empty: false,
            merge_waiting: false,
            level_one_waits: true,
            eager: false,
            overlap_percent: 0,
        }
    }
}

impl Policy for BucketLsm {
    fn name(&self) -> &'static str {
        "bucket"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let view = View::new(self.rule(), context);
        let scattered =
            (1..context.shape.levels().len()).find_map(|level| view.merge_into_one_run(level));
        if scattered.is_some() || context.running.groups().count() >= context.workers.max(1) {
            return scattered;
        }
        let buckets = Buckets::read(context.state);
        let Quantity { value: trigger, .. } = self.depth_trigger(context);
        let full = Full::find(self, &view, context);
        let deepest = full.iter().map(|full| full.depth).max();
        let mut due =
            vec![(0, deepest.map_or(0.0, |depth| (depth as f64 / trigger as f64).max(1.0)))];
        due.extend((1..=view.last()).map(|level| (level, view.score(level))));
        due.retain(|(_, score)| *score >= 1.0);
        sort_by(&mut due, |(_, a), (_, b)| b.total_cmp(a));
        let mut waits = false;
        due.into_iter().find_map(|(level, _)| {
            let plan = match level {
                0 => full
                    .iter()
                    .find_map(|full| self.empty(&view, context, &buckets, full))
                    .or_else(|| self.merge_within_bucket(&view, context)),
                1 if waits && self.level_one_waits => None,
                _ if self.dynamic_level_bytes && level == view.last() => view.deepen(),
                _ => view.send_down(level, Pick::LeastOverlap, 0, None),
            };
            waits |= level == 0;
            plan
        })
    }

    fn plans_flushes(&self) -> bool {
        true
    }

    fn flush(&self, context: &PlanContext, sealed: &KeySample) -> FlushPlan {
        let buckets = Buckets::read(context.state);
        let mut cuts = Vec::new();
        if buckets.all.is_empty() {
            cuts = self.quantiles(sealed, self.parts(context.workers));
        } else if let (Some(first), Some(last)) = (sealed.keys.first(), sealed.keys.last()) {
            let within = |key: &&Vec<u8>| *key > first && *key <= last;
            cuts.extend(buckets.boundaries().filter(within).cloned());
        }
        if cuts.is_empty() {
            return FlushPlan::default();
        }
        let text =
            format!("the flush is cut at the boundaries of {}", count(cuts.len() + 1, "bucket"));
        let parts = Quantity::new("buckets", cuts.len() as u64 + 1);
        let term = Term::new(Unit::Count, parts, Relation::Greater, Quantity::new("one", 1));
        let term = term.so(Effect::Cut);
        FlushPlan { cuts, reason: Reason::new(text, vec![term]), ..FlushPlan::default() }
    }

    fn stalls_by_depth(&self) -> bool {
        true
    }

    fn reads_histograms(&self) -> bool {
        true
    }

    fn apply(&self, state: &[u8], installed: &Installed) -> Vec<u8> {
        let mut buckets = Buckets::read(state);
        match installed.step {
            Step::Flush { plan, tables } => {
                if buckets.all.is_empty() && !plan.cuts.is_empty() {
                    buckets = Buckets::new(plan.cuts.len() as u64 + 1, &plan.cuts);
                }
                let tables = tables.iter().map(|t| (t.smallest.as_slice(), t.bytes));
                buckets.flushed(tables, self.window);
            }
            Step::Group { .. } => drop(self.rearrange(&mut buckets, installed)),
            Step::Reshape(_) => {}
        }
        buckets.state()
    }

    /// All that it remembers is what was flushed and where, which no other compaction makes wrong.
    fn readopt(&self, state: &[u8], _: &Shape) -> Vec<u8> {
        state.to_vec()
    }

    fn status(&self, shape: &Shape, state: &[u8]) -> PolicyStatus {
        let buckets = Buckets::read(state);
        let mut facts = Vec::new();
        for (index, bucket) in buckets.all.iter().enumerate() {
            let of = Of::Item(index);
            facts.push(Fact::Key { name: "bucket-boundary", of, key: bucket.boundary.clone() });
            facts.extend(self.measured(&buckets, index, bucket));
        }
        PolicyStatus { capacities: self.rule().capacities(shape, 1), facts }
    }

    fn decisions(&self, state: &[u8], installed: &Installed) -> Vec<Decision> {
        self.rearrange(&mut Buckets::read(state), installed)
    }
}

impl BucketLsm {
    /// Returns the rule that it shares with the other vertical policies.
    fn rule(&self) -> Vertical {
        Vertical {
            size_ratio: self.size_ratio,
            level_base_bytes: self.level_base_bytes,
            target_file_bytes: self.target_file_bytes,
            l0_compaction_trigger: self.l0_compaction_trigger,
            dynamic_level_bytes: self.dynamic_level_bytes,
        }
    }

    /// The number of buckets that may be, of `configured` at first.
    fn most(&self, configured: u64) -> u64 {
        configured.saturating_mul(GROWTH).min(MOST)
    }

    /// Returns the number of bytes of a median or boundary that are kept.
    fn kept(&self, configured: u64) -> u64 {
        Buckets::kept(self.most(configured), self.window, MAX_STATE as u64)
    }

    /// N.
    fn parts(&self, workers: usize) -> u64 {
        let wanted = self.buckets.max(workers as u64).min(MOST);
        let fits = self.follow_workers && self.kept(wanted) >= KEPT;
        if fits { wanted } else { self.buckets }
    }

    /// Returns the keys that part a memtable into `parts` buckets of equal numbers of entries; none if it
    /// has too few keys.
    fn quantiles(&self, sealed: &KeySample, parts: u64) -> Vec<Vec<u8>> {
        let (keys, parts) = (sealed.keys.len(), usize::try_from(parts).unwrap_or(usize::MAX));
        let kept = usize::try_from(self.kept(parts as u64)).unwrap_or(usize::MAX);
        let key = |part: usize| sealed.keys.get(part * keys / parts);
        let short = |key: &Vec<u8>| key.iter().take(kept).copied().collect::<Vec<_>>();
        let mut cuts: Vec<_> = (1..parts).filter_map(key).map(short).collect();
        cuts.dedup();
        let first = sealed.keys.first();
        cuts.retain(|cut| first.is_some_and(|first| cut > first));
        if cuts.len() + 1 < parts { Vec::new() } else { cuts }
    }

    /// Step 2, unless a running plan holds some of the tables.
    fn empty(
        &self,
        view: &View<'_>,
        context: &PlanContext,
        buckets: &Buckets,
        full: &Full<'_>,
    ) -> Option<Plan> {
        let mut all = full.tables.clone();
        all.extend(full.below.iter().copied());
        if all.iter().any(|table| view.holds(&table.id)) {
            return None;
        }
        let (smallest, largest) = key_range(&all);
        let within = |key: &&Vec<u8>| key.as_slice() > smallest && key.as_slice() <= largest;
        let cuts: Vec<_> = buckets.boundaries().filter(within).cloned().collect();
        let action = match all.as_slice() {
            [alone] if cuts.is_empty() => {
                let (bottom, target) = (view.last() <= 1, self.target_file_bytes);
                move_or_merge(alone.entries, alone.tombstones, bottom, target)
            }
            _ => {
                let target_file_bytes = self.target_file_bytes;
                Action::Merge { cuts, target_file_bytes, filter_bits: None, split: None }
            }
        };
        let text = format!(
            "a bucket has {} in level 0, at most {} over a key: they go into level 1 with {} of {} there",
            count(full.tables.len(), "table"),
            full.depth,
            count(full.below.len(), "table"),
            size(bytes(&full.below)),
        );
        let deep = self.depth_term(full.depth, context);
        let term = if deep.is(Relation::AtLeast) {
            deep
        } else {
            let stop = Quantity::new("l0-stop-trigger", context.l0_stop_trigger as u64);
            let runs = Quantity::level("runs", 0, view.runs(0).len() as u64);
            Term::new(Unit::Runs, runs, Relation::AtLeast, stop)
        };
        let term = term.so(Effect::Leaves(0));
        let inputs = all.iter().map(|table| table.id).collect();
        let groups = vec![Group::new(inputs, view.run_of(1), action)];
        Some(Compaction::parallel(groups, Reason::new(text, vec![term])).into())
    }

    /// Step 3, after a group was installed; returns what was decided.
    fn rearrange(&self, buckets: &mut Buckets, installed: &Installed) -> Vec<Decision> {
        let Step::Group { group, .. } = installed.step else { return Vec::new() };
        let found = installed.before.find(group.inputs.clone());
        let merged: Vec<_> = (found.iter())
            .filter(|placed| placed.place.level == 0)
            .map(|placed| placed.table)
            .collect();
        let stays = group.destination.level == 0;
        if merged.is_empty() || buckets.all.is_empty() || stays && self.only_empty {
            return Vec::new();
        }
        let kept = usize::try_from(self.kept(buckets.configured)).unwrap_or(usize::MAX);
        // A table that a merge within level 0 makes has the median of all that it was made of.
        for table in merged.iter().filter(|_| !stays) {
            if let Some(median) = median(table) {
                buckets.merged(&table.smallest, median, kept);
            }
        }
        let (smallest, largest) = key_range(&merged);
        let (first, last) = (buckets.of(smallest), buckets.of(largest));
        let level0 = installed.before.levels().first().map_or(&[][..], |level| &level.runs);
        let waits: Vec<_> = tables_of(level0).filter(|t| !group.inputs.contains(&t.id)).collect();
        let mut decisions = Vec::new();
        for at in (first..=last).rev() {
            let end = buckets.all.get(at + 1).map(|next| &next.boundary);
            let Some(bucket) = buckets.all.get(at) else { continue };
            let holds = |table: &&Arc<TableInfo>| {
                table.largest >= bucket.boundary && end.is_none_or(|end| table.smallest < *end)
            };
            if !self.only_empty || !waits.iter().any(holds) {
                decisions.extend(self.decide(buckets, at));
            }
        }
        decisions
    }

    /// Decides about a bucket that was just compacted.
    fn decide(&self, buckets: &mut Buckets, at: usize) -> Option<Decision> {
        let bucket = buckets.all.get(at)?.clone();
        let facts = self.measured(buckets, at, &bucket);
        let shares = self.shares(buckets);
        let temperature = buckets.temperature(bucket.volume(), shares);
        let (split, join) =
            (self.split_percent.saturating_mul(10), self.join_percent.saturating_mul(10));
        let have = Quantity::item("bucket-temperature", at, temperature);
        let present = buckets.all.len() as u64;
        let hot = Quantity::new("split-percent", split);
        let hot = Term::new(Unit::Thousandths, have, Relation::Greater, hot);
        if hot.is(Relation::Greater) {
            let has_split = present < self.most(buckets.configured) && buckets.split(at);
            let text =
                format!("bucket {at} has {} of the volume: it is split", size(bucket.volume()));
            let reason = Reason::new(text, vec![hot.so(Effect::Split)]);
            return has_split.then(|| Decision {
                name: "bucket-split",
                reason,
                facts: facts.into(),
            });
        }
        let cold = Quantity::new("join-percent", join);
        let cold = Term::new(Unit::Thousandths, have, Relation::AtMost, cold);
        let other = buckets.neighbour(at).filter(|_| cold.is(Relation::AtMost))?;
        let beside = buckets.all.get(other)?.volume();
        let both = buckets.temperature(bucket.volume().saturating_add(beside), shares);
        if present <= self.min_buckets || !self.join_hot && both > split {
            return None;
        }
        buckets.join(at.min(other));
        let text = format!(
            "bucket {at} has {} of the volume: it is joined with bucket {other}, the colder neighbour",
            size(bucket.volume()),
        );
        let reason = Reason::new(text, vec![cold.so(Effect::Joined)]);
        Some(Decision { name: "bucket-joined", reason, facts: facts.into() })
    }

    /// N in temperatures.
    fn shares(&self, buckets: &Buckets) -> u64 {
        if self.count_present { buckets.all.len() as u64 } else { buckets.configured }
    }

    /// The volume and temperature of a bucket.
    fn measured(&self, buckets: &Buckets, index: usize, bucket: &Bucket) -> [Fact; 2] {
        let of = Of::Item(index);
        let volume = bucket.volume();
        let temperature = buckets.temperature(volume, self.shares(buckets));
        [
            Fact::Number { name: "bucket-volume", of, value: volume, unit: Unit::Bytes },
            Fact::Number {
                name: "bucket-temperature",
                of,
                value: temperature,
                unit: Unit::Thousandths,
            },
        ]
    }
}
