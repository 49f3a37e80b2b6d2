//! Full and dividing merges: level 0 and everything down to a level of 1 to X is merged into it.

use super::tree::Tree;
use crate::toolkit::format::{count, size};
use terrane_types::{Compaction, Plan, Reason};

impl Tree<'_> {
    /// The full or dividing merge that is due: of level 0, or to repair a level of 1 to X that another
    /// policy or a smaller L left with too much data.
    pub(super) fn merge_upper(&self) -> Option<Plan> {
        if self.is_upper_busy() {
            return None;
        }
        let over = (1..self.divided).rfind(|l| self.is_over(*l)).map(|l| l + 1);
        let scattered = (1..=self.divided).rfind(|l| self.is_scattered(*l));
        let least = self.view.is_level0_due().then_some(1).max(over).max(scattered)?;
        let (found, room) = self.find_room(0, least..self.divided);
        let level = found.unwrap_or(self.divided);
        let divides = level == self.divided;
        if divides && self.is_lower_busy() {
            return None;
        }

        let groups = self.groups(0, level);
        if groups.is_empty() || !self.are_free(&groups) {
            return None;
        }
        let Reason { text: cause, mut terms } = self.view.cause(least, over, scattered, self);
        terms.extend(room);
        let effect = if divides && level < self.last {
            format!("is cut at {} of level {}", count(self.boundaries().len(), "key"), self.last)
        } else {
            "becomes part of it".to_owned()
        };
        let reason = format!(
            "{cause}: all down to level {level}, {}, {effect}, in {}",
            size(self.view.down_to(0, level)),
            count(groups.len(), "group"),
        );
        Some(Compaction::parallel(groups, Reason::new(reason, terms)).into())
    }
}
