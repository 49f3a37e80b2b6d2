//! The bytes of what is left of a compaction (FORMAT.md, "Plans").

use crate::codec::{Decoder, put_bytes, put_varint};
use terrane_policy::{Action, Compaction, Destination, Group, Order, RunId, TableId};

const MOVE: u8 = 0;
const MERGE: u8 = 1;

/// Appends a plan.
pub(super) fn encode(plan: &Compaction, out: &mut Vec<u8>) {
    put_bytes(out, plan.reason.as_bytes());
    out.push(u8::from(plan.order == Order::Sequential));
    put_varint(out, plan.groups.len() as u64);
    for group in &plan.groups {
        put_varint(out, group.inputs.len() as u64);
        group.inputs.iter().for_each(|id| put_varint(out, id.0));
        put_varint(out, group.destination.level as u64);
        put_varint(out, group.destination.run.0);
        match &group.action {
            Action::Move => out.push(MOVE),
            Action::Merge { cuts, table_bytes, filter_bits } => {
                out.push(MERGE);
                put_varint(out, *table_bytes);
                put_varint(out, filter_bits.map_or(0, |bits| u64::from(bits) + 1));
                put_varint(out, cuts.len() as u64);
                cuts.iter().for_each(|cut| put_bytes(out, cut));
            }
        }
    }
}

/// Takes a plan; `None` where it is malformed.
pub(super) fn decode(d: &mut Decoder<'_>) -> Option<Compaction> {
    let reason = String::from_utf8(d.bytes()?.to_vec()).ok()?;
    let order = match d.u8()? {
        0 => Order::Parallel,
        1 => Order::Sequential,
        _ => return None,
    };
    let groups = list(d, |d| {
        let inputs = list(d, |d| d.varint().map(TableId))?;
        let destination = Destination { level: d.length()?, run: RunId(d.varint()?) };
        let action = match d.u8()? {
            MOVE => Action::Move,
            MERGE => Action::Merge {
                table_bytes: d.varint()?,
                filter_bits: match d.varint()? {
                    0 => None,
                    bits => Some(u32::try_from(bits - 1).ok()?),
                },
                cuts: list(d, |d| d.bytes().map(<[u8]>::to_vec))?,
            },
            _ => return None,
        };
        Some(Group { inputs, destination, action })
    })?;
    Some(Compaction { groups, order, reason })
}

/// Takes a varint count and as many items. Each is a byte at least, so that a wrong count asks for
/// no memory.
fn list<'a, T>(
    d: &mut Decoder<'a>,
    mut item: impl FnMut(&mut Decoder<'a>) -> Option<T>,
) -> Option<Vec<T>> {
    let mut items = Vec::new();
    for _ in 0..d.varint()? {
        items.push(item(d)?);
    }
    Some(items)
}
