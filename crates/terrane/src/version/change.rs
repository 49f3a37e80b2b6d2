//! The changes that an edit is made of.

use crate::entry::Seq;
use crate::keyspace::KeyspaceId;
use crate::wal::LogId;
use terrane_policy::{Compaction, LevelChange, RunId, TableId, TableInfo};
use terrane_types::range_deletes::{End, RangeDeletes};

/// One change of the durable state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The next number for files, runs, logs and keyspaces; every number below is taken.
    NextId(u64),
    /// A keyspace is created.
    CreateKeyspace {
        /// Its id.
        id: KeyspaceId,
        /// Its name, unique among the live ones.
        name: String,
        /// Its policy options, as JSON.
        policy: String,
    },
    /// A keyspace is dropped, with all its tables.
    DropKeyspace {
        /// Its id.
        id: KeyspaceId,
        /// The sequence number of the batch that drops it.
        sequence: Seq,
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
        /// Remaining groups.
        plan: Compaction,
    },
    /// A level of the shape is added or dropped.
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
        /// The sequence with which the oldest live log starts.
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
    /// Keeps the rest of discarded records.
    Quarantine(Quarantine),
    /// Replaces the range deletes of a keyspace within a range of keys.
    RangeDeletes {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// The first key of the range.
        from: Vec<u8>,
        /// The end of the range.
        to: End,
        /// The range deletes, within the range.
        range_deletes: RangeDeletes,
    },
    /// A keyspace has entries of these kinds from now on, besides those that it has.
    KeyspaceFeatures {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// The kinds, by the features of the store that say so.
        features: u32,
    },
    /// Drops a quarantine.
    DropQuarantine {
        /// The number of the log file that holds it.
        file: u64,
    },
    /// Starts a lineage of the change feed.
    Lineage {
        /// Number of the lineage; never 0.
        lineage: u64,
        /// Sequence number of the last batch before the lineage.
        start: Seq,
    },
    /// Retains a log for the change feed after tables have its entries.
    RetainLog(RetainedLog),
    /// Forgets retained logs.
    ForgetLogs {
        /// The number of the oldest retained log that stays.
        below: u64,
    },
}

/// A log that is retained for the change feed; tables have its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetainedLog {
    /// The log.
    pub log: LogId,
    /// The number of its file.
    pub file: u64,
    /// The sequence number of its first batch.
    pub first: Seq,
    /// The sequence number of its last batch.
    pub last: Seq,
    /// Offset at which its records end.
    pub bytes: u64,
}

/// Features of a store, a bit each. They add to those in the header of its manifest, which cannot
/// change within a generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// A reader must know each of these.
    pub required: u64,
    /// A reader may ignore these, and whoever writes the store keeps them.
    pub optional: u64,
}

/// Records discarded by recovery, kept until the owner removes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quarantine {
    /// The number of the log file that holds it.
    pub file: u64,
    /// The log it was in.
    pub log: LogId,
    /// Offset in that log, in bytes.
    pub offset: u64,
    /// Its length, in bytes.
    pub bytes: u64,
}
