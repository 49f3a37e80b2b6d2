//! Edits as manifest records.
//!
//! An edit is a list of changes, each `tag u8, length varint, body`. A reader skips an unknown
//! change whose tag is 128 or above (optional) and refuses one below (required). A [`Body`] may end
//! in fields that a later release added.

use super::body::Body;
use super::body::Unread::{self, Malformed};
use super::change::{Change, Features, Quarantine, RetainedLog};
use super::{plan, range_deletes};
use crate::coding::{Decoder, put_bytes, put_varint};
use crate::entry::left_out;
use crate::error::{Corruption, Error, Result};
use crate::storage::{KNOWN_REQUIRED, is_left_out};
use crate::table::properties::{decode_kept, encode_kept};
use crate::wal::LogId;
use terrane_policy::{Histogram, LevelChange, Prefixes, RunId, TableId, TableInfo};

/// A list of changes that take effect together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// The changes, in order.
    pub changes: Vec<Change>,
}

const NEXT_ID: u8 = 1;
const CREATE_KEYSPACE: u8 = 2;
const DROP_KEYSPACE: u8 = 3;
const ADD_TABLE: u8 = 4;
const DROP_TABLE: u8 = 5;
const FLUSHED: u8 = 6;
const OPEN_LOG: u8 = 7;
const RETIRE_LOGS: u8 = 8;
const SET_POLICY: u8 = 9;
const REMAINING: u8 = 10;
const POLICY_STATE: u8 = 11;
const LEVELS: u8 = 12;
const END_LOG: u8 = 13;
const FEATURES: u8 = 14;
const QUARANTINE: u8 = 15;
const DROP_QUARANTINE: u8 = 16;
const RANGE_DELETES: u8 = 17;
const KEYSPACE_FEATURES: u8 = 18;
const LINEAGE: u8 = 19;
const RETAIN_LOG: u8 = 20;
const FORGET_LOGS: u8 = 21;
/// The field of an added table with the entries that only snapshots kept.
const KEPT: u64 = 2;
/// The field of an added table with the number through which range deletes are applied to it.
const CLEARED: u64 = 4;
/// Field of an added table: the time by which all its values have expired.
const EXPIRES_BY: u64 = 6;
/// Changes with this tag or a greater one may be skipped by a reader that does not know them.
const OPTIONAL: u8 = 128;

impl Edit {
    /// The edit as bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut body = Vec::new();
        for change in &self.changes {
            body.clear();
            let tag = encode_change(change, &mut body);
            out.push(tag);
            put_bytes(&mut out, &body);
        }
        out
    }

    /// Reads an edit. `record` is its index in the manifest, for messages.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Corrupt`] where the bytes are malformed, [`crate::ErrorKind::NewerFormat`]
    /// for a required change, or a required part of one, that this release does not know.
    pub fn decode(bytes: &[u8], record: u64) -> Result<Edit> {
        let mut changes = Vec::new();
        let mut d = Decoder::new(bytes);
        let damage = |d: &Decoder<'_>, found: &str| {
            let at = bytes.len() - d.rest().len();
            Corruption::new(
                "manifest",
                at as u64,
                format_args!("a well-formed edit in manifest record {record}"),
                found,
            )
        };
        while let Some(tag) = d.u8() {
            let body = d.bytes().ok_or_else(|| damage(&d, "an edit that ends early"))?;
            let mut body = Body::new(body);
            let change = decode_change(tag, &mut body);
            match change.and_then(|change| body.end().map(|()| change)) {
                Ok(change) => changes.push(change),
                Err(Malformed) => {
                    return Err(damage(&d, &format!("a malformed change of kind {tag}")).into());
                }
                Err(_) if tag >= OPTIONAL => {}
                Err(Unread::Change) => {
                    let found = format_args!("a change of kind {tag}");
                    let known = format_args!("kinds up to {FORGET_LOGS}");
                    return Err(Error::newer_format("manifest", found, known));
                }
                Err(Unread::LeftOut) => return Err(left_out()),
                Err(Unread::Part(what, number)) => {
                    let found = format_args!("{what} {number} in a change of kind {tag}");
                    let known = format_args!("no such {what}");
                    return Err(Error::newer_format("manifest", found, known));
                }
            }
        }
        Ok(Edit { changes })
    }
}

fn encode_change(change: &Change, out: &mut Vec<u8>) -> u8 {
    match change {
        Change::NextId(n) => {
            put_varint(out, *n);
            NEXT_ID
        }
        Change::CreateKeyspace { id, name, policy } => {
            put_varint(out, u64::from(id.0));
            put_bytes(out, name.as_bytes());
            put_bytes(out, policy.as_bytes());
            CREATE_KEYSPACE
        }
        Change::DropKeyspace { id, sequence } => {
            put_varint(out, u64::from(id.0));
            put_varint(out, *sequence);
            DROP_KEYSPACE
        }
        Change::SetPolicy { keyspace, policy } => {
            put_varint(out, u64::from(keyspace.0));
            put_bytes(out, policy.as_bytes());
            SET_POLICY
        }
        Change::PolicyState { keyspace, state } => {
            put_varint(out, u64::from(keyspace.0));
            put_bytes(out, state);
            POLICY_STATE
        }
        Change::Remaining { keyspace, number, plan } => {
            put_varint(out, u64::from(keyspace.0));
            put_varint(out, *number);
            plan::encode(plan, out);
            REMAINING
        }
        Change::Levels { keyspace, change } => {
            put_varint(out, u64::from(keyspace.0));
            out.push(u8::from(matches!(change, LevelChange::Drop(_))));
            put_varint(out, change.level() as u64);
            LEVELS
        }
        Change::AddTable { keyspace, level, run, info } => {
            for n in [u64::from(keyspace.0), *level as u64, run.0] {
                put_varint(out, n);
            }
            encode_info(info, out);
            ADD_TABLE
        }
        Change::DropTable { keyspace, table } => {
            put_varint(out, u64::from(keyspace.0));
            put_varint(out, table.0);
            DROP_TABLE
        }
        Change::Flushed { keyspace, through } => {
            put_varint(out, u64::from(keyspace.0));
            put_varint(out, *through);
            FLUSHED
        }
        Change::OpenLog { number, file, salt } => {
            put_varint(out, *number);
            put_varint(out, *file);
            out.extend_from_slice(&salt.to_le_bytes());
            OPEN_LOG
        }
        Change::RetireLogs { below, next } => {
            put_varint(out, *below);
            put_varint(out, *next);
            RETIRE_LOGS
        }
        Change::EndLog { number, through } => {
            put_varint(out, *number);
            put_varint(out, *through);
            END_LOG
        }
        Change::Features(Features { required, optional }) => {
            put_varint(out, *required);
            put_varint(out, *optional);
            FEATURES
        }
        Change::Quarantine(Quarantine { file, log, offset, bytes }) => {
            for n in [*file, log.number, *offset, *bytes] {
                put_varint(out, n);
            }
            out.extend_from_slice(&log.salt.to_le_bytes());
            QUARANTINE
        }
        Change::DropQuarantine { file } => {
            put_varint(out, *file);
            DROP_QUARANTINE
        }
        Change::RangeDeletes { keyspace, from, to, range_deletes } => {
            put_varint(out, u64::from(keyspace.0));
            range_deletes::encode(from, to, range_deletes, out);
            RANGE_DELETES
        }
        Change::KeyspaceFeatures { keyspace, features } => {
            put_varint(out, u64::from(keyspace.0));
            put_varint(out, u64::from(*features));
            KEYSPACE_FEATURES
        }
        Change::Lineage { lineage, start } => {
            out.extend_from_slice(&lineage.to_le_bytes());
            put_varint(out, *start);
            LINEAGE
        }
        Change::RetainLog(RetainedLog { log, file, first, last, bytes }) => {
            for n in [log.number, *file, *first, *last, *bytes] {
                put_varint(out, n);
            }
            out.extend_from_slice(&log.salt.to_le_bytes());
            RETAIN_LOG
        }
        Change::ForgetLogs { below } => {
            put_varint(out, *below);
            FORGET_LOGS
        }
    }
}

fn decode_change(tag: u8, d: &mut Body<'_>) -> Result<Change, Unread> {
    Ok(match tag {
        NEXT_ID => Change::NextId(d.varint()?),
        CREATE_KEYSPACE => {
            Change::CreateKeyspace { id: d.keyspace()?, name: d.text()?, policy: d.text()? }
        }
        DROP_KEYSPACE => Change::DropKeyspace { id: d.keyspace()?, sequence: d.varint()? },
        SET_POLICY => Change::SetPolicy { keyspace: d.keyspace()?, policy: d.text()? },
        POLICY_STATE => Change::PolicyState { keyspace: d.keyspace()?, state: d.bytes()?.to_vec() },
        REMAINING => Change::Remaining {
            keyspace: d.keyspace()?,
            number: d.varint()?,
            plan: plan::decode(d)?,
        },
        LEVELS => Change::Levels { keyspace: d.keyspace()?, change: level_change(d)? },
        ADD_TABLE => Change::AddTable {
            keyspace: d.keyspace()?,
            // A level's index is small in every tree; a bound keeps damaged bytes from asking for
            // memory.
            level: d.length().and_then(|level| (level < 64).then_some(level).ok_or(Malformed))?,
            run: RunId(d.varint()?),
            info: decode_info(d)?,
        },
        DROP_TABLE => Change::DropTable { keyspace: d.keyspace()?, table: TableId(d.varint()?) },
        FLUSHED => Change::Flushed { keyspace: d.keyspace()?, through: d.varint()? },
        OPEN_LOG => Change::OpenLog { number: d.varint()?, file: d.varint()?, salt: d.u64()? },
        RETIRE_LOGS => Change::RetireLogs { below: d.varint()?, next: d.varint()? },
        END_LOG => Change::EndLog { number: d.varint()?, through: d.varint()? },
        FEATURES => Change::Features(features(d)?),
        QUARANTINE => Change::Quarantine(quarantine(d)?),
        DROP_QUARANTINE => Change::DropQuarantine { file: d.varint()? },
        RANGE_DELETES => {
            let keyspace = d.keyspace()?;
            let (from, to, range_deletes) = range_deletes::decode(d)?;
            Change::RangeDeletes { keyspace, from, to, range_deletes }
        }
        KEYSPACE_FEATURES => Change::KeyspaceFeatures {
            keyspace: d.keyspace()?,
            features: d.varint().and_then(|n| u32::try_from(n).map_err(|_| Malformed))?,
        },
        LINEAGE => Change::Lineage {
            lineage: d.u64().and_then(|n| (n > 0).then_some(n).ok_or(Malformed))?,
            start: d.varint()?,
        },
        RETAIN_LOG => Change::RetainLog(retained_log(d)?),
        FORGET_LOGS => Change::ForgetLogs { below: d.varint()? },
        _ => return Err(Unread::Change),
    })
}

fn retained_log(d: &mut Body<'_>) -> Result<RetainedLog, Unread> {
    let (number, file) = (d.varint()?, d.varint()?);
    let (first, last, bytes) = (d.varint()?, d.varint()?, d.varint()?);
    if first == 0 || first > last {
        return Err(Malformed);
    }
    Ok(RetainedLog { log: LogId { number, salt: d.u64()? }, file, first, last, bytes })
}

fn level_change(d: &mut Body<'_>) -> Result<LevelChange, Unread> {
    let (kind, level) = (d.u8()?, d.length()?);
    match kind {
        0 => Ok(LevelChange::Add(level)),
        1 => Ok(LevelChange::Drop(level)),
        _ => Err(Unread::Part("level change", kind.into())),
    }
}

fn features(d: &mut Body<'_>) -> Result<Features, Unread> {
    let features = Features { required: d.varint()?, optional: d.varint()? };
    match features.required & !u64::from(KNOWN_REQUIRED) {
        0 => Ok(features),
        unknown if is_left_out(unknown as u32) => Err(Unread::LeftOut),
        unknown => Err(Unread::Part("required feature bit", unknown.trailing_zeros().into())),
    }
}

fn quarantine(d: &mut Body<'_>) -> Result<Quarantine, Unread> {
    let (file, number, offset, bytes) = (d.varint()?, d.varint()?, d.varint()?, d.varint()?);
    Ok(Quarantine { file, log: LogId { number, salt: d.u64()? }, offset, bytes })
}

fn encode_info(info: &TableInfo, out: &mut Vec<u8>) {
    for n in [info.id.0, info.bytes, info.entries, info.tombstones, info.first_seq, info.last_seq] {
        put_varint(out, n);
    }
    out.extend_from_slice(&info.salt.to_le_bytes());
    put_bytes(out, &info.smallest);
    put_bytes(out, &info.largest);
    put_varint(out, info.filter_bits.thousandths().into());
    put_varint(out, info.filter_bytes);
    if let Some(kept) = info.kept {
        put_varint(out, KEPT);
        put_bytes(out, &encode_kept(kept));
    }
    for (field, number) in [(CLEARED, info.cleared), (EXPIRES_BY, info.expires_by)] {
        if number > 0 {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, number);
            put_varint(out, field);
            put_bytes(out, &bytes);
        }
    }
}

fn decode_info(d: &mut Body<'_>) -> Result<TableInfo, Unread> {
    Ok(TableInfo {
        id: TableId(d.varint()?),
        bytes: d.varint()?,
        entries: d.varint()?,
        tombstones: d.varint()?,
        first_seq: d.varint()?,
        last_seq: d.varint()?,
        salt: d.u64()?,
        smallest: d.bytes()?.to_vec(),
        largest: d.bytes()?.to_vec(),
        filter_bits: plan::filter_bits(d.varint()?)?,
        filter_bytes: d.varint()?,
        kept: match d.field(KEPT)? {
            None => None,
            Some(bytes) => Some(decode_kept(bytes).ok_or(Malformed)?),
        },
        cleared: number(d.field(CLEARED)?)?,
        expires_by: number(d.field(EXPIRES_BY)?)?,
        histogram: Histogram::default(),
        prefixes: Prefixes::default(),
    })
}

/// Returns the number in a field; 0 without one.
fn number(field: Option<&[u8]>) -> Result<u64, Unread> {
    let Some(bytes) = field else { return Ok(0) };
    let mut d = Decoder::new(bytes);
    d.varint().filter(|_| d.is_empty()).ok_or(Malformed)
}

#[cfg(test)]
mod tests;
