//! Partitioning: where a policy's outputs are cut, so that later merges part into groups (Mao and
//! Hristidis, "Increase Merge Efficiency in LSM Trees Through Coordinated Partitioning of Sorted Runs").
//!
//! The policy says what is merged and to where. Of its compaction:
//!
//! 1. Inputs that overlap form connected components, a group each. With `partition-join-percent`,
//!    neighbours that are small together are one group. A table alone moves; one that is in
//!    the output run already stays.
//! 2. A group's outputs are cut by size, or where halving a key range (`halving.rs`) makes parts of at
//!    most the size of a table: the key space, the range of the whole output run, or the group's own.
//!    Runs that are cut at halves of the same range part at the same keys. Sizes are estimates, which
//!    versions of the same key make too large; a table is closed in any case at twice its size.
//! 3. With `none` a run is one table: all inputs are one group, with the run that they go into. While
//!    one is written, nothing else goes there: it spans what lies between its inputs.
//! 4. With `flush-floor-bytes`, a range partitioner also halves flushes, into parts of at least the floor
//!    and, where the sample distinguishes keys, less than twice it. An uncut flush spans the key space
//!    and makes any merge one group.

mod halving;
pub mod options;

use super::format::{count, size};
use super::group_builder::{bytes, components};
use super::refine::{Refine, refined};
use super::trivial_move::move_or_merge;
use crate::context::{KeySample, PlanContext};
use crate::policy::Policy;
pub(crate) use halving::{Cell, Points, halve, join};
use options::{Partitioner, Partitioning};
use std::sync::Arc;
use terrane_types::{
    Action, Compaction, Destination, Effect, FlushPlan, Group, Order, Quantity, Reason, Relation,
    Run, Shape, TableIdSet, TableInfo, Term, Unit, key_range, mul_div,
};

/// Outputs are cut by a partitioner.
struct Partitioned {
    options: Partitioning,
    target_file_bytes: u64,
}

/// The policy with this partitioning.
pub(crate) fn partitioned(
    policy: Box<dyn Policy>,
    options: Option<&Partitioning>,
    target_file_bytes: u64,
) -> Box<dyn Policy> {
    match options {
        Some(options) if options.partitioner != Partitioner::Default => {
            refined(policy, Partitioned { options: options.clone(), target_file_bytes })
        }
        _ => policy,
    }
}

type Table<'a> = &'a Arc<TableInfo>;

/// Tables that go into one run.
struct Incoming<'a> {
    destination: Destination,
    /// The run, if it is there.
    run: Option<&'a Run>,
    tables: Vec<Table<'a>>,
    taken: TableIdSet,
    /// Whether nothing older is left below.
    bottom: bool,
}

/// Cost and result of partitioning.
#[derive(Default)]
struct Outcome {
    points: usize,
    partitions: usize,
    error: u64,
}

impl Partitioned {
    /// Steps 1 to 3.
    fn groups(
        &self,
        context: &PlanContext,
        incoming: &Incoming,
        outcome: &mut Outcome,
    ) -> Vec<Group> {
        let target_file_bytes = self.target_file_bytes;
        let Incoming { destination, run, bottom, .. } = *incoming;
        let (mut moves, mut groups) = (Vec::new(), Vec::new());
        for tables in self.parts(context, incoming) {
            let inputs: Vec<_> = tables.iter().map(|t| t.id).collect();
            let action = match tables.as_slice() {
                [alone] if run.is_some_and(|run| contains(run, alone)) => continue,
                [alone] => {
                    move_or_merge(alone.entries, alone.tombstones, bottom, target_file_bytes)
                }
                _ => self.merge(incoming, &tables, outcome),
            };
            match action {
                Action::Move => moves.extend(inputs),
                Action::Merge { .. } => groups.push(Group::new(inputs, destination, action)),
            }
        }
        if !moves.is_empty() {
            groups.push(Group::new(moves, destination, Action::Move));
        }
        groups
    }

    /// Step 1, and 3.
    fn parts<'a>(&self, context: &PlanContext, incoming: &Incoming<'a>) -> Vec<Vec<Table<'a>>> {
        let mut tables = incoming.tables.clone();
        let stays = |table: Table| !incoming.taken.contains(table.id);
        if self.options.partitioner == Partitioner::None {
            let held = context.running.held();
            let rest = incoming.run.map(|run| run.tables().iter()).into_iter().flatten();
            let rest: Vec<_> = rest.filter(|table| stays(table)).collect();
            if !rest.iter().any(|table| held.contains(&table.id)) {
                tables.extend(rest);
                return vec![tables];
            }
        }
        let most = self.joined_bytes();
        let mut joined: Vec<Vec<Table>> = Vec::new();
        for part in components(tables) {
            let (first, _) = key_range(&part);
            let are_neighbours = |last: &[u8]| {
                let mut between = incoming.run.map(|run| run.overlapping(last, first)).into_iter();
                !between.any(|mut tables| tables.any(&stays))
            };
            match joined.last_mut() {
                Some(last)
                    if bytes(last).saturating_add(bytes(&part)) <= most
                        && are_neighbours(key_range(last).1) =>
                {
                    last.extend(part);
                }
                _ => joined.push(part),
            }
        }
        joined
    }

    fn joined_bytes(&self) -> u64 {
        mul_div(self.target_file_bytes, self.options.join_percent, 100)
    }

    /// Step 2.
    fn merge(&self, incoming: &Incoming, tables: &[Table], outcome: &mut Outcome) -> Action {
        let most = self.target_file_bytes;
        let range = match self.options.partitioner {
            Partitioner::Default | Partitioner::Size => return Action::merge(most),
            Partitioner::None => return Action::merge(u64::MAX),
            Partitioner::LocalRange => incoming.span(),
            Partitioner::LocalRangeByGroup => key_range(tables),
            Partitioner::GlobalRange => self.space(),
        };
        let points = Points::of(tables);
        if points.len() == 0 {
            return Action::merge(most);
        }
        let mut cuts = halve(&points, Cell::between(range.0, range.1), most, 1);
        join(&points, &mut cuts, self.joined_bytes());
        outcome.points += points.len();
        outcome.partitions += cuts.len() + 1;
        outcome.error = outcome.error.max(points.error);
        Action::Merge {
            cuts,
            target_file_bytes: most.saturating_mul(2),
            filter_bits: None,
            split: None,
        }
    }

    /// The key space.
    fn space(&self) -> (&[u8], &[u8]) {
        (&self.options.domain_least, &self.options.domain_greatest)
    }
}

impl Incoming<'_> {
    /// The key range that the run will have.
    fn span(&self) -> (&[u8], &[u8]) {
        let (mut least, mut greatest) = key_range(&self.tables);
        let tables = self.run.map(Run::tables);
        let ends = tables.and_then(|tables| tables.iter().next().zip(tables.last()));
        if let Some((first, last)) = ends {
            least = least.min(&first.smallest);
            greatest = greatest.max(&last.largest);
        }
        (least, greatest)
    }
}

/// Whether the table is one of the run.
fn contains(run: &Run, table: &TableInfo) -> bool {
    run.overlapping(&table.smallest, &table.largest).any(|t| t.id == table.id)
}

/// Returns the data that a compaction brings into a run.
fn incoming<'a>(shape: &'a Shape, plan: &Compaction, destination: Destination) -> Incoming<'a> {
    let groups = plan.groups.iter().filter(|group| group.destination == destination);
    let ids: Vec<_> = groups.flat_map(|group| &group.inputs).copied().collect();
    let tables: Vec<_> = shape.find(ids).into_iter().map(|placed| placed.table).collect();
    let taken = TableIdSet::from(tables.iter().map(|table| table.id).collect::<Vec<_>>());
    let runs = shape.runs();
    let is_below = |place: Destination| {
        place.level > destination.level
            || place.level == destination.level && place.run < destination.run
    };
    let is_taken = |run: &Run| run.tables().iter().all(|table| taken.contains(table.id));
    let bottom = runs.iter().all(|(place, run)| !is_below(*place) || is_taken(run));
    let run = runs.iter().find(|(place, _)| *place == destination).map(|(_, run)| *run);
    Incoming { destination, run, tables, taken, bottom }
}

impl Refine for Partitioned {
    /// Groups the inputs of a compaction again and cuts their outputs.
    fn compaction(&self, context: &PlanContext, plan: &mut Compaction) {
        let is_written = |group: &Group| context.running.writes_into(group.destination);
        if self.options.partitioner == Partitioner::None && plan.groups.iter().any(is_written) {
            plan.groups.clear();
            return;
        }
        let mut destinations = Vec::new();
        for group in &plan.groups {
            if !destinations.contains(&group.destination) {
                destinations.push(group.destination);
            }
        }
        let (mut groups, mut outcome) = (Vec::new(), Outcome::default());
        for destination in destinations {
            let incoming = incoming(context.shape, plan, destination);
            groups.extend(self.groups(context, &incoming, &mut outcome));
        }
        if groups.is_empty() {
            return;
        }
        plan.order = match u8::try_from(self.options.subcompactions) {
            Ok(0) | Err(_) => plan.order,
            Ok(1) => Order::Sequential,
            Ok(most) => Order::AtMost(most),
        };
        let Outcome { points, partitions, error } = outcome;
        let name = self.options.partitioner.name();
        plan.reason.text += &format!("; {name} makes {} of it", count(groups.len(), "group"));
        if self.options.partitioner.halves() {
            plan.reason.text += &format!(
                " and {}, from {}, with errors of at most {}",
                count(partitions, "partition"),
                count(points, "point"),
                size(error),
            );
        }
        plan.groups = groups;
    }

    fn refines_flushes(&self) -> bool {
        self.options.flush_floor_bytes > 0 && self.options.partitioner.halves()
    }

    /// Step 4.
    fn flush(&self, _: &PlanContext, sealed: &KeySample, plan: &mut FlushPlan) {
        let floor = self.options.flush_floor_bytes;
        let (Some(first), Some(last)) = (sealed.keys.first(), sealed.keys.last()) else { return };
        // What lies between two keys counts as the second's.
        let gaps = (sealed.keys.len() as u64 - 1).max(1);
        let through = |at: u64| mul_div(sealed.bytes, at, gaps);
        let share = |at: u64| at.checked_sub(1).map_or(0, |before| through(at) - through(before));
        let points = Points::new((0..).zip(&sealed.keys).map(|(at, key)| (&**key, share(at))));
        let space = match self.options.partitioner {
            Partitioner::GlobalRange => self.space(),
            _ => (first.as_slice(), last.as_slice()),
        };
        let most = floor.saturating_mul(2).saturating_sub(1);
        plan.cuts = halve(&points, Cell::between(space.0, space.1), most, floor);
        if plan.cuts.is_empty() {
            return;
        }
        let text = format!(
            "{} of {} become {} of {} at least",
            count(sealed.keys.len(), "sampled key"),
            size(sealed.bytes),
            count(plan.cuts.len() + 1, "partition"),
            size(floor),
        );
        let have = Quantity::new("bytes", sealed.bytes);
        let limit = Quantity::new("two-floors", floor.saturating_mul(2));
        let term = Term::new(Unit::Bytes, have, Relation::AtLeast, limit);
        let terms = vec![term.so(Effect::Cut)];
        plan.reason = Reason::new(text, terms);
    }

    fn reads_histograms(&self) -> bool {
        self.options.partitioner.halves()
    }
}
