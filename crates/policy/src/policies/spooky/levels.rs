//! Adding and dropping a level: whole runs are relabelled, nothing is rewritten.
//!
//! 1. L with at least `C_L` bytes in one run becomes L+1, and its old place is empty.
//! 2. L with fewer than `C_L / T` bytes becomes L-1 if levels X to L-1 are empty, which they are after
//!    a complete partitioned merge.
//!
//! Nothing that writes into X or below runs at that time. `C_L / T` is the capacity of L-1, so neither
//! step undoes the other.

use super::tree::Tree;
use crate::toolkit::format::size;
use terrane_types::{Effect, LevelChange, Plan, Quantity, Reason, Relation, Reshape, Term, Unit};

impl Tree<'_> {
    pub(super) fn change_levels(&self) -> Option<Plan> {
        if self.is_lower_busy() { None } else { self.view.deepen().or_else(|| self.rise()) }
    }

    fn rise(&self) -> Option<Plan> {
        let above = self.last.checked_sub(1).filter(|above| *above > 0)?;
        let (bytes, limit) = (self.view.bytes(self.last), self.view.capacity(self.last));
        let limit = limit / self.view.rule.size_ratio.max(1);
        let is_clear = (self.divided.min(above)..self.last).all(|level| self.runs(level) == 0);
        let shifts = self.view.running.writes_from(above);
        let have = Quantity::level("bytes", self.last, bytes);
        let most = Quantity::new("capacity-over-size-ratio", limit);
        let small = Term::new(Unit::Bytes, have, Relation::Less, most);
        if !small.is(Relation::Less) || !is_clear || shifts {
            return None;
        }
        let reason = format!(
            "level {}, the last, has {}, less than {}: it becomes level {above}",
            self.last,
            size(bytes),
            size(limit),
        );
        let reason = Reason::new(reason, vec![small.so(Effect::Becomes(self.last, above))]);
        Some(Reshape { change: LevelChange::Drop(above), reason }.into())
    }
}
