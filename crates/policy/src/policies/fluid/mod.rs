//! A fluid tree: vertical growth with a size ratio and a bound on runs for each level.
//!
//! Level i holds `C_i = B * T_1 * ... * T_i` bytes in up to `K_i` runs, the largest level, L, in up to Z (Dayan and
//! Idreos, "Dostoevsky"; with ratios for each level: "The Log-Structured Merge-Bush" by the same, and Liu et al.,
//! "Structural Designs Meet Optimality", Moose). An arrival of level i is about `C_(i-1)`.
//!
//! 1. **Runs.** A run of level i is closed once it is within half an arrival of its share, `C_i / K_i`: another arrival
//!    would take it further from that than it is. What arrives is merged into the newest run, or becomes a run of its
//!    own if that one is closed or busy.
//! 2. **Level 0** with B bytes goes into level 1. With less, its newest runs are merged there; shortly before writes
//!    stall, runs of similar size while they wait.
//! 3. **A level above L is full** with `C_i` bytes, with `K_i` runs the newest of which is closed, or with more runs.
//!    All of it goes into the next level. It waits while `K_(i+1)` runs wait there.
//! 4. **Level L** has no next. Its oldest run moves to a new level once it is within half an arrival of `C_L`. With Z
//!    runs the newest of which is closed, or with more, it is merged in place, so that the tree grows only by what
//!    overwrites and deletes leave.
//! 5. A level from which a running plan reads, or into which one writes, waits.
//!
//! These rules apply to the shape of any other policy. [`Design`] chooses ratios and bounds; [`model`] has the costs of
//! a tree, and the tree that costs least for a mix of operations.

pub mod model;

use crate::context::PlanContext;
use crate::policy::Policy;
use crate::status::{Capacity, PolicyStatus};
use crate::toolkit::filters::Filters;
use crate::toolkit::format::{count, size};
use crate::toolkit::group_builder::build_groups;
use crate::toolkit::parameter::{
    Choose, Conflict, Described, ParameterRef, expected_list, is_list, list_text, prose,
};
use crate::toolkit::view::{Vertical, View, deepest};
use model::{Mix, Store, Tree, tune};
use terrane_types::{
    Compaction, Destination, Effect, MAX_LEVELS, Plan, Quantity, Reason, Relation, Run, Shape,
    Tables, Term, Unit, tables_of,
};

/// Choice of ratios and runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// As the parameters list them.
    Given,
    /// T runs of every level but the largest, which is one.
    LazyLeveling,
    /// Ratios that are squared from level to level up from the largest, each with as many runs; the largest is one run.
    Bush,
    /// Those that cost least for a mix of operations.
    Tuned,
}

impl Design {
    const NAMES: [&str; 4] = ["given", "lazy-leveling", "bush", "tuned"];
}

impl Choose for Design {
    fn among(&self) -> &'static [&'static str] {
        &Design::NAMES
    }

    fn at(&self) -> usize {
        *self as usize
    }

    fn choose(&mut self, at: usize) {
        *self = match at {
            1 => Design::LazyLeveling,
            2 => Design::Bush,
            3 => Design::Tuned,
            _ => Design::Given,
        };
    }
}

/// The policy of a fluid tree, and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fluid {
    /// Choice of ratios and runs.
    pub design: Design,
    /// T of lazy leveling and of the two largest levels of a bush.
    pub design_ratio: u64,
    /// T_1, T_2 and so on; the last repeats. Of the design that is given.
    pub size_ratios: Vec<u64>,
    /// K_1, K_2 and so on; the last repeats. Of the design that is given.
    pub runs: Vec<u64>,
    /// Z, of the design that is given.
    pub largest_runs: u64,
    /// B: the least bytes that level 0 sends down at once.
    pub level_base_bytes: u64,
    /// Size at which a table is closed, in bytes.
    pub target_file_bytes: u64,
    /// Division of filter memory among runs.
    pub filters: Filters,
    /// Bytes that a bush or a tuned tree is made for.
    pub data_bytes: u64,
    /// Share of reads that find a key, in the mix that a tree is tuned for.
    pub reads: u64,
    /// Share of reads that find none.
    pub missing_reads: u64,
    /// Share of short scans.
    pub scans: u64,
    /// Share of writes.
    pub writes: u64,
    /// Bytes of an entry, in the mix.
    pub entry_bytes: u64,
    /// Filter bits of a key, in the mix.
    pub filter_bits: u64,
    /// Cost of a page that is merged, in percent of a block that is read.
    pub page_percent: u64,
}

impl Default for Fluid {
    fn default() -> Self {
        Fluid {
            design: Design::Given,
            design_ratio: 4,
            size_ratios: vec![4],
            runs: vec![2],
            largest_runs: 1,
            level_base_bytes: 4 << 20,
            target_file_bytes: 2 << 20,
            filters: Filters::Uniform,
            data_bytes: 0,
            reads: 25,
            missing_reads: 0,
            scans: 0,
            writes: 75,
            entry_bytes: 1 << 10,
            filter_bits: 10,
            page_percent: 100,
        }
    }
}

/// The greatest ratio, and the most runs of a level.
const RATIO_MAX: u64 = 256;

const SIZE_RATIOS: &str = "size-ratios";
const RUNS: &str = "runs";

impl From<Tree> for Fluid {
    fn from(Tree { size_ratios, runs, largest_runs }: Tree) -> Self {
        Fluid { size_ratios, runs, largest_runs, ..Fluid::default() }
    }
}

impl Fluid {
    /// Returns the ratios and runs of the design.
    #[must_use]
    pub fn tree(&self) -> Tree {
        let buffers = self.data_bytes / self.level_base_bytes.max(1);
        match self.design {
            Design::Given => Tree {
                size_ratios: self.size_ratios.clone(),
                runs: self.runs.clone(),
                largest_runs: self.largest_runs,
            },
            Design::LazyLeveling => Tree::lazy_leveling(self.design_ratio),
            Design::Bush => Tree::bush(self.design_ratio, buffers),
            Design::Tuned => tune(&self.mix(), &self.store()),
        }
    }

    fn mix(&self) -> Mix {
        Mix {
            reads: self.reads as f64,
            missing_reads: self.missing_reads as f64,
            scans: self.scans as f64,
            writes: self.writes as f64,
        }
    }

    fn store(&self) -> Store {
        /// Bytes of a page.
        const PAGE: f64 = 4096.0;
        Store {
            buffers: self.data_bytes as f64 / self.level_base_bytes.max(1) as f64,
            entries_of_a_page: PAGE / self.entry_bytes.max(1) as f64,
            filter_bits: self.filter_bits as f64,
            page: self.page_percent as f64 / 100.0,
        }
    }
}

impl Policy for Fluid {
    fn name(&self) -> &'static str {
        "fluid"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let rule = Vertical::staging(self.level_base_bytes, self.target_file_bytes);
        let view = View::new(rule, context);
        let levels = Levels::new(self, deepest(context.shape));
        let rules = Rules { view: &view, levels: &levels };
        rules
            .admit()
            .or_else(|| (1..=levels.last).find_map(|level| rules.relieve(level)))
            .or_else(|| view.merge_while_waiting())
            .or_else(|| view.merge_within_l0())
    }

    fn status(&self, shape: &Shape, _: &[u8]) -> PolicyStatus {
        let levels = Levels::new(self, deepest(shape));
        let capacity = |level| Capacity {
            bytes: Some(levels.capacity(level)),
            runs: Some(if level == 0 { 1 } else { levels.runs(level) }),
        };
        PolicyStatus { capacities: (0..=levels.last).map(capacity).collect(), facts: Vec::new() }
    }
}

struct Levels {
    tree: Tree,
    /// `C_i` from level 0 on.
    capacities: Vec<u64>,
    /// L.
    last: usize,
}

impl Levels {
    fn new(policy: &Fluid, last: usize) -> Self {
        let tree = policy.tree();
        let mut capacity = policy.level_base_bytes;
        let mut capacities = vec![capacity];
        for level in 1..=last {
            capacity = capacity.saturating_mul(tree.ratio(level));
            capacities.push(capacity);
        }
        Levels { tree, capacities, last }
    }

    fn capacity(&self, level: usize) -> u64 {
        self.capacities.get(level).copied().unwrap_or(u64::MAX)
    }

    /// The runs of a level: Z of the last.
    fn runs(&self, level: usize) -> u64 {
        if level >= self.last { self.tree.largest_runs } else { self.tree.runs(level) }.max(1)
    }

    /// Half of what arrives at a level at once.
    fn half_an_arrival(&self, level: usize) -> u64 {
        self.capacity(level.saturating_sub(1)) / 2
    }
}

struct Rules<'v, 'a> {
    view: &'v View<'a>,
    levels: &'v Levels,
}

impl<'a> Rules<'_, 'a> {
    /// Compares a run of a level with the bytes from which it is closed.
    fn closed(&self, level: usize, run: &Run) -> Term {
        let share = self.levels.capacity(level) / self.levels.runs(level);
        let limit = share.saturating_sub(self.levels.half_an_arrival(level));
        let limit = Quantity::level("run-share-less-half-an-arrival", level, limit);
        let bytes = Quantity::level("newest-run", level, run.bytes());
        Term::new(Unit::Bytes, bytes, Relation::Greater, limit)
    }

    /// Compares the runs of a level with those that it may have.
    fn crowded(&self, level: usize, relation: Relation) -> Term {
        let runs = Quantity::level("runs", level, self.view.runs(level).len() as u64);
        let limit = Quantity::level("runs-allowed", level, self.levels.runs(level));
        Term::new(Unit::Runs, runs, relation, limit)
    }

    /// The comparisons by which a level has all its runs, if it has.
    fn has_all_runs(&self, level: usize) -> Option<Vec<Term>> {
        let over = self.crowded(level, Relation::Greater);
        if over.is(Relation::Greater) {
            return Some(vec![over]);
        }
        let all = self.crowded(level, Relation::AtLeast).only_if(Relation::AtLeast)?;
        let closed = self.closed(level, self.view.run(level)?).only_if(Relation::Greater)?;
        Some(vec![all, closed])
    }

    /// Whether a running plan reads nothing of a level and writes nothing into it.
    fn is_free(&self, level: usize) -> bool {
        let writes = |level| self.view.running.groups().any(|g| g.destination.level == level);
        !self.view.is_any_held(level) && !writes(level)
    }

    /// Whether fewer runs of a level wait than it may have, or its newest takes more.
    fn has_room(&self, level: usize) -> bool {
        let runs = self.view.runs(level).iter();
        let waiting = runs.filter(|run| !self.view.is_any_held_of(level, run)).count() as u64;
        waiting < self.levels.runs(level) || self.open(level).is_some()
    }

    fn open(&self, level: usize) -> Option<&'a Run> {
        let newest = self.view.run(level)?;
        let is_open = !self.closed(level, newest).is(Relation::Greater);
        (is_open && self.is_free(level)).then_some(newest)
    }

    fn admit(&self) -> Option<Plan> {
        let view = self.view;
        if !view.is_level0_due() || !self.is_free(0) || !self.has_room(1) {
            return None;
        }
        let cause = format!("level 0 has {}", size(view.waiting_bytes));
        Some(self.send(0, view.level(0), cause, view.level0_terms()))
    }

    fn relieve(&self, level: usize) -> Option<Plan> {
        if level == self.levels.last {
            return self.deepen().or_else(|| self.unite(level));
        }
        let (bytes, capacity) = (self.view.bytes(level), self.levels.capacity(level));
        let full = Term::new(
            Unit::Bytes,
            Quantity::level("bytes", level, bytes),
            Relation::AtLeast,
            Quantity::level("capacity", level, capacity),
        );
        let terms = match full.is(Relation::AtLeast) {
            true => vec![full],
            false => self.has_all_runs(level)?,
        };
        if !self.is_free(level) || !self.has_room(level + 1) {
            return None;
        }
        let runs = count(self.view.runs(level).len(), "run");
        let cause = format!("level {level} has {} of {} in {runs}", size(bytes), size(capacity));
        let terms = Term::all_so(terms, Effect::Leaves(level));
        Some(self.send(level, self.view.level(level), cause, terms))
    }

    fn send(&self, level: usize, tables: Tables<'a>, cause: String, terms: Vec<Term>) -> Plan {
        let next = level + 1;
        let open = if next > self.levels.last { None } else { self.open(next) };
        let target = match open {
            Some(_) => self.view.leveled(next),
            None => self.view.new_run(next),
        };
        let groups = build_groups(tables.collect(), target);
        let into = if open.is_some() { "go into the newest run" } else { "become a run" };
        let text = format!("{cause}: they {into} of level {next}, in {}", groups.len());
        Compaction::parallel(groups, Reason::new(text, terms)).into()
    }

    fn deepen(&self) -> Option<Plan> {
        let (view, last) = (self.view, self.levels.last);
        let runs = view.runs(last);
        let oldest = runs.get(runs.len().checked_sub(1)?..)?;
        let run = oldest.first()?;
        let capacity = self.levels.capacity(last);
        let limit = capacity.saturating_sub(self.levels.half_an_arrival(last));
        let limit = Quantity::level("capacity-less-half-an-arrival", last, limit);
        let bytes = Quantity::level("oldest-run", last, run.bytes());
        let grown = Term::new(Unit::Bytes, bytes, Relation::Greater, limit);
        let is_busy = view.is_any_held_of(last, run)
            || view.running.writes_into(Destination { level: last, run: run.id })
            || view.running.writes_from(last + 1);
        if !grown.is(Relation::Greater) || is_busy || last + 1 >= MAX_LEVELS {
            return None;
        }
        let cause = format!(
            "the oldest run of level {last} has {} of {}",
            size(run.bytes()),
            size(capacity)
        );
        let terms = vec![grown.so(Effect::Leaves(last))];
        Some(self.send(last, tables_of(oldest), cause, terms))
    }

    fn unite(&self, last: usize) -> Option<Plan> {
        let runs = self.view.runs(last);
        let terms = self.has_all_runs(last)?;
        if runs.len() < 2 || !self.is_free(last) {
            return None;
        }
        let groups = build_groups(self.view.older(last).collect(), self.view.leveled(last));
        let text = format!(
            "level {last}, the largest, has {} of {}: all become one in place, in {}",
            runs.len(),
            count(self.levels.runs(last) as usize, "run"),
            count(groups.len(), "group"),
        );
        let reason = Reason::new(text, Term::all_so(terms, Effect::Merges(last)));
        Some(Compaction::parallel(groups, reason).into())
    }
}

impl Described for Fluid {
    fn filters(&self) -> Filters {
        self.filters
    }

    fn summary(&self) -> &'static str {
        prose(
            "A size ratio and a bound on runs for each level: from leveling over lazy leveling to a bush, or \
         what a mix of operations needs.",
        )
    }

    fn tuning(&mut self) -> Vec<ParameterRef<'_>> {
        let share = (0, 1000);
        vec![
            ParameterRef::choice(
                "design",
                "ratios and runs of levels: as given below; lazy leveling; a bush, whose ratios are squared from \
                 level to level; or tuned to the mix below",
                &mut self.design,
            ),
            ParameterRef::number(
                "design-ratio",
                "size ratio of lazy leveling, and of the two largest levels of a bush",
                (2, 64),
                &mut self.design_ratio,
            ),
            ParameterRef::list(
                SIZE_RATIOS,
                "capacity of each level divided by that of the level above, from level 1 on; the last repeats",
                (2, RATIO_MAX),
                &mut self.size_ratios,
            ),
            ParameterRef::list(
                RUNS,
                "runs of each level but the largest, from level 1 on; the last repeats",
                (1, RATIO_MAX),
                &mut self.runs,
            ),
            ParameterRef::number(
                "largest-runs",
                "runs of the largest level",
                (1, RATIO_MAX),
                &mut self.largest_runs,
            ),
            ParameterRef::level_base_bytes(&mut self.level_base_bytes),
            ParameterRef::target_file_bytes(&mut self.target_file_bytes),
            ParameterRef::filters(&mut self.filters),
            ParameterRef::number(
                ParameterRef::DATA_BYTES,
                "bytes that a bush or a tuned tree is made for",
                (0, 1 << 50),
                &mut self.data_bytes,
            ),
            ParameterRef::number("reads", "share of reads that find a key", share, &mut self.reads),
            ParameterRef::number(
                "missing-reads",
                "share of reads of keys that are not there",
                share,
                &mut self.missing_reads,
            ),
            ParameterRef::number("scans", "share of short scans", share, &mut self.scans),
            ParameterRef::number("writes", "share of writes", (1, 1000), &mut self.writes),
            ParameterRef::number(
                "entry-bytes",
                "bytes of an entry, for tuning",
                (1, 1 << 20),
                &mut self.entry_bytes,
            ),
            ParameterRef::number(
                "filter-bits",
                "filter bits of a key, for tuning",
                (0, 64),
                &mut self.filter_bits,
            ),
            ParameterRef::number(
                "page-percent",
                "cost of a page that is merged, in percent of a block that is read at random, for tuning",
                (1, 1000),
                &mut self.page_percent,
            ),
        ]
    }

    fn conflict(&self) -> Option<Conflict> {
        let refused = |parameter, expected, found| Some(Conflict { parameter, expected, found });
        for (name, least, list) in [(SIZE_RATIOS, 2, &self.size_ratios), (RUNS, 1, &self.runs)] {
            if !is_list(list, least, RATIO_MAX) {
                return refused(name, expected_list(least, RATIO_MAX), list_text(list));
            }
        }
        let given = Tree {
            size_ratios: self.size_ratios.clone(),
            runs: self.runs.clone(),
            largest_runs: 1,
        };
        let levels = 1..=self.size_ratios.len().max(self.runs.len());
        if levels.into_iter().any(|level| given.runs(level) > given.ratio(level)) {
            let expected =
                format!("at most `{SIZE_RATIOS}` of each level: {}", list_text(&self.size_ratios));
            return refused(RUNS, expected, list_text(&self.runs));
        }
        let needs_data = matches!(self.design, Design::Bush | Design::Tuned);
        if needs_data && self.data_bytes < self.level_base_bytes {
            let base = ParameterRef::LEVEL_BASE_BYTES;
            let expected =
                format!("`{base}` at least for this `design`: {}", self.level_base_bytes);
            return refused(ParameterRef::DATA_BYTES, expected, self.data_bytes.to_string());
        }
        None
    }
}
