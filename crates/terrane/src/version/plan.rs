//! The bytes of what is left of a compaction (FORMAT.md, "Plans").

use super::body::{Body, Unread};
use crate::coding::{put_bytes, put_varint};
use terrane_policy::{
    Action, Compaction, Destination, FilterBits, Group, Order, PrefixRule, PrefixSplit, RunId,
    TableId,
};

const MOVE: u8 = 0;
const MERGE: u8 = 1;
const SPLIT_MERGE: u8 = 2;

/// Appends a plan.
pub(super) fn encode(plan: &Compaction, out: &mut Vec<u8>) {
    put_bytes(out, plan.reason.text.as_bytes());
    out.push(match plan.order {
        Order::Parallel => 0,
        Order::Sequential => 1,
        Order::AtMost(most) => most,
    });
    put_varint(out, plan.groups.len() as u64);
    for group in &plan.groups {
        put_varint(out, group.inputs.len() as u64);
        group.inputs.iter().for_each(|id| put_varint(out, id.0));
        put_varint(out, group.destination.level as u64);
        put_varint(out, group.destination.run.0);
        match &group.action {
            Action::Move => out.push(MOVE),
            Action::Merge { cuts, target_file_bytes, filter_bits, split } => {
                out.push(if split.is_some() { SPLIT_MERGE } else { MERGE });
                if let Some(split) = split {
                    put_split(split, out);
                }
                put_varint(out, *target_file_bytes);
                put_varint(out, filter_bits.map_or(0, |bits| u64::from(bits.thousandths()) + 1));
                put_varint(out, cuts.len() as u64);
                cuts.iter().for_each(|cut| put_bytes(out, cut));
            }
        }
        out.push(u8::from(group.follows.is_some()));
        group.follows.into_iter().for_each(|id| put_varint(out, id.0));
    }
}

/// Takes a plan.
pub(super) fn decode(d: &mut Body<'_>) -> Result<Compaction, Unread> {
    let reason = d.text()?.into();
    let order = match d.u8()? {
        0 => Order::Parallel,
        1 => Order::Sequential,
        most => Order::AtMost(most),
    };
    let groups = d.list(|d| {
        let inputs = d.list(|d| d.varint().map(TableId))?;
        let destination = Destination { level: d.length()?, run: RunId(d.varint()?) };
        let action = match d.u8()? {
            MOVE => Action::Move,
            kind @ (MERGE | SPLIT_MERGE) => Action::Merge {
                split: if kind == SPLIT_MERGE { split(d)? } else { None },
                target_file_bytes: d.varint()?,
                filter_bits: match d.varint()? {
                    0 => None,
                    bits => Some(filter_bits(bits - 1)?),
                },
                cuts: d.list(|d| d.bytes().map(<[u8]>::to_vec))?,
            },
            other => return Err(Unread::Part("action", other.into())),
        };
        let follows = match d.u8()? {
            0 => None,
            1 => Some(TableId(d.varint()?)),
            other => return Err(Unread::Part("relation to another group", other.into())),
        };
        Ok(Group { follows, ..Group::new(inputs, destination, action) })
    })?;
    Ok(Compaction { groups, order, reason })
}

fn put_split(split: &PrefixSplit, out: &mut Vec<u8>) {
    let (kind, value) = split.rule.to_stored();
    out.push(kind);
    put_varint(out, value.into());
    put_varint(out, split.least_bytes);
}

/// A build without rules merges without one: where tables end is no promise.
fn split(d: &mut Body<'_>) -> Result<Option<PrefixSplit>, Unread> {
    let (kind, value, least_bytes) = (d.u8()?, d.varint()?, d.varint()?);
    let rule = PrefixRule::from_stored(kind, value);
    if rule.is_none() && PrefixRule::KNOWN {
        return Err(Unread::Part("prefix rule", kind.into()));
    }
    Ok(rule.map(|rule| PrefixSplit { rule, least_bytes }))
}

/// Returns the filter bits of `thousandths`.
pub(super) fn filter_bits(thousandths: u64) -> Result<FilterBits, Unread> {
    let fits = u32::try_from(thousandths).ok().map(FilterBits::from_thousandths);
    fits.filter(|bits| u64::from(bits.thousandths()) == thousandths).ok_or(Unread::Malformed)
}
