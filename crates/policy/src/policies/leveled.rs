//! Leveling: vertical growth, partial compactions.
//!
//! Each level below level 0 is one run. `toolkit/view.rs` defines capacities: by default they adapt to
//! the size of L, the deepest level.
//!
//! 1. **Merge into one run.** A level with several runs, left by another policy, is made one run
//!    before anything else touches it: tables that overlap are merged, the others move. Running
//!    plans are assumed to be this policy's own.
//! 2. **Merge within level 0.** If as many runs wait in level 0 as the trigger requires, but hold less
//!    than B bytes, the newest are merged there.
//! 3. Of the levels that are due, the one with the highest score is compacted; a level that is due but
//!    has to wait for a running plan reserves the levels it needs.
//!    * **Level 0** is due at the trigger's number of runs, with B bytes (score: runs / trigger). Its
//!      tables and the overlapping ones of level 1 form connected components, one group each. A
//!      table alone moves; neighbours that fit into one table are joined. Shortly before writes
//!      stall, level 0 comes before any other, and merges runs of similar size while it waits, unless
//!      `merge-waiting` is off.
//!    * **A level over its capacity** (score: `N_i / C_i`) sends down one table, merged with the
//!      tables it overlaps there; which one is an option ([`Pick`]). Tables that are already on their
//!      way down do not count.
//!    * **Pipelined**, as an option: `toolkit/pipelining.rs`.
//!    * **Level L at its capacity** becomes level L+1 as it is, if capacities adapt; its old place is
//!      empty. With fixed capacities it sends tables down like any other.

use crate::context::PlanContext;
use crate::policy::{Installed, Policy, Step};
use crate::status::PolicyStatus;
use crate::toolkit::filters::Filters;
use crate::toolkit::parameter::{Described, ParameterRef, prose};
use crate::toolkit::partition::options::Partitioning;
use crate::toolkit::pick::{Cursors, Pick};
use crate::toolkit::view::{Vertical, View};
use terrane_types::{Plan, Shape};

/// The leveled policy and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leveled {
    /// T: the factor between capacities.
    pub size_ratio: u64,
    /// B: the least bytes that level 0 sends down at once; the least capacity of a level.
    pub level_base_bytes: u64,
    /// Size at which a table is closed, in bytes.
    pub target_file_bytes: u64,
    /// Runs that wait in level 0 before they are merged into level 1.
    pub l0_compaction_trigger: u64,
    /// Whether capacities follow what the deepest level holds.
    pub dynamic_level_bytes: bool,
    /// Choice of the table that moves down.
    pub pick: Pick,
    /// The seed of random picks.
    pub seed: u64,
    /// Division of filter memory among runs.
    pub filters: Filters,
    /// The most workers that share a merge of level 0 into level 1.
    pub max_subcompactions: u64,
    /// Whether level 0 goes into a second run of level 1 while tables of the first go down.
    pub pipelined: bool,
    /// Whether runs are merged within level 0 while a merge below keeps them waiting.
    pub merge_waiting: bool,
    /// Cuts of outputs.
    pub partitioning: Partitioning,
}

impl Default for Leveled {
    fn default() -> Self {
        Leveled {
            size_ratio: 10,
            level_base_bytes: 4 << 20,
            target_file_bytes: 2 << 20,
            l0_compaction_trigger: 4,
            dynamic_level_bytes: true,
            pick: Pick::LeastOverlap,
            seed: 0,
            filters: Filters::Uniform,
            max_subcompactions: 1,
            pipelined: false,
            merge_waiting: true,
            partitioning: Partitioning::DEFAULT,
        }
    }
}

impl Policy for Leveled {
    fn name(&self) -> &'static str {
        "leveled"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let mut view = View::new(self.rule(), context);
        view.merge_waiting = self.merge_waiting;
        if let Some(plan) = view.pipelined(self.pipelined) {
            return plan;
        }
        (1..context.shape.levels().len())
            .find_map(|level| view.merge_into_one_run(level))
            .or_else(|| view.merge_within_l0())
            .or_else(|| {
                let cursors = Cursors::read(context.state);
                let last = view.last();
                view.compact_highest_score(1, &|level| view.score(level), &|level| match level {
                    0 => view.empty(0, view.leveled(1)),
                    _ if self.dynamic_level_bytes && level == last => view.deepen(),
                    _ => view.send_down(level, self.pick, self.seed, cursors.of(level)),
                })
            })
    }

    /// Advances the cursor of the level that sent a table down.
    fn apply(&self, state: &[u8], installed: &Installed) -> Vec<u8> {
        let Step::Group { group, .. } = installed.step else { return state.to_vec() };
        let from = group.destination.level.saturating_sub(1);
        let mut cursors = Cursors::read(state);
        if self.pick == Pick::RoundRobin && from > 0 {
            let found = installed.before.find(group.inputs.clone());
            let mut sent = found.iter().filter(|placed| placed.place.level == from);
            if let (Some(sent), None) = (sent.next(), sent.next()) {
                cursors.advance(from, &sent.table.largest);
            }
        }
        cursors.state()
    }

    fn status(&self, shape: &Shape, state: &[u8]) -> PolicyStatus {
        let capacities = self.rule().capacities(shape, 1);
        PolicyStatus { capacities, facts: Cursors::read(state).facts() }
    }
}

impl Leveled {
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
}

impl Described for Leveled {
    fn filters(&self) -> Filters {
        self.filters
    }

    fn max_subcompactions(&self) -> u64 {
        self.max_subcompactions
    }

    fn partitioning(&self) -> Option<&Partitioning> {
        Some(&self.partitioning)
    }

    fn summary(&self) -> &'static str {
        prose(
            "One run a level, one table at a time into the next: few runs to read and little space \
         lost, for more writing.",
        )
    }

    fn tuning(&mut self) -> Vec<ParameterRef<'_>> {
        let mut parameters = vec![
            ParameterRef::size_ratio(&mut self.size_ratio),
            ParameterRef::level_base_bytes(&mut self.level_base_bytes),
            ParameterRef::target_file_bytes(&mut self.target_file_bytes),
            ParameterRef::filters(&mut self.filters),
            ParameterRef::l0_compaction_trigger(&mut self.l0_compaction_trigger),
            ParameterRef::dynamic_level_bytes(&mut self.dynamic_level_bytes),
            ParameterRef::choice(
                "pick",
                "the table of a level over its capacity that goes down",
                &mut self.pick,
            ),
            ParameterRef::number(
                "seed",
                "seed of random picks",
                (0, (1 << 53) - 1),
                &mut self.seed,
            ),
        ];
        ParameterRef::of_level0(
            &mut parameters,
            &mut self.max_subcompactions,
            &mut self.pipelined,
            &mut self.merge_waiting,
        );
        self.partitioning.tuning(&mut parameters);
        parameters
    }
}
