//! Universal compaction: the tree is a stack of runs; neighbours of similar size are merged.
//!
//! The stack is every run of every level, newest first. Flushes land in level 0; merges that include
//! the oldest run of level 0 write to level 1. Nothing happens while there are fewer runs than the
//! trigger. Otherwise the first of these applies, among runs that no running plan touches:
//!
//! 1. **Space.** If the runs above the oldest reach a percentage of the oldest (200 %: the tree may
//!    be three times as large as after a full merge), the whole stack is merged.
//! 2. **Size ratio.** The newest neighbours are merged, as long as each is at most as large as all
//!    newer ones taken so far plus the ratio (1 %).
//! 3. **Count.** If there are more runs than the trigger, as many of the newest are merged as needed
//!    to get back to it.
//!
//! The output takes the place of the oldest merged run, so the order of versions is kept; if that is
//! the oldest run of level 0, the output becomes the newest run of level 1. Within a merge, tables that
//! overlap nothing move. The shape of any other policy is a valid stack.

use crate::context::{PlanContext, Running};
use crate::policy::Policy;
use crate::status::{Fact, PolicyStatus};
use crate::toolkit::filters::Filters;
use crate::toolkit::format::{count, size};
use crate::toolkit::group_builder::{Target, build_groups};
use crate::toolkit::parameter::{Described, ParameterRef, prose};
use crate::toolkit::partition::options::Partitioning;
use terrane_types::{
    Compaction, Destination, Effect, Of, Plan, Quantity, Reason, Relation, Run, Shape, Term, Unit,
};

/// The universal policy and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Universal {
    /// Number of runs at which merging starts.
    pub run_trigger: u64,
    /// Percentage by which a run may exceed all newer runs together and still be merged with them.
    pub size_ratio_percent: u64,
    /// The least number of runs in a merge by size ratio.
    pub min_merge_width: u64,
    /// The greatest number of runs in a merge by size ratio or count.
    pub max_merge_width: u64,
    /// Bytes of all runs above the oldest, in percent of the oldest, at which all are merged.
    pub space_percent: u64,
    /// Size at which a table is closed, in bytes.
    pub target_file_bytes: u64,
    /// Division of filter memory among runs.
    pub filters: Filters,
    /// Cuts of outputs.
    pub partitioning: Partitioning,
}

impl Default for Universal {
    fn default() -> Self {
        Universal {
            run_trigger: 4,
            size_ratio_percent: 1,
            min_merge_width: 2,
            max_merge_width: u64::from(u32::MAX),
            space_percent: 200,
            target_file_bytes: 2 << 20,
            filters: Filters::Uniform,
            partitioning: Partitioning::DEFAULT,
        }
    }
}

impl Policy for Universal {
    fn name(&self) -> &'static str {
        "universal"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let PlanContext { shape, running, fresh, .. } = *context;
        let stack = stack(shape, running);
        let have = Quantity::new("runs", stack.len() as u64);
        let trigger = Quantity::new("run-trigger", self.run_trigger);
        let crowded = Term::new(Unit::Runs, have, Relation::AtLeast, trigger);
        if !crowded.is(Relation::AtLeast) {
            return None;
        }
        let (block, reason) = (self.for_space(&stack))
            .or_else(|| self.for_size_ratio(&stack))
            .or_else(|| self.for_count(&stack))?;

        let oldest = block.last()?;
        let ends_level0 = shape
            .levels()
            .first()
            .and_then(|l| l.runs.last())
            .is_some_and(|r| r.id == oldest.run.id);
        let (destination, there) = if ends_level0 {
            (Destination { level: 1, run: fresh }, None)
        } else {
            (oldest.place, Some(oldest.run))
        };
        let bottom = stack.last().is_some_and(|c| c.place == oldest.place);
        let target_file_bytes = self.target_file_bytes;
        let target = Target { destination, there, bottom, target_file_bytes, trivial_moves: true };
        let mut coming = Vec::new();
        for component in block.iter().filter(|c| c.place != destination) {
            coming.extend(component.run.tables());
        }
        let Reason { text, mut terms } = reason;
        terms.insert(0, crowded.so(Effect::Due));
        let groups = build_groups(coming, target);
        Some(Compaction::parallel(groups, Reason::new(text, terms)).into())
    }

    fn status(&self, shape: &Shape, _: &[u8]) -> PolicyStatus {
        let fact = |name, value, unit| Fact::Number { name, of: Of::Tree, value, unit };
        let oldest = shape.runs().last().map_or(0, |(_, run)| run.bytes());
        let limit = percent(oldest, self.space_percent, 99);
        let facts = vec![
            fact("run-trigger", self.run_trigger, Unit::Runs),
            fact("space-percent-of-oldest", limit, Unit::Bytes),
        ];
        PolicyStatus { capacities: Vec::new(), facts }
    }
}

/// A run of the stack.
struct Component<'a> {
    place: Destination,
    run: &'a Run,
    bytes: u64,
    /// Whether a running plan reads a table of it or writes into it.
    busy: bool,
}

fn stack<'a>(shape: &'a Shape, running: &Running) -> Vec<Component<'a>> {
    let held = shape.runs_of(running.inputs());
    let runs = shape.runs();
    let each = runs.iter().map(|&(place, run)| Component {
        place,
        run,
        bytes: run.bytes(),
        busy: running.writes_into(place) || held.contains(&place),
    });
    each.collect()
}

fn bytes(block: &[Component]) -> u64 {
    block.iter().map(|c| c.bytes).fold(0, u64::saturating_add)
}

/// Neighbours of the stack to merge, and why.
type Block<'s, 'a> = (&'s [Component<'a>], Reason);

impl Universal {
    /// Step 1.
    fn for_space<'s, 'a>(&self, stack: &'s [Component<'a>]) -> Option<Block<'s, 'a>> {
        let first_free = stack.iter().position(|c| !c.busy)?;
        let (_, block) = stack.split_at_checked(first_free)?;
        let (oldest, newer) = block.split_last()?;
        let (above, limit) = (bytes(newer), percent(oldest.bytes, self.space_percent, 99));
        let (have, limit) = (
            Quantity::new("bytes-above-oldest", above),
            Quantity::new("space-percent-of-oldest", limit),
        );
        let wasteful = Term::new(Unit::Bytes, have, Relation::AtLeast, limit);
        if newer.is_empty() || !wasteful.is(Relation::AtLeast) || block.iter().any(|c| c.busy) {
            return None;
        }
        let reason = format!(
            "{} above the oldest weigh {}, {} % or more of its {}: all become one",
            count(newer.len(), "run"),
            size(above),
            self.space_percent,
            size(oldest.bytes),
        );
        Some((block, Reason::new(reason, vec![wasteful.so(Effect::Due)])))
    }

    /// Step 2.
    fn for_size_ratio<'s, 'a>(&self, stack: &'s [Component<'a>]) -> Option<Block<'s, 'a>> {
        let least = self.min_merge_width.max(2);
        let mut starts = 0..stack.len();
        let (start, block) = starts.find_map(|start| {
            let rest = stack.get(start..)?;
            let block = rest.get(..self.like_sized(rest))?;
            (block.len() as u64 >= least).then_some((start, block))
        })?;
        let reason = format!(
            "{} of like size, {} in all, become one",
            count(block.len(), "neighbouring run"),
            size(bytes(block)),
        );
        let mut newer = 0u64;
        let mut terms = Vec::new();
        for (at, run) in block.iter().enumerate() {
            if at > 0 {
                terms.push(self.like_term(start + at, run, newer).so(Effect::Taken));
            }
            newer = newer.saturating_add(run.bytes);
        }
        Some((block, Reason::new(reason, terms)))
    }

    /// Returns the number of runs at the start of `rest` of similar size, up to a busy one.
    fn like_sized(&self, rest: &[Component]) -> usize {
        let mut sum = 0u64;
        let is_next = |c: &&Component| {
            let fits = sum == 0 || self.like_term(0, c, sum).is(Relation::AtMost);
            sum = sum.saturating_add(c.bytes);
            fits && !c.busy
        };
        let most = usize::try_from(self.max_merge_width).unwrap_or(usize::MAX);
        rest.iter().take(most).take_while(is_next).count()
    }

    /// A run of the stack, compared with newer ones of `newer` bytes.
    fn like_term(&self, at: usize, run: &Component, newer: u64) -> Term {
        let bytes = Quantity::item("run-bytes", at, run.bytes);
        let limit = Quantity::new("newer-runs-and-ratio", self.with_ratio(newer));
        Term::new(Unit::Bytes, bytes, Relation::AtMost, limit)
    }

    /// Returns the bytes of the greatest run that is merged with newer ones of `newer` bytes.
    fn with_ratio(&self, newer: u64) -> u64 {
        percent(newer, 100 + self.size_ratio_percent, 0)
    }

    /// Step 3.
    fn for_count<'s, 'a>(&self, stack: &'s [Component<'a>]) -> Option<Block<'s, 'a>> {
        let free = stack.iter().filter(|c| !c.busy).count() as u64;
        let (have, trigger) =
            (Quantity::new("free-runs", free), Quantity::new("run-trigger", self.run_trigger));
        let crowded = Term::new(Unit::Runs, have, Relation::Greater, trigger);
        if !crowded.is(Relation::Greater) {
            return None;
        }
        let excess = free.saturating_sub(self.run_trigger);
        let width = (excess + 1).min(self.max_merge_width.max(2));
        let segment = stack.split(|c| c.busy).find(|segment| segment.len() > 1)?;
        let width = usize::try_from(width).unwrap_or(usize::MAX).min(segment.len());
        let block = segment.get(..width)?;
        let reason = format!(
            "{free} runs stand, {} allowed: the newest {} become one",
            self.run_trigger,
            block.len(),
        );
        Some((block, Reason::new(reason, vec![crowded.so(Effect::Due)])))
    }
}

impl Described for Universal {
    fn filters(&self) -> Filters {
        self.filters
    }

    fn partitioning(&self) -> Option<&Partitioning> {
        Some(&self.partitioning)
    }

    fn summary(&self) -> &'static str {
        prose(
            "A stack of runs, of which neighbours of like age and size are merged: little writing, for \
         much space while everything is merged.",
        )
    }

    fn tuning(&mut self) -> Vec<ParameterRef<'_>> {
        let unlimited = u64::from(u32::MAX);
        // The least width cannot exceed the greatest.
        let width_least = self.min_merge_width.max(2);
        let mut parameters = vec![
            ParameterRef::number(
                "run-trigger",
                "runs that stand before anything is merged",
                (2, 64),
                &mut self.run_trigger,
            ),
            ParameterRef::number(
                "size-ratio-percent",
                "by how much a run may be larger than all newer ones to be merged with them",
                (0, 1000),
                &mut self.size_ratio_percent,
            ),
            ParameterRef::number(
                "min-merge-width",
                "the least number of runs merged for the size ratio",
                (2, unlimited),
                &mut self.min_merge_width,
            ),
            ParameterRef::number(
                "max-merge-width",
                "the greatest number of runs merged for the size ratio or the count",
                (width_least, unlimited),
                &mut self.max_merge_width,
            ),
            ParameterRef::number(
                "space-percent",
                "weight of all runs but the oldest, in percent of it, that merges them all",
                (1, 10_000),
                &mut self.space_percent,
            ),
            ParameterRef::target_file_bytes(&mut self.target_file_bytes),
            ParameterRef::filters(&mut self.filters),
        ];
        self.partitioning.tuning(&mut parameters);
        parameters
    }
}

/// Returns `percent` of `value`, rounded down, or up with a `round` of 99.
fn percent(value: u64, percent: u64, round: u64) -> u64 {
    let whole = (value / 100).saturating_mul(percent);
    whole.saturating_add(((value % 100).saturating_mul(percent) + round) / 100)
}
