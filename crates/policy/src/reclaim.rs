//! Space that released snapshots, range deletes and expired values free: a table is rewritten in place, without the
//! entries that only snapshots kept, or that a range delete hides.
//!
//! 1. A table counts these entries as it is written, with the sequence number that every snapshot must
//!    reach before all of them can be dropped ([`Kept`]).
//! 2. Once the oldest snapshot has reached it, a merge of the table alone drops them. Nothing that is
//!    written later can bring such an entry back to use: versions only get older.
//! 3. The table is rewritten if they are an eighth of its entries or of its bytes, and if nothing of the
//!    tree is being compacted: plans of the policy come first. The rewritten table has none of them, so this
//!    terminates.
//! 4. Range deletes are known to the caller, who says what they hide from every reader ([`Hidden`]). Tables of which
//!    nothing is left go at once, by a merge that reads and writes nothing ([`drop_hidden`]); those of which a
//!    worthwhile part is hidden are rewritten as above.

use crate::context::Running;
use crate::validate::validate;
use terrane_types::{
    Action, Compaction, Group, Kept, Plan, PrefixSplit, Shape, TableId, TableInfo, VecSet,
};

/// Tables of which range deletes hide something from every reader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hidden {
    /// Tables of which everything is hidden, or has expired.
    pub whole: Vec<TableId>,
    /// Tables that are worth rewriting, each with the bytes that are hidden, about.
    pub parts: Vec<(TableId, u64)>,
    /// The sequence number that the oldest snapshot must reach before more is hidden from every reader.
    pub awaits: Option<u64>,
}

/// A table is worth rewriting if that drops one in this many of its entries or bytes.
const WORTHWHILE: u64 = 8;

/// Returns a plan that drops the tables of which nothing is left and that no running job holds, or `None`. Each group
/// is a series of neighbours in a run and has no outputs.
#[must_use]
pub fn drop_hidden(shape: &Shape, running: &Running, hidden: &Hidden) -> Option<Plan> {
    if hidden.whole.is_empty() {
        return None;
    }
    let (whole, held) = (hidden.whole.iter().copied().collect::<VecSet<_>>(), running.held());
    let mut groups = Vec::new();
    for (place, run) in shape.runs() {
        let mut inputs = Vec::new();
        for table in run.tables() {
            if whole.contains(&table.id) && !held.contains(&table.id) {
                inputs.push(table.id);
            } else if !inputs.is_empty() {
                let neighbours = std::mem::take(&mut inputs);
                groups.push(Group::new(neighbours, place, Action::merge(u64::MAX)));
            }
        }
        if !inputs.is_empty() {
            groups.push(Group::new(inputs, place, Action::merge(u64::MAX)));
        }
    }
    let reason =
        format!("nothing is left of {} tables, by range deletes or expiry", hidden.whole.len());
    let plan = Compaction::parallel(groups, reason);
    (!plan.groups.is_empty() && validate(shape, running, &plan).is_ok())
        .then_some(Plan::Compact(plan))
}

/// Returns the plan that rewrites the table from which most space is freed, if there is one.
#[must_use]
pub fn reclaim(
    shape: &Shape,
    running: &Running,
    oldest_snapshot: u64,
    hidden: &Hidden,
) -> Option<Plan> {
    if running.groups().next().is_some() {
        return None;
    }
    let droppable = worthwhile(shape).into_iter().filter(|(_, kept)| kept.until <= oldest_snapshot);
    if let Some((table, kept)) = droppable.max_by_key(|(table, kept)| (kept.bytes, table.id)) {
        let (kept, all) = (kept.entries, table.entries);
        let why = format!("released snapshots kept {kept} of its {all} entries");
        return rewrite(shape, running, table, &why);
    }
    let (id, bytes) = hidden.parts.iter().copied().max_by_key(|(id, bytes)| (*bytes, *id))?;
    let why = format!("range deletes hide about {bytes} bytes of it");
    rewrite(shape, running, shape.table(id)?.table, &why)
}

/// Returns the plan that rewrites a table in place.
fn rewrite(shape: &Shape, running: &Running, table: &TableInfo, why: &str) -> Option<Plan> {
    let place = shape.table(table.id)?.place;
    // The prefixes of the keys are recorded again, and end no table.
    let split =
        table.prefixes.set().map(|set| PrefixSplit { rule: set.rule(), least_bytes: u64::MAX });
    let action = Action::Merge {
        cuts: Vec::new(),
        target_file_bytes: u64::MAX,
        filter_bits: Some(table.filter_bits),
        split,
    };
    let reason = format!("a table is rewritten in place: {why}");
    let plan = Compaction::parallel(vec![Group::new(vec![table.id], place, action)], reason);
    validate(shape, running, &plan).is_ok().then_some(Plan::Compact(plan))
}

/// Returns the least sequence number above `oldest_snapshot` that the oldest snapshot must reach before a
/// table is rewritten.
#[must_use]
pub fn reclaimable_at(shape: &Shape, oldest_snapshot: u64) -> Option<u64> {
    let until = worthwhile(shape).into_iter().map(|(_, kept)| kept.until);
    until.filter(|until| *until > oldest_snapshot).min()
}

/// Returns the tables of which a worthwhile part can be dropped, now or later.
fn worthwhile(shape: &Shape) -> Vec<(&TableInfo, Kept)> {
    let mut found = Vec::new();
    for (_, run) in shape.runs() {
        if run.totals().kept() == 0 {
            continue;
        }
        found.extend(run.tables().iter().filter_map(|table| {
            let kept = table.kept.filter(|kept| is_worthwhile(table, kept))?;
            Some((&**table, kept))
        }));
    }
    found
}

fn is_worthwhile(table: &TableInfo, kept: &Kept) -> bool {
    let share = |part: u64, all: u64| part > 0 && part.saturating_mul(WORTHWHILE) >= all;
    share(kept.entries, table.entries) || share(kept.bytes, table.bytes)
}
