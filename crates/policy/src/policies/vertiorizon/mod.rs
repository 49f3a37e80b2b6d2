//! Vertiorizon: horizontal growth above, where most merges are, and vertical growth below, where most data
//! is ("How to Grow an LSM-tree?").
//!
//! The **horizontal part** has the capacity of n buffers in l levels, leveled or tiered
//! (`toolkit/horizontal.rs`). Below are V1 of `n*B*T/sqrt(2)` and V2 of `n*B*T^2` bytes, leveled or tiered.
//!
//! 1. **Admissions** (`toolkit/admission.rs`) go as far down the horizontal part as their counters say, in
//!    one merge.
//! 2. **Drain.** The admission with which the part holds n buffers, or its tiering counters are all 0, is
//!    merged with all of it into V1. It waits while V1 is over its capacity. Then, with the part empty:
//!    n is multiplied by 1 + 1/T, and grows by at least one buffer, if V2 is full; and l and the merge
//!    policy are chosen again (`tuning.rs`), if they are not fixed, for the operations of a sliding window, and so is
//!    the merge policy of V1 and V2, once it is known what a block that is read costs beside a page that is merged.
//!    Where they were tiered and are leveled from now on, V1 becomes one run at once, and V2 by merges in place, table
//!    by table. A store that is only read has no drain and keeps its design: the paper adjusts n at a drain, since that
//!    "incurs no additional overhead because it is after a full clear of the horizontal part" (its section 5.1).
//! 3. **V1 over its capacity** goes into V2 by partial compactions: the table that overlaps least; if tiered,
//!    as in `toolkit/partial_tiering.rs`, and V2 with more than T runs is merged in place. This precedes
//!    admissions, except where level 0 has three quarters of the runs at which writes stall. A drain fills V1 at once,
//!    and while its tables go down level 0 would reach its stop, although most admissions then only move tables.
//! 4. **Levels.** V1 and V2 are the two levels below the horizontal part. When l changes, levels are added
//!    or dropped above them; nothing is rewritten.
//! 5. **Backbone.** In place of lazy leveling the horizontal part is tiered, and has as many levels as
//!    lazy leveling has tiered ones: the least l with `T^l >= n`. Below it is one leveled level of `n*B*T`.
//! 6. **Any other tree** is taken over: its deepest two levels are V1 and V2, and what is above them is
//!    drained first. A vertical level that must be one run becomes one.
//!
//! n starts with the size at which V2 holds the declared or present data, at least T.

pub(crate) mod memory;
mod steps;
#[cfg(test)]
mod tests;
pub(crate) mod tuning;

use crate::context::PlanContext;
use crate::policy::{Installed, Policy, Step};
use crate::status::{Capacity, Decision, Fact, PolicyStatus};
use crate::toolkit::admission::below_level0;
use crate::toolkit::filters::Filters;
use crate::toolkit::horizontal::{Counters, MergePolicy};
use crate::toolkit::observations::pages_and_filters;
use crate::toolkit::parameter::{Choose, Conflict, Described, ParameterRef, prose};
use crate::toolkit::view::{Vertical, View};
use memory::{Learned, Memory};
use terrane_types::{Level, LevelChange, Of, Plan, Shape, Unit};
use tuning::{Design, Tuned, Workload, cheapest};

/// The Vertiorizon policy and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vertiorizon {
    /// T: V2 is T^2 times as large as the horizontal part; with `backbone` the one vertical level is T
    /// times as large.
    pub size_ratio: u64,
    /// n at first; 0 for the data's.
    pub buffers: u64,
    /// Bytes that the tree is going to hold; 0 for those that are present.
    pub data_bytes: u64,
    /// l; 0 for what costs least.
    pub levels: u64,
    /// The merge policy of the horizontal part.
    pub merge_policy: MergeChoice,
    /// The merge policy of V1 and V2.
    pub vertical_merge_policy: MergeChoice,
    /// Operations of the window for which the part is tuned.
    pub window: u64,
    /// Whether leveling is merged less often where buffers repeat keys.
    pub skew: bool,
    /// Whether it is the backbone of lazy leveling: tiered, above one leveled level.
    pub backbone: bool,
    /// B: about how many bytes are admitted at once.
    pub level_base_bytes: u64,
    /// Size at which a table is closed, in bytes.
    pub target_file_bytes: u64,
    /// Division of filter memory among runs.
    pub filters: Filters,
}

/// The choice of a merge policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MergeChoice {
    /// The design with the least cost.
    #[default]
    Tuned,
    /// Always leveling.
    Leveling,
    /// Always tiering.
    Tiering,
}

impl MergeChoice {
    /// Returns the policy, unless it is tuned.
    fn fixed(self) -> Option<MergePolicy> {
        match self {
            MergeChoice::Tuned => None,
            MergeChoice::Leveling => Some(MergePolicy::Leveling),
            MergeChoice::Tiering => Some(MergePolicy::Tiering),
        }
    }
}

impl Choose for MergeChoice {
    fn among(&self) -> &'static [&'static str] {
        &["tuned", "leveling", "tiering"]
    }

    fn at(&self) -> usize {
        *self as usize
    }

    fn choose(&mut self, at: usize) {
        *self = match at {
            1 => MergeChoice::Leveling,
            2 => MergeChoice::Tiering,
            _ => MergeChoice::Tuned,
        };
    }
}

impl Default for Vertiorizon {
    fn default() -> Self {
        Vertiorizon {
            size_ratio: 6,
            buffers: 0,
            data_bytes: 0,
            levels: 0,
            merge_policy: MergeChoice::Tuned,
            vertical_merge_policy: MergeChoice::Leveling,
            window: 1 << 20,
            skew: false,
            backbone: false,
            level_base_bytes: 4 << 20,
            target_file_bytes: 2 << 20,
            filters: Filters::Uniform,
        }
    }
}

impl Vertiorizon {
    /// n, for this many bytes.
    fn buffers_for(&self, shape: &Shape) -> u64 {
        let data = if self.data_bytes > 0 { self.data_bytes } else { shape.bytes() };
        let power = if self.backbone { self.size_ratio } else { self.size_ratio.pow(2) };
        let fitting = data.div_ceil(self.level_base_bytes.saturating_mul(power).max(1));
        match self.buffers {
            0 => fitting.max(self.size_ratio).max(1),
            buffers => buffers,
        }
    }

    /// Returns the stored memory, or one made from the shape.
    fn memory(&self, state: &[u8], shape: &Shape) -> Memory {
        let mut remembered = Memory::read(state).filter(|memory| {
            // Another number of levels may have been fixed since.
            self.levels == 0 || self.backbone || memory.levels() as u64 == self.levels
        });
        if let Some(memory) = &mut remembered
            && below_level0(shape) == 0
        {
            memory.vertical = memory.levels() + 1;
        }
        remembered.unwrap_or_else(|| self.memory_of(shape, Learned::default()))
    }

    /// Makes a memory from a shape, with knowledge of the operations.
    fn memory_of(&self, shape: &Shape, learned: Learned) -> Memory {
        let buffers = self.buffers_for(shape);
        let workload = self.workload(shape, &learned, buffers);
        let chosen = self.tune(&workload, MergePolicy::Leveling).1;
        let counters = Self::counters(chosen, buffers);
        let deepest = shape.deepest();
        let taken = if self.backbone { deepest } else { deepest.saturating_sub(1) };
        let vertical = taken.max(counters.counts.len() + 1);
        let counted = shape.between(1, vertical).is_empty();
        Memory { below: chosen.below, ..Memory::new(buffers, vertical, counted, counters, learned) }
    }

    fn counters(design: Design, buffers: u64) -> Counters {
        let slack = design.slack;
        Counters { slack, ..Counters::new(design.merge, design.levels, buffers) }
    }

    fn workload(&self, shape: &Shape, learned: &Learned, buffers: u64) -> Workload {
        let (entries_of_a_page, false_positives) = pages_and_filters(shape);
        let repeated = if self.skew { learned.repeated as f64 / 1000.0 } else { 0.0 };
        Workload {
            operations: learned.seen.operations(),
            buffers,
            entries_of_a_page,
            false_positives,
            repeated,
            page: learned.seen.page(),
            size_ratio: self.size_ratio as f64,
        }
    }

    /// The designs that are compared, and the choice, where V1 and V2 have this merge policy.
    fn tune(&self, workload: &Workload, below: MergePolicy) -> (Vec<Design>, Design) {
        let backbone = self.backbone.then(|| {
            let enough = |levels: u32| self.size_ratio.saturating_pow(levels) >= workload.buffers;
            (1..tuning::LEVELS_MAX as u32)
                .find(|l| enough(*l))
                .map_or(tuning::LEVELS_MAX, u64::from)
        });
        let levels = backbone.or((self.levels > 0).then_some(self.levels));
        let merge =
            if self.backbone { Some(MergePolicy::Tiering) } else { self.merge_policy.fixed() };
        let fixed = match self.backbone {
            true => Some(MergePolicy::Leveling),
            false => self.vertical_merge_policy.fixed(),
        };
        let designs = workload.designs(levels, merge, fixed);
        let merge = MergePolicy::Leveling;
        let any = Design { levels: 1, merge, below: merge, slack: 0, cost: 0.0 };
        let chosen = cheapest(&designs, below).unwrap_or(any);
        (designs, chosen)
    }

    /// The capacity of the horizontal part, in bytes.
    fn horizontal_capacity(&self, memory: &Memory) -> u64 {
        self.level_base_bytes.saturating_mul(memory.buffers)
    }

    /// That of V1.
    fn v1_capacity(&self, memory: &Memory) -> u64 {
        let capacity = self.horizontal_capacity(memory) as f64 * self.size_ratio as f64;
        // Exact enough for sizes; more than fits is cut off.
        (if self.backbone { capacity } else { capacity / std::f64::consts::SQRT_2 }) as u64
    }

    /// That of the last level.
    fn last_capacity(&self, memory: &Memory) -> u64 {
        let power = if self.backbone { self.size_ratio } else { self.size_ratio.pow(2) };
        self.horizontal_capacity(memory).saturating_mul(power)
    }

    /// Whether V1 and V2 are one run each.
    fn is_leveled(&self, memory: &Memory) -> bool {
        self.vertical_merge(memory) == MergePolicy::Leveling
    }

    /// Returns the merge policy of V1 and V2; the level below the backbone is leveled.
    fn vertical_merge(&self, memory: &Memory) -> MergePolicy {
        match self.backbone {
            true => MergePolicy::Leveling,
            false => self.vertical_merge_policy.fixed().unwrap_or(memory.below),
        }
    }

    /// After a drain: n grows, and the part is tuned.
    fn renew(&self, memory: &mut Memory, last_bytes: u64, shape: &Shape) -> Tuned {
        if last_bytes >= self.last_capacity(memory) {
            memory.buffers =
                memory.buffers.saturating_add((memory.buffers / self.size_ratio).max(1));
        }
        let workload = self.workload(shape, &memory.learned, memory.buffers);
        let (designs, chosen) = self.tune(&workload, memory.below);
        memory.counters = Self::counters(chosen, memory.buffers);
        memory.below = chosen.below;
        memory.counted = true;
        Tuned { designs, chosen, buffers: memory.buffers }
    }

    /// Measures the share of a buffer that the next one repeats, by the bytes of level 1 and the buffers
    /// admitted since it was empty: `j - (j-1) * repeated` buffers. A moving average: the new measurement
    /// weighs a quarter.
    fn measure(&self, memory: &mut Memory, before: &Shape) {
        let arrivals = memory.counters.counts.first().copied().unwrap_or(0);
        let bytes = before.levels().get(1).map_or(0, Level::bytes);
        if memory.counters.merge == MergePolicy::Leveling && arrivals > 1 {
            let buffers = bytes as f64 / self.level_base_bytes.max(1) as f64;
            let repeated = (arrivals as f64 - buffers) / (arrivals - 1) as f64;
            // As an integer: a clamp of floats can print them, with code that browsers would load.
            let thousandths = ((repeated * 1000.0) as u64).min(1000);
            memory.learned.repeated = (memory.learned.repeated * 3 + thousandths) / 4;
        }
    }
}

impl Policy for Vertiorizon {
    fn name(&self) -> &'static str {
        "vertiorizon"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let memory = self.memory(context.state, context.shape);
        let rule = Vertical::staging(self.level_base_bytes, self.target_file_bytes);
        let mut view = View::new(rule, context);
        view.capacities = vec![(memory.vertical, self.v1_capacity(&memory))];
        let settled = memory.counted && memory.vertical == memory.levels() + 1;
        let settle = self.settle(&view, &memory);
        let is_settling = settle.is_some() || !settled && view.running.writes_from(1);
        if is_settling {
            return settle.or_else(|| view.gather());
        }
        let go_down = || self.go_down(&view, &memory, context.workers);
        let admit = || self.admit(&view, &memory);
        let next =
            if view.nears_stop() { admit().or_else(go_down) } else { go_down().or_else(admit) };
        next.or_else(|| view.gather())
    }

    fn weighs_costs(&self) -> bool {
        !self.backbone
    }

    fn apply(&self, state: &[u8], installed: &Installed) -> Vec<u8> {
        self.step(state, installed).0.state()
    }

    fn decisions(&self, state: &[u8], installed: &Installed) -> Vec<Decision> {
        let (memory, tuned) = self.step(state, installed);
        tuned.map(|tuned| tuned.decision(memory.learned.seen.operations())).into_iter().collect()
    }

    fn adopt(&self, shape: &Shape) -> Vec<u8> {
        self.memory(&[], shape).state()
    }

    fn readopt(&self, state: &[u8], shape: &Shape) -> Vec<u8> {
        let learned = Memory::read(state).map(|memory| memory.learned);
        self.memory_of(shape, learned.unwrap_or_default()).state()
    }

    fn status(&self, shape: &Shape, state: &[u8]) -> PolicyStatus {
        let memory = self.memory(state, shape);
        let mut capacities = memory.counters.capacities(self.level_base_bytes);
        let runs = self.is_leveled(&memory).then_some(1);
        capacities.resize(memory.vertical, Capacity::default());
        let mut vertical = vec![self.v1_capacity(&memory), self.last_capacity(&memory)];
        vertical.truncate(if self.backbone { 1 } else { 2 });
        capacities.extend(vertical.into_iter().map(|bytes| Capacity { bytes: Some(bytes), runs }));
        let fact = |name, value, unit| Fact::Number { name, of: Of::Tree, value, unit };
        let mut facts = vec![
            fact("buffers", memory.buffers, Unit::Count),
            fact("levels", memory.levels() as u64, Unit::Count),
            fact("v1-level", memory.vertical as u64, Unit::Count),
            fact("slack", memory.counters.slack, Unit::Count),
            fact("repeated", memory.learned.repeated, Unit::Thousandths),
        ];
        facts.extend(memory.counters.facts());
        PolicyStatus { capacities, facts }
    }
}

impl Vertiorizon {
    /// Returns the memory after a step, and the decision.
    fn step(&self, state: &[u8], installed: &Installed) -> (Memory, Option<Tuned>) {
        let mut tuned = None;
        let mut memory = self.memory(state, installed.before);
        memory.learned.seen.observe(installed.observed, self.window);
        match installed.step {
            Step::Flush { .. } => {}
            Step::Reshape(LevelChange::Add(_)) => memory.vertical += 1,
            Step::Reshape(LevelChange::Drop(_)) => memory.vertical = (memory.vertical - 1).max(1),
            Step::Group { group, ends, .. } if group.destination.level <= memory.vertical => {
                let drains = group.destination.level == memory.vertical;
                let admits = memory.note(installed);
                let takes_over = ends && drains && !memory.counted;
                if !admits && !takes_over {
                    return (memory, None);
                }
                self.measure(&mut memory, installed.before);
                if drains {
                    let last = memory.vertical + usize::from(!self.backbone);
                    let bytes = installed.before.levels().get(last).map_or(0, Level::bytes);
                    tuned = Some(self.renew(&mut memory, bytes, installed.before));
                } else {
                    memory.counters.admit();
                }
            }
            Step::Group { .. } => {}
        }
        (memory, tuned)
    }
}

impl Described for Vertiorizon {
    fn filters(&self) -> Filters {
        self.filters
    }

    fn summary(&self) -> &'static str {
        prose(
            "Horizontal growth above two levels that are merged table by table, tuned to the reads and \
         writes that it sees: good writing and reading without large merges.",
        )
    }

    fn tuning(&mut self) -> Vec<ParameterRef<'_>> {
        vec![
            ParameterRef::size_ratio(&mut self.size_ratio),
            ParameterRef::number(
                "buffers",
                "buffers that the horizontal part holds at first; 0 for as many as the data needs",
                (0, 1 << 30),
                &mut self.buffers,
            ),
            ParameterRef::data_bytes(&mut self.data_bytes),
            ParameterRef::number(
                "levels",
                "levels of the horizontal part; 0 for what costs least",
                (0, tuning::LEVELS_MAX),
                &mut self.levels,
            ),
            ParameterRef::choice(
                "merge-policy",
                "whether levels of the horizontal part are one run or several",
                &mut self.merge_policy,
            ),
            ParameterRef::choice(
                "vertical-merge-policy",
                "whether the two levels below it are one run or several; tuned only where it is known what reads \
                 and merges cost, and leveling until then",
                &mut self.vertical_merge_policy,
            ),
            ParameterRef::number(
                "window-operations",
                "most recent operations that tuning considers",
                (1 << 10, 1 << 40),
                &mut self.window,
            ),
            ParameterRef::switch(
                "skew",
                "whether a leveled horizontal part cascades less often where the same keys are rewritten",
                &mut self.skew,
            ),
            ParameterRef::switch(
                "backbone",
                "whether it replaces the tiered levels of lazy leveling, above one leveled level; levels, \
                 merge-policy and vertical-merge-policy then do not count",
                &mut self.backbone,
            ),
            ParameterRef::level_base_bytes(&mut self.level_base_bytes),
            ParameterRef::target_file_bytes(&mut self.target_file_bytes),
            ParameterRef::filters(&mut self.filters),
        ]
    }

    fn conflict(&self) -> Option<Conflict> {
        let too_few = (1..self.size_ratio).contains(&self.buffers).then(|| Conflict {
            parameter: "buffers",
            expected: format!("0, or `size-ratio` at least: {}", self.size_ratio),
            found: self.buffers.to_string(),
        });
        too_few.or_else(|| Conflict::of_data(self.data_bytes, self.level_base_bytes))
    }
}
