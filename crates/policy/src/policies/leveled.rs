//! Leveling: vertical growth, partial compactions.
//!
//! Below level 0 a level is one run. Capacities are as `toolkit/view.rs` says: by default they adapt
//! to what L, the deepest level, holds.
//!
//! 1. **Unite.** A level that has several runs (another policy left them) is made one run before
//!    anything else touches it: tables that overlap are merged, the others move. Running plans are
//!    taken to be this policy's own.
//! 2. **Gather.** When as many runs wait in level 0 as its trigger says, but hold less than B bytes,
//!    the newest are merged there.
//! 3. Of the levels that are due, the one with the greatest score acts; a level that is due but has
//!    to wait for a running plan keeps the levels it needs from being taken meanwhile.
//!    * **Level 0**, when the runs that its trigger says wait with B bytes (score: runs / trigger).
//!      Its tables and those of level 1 that overlap them form connected components, one group each.
//!      A table alone moves; neighbours that fit into one table are joined. When writes are about to
//!      stop, level 0 comes before any other, and runs of like size are merged there while it waits.
//!    * **A level over its capacity** (score: `N_i / C_i`) sends down one table with the tables it
//!      overlaps there; which, is an option ([`Pick`]). Tables that are already on their way down
//!      count no more.
//!    * **Level L at its capacity** becomes level L+1 as it is, when capacities adapt; its old place
//!      is empty. With fixed capacities it sends tables down like any other.

use crate::context::PlanContext;
use crate::policy::{Installed, Policy, Step};
use crate::toolkit::parameter::{Described, ParameterRef, ValueRef, prose};
use crate::toolkit::pick::{Cursors, Pick};
use crate::toolkit::view::{Vertical, View};
use terrane_types::Plan;

/// The leveled policy and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leveled {
    /// T: the factor between capacities.
    pub size_ratio: u64,
    /// B: bytes that level 0 gathers at least before they go down; the least capacity of a level.
    pub level_base_bytes: u64,
    /// Size at which a table is closed, in bytes.
    pub target_file_bytes: u64,
    /// Runs that wait in level 0 before they are merged into level 1.
    pub l0_compaction_trigger: u64,
    /// Whether capacities follow what the deepest level holds.
    pub dynamic_level_bytes: bool,
    /// Which table goes down.
    pub pick: Pick,
    /// What random picks are drawn from.
    pub seed: u64,
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
        }
    }
}

impl Policy for Leveled {
    fn name(&self) -> &'static str {
        "leveled"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let rule = Vertical {
            size_ratio: self.size_ratio,
            level_base_bytes: self.level_base_bytes,
            target_file_bytes: self.target_file_bytes,
            l0_compaction_trigger: self.l0_compaction_trigger,
            dynamic_level_bytes: self.dynamic_level_bytes,
        };
        let view = View::new(rule, context);
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

    /// Moves the cursor of the level that a table was sent down from.
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
}

impl Described for Leveled {
    fn summary(&self) -> &'static str {
        prose("One run a level, one table at a time into the next: few runs to read and little space \
         lost, for more writing.")
    }

    fn tuning(&mut self) -> Vec<ParameterRef<'_>> {
        vec![
            ParameterRef::size_ratio(&mut self.size_ratio),
            ParameterRef::level_base_bytes(&mut self.level_base_bytes),
            ParameterRef::target_file_bytes(&mut self.target_file_bytes),
            ParameterRef::l0_compaction_trigger(&mut self.l0_compaction_trigger),
            ParameterRef::dynamic_level_bytes(&mut self.dynamic_level_bytes),
            ParameterRef {
                name: "pick",
                meaning: prose("which table of a level over its capacity goes down"),
                slot: ValueRef::Pick(&mut self.pick),
            },
            ParameterRef::number(
                "seed",
                "what random picks are drawn from",
                (0, (1 << 53) - 1),
                &mut self.seed,
            ),
        ]
    }
}
