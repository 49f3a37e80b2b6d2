//! The plan validator: a plan that could lose or resurrect data is refused, so that a wrong policy
//! can only waste work.
//!
//! A place is (level, run), newest first. A tree is *sound* if, of any two tables that hold a common
//! user key, the one above holds only newer versions of it, and no two tables of a run overlap: then a
//! read finds the newest version in the first place that holds the key. The groups of a plan, and of
//! the plans already running, commit one by one in any order, but for those that follow another, so
//! every subset of them, with each group that one of it follows, must leave the tree sound. A subset
//! leaves a set of tables, each either there before or the output of a group, and
//! soundness is a property of pairs. A pair depends on at most two groups, so it is enough to check,
//! for each new group with destination *d*:
//!
//! 1. **Form.** Groups have inputs, cuts ascend, a tree may have the level, a run is used
//!    on one level only, inputs exist and have one consumer, a move changes the run of a table, a group
//!    follows an earlier one.
//! 2. **An output and a table left out** (inputs of other groups are left out of this one, except of
//!    those that it follows, directly or not: when it commits, they have). For
//!    each input A and each V left out that overlaps it: A above V if and only if *d* above V; that
//!    is, no such V is between A and *d*. And no V in run *d* overlaps the output.
//! 3. **Two outputs**, one of them new. For overlapping inputs A and B of the two groups: A above B
//!    if and only if *d* of A above *d* of B; and outputs into one run do not overlap.
//!
//! The output of a merge is assumed to span the whole key range of its inputs; a move's outputs are its
//! inputs. Pairs without a new group were checked when the later of the two started.
//!
//! A change of levels does not reorder places. It is refused if a running group writes into a level
//! whose index would change, since the group identifies its destination by the old one; the inputs of
//! such groups may shift, as they stay below their destinations.

pub(crate) mod output;
pub mod refusal;

use crate::context::Running;
use output::{Output, outputs};
use refusal::Refusal;
use terrane_types::{
    Action, Compaction, FlushPlan, Group, LevelChange, MAX_LEVELS, Placed, Plan, Shape, TableId,
    TableIdSet, reshape, sort_by,
};

/// Refuses `compaction` unless every state that it and `running` can lead to is sound.
///
/// `shape` must be sound itself, and the running groups validated when they started.
pub fn validate(shape: &Shape, running: &Running, compaction: &Compaction) -> Result<(), Refusal> {
    let (old, new) = resolve(shape, running, compaction)?;
    for group in &new {
        check_left_out(shape, group)?;
    }
    check_order(&old, &new)?;
    check_outputs(&old, &new)
}

/// Refuses a plan that could lose or resurrect data.
pub fn validate_plan(shape: &Shape, running: &Running, plan: &Plan) -> Result<(), Refusal> {
    match plan {
        Plan::Compact(compaction) => validate(shape, running, compaction),
        Plan::Reshape(reshape) => validate_reshape(shape, running, reshape.change),
    }
}

/// Refuses a change of levels that does not fit the shape, or that would shift a level that a running
/// group writes into.
pub fn validate_reshape(
    shape: &Shape,
    running: &Running,
    change: LevelChange,
) -> Result<(), Refusal> {
    reshape(shape, change).map_err(|why| Refusal::Levels { why })?;
    let mut destinations = running.groups().map(|group| group.destination);
    match destinations.find(|destination| destination.level >= change.level()) {
        Some(destination) => Err(Refusal::Shifts { change, destination }),
        None => Ok(()),
    }
}

/// Refuses a flush whose cuts do not ascend.
pub fn validate_flush(plan: &FlushPlan) -> Result<(), Refusal> {
    if plan.cuts.is_sorted_by(|a, b| a < b) { Ok(()) } else { Err(Refusal::FlushCuts) }
}

/// A group whose inputs have been looked up.
struct Resolved<'a> {
    group: &'a Group,
    inputs: Vec<Placed<'a>>,
    outputs: Vec<Output<'a>>,
    /// The inputs of the groups that it follows, directly or not.
    gone: Vec<TableId>,
}

impl<'a> Resolved<'a> {
    fn new(group: &'a Group, inputs: Vec<Placed<'a>>) -> Self {
        let tables: Vec<_> = inputs.iter().map(|input| input.table).collect();
        Resolved { group, outputs: outputs(&group.action, &tables), inputs, gone: Vec::new() }
    }
}

/// Step 1: looks every group up, the running ones first, and checks the form of the new ones.
fn resolve<'a>(
    shape: &'a Shape,
    running: &'a Running,
    compaction: &'a Compaction,
) -> Result<(Vec<Resolved<'a>>, Vec<Resolved<'a>>), Refusal> {
    let mut named = Vec::new();
    for group in running.groups().chain(&compaction.groups) {
        named.extend_from_slice(&group.inputs);
    }
    let mut found = shape.find(named);
    sort_by(&mut found, |a, b| a.table.id.cmp(&b.table.id));
    let mut taken = vec![false; found.len()];
    // The table, and whether it has a consumer already.
    let mut take = |id: TableId| {
        let at = found.binary_search_by_key(&id, |placed| placed.table.id).ok()?;
        Some((*found.get(at)?, std::mem::replace(taken.get_mut(at)?, true)))
    };

    let mut old = Vec::new();
    let mut places: Vec<_> = shape.runs().iter().map(|(place, _)| *place).collect();
    for group in running.groups() {
        places.push(group.destination);
        let mut inputs = Vec::with_capacity(group.inputs.len());
        for &table in &group.inputs {
            inputs.extend(take(table).map(|(input, _)| input));
        }
        old.push(Resolved::new(group, inputs));
    }
    if compaction.groups.is_empty() {
        return Err(Refusal::NoGroups);
    }
    let mut new = Vec::new();
    for (number, group) in compaction.groups.iter().enumerate() {
        check_form(number, group)?;
        let destination = group.destination;
        match places.iter().find(|place| place.run == destination.run) {
            None => places.push(destination),
            Some(place) if place.level == destination.level => {}
            Some(place) => {
                let found = place.level;
                return Err(Refusal::RunElsewhere { group: number, destination, found });
            }
        }
        let mut inputs = Vec::with_capacity(group.inputs.len());
        for &table in &group.inputs {
            match take(table) {
                None => return Err(Refusal::Missing { group: number, table }),
                Some((_, true)) => return Err(Refusal::Taken { group: number, table }),
                Some((input, false)) => inputs.push(input),
            }
        }
        if group.action == Action::Move && inputs.iter().all(|input| input.place == destination) {
            return Err(Refusal::Stays { group: number, destination });
        }
        let gone = match group.follows {
            None => Vec::new(),
            Some(table) => {
                gone_before(&new, table).ok_or(Refusal::Follows { group: number, table })?
            }
        };
        new.push(Resolved { gone, ..Resolved::new(group, inputs) });
    }
    Ok((old, new))
}

/// The inputs of the group that consumes `table`, if it is one of these, and of those that it follows.
fn gone_before(earlier: &[Resolved], table: TableId) -> Option<Vec<TableId>> {
    let followed = earlier.iter().find(|group| group.group.inputs.contains(&table))?;
    let mut gone = followed.gone.clone();
    gone.extend_from_slice(&followed.group.inputs);
    Some(gone)
}

fn check_form(number: usize, group: &Group) -> Result<(), Refusal> {
    if group.inputs.is_empty() {
        return Err(Refusal::NoInputs { group: number });
    }
    if let Action::Merge { cuts, .. } = &group.action
        && !cuts.is_sorted_by(|a, b| a < b)
    {
        return Err(Refusal::Cuts { group: number });
    }
    let is_merge = group.action != Action::Move;
    if !group.parts.is_sorted_by(|a, b| a < b) || !(is_merge || group.parts.is_empty()) {
        return Err(Refusal::Parts { group: number });
    }
    let limit = MAX_LEVELS - 1;
    let level = group.destination.level;
    if level > limit {
        return Err(Refusal::TooDeep { group: number, level, limit });
    }
    Ok(())
}

/// Step 2. Runs are sorted, so only overlapping tables are visited.
fn check_left_out(shape: &Shape, group: &Resolved) -> Result<(), Refusal> {
    let mut own = group.gone.clone();
    own.extend_from_slice(&group.group.inputs);
    let own = TableIdSet::from(own);
    let destination = group.group.destination;
    let runs = shape.runs();
    for &Placed { table: input, place: from } in &group.inputs {
        let (high, low) =
            if from.is_above(destination) { (from, destination) } else { (destination, from) };
        for &(place, run) in runs.iter().filter(|(p, _)| high.is_above(*p) && p.is_above(low)) {
            let mut overlapping = run.overlapping(&input.smallest, &input.largest);
            if let Some(v) = overlapping.find(|v| !own.contains(v.id)) {
                let (input, table) = (input.id, v.id);
                return Err(Refusal::Passes { input, from, destination, table, place });
            }
        }
    }
    for &(place, run) in runs.iter().filter(|(place, _)| *place == destination) {
        for output in &group.outputs {
            let mut overlapping = run.overlapping(output.smallest, output.largest);
            if let Some(v) = overlapping.find(|v| !own.contains(v.id)) {
                return Err(Refusal::Lands { input: output.of, table: v.id, place });
            }
        }
    }
    Ok(())
}

/// Step 3, the order: a sweep over all inputs by their smallest key meets each overlapping pair
/// once. Two overlapping inputs are in different runs, so one is above the other.
fn check_order(old: &[Resolved], new: &[Resolved]) -> Result<(), Refusal> {
    let mut inputs = Vec::new();
    for (number, group) in old.iter().chain(new).enumerate() {
        inputs.extend(group.inputs.iter().map(|input| (number, input, group.group)));
    }
    sort_by(&mut inputs, |(_, a, _), (_, b, _)| a.table.smallest.cmp(&b.table.smallest));
    let mut rest = inputs.as_slice();
    while let Some((&(number, a, group), after)) = rest.split_first() {
        rest = after;
        for &(other, b, other_group) in
            after.iter().take_while(|(_, b, _)| b.table.smallest <= a.table.largest)
        {
            let one_is_new = number >= old.len() || other >= old.len();
            if number == other || !one_is_new {
                continue;
            }
            let ((newer, newer_to), (older, older_to)) = {
                let (a, b) = ((a, group.destination), (b, other_group.destination));
                if a.0.place.is_above(b.0.place) { (a, b) } else { (b, a) }
            };
            if !newer_to.is_above(older_to) {
                let (newer, older) = (newer.table.id, older.table.id);
                return Err(Refusal::Crosses { newer, newer_to, older, older_to });
            }
        }
    }
    Ok(())
}

/// Step 3, the runs: outputs sorted by destination and key must not overlap their neighbours.
fn check_outputs(old: &[Resolved], new: &[Resolved]) -> Result<(), Refusal> {
    let mut outputs = Vec::new();
    for group in old.iter().chain(new) {
        outputs.extend(group.outputs.iter().map(|output| (group.group.destination, output)));
    }
    sort_by(&mut outputs, |(p, a), (q, b)| {
        (p.level, p.run, a.smallest).cmp(&(q.level, q.run, b.smallest))
    });
    let mut pairs = outputs.iter().zip(outputs.iter().skip(1));
    match pairs.find(|((p, a), (q, b))| p == q && b.smallest <= a.largest) {
        None => Ok(()),
        Some(((place, a), (_, b))) => {
            Err(Refusal::Collides { first: a.of, second: b.of, place: *place })
        }
    }
}
