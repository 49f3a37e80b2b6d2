//! Edits: one change of the durable state, as a journal record.
//!
//! An edit is a list of changes, each `tag u8, length varint, body`. A reader skips an unknown
//! change whose tag is 128 or above (optional) and refuses one below (required).

use super::plan;
use crate::codec::{Decoder, put_bytes, put_varint};
use crate::entry::Seq;
use crate::error::{Corruption, Error, Result};
use crate::keyspace::KeyspaceId;
use terrane_policy::{Compaction, Histogram, LevelChange, RunId, TableId, TableInfo};

/// One change of the durable state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The next number for files, runs, logs and keyspaces; every number below is taken.
    NextId(u64),
    /// A keyspace comes to be.
    CreateKeyspace {
        /// Its id.
        id: KeyspaceId,
        /// Its name, unique among the live ones.
        name: String,
        /// Its policy options, as JSON.
        policy: String,
    },
    /// A keyspace goes, with all its tables.
    DropKeyspace {
        /// Its id.
        id: KeyspaceId,
    },
    /// A keyspace has another policy.
    SetPolicy {
        /// Whose.
        keyspace: KeyspaceId,
        /// Its options, as JSON.
        policy: String,
    },
    /// The keyspace's policy remembers this from now on.
    PolicyState {
        /// Whose.
        keyspace: KeyspaceId,
        /// The policy's state, in its own encoding.
        state: Vec<u8>,
    },
    /// A table joins a run; the run is created if it is new.
    AddTable {
        /// Whose.
        keyspace: KeyspaceId,
        /// The level.
        level: usize,
        /// The run.
        run: RunId,
        /// The table.
        info: TableInfo,
    },
    /// A table leaves the shape.
    DropTable {
        /// Whose.
        keyspace: KeyspaceId,
        /// The table.
        table: TableId,
    },
    /// Compaction `number` is under way: some of its groups are installed, these are not. An empty
    /// list ends it. A compaction of one group is installed whole or not at all, and never named.
    Remaining {
        /// Whose.
        keyspace: KeyspaceId,
        /// The compaction.
        number: u64,
        /// What is left of it.
        plan: Compaction,
    },
    /// A level of the shape comes or goes.
    Levels {
        /// Whose.
        keyspace: KeyspaceId,
        /// Which.
        change: LevelChange,
    },
    /// Every entry of the keyspace up to `through` is in tables.
    Flushed {
        /// Whose.
        keyspace: KeyspaceId,
        /// The last sequence.
        through: Seq,
    },
    /// Log `number` lives in log file `file`; the log that lived there before is gone.
    OpenLog {
        /// The log's number, greater than every earlier one.
        number: u64,
        /// The number of the file, which may have held earlier logs.
        file: u64,
        /// The salt of the store that writes the log.
        salt: u64,
    },
    /// Every log below `below` is obsolete; the first sequence of the rest is `next`.
    RetireLogs {
        /// Logs with smaller numbers go.
        below: u64,
        /// The sequence with which the oldest live log begins.
        next: Seq,
    },
}

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

    /// Reads an edit. `record` is its index in the journal, for messages.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where the bytes are malformed, [`Error::NewerFormat`] for a required
    /// change that this release does not know.
    pub fn decode(bytes: &[u8], record: u64) -> Result<Edit> {
        let mut changes = Vec::new();
        let mut d = Decoder::new(bytes);
        let damage = |d: &Decoder<'_>, found: &str| {
            let at = bytes.len() - d.rest().len();
            Corruption::new(
                "manifest",
                at as u64,
                format_args!("a well-formed edit in journal record {record}"),
                found,
            )
        };
        while let Some(tag) = d.u8() {
            let body = d.bytes().ok_or_else(|| damage(&d, "an edit that ends early"))?;
            let mut b = Decoder::new(body);
            match decode_change(tag, &mut b) {
                Decoded::Change(change) if b.is_empty() => changes.push(change),
                Decoded::Unknown if tag >= OPTIONAL => {}
                Decoded::Unknown => {
                    return Err(Error::newer_format(
                        "manifest",
                        format_args!("a change of kind {tag}"),
                        format_args!("kind {LEVELS}"),
                    ));
                }
                Decoded::Change(_) | Decoded::Malformed => {
                    return Err(damage(&d, &format!("a malformed change of kind {tag}")).into());
                }
            }
        }
        Ok(Edit { changes })
    }
}

enum Decoded {
    Change(Change),
    Unknown,
    Malformed,
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
        Change::DropKeyspace { id } => {
            put_varint(out, u64::from(id.0));
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
    }
}

fn decode_change(tag: u8, d: &mut Decoder<'_>) -> Decoded {
    let change = match tag {
        NEXT_ID => d.varint().map(Change::NextId),
        CREATE_KEYSPACE => create_keyspace(d),
        DROP_KEYSPACE => keyspace(d).map(|id| Change::DropKeyspace { id }),
        SET_POLICY => keyspace(d)
            .zip(text(d))
            .map(|(keyspace, policy)| Change::SetPolicy { keyspace, policy }),
        POLICY_STATE => keyspace(d)
            .zip(d.bytes())
            .map(|(keyspace, state)| Change::PolicyState { keyspace, state: state.to_vec() }),
        REMAINING => remaining(d),
        LEVELS => levels(d),
        ADD_TABLE => add_table(d),
        DROP_TABLE => keyspace(d)
            .zip(d.varint())
            .map(|(keyspace, n)| Change::DropTable { keyspace, table: TableId(n) }),
        FLUSHED => keyspace(d)
            .zip(d.varint())
            .map(|(keyspace, through)| Change::Flushed { keyspace, through }),
        OPEN_LOG => open_log(d),
        RETIRE_LOGS => {
            d.varint().zip(d.varint()).map(|(below, next)| Change::RetireLogs { below, next })
        }
        _ => return Decoded::Unknown,
    };
    change.map_or(Decoded::Malformed, Decoded::Change)
}

fn open_log(d: &mut Decoder<'_>) -> Option<Change> {
    Some(Change::OpenLog { number: d.varint()?, file: d.varint()?, salt: d.u64()? })
}

fn keyspace(d: &mut Decoder<'_>) -> Option<KeyspaceId> {
    u32::try_from(d.varint()?).ok().map(KeyspaceId)
}

fn text(d: &mut Decoder<'_>) -> Option<String> {
    String::from_utf8(d.bytes()?.to_vec()).ok()
}

fn create_keyspace(d: &mut Decoder<'_>) -> Option<Change> {
    Some(Change::CreateKeyspace { id: keyspace(d)?, name: text(d)?, policy: text(d)? })
}

fn remaining(d: &mut Decoder<'_>) -> Option<Change> {
    let (keyspace, number) = (keyspace(d)?, d.varint()?);
    Some(Change::Remaining { keyspace, number, plan: plan::decode(d)? })
}

fn levels(d: &mut Decoder<'_>) -> Option<Change> {
    let (keyspace, kind) = (keyspace(d)?, d.u8()?);
    let level = d.length()?;
    let change = match kind {
        0 => LevelChange::Add(level),
        1 => LevelChange::Drop(level),
        _ => return None,
    };
    Some(Change::Levels { keyspace, change })
}

fn add_table(d: &mut Decoder<'_>) -> Option<Change> {
    let keyspace = keyspace(d)?;
    // A level's index is small in every tree; a bound keeps damaged bytes from asking for memory.
    let level = d.length().filter(|level| *level < 64)?;
    Some(Change::AddTable { keyspace, level, run: RunId(d.varint()?), info: decode_info(d)? })
}

fn encode_info(info: &TableInfo, out: &mut Vec<u8>) {
    for n in [info.id.0, info.bytes, info.entries, info.tombstones, info.first_seq, info.last_seq] {
        put_varint(out, n);
    }
    out.extend_from_slice(&info.salt.to_le_bytes());
    put_bytes(out, &info.smallest);
    put_bytes(out, &info.largest);
}

fn decode_info(d: &mut Decoder<'_>) -> Option<TableInfo> {
    Some(TableInfo {
        id: TableId(d.varint()?),
        bytes: d.varint()?,
        entries: d.varint()?,
        tombstones: d.varint()?,
        first_seq: d.varint()?,
        last_seq: d.varint()?,
        salt: d.u64()?,
        smallest: d.bytes()?.to_vec(),
        largest: d.bytes()?.to_vec(),
        histogram: Histogram::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrane_policy::{Action, Destination, Group, Order};

    fn sample() -> Edit {
        let keyspace = KeyspaceId(3);
        let info = TableInfo {
            id: TableId(9),
            bytes: 4096,
            entries: 10,
            tombstones: 1,
            smallest: b"".to_vec(),
            largest: b"z".to_vec(),
            first_seq: 5,
            last_seq: 14,
            salt: 1 << 63,
            histogram: Histogram::default(),
        };
        let destination = Destination { level: 2, run: RunId(8) };
        let cuts = vec![vec![], b"m".to_vec()];
        let merge = Action::Merge { cuts, table_bytes: 1 << 20, filter_bits: Some(9) };
        let groups = [Action::Move, merge].map(|action| Group {
            inputs: vec![TableId(2), TableId(300)],
            destination,
            action,
        });
        Edit {
            changes: vec![
                Change::NextId(77),
                Change::CreateKeyspace { id: keyspace, name: "x".into(), policy: "{}".into() },
                Change::AddTable { keyspace, level: 1, run: RunId(8), info },
                Change::DropTable { keyspace, table: TableId(2) },
                Change::PolicyState { keyspace, state: vec![1, 2, 3] },
                Change::Remaining {
                    keyspace,
                    number: 6,
                    plan: Compaction {
                        groups: groups.to_vec(),
                        order: Order::Sequential,
                        reason: "why".into(),
                    },
                },
                Change::Levels { keyspace, change: LevelChange::Add(3) },
                Change::Levels { keyspace, change: LevelChange::Drop(2) },
                Change::SetPolicy { keyspace, policy: "{\"policy\":\"tiered\"}".into() },
                Change::Flushed { keyspace, through: 14 },
                Change::OpenLog { number: 12, file: 4, salt: 5 },
                Change::RetireLogs { below: 12, next: 15 },
                Change::DropKeyspace { id: keyspace },
            ],
        }
    }

    #[test]
    fn every_change_comes_back() {
        assert_eq!(Edit::decode(&sample().encode(), 0).unwrap(), sample());
    }

    #[test]
    fn an_unknown_optional_change_is_skipped_and_a_required_one_refused() {
        let mut bytes = sample().encode();
        bytes.extend([200, 2, 1, 1]);
        assert_eq!(Edit::decode(&bytes, 0).unwrap(), sample());
        bytes.extend([100, 0]);
        assert!(matches!(Edit::decode(&bytes, 0), Err(Error::NewerFormat(_))));
    }

    #[test]
    fn a_cut_edit_never_panics_and_is_never_longer() {
        let bytes = sample().encode();
        for end in 0..bytes.len() {
            if let Ok(edit) = Edit::decode(&bytes[..end], 0) {
                assert!(sample().changes.starts_with(&edit.changes));
            }
        }
    }
}
