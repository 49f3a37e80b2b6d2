//! The trace of a read: what was searched, in which order, and what was found there.
//!
//! * A get searches memtables, then runs, newest first, and ends with the first version found that is no operand.
//! * A scan positions a cursor in each memtable and run, then returns the first row.
//!
//! `memtable` and `run` start a section; the steps up to the next one tell what was found there.

use super::{Origin, ReadCounts, ReadTracer};
use crate::entry::{Millis, Seq};
use terrane_types::{RunId, TableId};

/// One step of a read.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Step {
    /// A memtable is searched.
    Memtable {
        /// 0 is the active memtable; the sealed ones follow, newest first.
        place: usize,
    },
    /// A range delete hides older versions of the key: what has none newer is not searched.
    RangeDelete {
        /// Its sequence number.
        sequence: Seq,
    },
    /// A run is searched.
    Run {
        /// Its level.
        level: usize,
        /// The run.
        run: RunId,
        /// For a get, the one table of the run whose key range covers the key, if any.
        table: Option<TableId>,
    },
    /// A scan moves to this table of the run.
    Table {
        /// The table.
        table: TableId,
    },
    /// The table's filter is consulted.
    Filter {
        /// Whether the key may be in the table; if `false`, it is not.
        may_contain: bool,
    },
    /// A block is searched.
    Block {
        /// Its offset in the table's file, in bytes.
        offset: u64,
        /// Its length as stored, in bytes.
        bytes: u64,
        /// Source of the block.
        origin: Origin,
        /// Bytes read from the file for it, readahead included.
        read: u64,
    },
    /// The newest visible version is a value.
    Value {
        /// Its sequence number.
        sequence: Seq,
        /// Its length, in bytes.
        bytes: u64,
    },
    /// The newest visible version is an operand: older ones count as well.
    Operand {
        /// Its sequence number.
        sequence: Seq,
        /// Its length as stored, in bytes.
        bytes: u64,
    },
    /// The value that was found has expired.
    Expired {
        /// The time of its expiry.
        at: Millis,
    },
    /// The newest visible version is a tombstone.
    Tombstone {
        /// Its sequence number.
        sequence: Seq,
    },
    /// Only versions newer than the reader's sequence number are here.
    Newer,
    /// The key is not here.
    Absent {
        /// Whether a filter had passed the key: a false positive.
        false_positive: bool,
    },
    /// A cursor of a scan is positioned on a key; on none if there is nothing in its direction.
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

/// The steps of a read.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Trace {
    /// The reader's sequence number: nothing newer is visible.
    pub sequence: Seq,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Cost of the steps.
    pub counts: ReadCounts,
}

impl Trace {
    /// An empty trace of a read at this sequence number.
    pub fn at(sequence: Seq) -> Self {
        Trace { sequence, ..Trace::default() }
    }

    /// Appends the steps and counts of a part of the read.
    pub fn append(&mut self, mut part: ReadTracer) {
        self.steps.extend(part.take_steps());
        self.counts = self.counts.plus(part.counts());
    }
}
