//! Edits: one change of the durable state, as a journal record.
//!
//! An edit is a list of changes, each `tag u8, length varint, body`. A reader skips an unknown
//! change whose tag is 128 or above (optional) and refuses one below (required). A [`Body`] may end
//! in fields that a later release added.

use super::body::Body;
use super::body::Unread::{self, Malformed};
use super::catalog::SetAside;
use super::plan;
use crate::codec::{Decoder, put_bytes, put_varint};
use crate::entry::Seq;
use crate::error::{Corruption, Error, Result};
use crate::keyspace::KeyspaceId;
use crate::storage::KNOWN_REQUIRED;
use crate::wal::LogId;
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
    /// Recovery has discarded what follows `through` in a live log.
    EndLog {
        /// The log's number.
        number: u64,
        /// The last sequence that counts in it; it is durable.
        through: Seq,
    },
    /// The store has these features from now on, besides those that it has.
    Features(Features),
    /// What is left of discarded records is kept.
    SetAside(SetAside),
    /// What was kept there goes.
    DropSetAside {
        /// The number of the log file that holds it.
        file: u64,
    },
}

/// Features of a store, a bit each. They add to those in the header of its journal, which cannot
/// change within a generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// A reader must know each of these.
    pub required: u64,
    /// A reader may ignore these, and whoever writes the store keeps them.
    pub optional: u64,
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
const END_LOG: u8 = 13;
const FEATURES: u8 = 14;
const SET_ASIDE: u8 = 15;
const DROP_SET_ASIDE: u8 = 16;
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
    /// change, or a required part of one, that this release does not know.
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
                    let known = format_args!("kinds up to {DROP_SET_ASIDE}");
                    return Err(Error::newer_format("manifest", found, known));
                }
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
        Change::SetAside(SetAside { file, log, offset, bytes }) => {
            for n in [*file, log.number, *offset, *bytes] {
                put_varint(out, n);
            }
            out.extend_from_slice(&log.salt.to_le_bytes());
            SET_ASIDE
        }
        Change::DropSetAside { file } => {
            put_varint(out, *file);
            DROP_SET_ASIDE
        }
    }
}

fn decode_change(tag: u8, d: &mut Body<'_>) -> Result<Change, Unread> {
    Ok(match tag {
        NEXT_ID => Change::NextId(d.varint()?),
        CREATE_KEYSPACE => {
            Change::CreateKeyspace { id: d.keyspace()?, name: d.text()?, policy: d.text()? }
        }
        DROP_KEYSPACE => Change::DropKeyspace { id: d.keyspace()? },
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
        SET_ASIDE => Change::SetAside(set_aside(d)?),
        DROP_SET_ASIDE => Change::DropSetAside { file: d.varint()? },
        _ => return Err(Unread::Change),
    })
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
        unknown => Err(Unread::Part("required feature bit", unknown.trailing_zeros().into())),
    }
}

fn set_aside(d: &mut Body<'_>) -> Result<SetAside, Unread> {
    let (file, number, offset, bytes) = (d.varint()?, d.varint()?, d.varint()?, d.varint()?);
    Ok(SetAside { file, log: LogId { number, salt: d.u64()? }, offset, bytes })
}

fn encode_info(info: &TableInfo, out: &mut Vec<u8>) {
    for n in [info.id.0, info.bytes, info.entries, info.tombstones, info.first_seq, info.last_seq] {
        put_varint(out, n);
    }
    out.extend_from_slice(&info.salt.to_le_bytes());
    put_bytes(out, &info.smallest);
    put_bytes(out, &info.largest);
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
                Change::EndLog { number: 12, through: 20 },
                Change::Features(Features { required: 0, optional: 6 }),
                Change::SetAside(SetAside {
                    file: 14,
                    log: LogId { number: 12, salt: 5 },
                    offset: 1 << 20,
                    bytes: 300,
                }),
                Change::DropSetAside { file: 14 },
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

    /// Every change of the sample, its body followed by `more`.
    fn extended(more: &[u8]) -> Vec<Vec<u8>> {
        let extend = |change: &Change| {
            let mut body = Vec::new();
            let mut bytes = vec![encode_change(change, &mut body)];
            body.extend(more);
            put_bytes(&mut bytes, &body);
            bytes
        };
        sample().changes.iter().map(extend).collect()
    }

    /// What a refusal of a later release's bytes names.
    fn refused(bytes: &[u8]) -> String {
        match Edit::decode(bytes, 0) {
            Err(Error::NewerFormat(newer)) => newer.found,
            other => panic!("{bytes:?}: {other:?}"),
        }
    }

    #[test]
    fn a_change_with_optional_fields_of_a_later_release_reads_as_without() {
        for bytes in [&[2, 0][..], &[2, 1, 9, 8, 0], &[200, 1, 3, 7, 7, 7]] {
            let edits = extended(bytes);
            assert_eq!(Edit::decode(&edits.concat(), 0).unwrap(), sample());
        }
    }

    #[test]
    fn a_required_field_of_a_later_release_is_refused_by_name_in_every_change() {
        for edit in extended(&[2, 1, 9, 7, 0]) {
            assert_eq!(refused(&edit), format!("field 7 in a change of kind {}", edit[0]));
        }
    }

    #[test]
    fn added_fields_that_do_not_ascend_or_end_early_are_damage() {
        for more in [&[0, 0][..], &[4, 0, 4, 0], &[4, 0, 2, 0], &[2], &[2, 1], &[0x80]] {
            for edit in extended(more) {
                assert!(matches!(Edit::decode(&edit, 0), Err(Error::Corrupt(_))), "{edit:?}");
            }
        }
    }

    #[test]
    fn features_add_up_and_a_required_one_that_is_not_known_is_refused_by_name() {
        let features = |required, optional| Edit {
            changes: vec![Change::Features(Features { required, optional })],
        };
        let mut catalog = crate::version::Catalog::default();
        for optional in [1, 1 << 63] {
            let edit = Edit::decode(&features(0, optional).encode(), 0).unwrap();
            catalog.apply(&edit).unwrap();
        }
        let mut again = crate::version::Catalog::default();
        again.apply(&catalog.snapshot()).unwrap();
        assert_eq!(again.features, Features { required: 0, optional: 1 << 63 | 1 });
        let later = features(1 << 40, 0).encode();
        assert_eq!(refused(&later), "required feature bit 40 in a change of kind 14");
    }

    #[test]
    fn a_plan_of_a_later_release_is_refused_by_name() {
        let plan = |order, action| [0, order, 1, 0, 2, 8, action];
        for (plan, name) in [
            (plan(2, 0), "order of groups 2 in a change of kind 10"),
            (plan(0, 2), "action 2 in a change of kind 10"),
        ] {
            let body = [&[3, 6][..], &plan].concat();
            let edit = [&[REMAINING, body.len() as u8][..], &body].concat();
            assert_eq!(refused(&edit), name);
        }
        assert_eq!(refused(&[LEVELS, 3, 3, 2, 1]), "level change 2 in a change of kind 12");
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
