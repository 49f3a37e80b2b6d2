//! A read, step by step: what was searched, in which order, and what each place answered.
//!
//! * A get searches memtables, then runs, newest first, and ends with the first version found.
//! * A scan places a cursor in each memtable and run, then shows the first row.
//!
//! `memtable` and `run` begin a part; the steps up to the next of them say what was found there.

use super::{Origin, ReadCounts, ReadTracer};
use crate::entry::Seq;
use terrane_types::{RunId, TableId};

/// One step of a read.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Step {
    /// A memtable is searched.
    Memtable {
        /// 0 is the active one; then come the sealed ones, newest first.
        place: usize,
    },
    /// A run is searched.
    Run {
        /// Its level.
        level: usize,
        /// The run.
        run: RunId,
        /// For a get, the one table of the run whose key range holds the key; none if there is
        /// none, or for a scan.
        table: Option<TableId>,
    },
    /// A scan goes into this table of the run.
    Table {
        /// The table.
        table: TableId,
    },
    /// The table's filter was asked.
    Filter {
        /// Whether the key may be in the table; `false` is certain.
        may_contain: bool,
    },
    /// The index led to a block, and the block was looked into.
    Block {
        /// Its offset in the table's file, in bytes.
        offset: u64,
        /// Its length as stored, in bytes.
        bytes: u64,
        /// Where it came from.
        origin: Origin,
        /// Bytes read from the file system for it and, where a scan reads ahead, for those behind it.
        read: u64,
    },
    /// The newest version that the reader may see is a value.
    Value {
        /// Its sequence.
        sequence: Seq,
        /// Its length, in bytes.
        bytes: u64,
    },
    /// The newest version that the reader may see is a tombstone.
    Tombstone {
        /// Its sequence.
        sequence: Seq,
    },
    /// The place has the key, but only versions newer than the reader's sequence.
    Newer,
    /// The place does not have the key.
    Absent {
        /// Whether a filter had let the key pass: a false positive.
        false_positive: bool,
    },
    /// A memtable or run of a scan came to stand on a key; on none where it has nothing in that
    /// direction.
    Stands {
        /// The key.
        key: Option<Vec<u8>>,
    },
    /// The first row of a scan.
    Row {
        /// Its key.
        key: Vec<u8>,
        /// The length of its value, in bytes.
        bytes: u64,
    },
}

/// A read, as it went.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Trace {
    /// The reader's sequence: it sees nothing newer.
    pub sequence: Seq,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// What they come to.
    pub counts: ReadCounts,
}

impl Trace {
    /// A reader at this sequence, before its first step.
    pub fn at(sequence: Seq) -> Self {
        Trace { sequence, ..Trace::default() }
    }

    /// Appends what a part of the read did.
    pub fn append(&mut self, mut part: ReadTracer) {
        self.steps.extend(part.take_steps());
        self.counts = self.counts.plus(part.counts());
    }
}
