//! Leveling: vertical growth, partial compactions.
//!
//! Below level 0 a level is one run. Capacities are as `view.rs` says: by default they adapt
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

use crate::parameter::{Described, Slot, Tuned};
use crate::pick::{Cursors, Pick};
use crate::plan::Plan;
use crate::planning::Planning;
use crate::policy::{Installed, Policy, Step};
use crate::view::{Vertical, View};

/// The leveled policy and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leveled {
    /// T: the factor between capacities.
    pub size_ratio: u64,
    /// B: bytes that level 0 gathers at least before they go down; the least capacity of a level.
    pub base_bytes: u64,
    /// Size at which a table is closed, in bytes.
    pub table_bytes: u64,
    /// Runs that wait in level 0 before they are merged into level 1.
    pub level0_runs: u64,
    /// Whether capacities follow what the deepest level holds.
    pub adapt: bool,
    /// Which table goes down.
    pub pick: Pick,
    /// What random picks are drawn from.
    pub seed: u64,
}

impl Default for Leveled {
    fn default() -> Self {
        Leveled {
            size_ratio: 10,
            base_bytes: 4 << 20,
            table_bytes: 2 << 20,
            level0_runs: 4,
            adapt: true,
            pick: Pick::LeastOverlap,
            seed: 0,
        }
    }
}

impl Policy for Leveled {
    fn name(&self) -> &'static str {
        "leveled"
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
        (1..planning.shape.levels().len())
            .find_map(|level| view.unite(level))
            .or_else(|| view.gather())
            .or_else(|| {
                let cursors = Cursors::read(planning.state);
                let last = view.last();
                view.act(1, &|level| view.score(level), &|level| match level {
                    0 => view.empty(0, view.leveled(1)),
                    _ if self.adapt && level == last => view.deepen(),
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
        "One run a level, one table at a time into the next: few runs to read and little space \
         lost, for more writing."
    }

    fn tuning(&mut self) -> Vec<Tuned<'_>> {
        vec![
            Tuned::size_ratio(&mut self.size_ratio),
            Tuned::base_bytes(&mut self.base_bytes),
            Tuned::table_bytes(&mut self.table_bytes),
            Tuned::level0_runs(&mut self.level0_runs),
            Tuned::adapt(&mut self.adapt),
            Tuned {
                name: "pick",
                meaning: "which table of a level over its capacity goes down",
                slot: Slot::Pick(&mut self.pick),
            },
            Tuned::number(
                "seed",
                "what random picks are drawn from",
                (0, (1 << 53) - 1),
                &mut self.seed,
            ),
        ]
    }
}
