//! PTierDB: tiering in which tables are split between key prefixes, and move down rather than merge where they
//! can (Liu and Zhou).
//!
//! The tables of a level may overlap: it has several runs. A table is *single-prefix* if its set of prefixes
//! has one; one whose set is unknown counts as holding every prefix that it spans. `T_s` is `split-bytes`.
//!
//! 1. **Split.** A merge ends a table between two prefixes once it has `T_s`, if `T_s` of the merge is left;
//!    within a prefix at `target-file-bytes`.
//! 2. **Level 0** is due at `l0-compaction-trigger` runs. Those of its tables that overlap are merged and
//!    split, with nothing of level 1.
//! 3. **Merge and move.** A level over its capacity goes down whole. Each set of tables that overlap is merged
//!    in part, and the rest moves: `prefixes.rs` says what, `places.rs` where to and in which order. The
//!    capacity of level 1 is `level-base-bytes`, that of each other one `size-ratio` times the one above.
//! 4. **The deepest level** has no next: over its capacity it becomes the next as it is, by a change of levels.
//! 5. **Intra-level merge.** A table of the deepest level that was read more than `read-limit` times since it
//!    is there is merged with the tables of the level that it overlaps, into the place of the newest.
//!
//! The level furthest over its capacity comes first, then level 0, then reads; level 0 before any other
//! shortly before writes stall. As in the paper, what overwrites leave in the deepest level stays there until
//! it is read.

mod places;
mod prefixes;

use crate::context::PlanContext;
use crate::policy::Policy;
use crate::status::{Capacity, PolicyStatus};
use crate::toolkit::filters::Filters;
use crate::toolkit::format::{count, size};
use crate::toolkit::group_builder::{bytes, components};
use crate::toolkit::parameter::{Conflict, Described, ParameterRef, hexadecimal, prose};
use crate::toolkit::view::{Vertical, View, deepest};
use places::{Ages, Item, Next, send_down};
use std::sync::Arc;
use terrane_types::{
    Action, Compaction, Destination, Effect, Group, LevelChange, Order, Plan, PrefixRule,
    PrefixSplit, Quantity, Reason, Relation, Reshape, Shape, TableId, TableInfo, Term, Unit,
    sort_by,
};

/// The policy of PTierDB, and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PTier {
    /// The factor between capacities.
    pub size_ratio: u64,
    /// The capacity of level 1, in bytes.
    pub level_base_bytes: u64,
    /// Size at which a table is closed even within a prefix, in bytes.
    pub target_file_bytes: u64,
    /// `T_s`: the least size of a table that ends between prefixes, in bytes.
    pub split_bytes: u64,
    /// Division of filter memory among runs.
    pub filters: Filters,
    /// Runs that wait in level 0 before they are merged.
    pub l0_compaction_trigger: u64,
    /// Length of a key's prefix in bytes; 0 with a delimiter.
    pub prefix_length: u64,
    /// The prefix of a key: all through the first of this one byte; empty for a length.
    pub prefix_delimiter: Vec<u8>,
    /// Reads of a table of the deepest level above which it is merged.
    pub read_limit: u64,
}

impl Default for PTier {
    fn default() -> Self {
        PTier {
            size_ratio: 10,
            level_base_bytes: 10 << 20,
            target_file_bytes: 64 << 20,
            split_bytes: 4 << 20,
            filters: Filters::Uniform,
            l0_compaction_trigger: 4,
            prefix_length: 4,
            prefix_delimiter: Vec::new(),
            read_limit: 10_000,
        }
    }
}

impl PTier {
    /// The default, but for prefixes that end with this byte.
    #[must_use]
    pub fn with_delimiter(delimiter: u8) -> Self {
        PTier { prefix_length: 0, prefix_delimiter: vec![delimiter], ..PTier::default() }
    }
}

impl Policy for PTier {
    fn name(&self) -> &'static str {
        "ptier"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let mut view = View::new(self.rule(), context);
        view.capacities = (1..=view.last()).map(|level| (level, self.capacity(level))).collect();
        let urgent = if view.nears_stop() { self.empty_level0(&view) } else { None };
        let mut due = Vec::new();
        for level in 1..=view.last() {
            let (have, limit) = (view.staying(level), self.capacity(level));
            if view.staying_term(level, Relation::Greater).is(Relation::Greater) {
                due.push((level, have as f64 / limit.max(1) as f64));
            }
        }
        sort_by(&mut due, |(_, a), (_, b)| b.total_cmp(a));
        let go_down = |(level, _): &(usize, f64)| match *level {
            level if level == view.last() => self.deepen(&view),
            level => self.merge_and_move(&view, level),
        };
        urgent
            .or_else(|| due.iter().find_map(go_down))
            .or_else(|| self.empty_level0(&view))
            .or_else(|| self.merge_read(&view, context))
    }

    fn reads_prefixes(&self) -> bool {
        true
    }

    fn watches_reads(&self) -> bool {
        true
    }

    fn status(&self, shape: &Shape, _: &[u8]) -> PolicyStatus {
        let capacity = |level: usize| match level {
            0 => Capacity { bytes: None, runs: Some(self.l0_compaction_trigger) },
            _ => Capacity { bytes: Some(self.capacity(level)), runs: None },
        };
        PolicyStatus { capacities: (0..=deepest(shape)).map(capacity).collect(), facts: Vec::new() }
    }
}

impl PTier {
    fn rule(&self) -> Vertical {
        Vertical {
            size_ratio: self.size_ratio,
            level_base_bytes: self.level_base_bytes,
            target_file_bytes: self.target_file_bytes,
            l0_compaction_trigger: self.l0_compaction_trigger,
            dynamic_level_bytes: false,
        }
    }

    /// The capacity of a level below level 0, in bytes.
    fn capacity(&self, level: usize) -> u64 {
        let exponent = u32::try_from(level.saturating_sub(1)).unwrap_or(u32::MAX);
        self.level_base_bytes.saturating_mul(self.size_ratio.saturating_pow(exponent))
    }

    fn prefix_rule(&self) -> PrefixRule {
        match self.prefix_delimiter.first() {
            Some(delimiter) => PrefixRule::Delimiter(*delimiter),
            None => PrefixRule::Length(u32::try_from(self.prefix_length).unwrap_or(u32::MAX)),
        }
    }

    fn merge(&self) -> Action {
        let split = PrefixSplit { rule: self.prefix_rule(), least_bytes: self.split_bytes };
        Action::split_merge(split, self.target_file_bytes)
    }

    /// Step 2, one plan at a time.
    fn empty_level0(&self, view: &View<'_>) -> Option<Plan> {
        let trigger = Quantity::new("l0-compaction-trigger", self.l0_compaction_trigger.max(1));
        let (enough, near) = (view.waiting_term(trigger), view.near_stop_term());
        let is_near = view.waiting_runs > 0 && near.is(Relation::AtLeast);
        let term = [(enough, enough.is(Relation::AtLeast)), (near, is_near)];
        let term = term.into_iter().find(|(_, is_due)| *is_due).map(|(term, _)| term)?;
        let into_level1 = view.running.groups().any(|group| group.destination.level == 1);
        if into_level1 || view.is_any_held(0) {
            return None;
        }
        let next = Next::of(view, 1);
        let parts = components(view.level(0).collect());
        let reason = format!(
            "level 0 has {}: {} of tables that overlap are merged and split between prefixes into level 1",
            count(view.runs(0).len(), "run"),
            count(parts.len(), "set"),
        );
        let groups = parts.iter().map(|tables| {
            let merged = Item::new(tables.iter().map(|table| (0, *table)).collect());
            let place = next.place(&[], &merged);
            Group::new(merged.ids(), next.destination(place), self.merge())
        });
        let reason = Reason::new(reason, vec![term.so(Effect::Leaves(0))]);
        Some(Compaction::parallel(groups.collect(), reason).into())
    }

    /// Step 3.
    fn merge_and_move(&self, view: &View<'_>, level: usize) -> Option<Plan> {
        let mut groups = view.running.groups().map(|group| group.destination.level);
        if groups.any(|into| into == level || into == level + 1) || view.is_any_held(level) {
            return None;
        }
        let ages = Ages::of(view.runs(level));
        let (rule, next) = (self.prefix_rule(), Next::of(view, level + 1));
        let mut items = Vec::new();
        let (mut merged, mut moved, mut bytes_merged) = (0, 0, 0u64);
        for tables in components(view.level(level).collect()) {
            let sets = ages.close(prefixes::merge_sets(&tables, rule));
            let alone = tables.iter().filter(|t| !sets.iter().any(|set| set.has(t.id)));
            let mut set: Vec<_> = alone.filter_map(|t| ages.alone(t)).collect();
            moved += set.len();
            merged += tables.len() - set.len();
            for set in &sets {
                bytes_merged = bytes_merged.saturating_add(bytes(&set.tables()));
            }
            set.extend(sets);
            items.push(set);
        }
        let groups = send_down(items, &next, &self.merge());
        let reason = format!(
            "level {level} has {}: {} of {} that share prefixes are merged, {} moved into level {}",
            size(view.staying(level)),
            count(merged, "table"),
            size(bytes_merged),
            count(moved, "table"),
            level + 1,
        );
        let reason = Reason::new(reason, vec![over(view, level, Effect::Leaves(level))]);
        Some(Compaction { groups, order: Order::Parallel, reason }.into())
    }

    /// Step 4.
    fn deepen(&self, view: &View<'_>) -> Option<Plan> {
        let last = view.last();
        if view.running.writes_from(last) {
            return None;
        }
        let reason = format!(
            "level {last}, the deepest, has {}: it becomes level {}",
            size(view.staying(last)),
            last + 1
        );
        let reason = Reason::new(reason, vec![over(view, last, Effect::Becomes(last, last + 1))]);
        Some(Reshape { change: LevelChange::Add(last), reason }.into())
    }

    /// Step 5.
    fn merge_read(&self, view: &View<'_>, context: &PlanContext) -> Option<Plan> {
        let level = view.last();
        if view.is_any_held(level) || view.running.writes_from(level) {
            return None;
        }
        let reads = context.observed.table_reads.iter();
        let is_hot = |reads: u64| self.reads_term(reads).is(Relation::Greater);
        let mut read: Vec<_> = reads.filter(|(_, reads)| is_hot(**reads)).collect();
        sort_by(&mut read, |(a, x), (b, y)| (y, a).cmp(&(x, b)));
        let ages = Ages::of(view.runs(level));
        read.into_iter().find_map(|(id, reads)| self.merge_one_read(view, &ages, *id, *reads))
    }

    /// The reads of a table, compared with those after which it is merged.
    fn reads_term(&self, reads: u64) -> Term {
        let have = Quantity::new("table-reads", reads);
        let limit = Quantity::new("read-limit", self.read_limit);
        Term::new(Unit::Operations, have, Relation::Greater, limit)
    }

    /// Merges a table of the deepest level with those that it overlaps there, if there are any.
    fn merge_one_read(
        &self,
        view: &View<'_>,
        ages: &Ages<'_>,
        id: TableId,
        reads: u64,
    ) -> Option<Plan> {
        let level = view.last();
        let found = view.shape.table(id).filter(|found| found.place.level == level)?;
        let (from, to) = (&found.table.smallest, &found.table.largest);
        let near: Vec<&Arc<TableInfo>> =
            view.runs(level).iter().flat_map(|run| run.overlapping(from, to)).collect();
        if near.len() < 2 {
            return None;
        }
        let set = ages.close(vec![near]).pop()?;
        let tables = set.tables();
        let reason = format!(
            "{id} of level {level}, the deepest, was read {reads} times: {} of {} that overlap are merged",
            count(tables.len(), "table"),
            size(bytes(&tables)),
        );
        let term = self.reads_term(reads).so(Effect::Merges(level));
        let run = ages.run(set.age())?;
        let group = Group::new(set.ids(), Destination { level, run }, self.merge());
        Some(Compaction::parallel(vec![group], Reason::new(reason, vec![term])).into())
    }
}

/// The comparison by which a level is over its capacity.
fn over(view: &View<'_>, level: usize, effect: Effect) -> Term {
    view.staying_term(level, Relation::Greater).so(effect)
}

/// The longest prefix, in bytes.
const LONGEST: u64 = 1024;

impl Described for PTier {
    fn filters(&self) -> Filters {
        self.filters
    }

    fn summary(&self) -> &'static str {
        prose(
            "Tiering with tables split between key prefixes, which move down where they need not be merged; \
             what is read often is merged in the deepest level (PTierDB).",
        )
    }

    fn tuning(&mut self) -> Vec<ParameterRef<'_>> {
        let number = ParameterRef::number;
        vec![
            ParameterRef::size_ratio(&mut self.size_ratio),
            number(
                ParameterRef::LEVEL_BASE_BYTES,
                "capacity of level 1, in bytes",
                (1 << 10, 1 << 40),
                &mut self.level_base_bytes,
            ),
            number(
                ParameterRef::TARGET_FILE_BYTES,
                "bytes at which a table is closed, even within a prefix",
                (1 << 10, 1 << 40),
                &mut self.target_file_bytes,
            ),
            number(
                ParameterRef::SPLIT_BYTES,
                "least bytes of a table that ends between two prefixes, and of what follows it",
                (1, 1 << 40),
                &mut self.split_bytes,
            ),
            ParameterRef::filters(&mut self.filters),
            ParameterRef::l0_compaction_trigger(&mut self.l0_compaction_trigger),
            number(
                PREFIX_LENGTH,
                "length of the prefix of a key, in bytes; 0 with a delimiter, which implies it",
                (0, LONGEST),
                &mut self.prefix_length,
            ),
            ParameterRef::key(
                PREFIX_DELIMITER,
                "byte with which the prefix of a key ends, in hexadecimal digits; empty for a prefix length",
                &mut self.prefix_delimiter,
            ),
            number(
                "read-limit",
                "reads of a table of the deepest level above which it is merged with those that it overlaps",
                (1, 1 << 50),
                &mut self.read_limit,
            ),
        ]
    }

    fn complete(&mut self, is_given: &dyn Fn(&str) -> bool) {
        let has_delimiter = is_given(PREFIX_DELIMITER) && self.prefix_delimiter.len() == 1;
        if has_delimiter && !is_given(PREFIX_LENGTH) {
            self.prefix_length = 0;
        }
    }

    fn conflict(&self) -> Option<Conflict> {
        let refused = |parameter, expected, found| Some(Conflict { parameter, expected, found });
        if self.split_bytes > self.target_file_bytes {
            let expected = format!(
                "at most `{}`: {}",
                ParameterRef::TARGET_FILE_BYTES,
                self.target_file_bytes
            );
            return refused(ParameterRef::SPLIT_BYTES, expected, self.split_bytes.to_string());
        }
        let found = || hexadecimal(&self.prefix_delimiter);
        match self.prefix_delimiter.len() {
            0 if self.prefix_length == 0 => refused(
                PREFIX_LENGTH,
                format!("1 to {LONGEST}, or 0 with a `prefix-delimiter`"),
                "0".to_owned(),
            ),
            0 => None,
            1 if self.prefix_length == 0 => None,
            1 => {
                let expected =
                    format!("none, or `prefix-length` 0 instead of {}", self.prefix_length);
                refused(PREFIX_DELIMITER, expected, found())
            }
            _ => refused(PREFIX_DELIMITER, "one byte".to_owned(), found()),
        }
    }
}

const PREFIX_LENGTH: &str = "prefix-length";
const PREFIX_DELIMITER: &str = "prefix-delimiter";
