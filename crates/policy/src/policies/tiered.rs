//! Tiering: vertical growth, full compactions.
//!
//! A level holds up to T runs, and level i has the capacity `C_i = B * T^(i+1)` bytes: T runs, each
//! the size of a full level above it (level 0 receives flushes of about B bytes).
//!
//! 1. A level is full when it has T runs, or when its bytes reach `C_i`.
//! 2. A full level becomes one new run of the next level: merged, or moved if it is a single run. It waits
//!    while T runs wait there themselves: so a level has about T runs, at most twice as many during its own
//!    merge, and where writes come faster than levels are merged, they stall.
//! 3. The deepest level has no next. With T runs it is merged in place, so that the tree grows only by what
//!    is left after overwrites and deletes. Its oldest run moves to a new level once it holds `C_i`, as
//!    much as a run of that level does, whatever has come since: if it waited to be alone, each merge
//!    in place would rewrite all the data.
//! 4. Level 0 is full by run count only if its runs hold B bytes; if T runs hold less, the newest are
//!    merged there. A level waits while a running plan reads a table of it, or
//!    still writes into a run that it starts to show.
//!
//! These rules apply to the shape of any other policy: a level of one run stays or moves down, a level
//! of too many is merged.

use crate::context::PlanContext;
use crate::policy::Policy;
use crate::status::{Capacity, PolicyStatus};
use crate::toolkit::filters::Filters;
use crate::toolkit::format::{count, size};
use crate::toolkit::parameter::{Described, ParameterRef, prose};
use crate::toolkit::partition::options::Partitioning;
use crate::toolkit::trivial_move::move_or_merge;
use crate::toolkit::view::{Vertical, View};
use terrane_types::{
    Action, Compaction, Destination, Effect, Group, Plan, Quantity, Reason, Relation, Run, Shape,
    Term, Unit, tables_of,
};

/// The tiered policy and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiered {
    /// T: runs that fill a level, and the factor between capacities.
    pub size_ratio: u64,
    /// B: the usual size of a flush, in bytes.
    pub level_base_bytes: u64,
    /// Size at which a table is closed, in bytes.
    pub target_file_bytes: u64,
    /// Division of filter memory among runs.
    pub filters: Filters,
    /// Cuts of outputs.
    pub partitioning: Partitioning,
}

impl Default for Tiered {
    fn default() -> Self {
        Tiered {
            size_ratio: 4,
            level_base_bytes: 4 << 20,
            target_file_bytes: 2 << 20,
            filters: Filters::Uniform,
            partitioning: Partitioning::DEFAULT,
        }
    }
}

impl Policy for Tiered {
    fn name(&self) -> &'static str {
        "tiered"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let view = View::new(self.rule(), context);
        (0..context.shape.levels().len())
            .find_map(|level| self.compact(&view, level))
            .or_else(|| view.merge_within_l0())
    }

    fn status(&self, shape: &Shape, _: &[u8]) -> PolicyStatus {
        let capacity =
            |level| Capacity { bytes: Some(self.capacity(level)), runs: Some(self.size_ratio) };
        let capacities = (0..=shape.deepest()).map(capacity).collect();
        PolicyStatus { capacities, facts: Vec::new() }
    }
}

impl Tiered {
    /// Returns the rule that it shares with the other vertical policies.
    fn rule(&self) -> Vertical {
        Vertical {
            size_ratio: self.size_ratio,
            level_base_bytes: self.level_base_bytes,
            target_file_bytes: self.target_file_bytes,
            l0_compaction_trigger: self.size_ratio,
            dynamic_level_bytes: false,
        }
    }

    /// `C_i` in bytes.
    fn capacity(&self, level: usize) -> u64 {
        let exponent = u32::try_from(level).unwrap_or(u32::MAX).saturating_add(1);
        self.level_base_bytes.saturating_mul(self.size_ratio.saturating_pow(exponent))
    }

    fn compact(&self, view: &View, depth: usize) -> Option<Plan> {
        let (runs, capacity) = (view.runs(depth), self.capacity(depth));
        let (newest, older) = (runs.first()?, runs.len() - 1);
        let deepest = view.shape.deepest();
        let is_last = depth > 0 && depth == deepest;
        // Step 3: what leaves the deepest level is its oldest run alone.
        let alone = runs.get(older..)?;
        let has_grown = is_last && alone.iter().all(|run| run.bytes() >= capacity);
        let leaving = if has_grown { alone } else { runs };
        let in_place = is_last && leaving.len() > 1;

        let bytes = leaving.iter().map(Run::bytes).fold(0, u64::saturating_add);
        let crowd = view.runs_term(depth, Relation::AtLeast, "size-ratio", self.size_ratio);
        let crowd = (!has_grown && crowd.is(Relation::AtLeast)).then_some(crowd);
        let crowded = crowd.is_some() && (depth > 0 || view.is_level0_due());
        let have = if has_grown { "oldest-run" } else { "bytes" };
        let (have, limit) =
            (Quantity::level(have, depth, bytes), Quantity::level("capacity", depth, capacity));
        let full = Term::new(Unit::Bytes, have, Relation::AtLeast, limit);
        let heavy = full.is(Relation::AtLeast) && !in_place;
        if !(crowded || heavy) || !in_place && !self.has_room(view, depth + 1) {
            return None;
        }
        // A run of which some groups are installed is not all there yet.
        let is_busy = |run: &Run| {
            let place = Destination { level: depth, run: run.id };
            view.is_any_held_of(depth, run) || view.running.writes_into(place)
        };
        if leaving.iter().any(is_busy) {
            return None;
        }

        let destination = if in_place {
            Destination { level: depth, run: newest.id }
        } else {
            Destination { level: depth + 1, run: view.fresh }
        };
        let action = match leaving {
            [run] => move_or_merge(
                run.totals().entries(),
                run.totals().tombstones(),
                depth >= deepest,
                self.target_file_bytes,
            ),
            _ => view.merge(),
        };
        let cause = if has_grown {
            format!(
                "the oldest run of level {depth} has {} against a capacity of {}",
                size(bytes),
                size(capacity)
            )
        } else if crowded {
            format!(
                "level {depth} has {} of {}",
                leaving.len(),
                count(self.size_ratio as usize, "run")
            )
        } else {
            let have = count(leaving.len(), "run");
            format!(
                "level {depth} has {} in {have} against a capacity of {}",
                size(bytes),
                size(capacity)
            )
        };
        let effect = match (in_place, &action) {
            (true, _) => "all become one run in place".to_owned(),
            (false, Action::Move) if has_grown => format!("it moves to level {}", depth + 1),
            (false, Action::Merge { .. }) if has_grown => {
                format!("it is rewritten into level {}", depth + 1)
            }
            (false, Action::Move) => format!("its run moves to level {}", depth + 1),
            (false, Action::Merge { .. }) => {
                format!("all become one run of level {}", depth + 1)
            }
        };
        let inputs = tables_of(leaving).map(|t| t.id).collect();
        let groups = vec![Group::new(inputs, destination, action)];
        let effect_of = if in_place { Effect::Merges(depth) } else { Effect::Leaves(depth) };
        let terms = match crowd.filter(|_| crowded) {
            Some(crowd) if depth == 0 => [vec![crowd], view.level0_terms()].concat(),
            Some(crowd) => vec![crowd],
            None => vec![full],
        };
        let terms = terms.into_iter().map(|term| term.so(effect_of)).collect();
        let reason = Reason::new(format!("{cause}: {effect}"), terms);
        Some(Compaction::parallel(groups, reason).into())
    }

    /// Whether fewer than T runs of a level wait to be merged.
    fn has_room(&self, view: &View, level: usize) -> bool {
        let waits = |run: &&Run| !view.is_any_held_of(level, run);
        (view.runs(level).iter().filter(waits).count() as u64) < self.size_ratio
    }
}

impl Described for Tiered {
    fn filters(&self) -> Filters {
        self.filters
    }

    fn partitioning(&self) -> Option<&Partitioning> {
        Some(&self.partitioning)
    }

    fn summary(&self) -> &'static str {
        prose(
            "Several runs a level, merged all at once into the next: little writing, for more runs to \
         read and more space.",
        )
    }

    fn tuning(&mut self) -> Vec<ParameterRef<'_>> {
        let mut parameters = vec![
            ParameterRef::size_ratio(&mut self.size_ratio),
            ParameterRef::level_base_bytes(&mut self.level_base_bytes),
            ParameterRef::target_file_bytes(&mut self.target_file_bytes),
            ParameterRef::filters(&mut self.filters),
        ];
        self.partitioning.tuning(&mut parameters);
        parameters
    }
}
