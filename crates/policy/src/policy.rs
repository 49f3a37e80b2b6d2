//! The interface of a policy.

use crate::context::{KeySample, PlanContext};
use terrane_types::{FlushPlan, Group, LevelChange, Plan, Shape, TableInfo};

/// The greatest length of a policy's state, in bytes.
pub const MAX_STATE: usize = 64 << 10;

/// A change of the tree, at the moment it is installed.
#[derive(Clone, Copy, Debug)]
pub struct Installed<'a> {
    /// The shape before.
    pub before: &'a Shape,
    /// What was done.
    pub step: Step<'a>,
}

/// A step of a plan, which takes effect as one edit.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// A memtable became a run of level 0. What recovery makes of the logs is neither cut nor told.
    Flush {
        /// How it was cut.
        plan: &'a FlushPlan,
        /// The run's tables, in key order; none if nothing was left to write.
        tables: &'a [TableInfo],
    },
    /// A group of a compaction was installed; its inputs are in the shape before.
    Group {
        /// The group.
        group: &'a Group,
        /// The tables that stand at its destination now; those of a move are its inputs.
        outputs: &'a [TableInfo],
        /// Whether the compaction ends with this group.
        ends: bool,
    },
    /// A level was added or dropped.
    Reshape(LevelChange),
}

/// A compaction policy: a pure planner.
///
/// A policy that must remember something keeps it in a *state* of its own encoding, of at most
/// [`MAX_STATE`] bytes. The policy holds no copy of it: whoever drives the policy stores the state,
/// with the very edit that changed it, and hands it to every call. `plan` never changes it. A state
/// that a policy cannot read is as good as none, never an error.
pub trait Policy: Send + Sync {
    /// The preset's name, as options and the command line spell it.
    fn name(&self) -> &'static str;

    /// Proposes the next plan, or nothing when the shape is at rest.
    fn plan(&self, context: &PlanContext) -> Option<Plan>;

    /// Whether [`Policy::flush`] is to be asked.
    fn cuts_flushes(&self) -> bool {
        false
    }

    /// How a memtable that is about to be flushed is cut into the tables of one run.
    fn flush(&self, context: &PlanContext, sealed: &KeySample) -> FlushPlan {
        let _ = (context, sealed);
        FlushPlan::default()
    }

    /// Whether the tables of a shape must have their histograms when it plans.
    fn reads_histograms(&self) -> bool {
        false
    }

    /// Whether the reads of each table are to be counted for it.
    fn watches_reads(&self) -> bool {
        false
    }

    /// The state after a step of this policy's own plans, or after a flush.
    fn apply(&self, state: &[u8], installed: &Installed) -> Vec<u8> {
        let _ = installed;
        state.to_vec()
    }

    /// The state for a tree that is new, or was last changed by plans of others.
    fn adopt(&self, shape: &Shape) -> Vec<u8> {
        let _ = shape;
        Vec::new()
    }
}
