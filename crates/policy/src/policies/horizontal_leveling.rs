//! Horizontal growth with leveling: a fixed number of levels, each one run, which grow with the data.
//!
//! `toolkit/horizontal.rs` has the counters that say when a level continues into the next, and
//! `toolkit/admission.rs` says what is counted.
//!
//! 1. An admission is merged with levels 1 to m, the level in which its cascade ends, into the run of m:
//!    the first one into level l. Level by level the same cascade would write more.
//! 2. A tree of another policy, with several runs in a level or more than l levels, first becomes one
//!    run of level l. Its counters are then those of a tree of these sizes.
//! 3. Level 0 gathers tiny flushes, and merges runs of similar size while they wait.
//!
//! In buffers, after `C(k+l-1, l)` admissions: `l*C(k+l, l+1) - (l-1)*C(k+l-1, l)` written, moves
//! included. No sequence of merges over l levels writes less level by level.

use crate::context::PlanContext;
use crate::policy::{Installed, Policy};
use crate::status::PolicyStatus;
use crate::toolkit::admission::{Counts, below_level0};
use crate::toolkit::combinatorics::least_count;
use crate::toolkit::filters::Filters;
use crate::toolkit::format::count;
use crate::toolkit::group_builder::{Target, build_groups};
use crate::toolkit::horizontal::{Counters, MergePolicy};
use crate::toolkit::parameter::{Described, ParameterRef, prose};
use crate::toolkit::partition::options::Partitioning;
use crate::toolkit::view::{Vertical, View};
use terrane_types::{Compaction, Effect, Of, Plan, Quantity, Reason, Relation, Shape, Term, Unit};

/// The policy of horizontal growth with leveling, and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HorizontalLeveling {
    /// l: the number of levels below level 0.
    pub levels: u64,
    /// B: about how many bytes are admitted at once.
    pub level_base_bytes: u64,
    /// Size at which a table is closed, in bytes.
    pub target_file_bytes: u64,
    /// Division of filter memory among runs.
    pub filters: Filters,
    /// Cuts of outputs.
    pub partitioning: Partitioning,
}

impl Default for HorizontalLeveling {
    fn default() -> Self {
        HorizontalLeveling {
            levels: 3,
            level_base_bytes: 4 << 20,
            target_file_bytes: 2 << 20,
            filters: Filters::Uniform,
            partitioning: Partitioning::DEFAULT,
        }
    }
}

impl HorizontalLeveling {
    /// l.
    fn last(&self) -> usize {
        usize::try_from(self.levels).unwrap_or(1).max(1)
    }

    fn counts(&self, state: &[u8], shape: &Shape) -> Counts {
        Counts::read(state, self.last()).unwrap_or_else(|| Counts::new(self.of_sizes(shape)))
    }

    /// The counters with which levels would have these sizes: level i holds at most `C(c+i-1, i)`
    /// buffers after c arrivals, and no counter is above the next. Data about to become one run of the
    /// last level counts as such.
    fn of_sizes(&self, shape: &Shape) -> Vec<u64> {
        let mut counts = Vec::new();
        let mut most = u64::MAX;
        let fits = self.fits(shape);
        for level in (1..=self.last()).rev() {
            let bytes = match shape.levels().get(level) {
                Some(there) if fits => there.bytes(),
                _ if !fits && level == self.last() => below_level0(shape),
                _ => 0,
            };
            let buffers = bytes.div_ceil(self.level_base_bytes.max(1));
            let count = if buffers == 0 { 0 } else { least_count(buffers, level as u64) };
            most = most.min(count);
            counts.push(most);
        }
        counts.reverse();
        counts
    }

    /// Whether there are at most l levels of one run each.
    fn fits(&self, shape: &Shape) -> bool {
        let below = || shape.levels().iter().skip(1);
        shape.deepest() <= self.last() && below().all(|level| level.runs.len() < 2)
    }

    fn counters(numbers: Vec<u64>) -> Counters {
        Counters { merge: MergePolicy::Leveling, counts: numbers, slack: 0 }
    }

    /// Step 2.
    fn unite(&self, view: &View) -> Option<Plan> {
        let last = self.last();
        if self.fits(view.shape) || view.running.writes_from(1) {
            return None;
        }
        let below = view.shape.between(1, view.shape.levels().len());
        let runs = view.below_level0().len();
        let reason = format!("{} in other levels become one of level {last}", count(runs, "run"));
        let (deepest, most) = (view.shape.deepest(), (1..=last).map(|l| view.runs(l).len()).max());
        let quantity = |name, value: usize| Quantity::new(name, value as u64);
        let terms = [
            Term::new(
                Unit::Count,
                quantity("deepest-level", deepest),
                Relation::Greater,
                quantity("levels", last),
            ),
            Term::new(
                Unit::Runs,
                quantity("runs-of-a-level", most.unwrap_or(0)),
                Relation::Greater,
                quantity("leveled", 1),
            ),
        ];
        // Either suffices.
        let terms = terms.into_iter().filter(|term| term.is(Relation::Greater));
        let terms = terms.map(|term| term.so(Effect::Enters(last))).collect();
        let reason = Reason::new(reason, terms);
        let target = Target { bottom: true, ..view.new_run(last) };
        Some(Compaction::parallel(build_groups(below, target), reason).into())
    }

    /// Step 1.
    fn admit(&self, view: &View, state: &[u8]) -> Option<Plan> {
        let admission = view.admission()?;
        let counters = Self::counters(self.counts(state, view.shape).numbers);
        Some(counters.plan(view, admission))
    }
}

impl Policy for HorizontalLeveling {
    fn name(&self) -> &'static str {
        "horizontal-leveling"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let rule = Vertical::staging(self.level_base_bytes, self.target_file_bytes);
        let view = View::new(rule, context);
        (self.unite(&view)).or_else(|| self.admit(&view, context.state)).or_else(|| view.gather())
    }

    fn apply(&self, state: &[u8], installed: &Installed) -> Vec<u8> {
        let mut counts = self.counts(state, installed.before);
        if counts.note(installed) {
            let mut counters = Self::counters(std::mem::take(&mut counts.numbers));
            counters.admit();
            counts.numbers = counters.counts;
        }
        counts.state()
    }

    fn status(&self, shape: &Shape, state: &[u8]) -> PolicyStatus {
        self.counts(state, shape).status("counter", |level| Of::Levels(level, level))
    }
}

impl Described for HorizontalLeveling {
    fn filters(&self) -> Filters {
        self.filters
    }

    fn partitioning(&self) -> Option<&Partitioning> {
        Some(&self.partitioning)
    }

    fn summary(&self) -> &'static str {
        prose(
            "A fixed number of levels, each one run, which grow with the data: least writing for this \
         number of runs, for large merges.",
        )
    }

    fn tuning(&mut self) -> Vec<ParameterRef<'_>> {
        let mut parameters = vec![
            ParameterRef::levels(&mut self.levels),
            ParameterRef::level_base_bytes(&mut self.level_base_bytes),
            ParameterRef::target_file_bytes(&mut self.target_file_bytes),
            ParameterRef::filters(&mut self.filters),
        ];
        self.partitioning.tuning(&mut parameters);
        parameters
    }
}
