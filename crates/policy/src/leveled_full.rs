//! Leveling with full, preemptive compactions: vertical growth, one merge at a time.
//!
//! Below level 0 a level is one run. L is the deepest level, capacities are as `view.rs` says.
//!
//! 1. **Gather.** When as many runs wait in level 0 as its trigger says, but hold less than B bytes,
//!    the newest are merged there, also beside a merge further down. So are, beside one, runs of like
//!    size when writes are about to stop.
//! 2. **Level L at its capacity** becomes level L+1 as it is; its old place is empty. This goes first:
//!    where writes never pause, runs wait in level 0 after each merge.
//! 3. When those runs hold B bytes, or a level above L is over its capacity, or one has several
//!    runs, everything above and in level q is merged into q: the smallest level that can hold it
//!    all (else L), and not above what is to be mended. A level that would overflow next is so
//!    emptied by the same merge, instead of by one more: preempted.

use crate::groups::bring;
use crate::parameter::{Described, Tuned};
use crate::plan::{Compaction, Plan};
use crate::planning::Planning;
use crate::policy::Policy;
use crate::view::{Vertical, View};
use crate::words::{count, size};

/// The fully leveled policy and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeveledFull {
    /// T: the factor between capacities.
    pub size_ratio: u64,
    /// B: bytes that level 0 gathers at least before they go down; the least capacity of a level.
    pub base_bytes: u64,
    /// Size at which a table is closed, in bytes.
    pub table_bytes: u64,
    /// Runs that wait in level 0 before they are merged.
    pub level0_runs: u64,
    /// Whether capacities follow what the deepest level holds.
    pub adapt: bool,
}

impl Default for LeveledFull {
    fn default() -> Self {
        LeveledFull {
            size_ratio: 5,
            base_bytes: 4 << 20,
            table_bytes: 2 << 20,
            level0_runs: 1,
            adapt: true,
        }
    }
}

impl Policy for LeveledFull {
    fn name(&self) -> &'static str {
        "leveled-full"
    }

    fn plan(&self, planning: &Planning) -> Option<Plan> {
        let rule = Vertical {
            size_ratio: self.size_ratio,
            base_bytes: self.base_bytes,
            table_bytes: self.table_bytes,
            level0_runs: self.level0_runs,
            adapt: self.adapt,
        };
        let view = View::new(rule, planning);
        view.gather().or_else(|| match view.is_idle() {
            true => view.deepen().or_else(|| merge(&view)),
            false => view.relieve(),
        })
    }
}

/// Step 3.
fn merge(view: &View) -> Option<Plan> {
    let last = view.last();
    let over = (1..last).rfind(|l| view.bytes(*l) > view.capacity(*l)).map(|l| l + 1);
    let scattered = (1..=last).rfind(|l| view.runs(*l).len() > 1);
    let least = view.admits().then_some(1).max(over).max(scattered)?;
    let q = (least..last).find(|q| view.down_to(0, *q) <= view.capacity(*q)).unwrap_or(last);

    let mut coming = view.shape.between(0, q);
    coming.extend(view.older(q));
    let groups = bring(coming, view.leveled(q));
    let cause = view.cause(least, over, scattered);
    let reason = format!(
        "{cause}: all down to level {q}, {}, becomes its run, in {}",
        size(view.down_to(0, q)),
        count(groups.len(), "group"),
    );
    Some(Compaction::parallel(groups, reason).into())
}

impl Described for LeveledFull {
    fn summary(&self) -> &'static str {
        "One run a level, everything down to the level that holds it in one merge: less writing \
         than table by table, for much space while it lasts."
    }

    fn tuning(&mut self) -> Vec<Tuned<'_>> {
        vec![
            Tuned::size_ratio(&mut self.size_ratio),
            Tuned::base_bytes(&mut self.base_bytes),
            Tuned::table_bytes(&mut self.table_bytes),
            Tuned::level0_runs(&mut self.level0_runs),
            Tuned::adapt(&mut self.adapt),
        ]
    }
}
