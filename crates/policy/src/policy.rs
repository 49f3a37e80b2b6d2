//! The interface of a policy.

use crate::context::{KeySample, Observed, PlanContext};
use crate::status::{Decision, PolicyStatus};
use terrane_types::{FlushPlan, Group, LevelChange, Plan, Shape, TableInfo};

/// The greatest length of a policy's state, in bytes.
pub const MAX_STATE: usize = 64 << 10;

/// Returns the level-0 count compared with the stall limit: runs, or the most tables over one key,
/// depending on the policy.
#[must_use]
pub fn level0_waiting(policy: &dyn Policy, shape: &Shape) -> usize {
    if policy.stalls_by_depth() { shape.level0_depth() } else { shape.level0_runs() }
}

/// A change of the tree that is being installed.
#[derive(Clone, Copy, Debug)]
pub struct Installed<'a> {
    /// The shape before.
    pub before: &'a Shape,
    /// The operations [observed](PlanContext::observed) for the plan, passed with its first installed
    /// step; empty for its other steps and for flushes. So each operation is passed once, except those
    /// counted when the process ends: counts are in memory. If a plan ends before any step is installed,
    /// its operations count for the next one.
    pub observed: &'a Observed,
    /// The change.
    pub step: Step<'a>,
}

/// A step of a plan, installed as one edit.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// A memtable became a run of level 0. Flushes during recovery are neither cut nor reported.
    Flush {
        /// Cuts of the memtable.
        plan: &'a FlushPlan,
        /// The run's tables, in key order; none if nothing was left to write.
        tables: &'a [TableInfo],
    },
    /// A group of a compaction was installed; its inputs are in the shape before.
    Group {
        /// The group.
        group: &'a Group,
        /// The tables at its destination; for a move, its inputs.
        outputs: &'a [TableInfo],
        /// Whether the compaction ends with this group.
        ends: bool,
    },
    /// A level was added or dropped.
    Reshape(LevelChange),
}

/// A compaction policy: a pure planner.
///
/// A policy that must remember something keeps it in a *state* in its own encoding, of at most
/// [`MAX_STATE`] bytes: a longer one is refused, and the one before stays. The policy object holds no
/// copy: the caller stores the state atomically with the edit that changed it, and passes it to every
/// call. `plan` never changes it. A policy treats a state that it cannot decode as empty; that is not
/// an error.
///
/// A policy must not panic: it runs on the executor's threads, where a panic ends the process. What was
/// written is as safe then as after any crash.
pub trait Policy: Send + Sync {
    /// The policy's name in options and on the command line.
    fn name(&self) -> &'static str;

    /// Proposes the next plan, or nothing if none is needed.
    fn plan(&self, context: &PlanContext) -> Option<Plan>;

    /// Whether to call [`Policy::flush`].
    fn plans_flushes(&self) -> bool {
        false
    }

    /// Plans the tables of one run, and their filters, for a memtable that is about to be flushed.
    fn flush(&self, context: &PlanContext, sealed: &KeySample) -> FlushPlan {
        let _ = (context, sealed);
        FlushPlan::default()
    }

    /// Whether writes wait by the [depth](Shape::level0_depth) of level 0, the greatest number of its
    /// tables over any one key, and not by the number of its runs.
    fn stalls_by_depth(&self) -> bool {
        false
    }

    /// Whether it needs the tables' histograms to plan.
    fn reads_histograms(&self) -> bool {
        false
    }

    /// Whether it needs the tables' [sets of prefixes](terrane_types::Prefixes) to plan.
    fn reads_prefixes(&self) -> bool {
        false
    }

    /// Whether it needs [read counts of each table](crate::Observed::table_reads).
    fn watches_reads(&self) -> bool {
        false
    }

    /// Whether it weighs what reads and merges [cost](crate::Observed::block_nanos), where that can be measured.
    fn weighs_costs(&self) -> bool {
        false
    }

    /// The state after a step of this policy's own plans, or after a flush.
    fn apply(&self, state: &[u8], installed: &Installed) -> Vec<u8> {
        let _ = installed;
        state.to_vec()
    }

    /// The initial state for a tree that is new or was last changed by another policy.
    fn adopt(&self, shape: &Shape) -> Vec<u8> {
        let _ = shape;
        Vec::new()
    }

    /// The state after a step that it did not plan: of the fallback, or of a compaction that was asked
    /// for. What the policy remembered of the tree may be wrong; what it learned of the operations is not.
    fn readopt(&self, state: &[u8], shape: &Shape) -> Vec<u8> {
        let _ = state;
        self.adopt(shape)
    }

    /// The capacities of levels, and what the state says, in named numbers and keys.
    fn status(&self, shape: &Shape, state: &[u8]) -> PolicyStatus {
        let _ = (shape, state);
        PolicyStatus::default()
    }

    /// Returns the decisions of [`Policy::apply`] at this step beyond advancing its counters. Called only
    /// while someone listens to events, beside `apply` and with the same arguments.
    fn decisions(&self, state: &[u8], installed: &Installed) -> Vec<Decision> {
        let _ = (state, installed);
        Vec::new()
    }
}
