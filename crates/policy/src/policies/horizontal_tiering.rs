//! Horizontal growth with tiering: a fixed number of levels of several runs, whose counters say when all
//! runs of a level become one of the next.
//!
//! `toolkit/horizontal.rs` has the counters, and `toolkit/admission.rs` says what is counted.
//!
//! 1. A round is laid out for N bytes, declared or else present: its counters start at k, the least
//!    number with `C(k+l-1, l) >= N/B`.
//! 2. An admission becomes, with all runs of the levels above m, one new run of m: the level in which its
//!    cascade ends.
//! 3. When all counters are 0 the runs stay, and the next round is laid out for twice the data. Runs of
//!    the last level are never merged: there will be `k` more of them after each round.
//! 4. Level 0 gathers tiny flushes, and merges runs of similar size while they wait.
//!
//! Of all sequences of merges over l levels, a round of exactly `C(k+l-1, l)` admissions has the fewest
//! runs to read. Any shape of another policy will do: what lies below level l stays there.

use crate::context::PlanContext;
use crate::policy::{Installed, Policy, Step};
use crate::status::PolicyStatus;
use crate::toolkit::admission::{Counts, below_level0, level0_bytes};
use crate::toolkit::filters::Filters;
use crate::toolkit::horizontal::{Counters, MergePolicy};
use crate::toolkit::parameter::{Conflict, Described, ParameterRef, prose};
use crate::toolkit::partition::options::Partitioning;
use crate::toolkit::view::{Vertical, View};
use terrane_types::{Of, Plan, Shape};

/// The policy of horizontal growth with tiering, and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HorizontalTiering {
    /// l: the number of levels below level 0.
    pub levels: u64,
    /// N: bytes for which the first round is laid out; 0 for those that are present.
    pub data_bytes: u64,
    /// B: about how many bytes are admitted at once.
    pub level_base_bytes: u64,
    /// Size at which a table is closed, in bytes.
    pub target_file_bytes: u64,
    /// Division of filter memory among runs.
    pub filters: Filters,
    /// Cuts of outputs.
    pub partitioning: Partitioning,
}

impl Default for HorizontalTiering {
    fn default() -> Self {
        HorizontalTiering {
            levels: 3,
            data_bytes: 0,
            level_base_bytes: 4 << 20,
            target_file_bytes: 2 << 20,
            filters: Filters::Uniform,
            partitioning: Partitioning::DEFAULT,
        }
    }
}

impl HorizontalTiering {
    fn last(&self) -> usize {
        usize::try_from(self.levels).unwrap_or(1).max(1)
    }

    /// Step 1, for this many bytes.
    fn round(&self, bytes: u64) -> Counters {
        let buffers = bytes.div_ceil(self.level_base_bytes.max(1));
        Counters::new(MergePolicy::Tiering, self.levels, buffers)
    }

    fn counts(&self, state: &[u8], shape: &Shape) -> Counts {
        Counts::read(state, self.last()).unwrap_or_else(|| {
            let bytes = if self.data_bytes > 0 { self.data_bytes } else { below_level0(shape) };
            Counts::new(self.round(bytes).counts)
        })
    }

    fn counters(numbers: Vec<u64>) -> Counters {
        Counters { merge: MergePolicy::Tiering, counts: numbers, slack: 0 }
    }

    /// Step 2.
    fn admit(&self, view: &View, state: &[u8]) -> Option<Plan> {
        let admission = view.admission()?;
        let counters = Self::counters(self.counts(state, view.shape).numbers);
        Some(counters.plan(view, admission))
    }
}

impl Policy for HorizontalTiering {
    fn name(&self) -> &'static str {
        "horizontal-tiering"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let rule = Vertical::staging(self.level_base_bytes, self.target_file_bytes);
        let view = View::new(rule, context);
        self.admit(&view, context.state).or_else(|| view.gather())
    }

    fn apply(&self, state: &[u8], installed: &Installed) -> Vec<u8> {
        let mut counts = self.counts(state, installed.before);
        if counts.note(installed) {
            let mut counters = Self::counters(std::mem::take(&mut counts.numbers));
            counters.admit();
            if counters.are_spent() {
                let Step::Group { group, .. } = installed.step else { return counts.state() };
                let admitted = level0_bytes(installed, group).unwrap_or(0);
                let data = below_level0(installed.before).saturating_add(admitted);
                counters = self.round(data.saturating_mul(2));
            }
            counts.numbers = counters.counts;
        }
        counts.state()
    }

    fn status(&self, shape: &Shape, state: &[u8]) -> PolicyStatus {
        self.counts(state, shape).status("counter", |level| Of::Levels(level, level))
    }
}

impl Described for HorizontalTiering {
    fn filters(&self) -> Filters {
        self.filters
    }

    fn partitioning(&self) -> Option<&Partitioning> {
        Some(&self.partitioning)
    }

    fn summary(&self) -> &'static str {
        prose(
            "A fixed number of levels of several runs, merged ever more often as data comes near what was \
         declared: least reading for tiering's writing. The last level's runs are never merged.",
        )
    }

    fn tuning(&mut self) -> Vec<ParameterRef<'_>> {
        let mut parameters = vec![
            ParameterRef::levels(&mut self.levels),
            ParameterRef::data_bytes(&mut self.data_bytes),
            ParameterRef::level_base_bytes(&mut self.level_base_bytes),
            ParameterRef::target_file_bytes(&mut self.target_file_bytes),
            ParameterRef::filters(&mut self.filters),
        ];
        self.partitioning.tuning(&mut parameters);
        parameters
    }

    fn conflict(&self) -> Option<Conflict> {
        Conflict::of_data(self.data_bytes, self.level_base_bytes)
    }
}
