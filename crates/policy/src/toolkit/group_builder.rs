//! Builds the groups that merge tables into one run, as cheaply as possible.
//!
//! 1. Tables that overlap form connected components, in key order.
//! 2. A component that is in the destination already stays there, and separates its neighbours.
//! 3. Neighbours that fit into one table together are joined.
//! 4. Components of one table move (see [`super::trivial_move`]), all in one group; any other is merged,
//!    in a group of its own.
//!
//! The key ranges of the groups are disjoint, so they commit in any order.

use super::trivial_move::move_or_merge;
use std::sync::Arc;
use terrane_types::{Action, Destination, Group, Place, Run, TableInfo, sort_by};

/// The run that tables are merged into.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    /// Its place, now or later.
    pub(crate) destination: Destination,
    /// Its tables, or those that may overlap the incoming ones.
    pub(crate) there: Option<&'a Run>,
    /// Whether nothing older lies below.
    pub(crate) bottom: bool,
    /// Size at which a table is closed, in bytes.
    pub(crate) target_file_bytes: u64,
    /// Whether a table that overlaps nothing is moved rather than rewritten.
    pub(crate) trivial_moves: bool,
}

/// The keys at which a merge of these tables is cut.
pub(crate) type Cuts<'c> = &'c dyn Fn(&[&Arc<TableInfo>]) -> Vec<Vec<u8>>;

/// The groups that merge the tables of `coming` into the target.
pub(crate) fn build_groups<'a>(coming: Vec<&'a Arc<TableInfo>>, target: Target<'a>) -> Vec<Group> {
    build_groups_cut(coming, target, target.target_file_bytes, &|_| Vec::new())
}

/// As [`build_groups`], but neighbours are joined up to `join_bytes`, and a component is cut at the keys
/// that `cuts` returns: a single table moves only if it needs no cut.
pub(crate) fn build_groups_cut<'a>(
    coming: Vec<&'a Arc<TableInfo>>,
    target: Target<'a>,
    join_bytes: u64,
    cuts: Cuts,
) -> Vec<Group> {
    let Target { destination, there, bottom, target_file_bytes, trivial_moves: may_move } = target;
    let mut moves = Vec::new();
    let mut merges = Vec::new();
    for part in parts(coming, there, join_bytes) {
        let inputs: Vec<_> = part.iter().map(|t| t.id).collect();
        let cuts = cuts(&part);
        let action = match part.as_slice() {
            [alone] if cuts.is_empty() && may_move => {
                move_or_merge(alone.entries, alone.tombstones, bottom, target_file_bytes)
            }
            _ => Action::Merge { cuts, target_file_bytes, filter_bits: None, split: None },
        };
        match action {
            Action::Move => moves.extend(inputs),
            Action::Merge { .. } => merges.push(Group::new(inputs, destination, action)),
        }
    }
    if !moves.is_empty() {
        merges.push(Group::new(moves, destination, Action::Move));
    }
    merges
}

/// Steps 1 to 3. Only the target's tables that belong to a component are visited.
fn parts<'a>(
    mut coming: Vec<&'a Arc<TableInfo>>,
    there: Option<&'a Run>,
    join_bytes: u64,
) -> Vec<Vec<&'a Arc<TableInfo>>> {
    sort_by(&mut coming, |a, b| a.smallest.cmp(&b.smallest));
    let mut parts: Vec<Vec<&Arc<TableInfo>>> = Vec::new();
    let mut coming = coming.into_iter().peekable();
    // The target's tables before this place belong to earlier components.
    let mut behind = Place::default();
    while let Some(first) = coming.next() {
        let mut end = &first.largest;
        let from = there.map_or(behind, |run| run.first_from(&first.smallest));
        let (mut part, mut met, mut next) = (vec![first], Vec::new(), from);
        loop {
            if let Some(table) = there.and_then(|run| run.tables().get(next))
                && table.smallest <= *end
            {
                met.push(table);
                end = end.max(&table.largest);
                next = there.map_or(next, |run| run.tables().after(next));
            } else if let Some(table) = coming.next_if(|table| table.smallest <= *end) {
                part.push(table);
                end = end.max(&table.largest);
            } else {
                break;
            }
        }
        part.extend(met);
        sort_by(&mut part, |a, b| a.smallest.cmp(&b.smallest));
        match parts.last_mut() {
            Some(last)
                if behind == from && bytes(last).saturating_add(bytes(&part)) <= join_bytes =>
            {
                last.extend(part);
            }
            _ => parts.push(part),
        }
        behind = next;
    }
    parts
}

/// The tables in connected components: those of one overlap, directly or through others of it.
pub(crate) fn components(tables: Vec<&Arc<TableInfo>>) -> Vec<Vec<&Arc<TableInfo>>> {
    parts(tables, None, 0)
}

/// Bytes of all the tables.
pub(crate) fn bytes(tables: &[&Arc<TableInfo>]) -> u64 {
    tables.iter().map(|t| t.bytes).fold(0, u64::saturating_add)
}
