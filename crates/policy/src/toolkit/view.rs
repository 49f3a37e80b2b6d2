//! A vertical policy's view of the tree during one call: sizes, capacities and what is running.
//!
//! L is the deepest level, at least 1, and `N_i` the bytes of level i. The capacity `C_i` is `B * T^i`.
//! Dynamic capacities above L are `max(B, N_L / T^(L-i))` instead: otherwise the level above a new,
//! nearly empty bottom could hold as much as the bottom itself.

use super::group_builder::Target;
use crate::context::{PlanContext, Running};
use crate::status::Capacity;
use terrane_types::{
    Action, Destination, Effect, Level, Placed, Quantity, Relation, Run, RunId, Shape, TableId,
    Tables, Term, Unit, VecSet, tables_of,
};

/// The parameters that the vertical policies share.
#[derive(Clone, Copy)]
pub(crate) struct Vertical {
    /// T: the factor between capacities.
    pub(crate) size_ratio: u64,
    /// B: the least bytes that level 0 sends down at once; the least capacity.
    pub(crate) level_base_bytes: u64,
    /// Size at which a table is closed.
    pub(crate) target_file_bytes: u64,
    /// Runs that wait in level 0 before they are merged.
    pub(crate) l0_compaction_trigger: u64,
    /// Whether capacities follow what the deepest level holds.
    pub(crate) dynamic_level_bytes: bool,
}

impl Vertical {
    /// The rule of a policy that has no capacities.
    pub(crate) fn staging(level_base_bytes: u64, target_file_bytes: u64) -> Self {
        Vertical {
            size_ratio: 2,
            level_base_bytes,
            target_file_bytes,
            l0_compaction_trigger: 1,
            dynamic_level_bytes: false,
        }
    }
}

impl Vertical {
    /// Returns `C_i` in bytes, where L is `last`, with `last_bytes`.
    fn capacity(&self, level: usize, last: usize, last_bytes: u64) -> u64 {
        let Vertical { size_ratio, level_base_bytes, dynamic_level_bytes, .. } = *self;
        let power = |n: usize| size_ratio.saturating_pow(u32::try_from(n).unwrap_or(u32::MAX));
        match last.checked_sub(level) {
            Some(above) if dynamic_level_bytes && above > 0 => {
                level_base_bytes.max(last_bytes / power(above).max(1))
            }
            _ => level_base_bytes.saturating_mul(power(level)),
        }
    }

    /// The capacities of levels 0 to L. Level 0 is compacted when it reaches both of its own; levels
    /// from `leveled` down are one run, those between have up to T.
    pub(crate) fn capacities(&self, shape: &Shape, leveled: usize) -> Vec<Capacity> {
        let last = deepest(shape);
        let last_bytes = shape.levels().get(last).map_or(0, Level::bytes);
        let capacity = |level: usize| match level {
            0 => Capacity {
                bytes: Some(self.level_base_bytes),
                runs: Some(self.l0_compaction_trigger),
            },
            _ => Capacity {
                bytes: Some(self.capacity(level, last, last_bytes)),
                runs: Some(if level < leveled { self.size_ratio } else { 1 }),
            },
        };
        (0..=last).map(capacity).collect()
    }
}

/// L.
#[cfg_attr(target_family = "wasm", inline(never))]
pub(crate) fn deepest(shape: &Shape) -> usize {
    shape.deepest().max(1)
}

/// The state of one planner call.
pub(crate) struct View<'a> {
    pub(crate) rule: Vertical,
    pub(crate) shape: &'a Shape,
    pub(crate) running: &'a Running,
    pub(crate) fresh: RunId,
    /// Capacities of levels that do not follow the rule.
    pub(crate) capacities: Vec<(usize, u64)>,
    held: VecSet<TableId>,
    /// The runs of those tables.
    held_runs: Vec<Destination>,
    /// `N_i`, computed once.
    sizes: Vec<u64>,
    /// Bytes of each level that running groups take further down.
    leaving: Vec<u64>,
    /// Waiting runs of level 0: those of which no running plan reads a table.
    pub(crate) waiting_runs: u64,
    /// Their bytes.
    pub(crate) waiting_bytes: u64,
    /// Runs in level 0 at which writes stall.
    l0_stop_trigger: usize,
    /// Whether runs of level 0 are merged there while a merge below keeps them waiting.
    pub(crate) merge_waiting: bool,
}

impl<'a> View<'a> {
    pub(crate) fn new(rule: Vertical, context: &PlanContext<'a>) -> Self {
        let PlanContext { shape, running, fresh, .. } = *context;
        let mut view = View {
            rule,
            shape,
            running,
            fresh,
            capacities: Vec::new(),
            held: running.held(),
            held_runs: Vec::new(),
            sizes: shape.levels().iter().map(Level::bytes).collect(),
            leaving: vec![0; shape.levels().len()],
            waiting_runs: 0,
            waiting_bytes: 0,
            l0_stop_trigger: context.l0_stop_trigger,
            merge_waiting: true,
        };
        for group in running.groups() {
            for Placed { table, place } in group.inputs.iter().filter_map(|id| shape.table(*id)) {
                if !view.held_runs.contains(&place) {
                    view.held_runs.push(place);
                }
                let leaving = view.leaving.get_mut(place.level);
                if let Some(bytes) = leaving.filter(|_| group.destination.level > place.level) {
                    *bytes = bytes.saturating_add(table.bytes);
                }
            }
        }
        for run in view.runs(0) {
            if !view.is_any_held_of(0, run) {
                view.waiting_runs += 1;
                view.waiting_bytes = view.waiting_bytes.saturating_add(run.bytes());
            }
        }
        view
    }

    /// Whether level 0 has at least three quarters of the runs at which writes stall.
    pub(crate) fn nears_stop(&self) -> bool {
        self.near_stop_term().is(Relation::AtLeast)
    }

    /// L.
    pub(crate) fn last(&self) -> usize {
        deepest(self.shape)
    }

    /// `C_i` in bytes.
    pub(crate) fn capacity(&self, level: usize) -> u64 {
        if let Some((_, capacity)) = self.capacities.iter().find(|(at, _)| *at == level) {
            return *capacity;
        }
        let last = self.last();
        self.rule.capacity(level, last, self.bytes(last))
    }

    /// `N_i`.
    pub(crate) fn bytes(&self, level: usize) -> u64 {
        self.sizes.get(level).copied().unwrap_or(0)
    }

    /// Bytes of a level that no running group takes further down.
    pub(crate) fn staying(&self, level: usize) -> u64 {
        self.bytes(level).saturating_sub(self.leaving_bytes(level))
    }

    /// Bytes of a level that running groups take further down.
    pub(crate) fn leaving_bytes(&self, level: usize) -> u64 {
        self.leaving.get(level).copied().unwrap_or(0)
    }

    /// The runs of a level, newest first.
    pub(crate) fn runs(&self, level: usize) -> &'a [Run] {
        self.shape.levels().get(level).map_or(&[], |l| &l.runs)
    }

    /// The runs below level 0 with their places, newest first.
    pub(crate) fn below_level0(&self) -> Vec<(Destination, &'a Run)> {
        let mut runs = self.shape.runs();
        runs.retain(|(place, _)| place.level > 0);
        runs
    }

    /// A level's newest run; the only one of a leveled level.
    pub(crate) fn run(&self, level: usize) -> Option<&'a Run> {
        self.runs(level).first()
    }

    /// The tables of a level's older runs.
    pub(crate) fn older(&self, level: usize) -> Tables<'a> {
        tables_of(self.runs(level).get(1..).unwrap_or_default())
    }

    /// Every table of a level.
    pub(crate) fn level(&self, level: usize) -> Tables<'a> {
        tables_of(self.runs(level))
    }

    /// Whether a running group consumes the table of this id.
    pub(crate) fn holds(&self, table: &TableId) -> bool {
        self.held.contains(table)
    }

    /// Whether a running group consumes a table of the run.
    pub(crate) fn is_any_held_of(&self, level: usize, run: &Run) -> bool {
        self.held_runs.contains(&Destination { level, run: run.id })
    }

    /// Whether a running group consumes a table of the level.
    pub(crate) fn is_any_held(&self, level: usize) -> bool {
        self.held_runs.iter().any(|place| place.level == level)
    }

    /// Whether nothing runs.
    pub(crate) fn is_idle(&self) -> bool {
        self.running.groups().next().is_none()
    }

    /// Bytes of the levels `from` to `level`.
    pub(crate) fn down_to(&self, from: usize, level: usize) -> u64 {
        let sizes = self.sizes.iter().take(level.saturating_add(1)).skip(from);
        sizes.copied().fold(0, u64::saturating_add)
    }

    /// The run of a level: its newest, one that a running group will create, or a new one.
    pub(crate) fn run_of(&self, level: usize) -> Destination {
        let there = self.runs(level).first().map(|run| run.id);
        let promised = || {
            let mut groups = self.running.groups().map(|g| g.destination);
            groups.find(|d| d.level == level).map(|d| d.run)
        };
        Destination { level, run: there.or_else(promised).unwrap_or(self.fresh) }
    }

    /// The run of a level, as a target.
    pub(crate) fn leveled(&self, level: usize) -> Target<'a> {
        self.target(self.run_of(level), self.run(level))
    }

    /// A new run of a level, as a target.
    pub(crate) fn new_run(&self, level: usize) -> Target<'a> {
        self.target(Destination { level, run: self.fresh }, None)
    }

    fn target(&self, destination: Destination, there: Option<&'a Run>) -> Target<'a> {
        let level = destination.level;
        let is_alone = self.runs(level).len() == there.iter().count();
        let bottom = level > self.last() || level == self.last() && is_alone;
        Target {
            destination,
            there,
            bottom,
            target_file_bytes: self.rule.target_file_bytes,
            trivial_moves: true,
        }
    }

    pub(crate) fn merge(&self) -> Action {
        Action::merge(self.rule.target_file_bytes)
    }

    /// The term that compares the runs of a level with a parameter.
    pub(crate) fn runs_term(
        &self,
        level: usize,
        relation: Relation,
        parameter: &'static str,
        limit: u64,
    ) -> Term {
        let runs = Quantity::level("runs", level, self.runs(level).len() as u64);
        Term::new(Unit::Runs, runs, relation, Quantity::new(parameter, limit))
    }

    /// The term that compares some bytes of a level with its capacity.
    pub(crate) fn capacity_term(&self, level: usize, bytes: u64, relation: Relation) -> Term {
        let bytes = Quantity::level("bytes", level, bytes);
        let capacity = Quantity::level("capacity", level, self.capacity(level));
        Term::new(Unit::Bytes, bytes, relation, capacity)
    }

    /// The bytes of a level that no running group takes further down, compared with its capacity.
    pub(crate) fn staying_term(&self, level: usize, relation: Relation) -> Term {
        let (all, staying) = (self.bytes(level), self.staying(level));
        let name = if staying == all { "bytes" } else { "staying-bytes" };
        let bytes = Quantity::level(name, level, staying);
        let capacity = Quantity::level("capacity", level, self.capacity(level));
        Term::new(Unit::Bytes, bytes, relation, capacity)
    }

    /// The first level from `least` that takes all of the levels from `from` to it, with the comparisons that decide
    /// that: a level takes them if they are within its capacity, and if `place`, where a level has one, holds.
    pub(crate) fn find_room(
        &self,
        from: usize,
        levels: impl Iterator<Item = usize>,
        place: &dyn Fn(usize) -> Option<Term>,
    ) -> (Option<usize>, Vec<Term>) {
        let fits = |term: &Term| term.is(Relation::AtMost) || term.is(Relation::Less);
        let mut terms = Vec::new();
        for level in levels {
            let bytes = Quantity::levels("bytes", from, level, self.down_to(from, level));
            let capacity = Quantity::level("capacity", level, self.capacity(level));
            let room = Term::new(Unit::Bytes, bytes, Relation::AtMost, capacity);
            let mut asked = vec![room];
            asked.extend(place(level));
            if asked.iter().all(fits) {
                terms.append(&mut Term::all_so(asked, Effect::Enters(level)));
                return (Some(level), terms);
            }
            asked.retain(|term| !fits(term));
            terms.append(&mut Term::all_so(asked, Effect::Passes(level)));
        }
        (None, terms)
    }

    /// The waiting runs of level 0, compared with the trigger.
    pub(crate) fn level0_runs_term(&self) -> Term {
        let trigger = self.rule.l0_compaction_trigger;
        self.waiting_term(Quantity::new("l0-compaction-trigger", trigger))
    }

    pub(crate) fn waiting_term(&self, limit: Quantity) -> Term {
        let runs = Quantity::level("waiting-runs", 0, self.waiting_runs);
        Term::new(Unit::Runs, runs, Relation::AtLeast, limit)
    }

    /// The bytes of the waiting runs, compared with B.
    pub(crate) fn level0_bytes_term(&self) -> Term {
        let bytes = Quantity::level("waiting-bytes", 0, self.waiting_bytes);
        let base = Quantity::new("level-base-bytes", self.rule.level_base_bytes);
        Term::new(Unit::Bytes, bytes, Relation::AtLeast, base)
    }

    /// The comparisons by which level 0 is due.
    pub(crate) fn level0_terms(&self) -> Vec<Term> {
        let both = [self.level0_runs_term(), self.level0_bytes_term()];
        both.map(|term| term.so(Effect::Leaves(0))).to_vec()
    }

    /// The runs of level 0, compared with three quarters of those at which writes stall.
    pub(crate) fn near_stop_term(&self) -> Term {
        let runs = Quantity::level("runs", 0, self.runs(0).len() as u64);
        let most = (self.l0_stop_trigger as u64).saturating_mul(3).div_ceil(4);
        let limit = Quantity::new("three-quarters-of-l0-stop-trigger", most);
        Term::new(Unit::Runs, runs, Relation::AtLeast, limit)
    }
}
