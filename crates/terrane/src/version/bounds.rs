//! Bounds of the numbers in an edit: far below where counting on would overflow.
//!
//! Each number that a store draws is one more than another, so none that it writes comes near these
//! bounds in any time there is. One that does was not written by it, and is damage.

use super::{Change, Quarantine, RetainedLog};
use crate::entry::{MAX_SEQ, Seq};
use crate::error::{Corruption, Result};

/// The greatest number of a file, run, log, keyspace or compaction, and the next one's.
const NUMBERS_MAX: u64 = 1 << 62;

/// Refuses a change that names a number or sequence out of bounds.
pub(super) fn check(change: &Change) -> Result<()> {
    let (numbers, sequence): (&[u64], Seq) = match change {
        Change::NextId(next) => (&[*next], 0),
        Change::AddTable { run, info, .. } => {
            let until = info.kept.map_or(0, |kept| kept.until);
            (&[run.0, info.id.0], info.last_seq.max(until).max(info.cleared))
        }
        Change::RangeDeletes { range_deletes, .. } => (&[], range_deletes.newest()),
        Change::Flushed { through, .. } => (&[], *through),
        Change::OpenLog { number, file, .. } => (&[*number, *file], 0),
        Change::RetireLogs { below, next } => (&[*below], *next),
        Change::EndLog { number, through } => (&[*number], *through),
        Change::Quarantine(Quarantine { file, log, .. }) => (&[*file, log.number], 0),
        Change::Lineage { start, .. } => (&[], *start),
        Change::RetainLog(RetainedLog { log, file, last, .. }) => (&[log.number, *file], *last),
        Change::ForgetLogs { below } => (&[*below], 0),
        Change::DropKeyspace { sequence, .. } => (&[], *sequence),
        Change::Remaining { number, plan, .. } => {
            let runs = plan.groups.iter().map(|group| group.destination.run.0);
            (&[*number, runs.max().unwrap_or(0)], 0)
        }
        _ => return Ok(()),
    };
    let refuse = |what, most: u64, found: u64| {
        let expected = format!("a {what} of at most {most}");
        Err(Corruption::new("manifest", 0, expected, found.to_string()).into())
    };
    match numbers.iter().find(|n| **n > NUMBERS_MAX) {
        Some(found) => refuse("number", NUMBERS_MAX, *found),
        None if sequence > MAX_SEQ => refuse("sequence", MAX_SEQ, sequence),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::keyspace::KeyspaceId;
    use crate::version::{Edit, VersionSet};
    use crate::wal::LogId;
    use terrane_policy::{
        Action, Compaction, Destination, FilterBits, Group, Histogram, Kept, Prefixes, RunId,
        TableId, TableInfo,
    };

    /// Returns changes of a store with one keyspace and log 1, every kind with a number among them;
    /// the number is `n`.
    fn naming(n: u64) -> Vec<Change> {
        let keyspace = KeyspaceId(0);
        let table = |run, id, last_seq| Change::AddTable {
            keyspace,
            level: 0,
            run: RunId(run),
            info: TableInfo { id: TableId(id), last_seq, ..table() },
        };
        let kept = |file, number| {
            let log = LogId { number, salt: 0 };
            Change::Quarantine(Quarantine { file, log, offset: 0, bytes: 1 })
        };
        let remaining = |number, run| {
            let destination = Destination { level: 0, run: RunId(run) };
            let group = Group::new(vec![TableId(1)], destination, Action::Move);
            let plan = Compaction::parallel(vec![group], "");
            Change::Remaining { keyspace, number, plan }
        };
        vec![
            Change::NextId(n),
            table(n, 1, 1),
            table(1, n, 1),
            Change::OpenLog { number: n, file: 1, salt: 0 },
            Change::OpenLog { number: 2, file: n, salt: 0 },
            Change::RetireLogs { below: n, next: 1 },
            retained(n, 1, 1),
            retained(1, n, 1),
            Change::ForgetLogs { below: n },
            kept(n, 1),
            kept(1, n),
            remaining(n, 1),
            remaining(1, n),
        ]
    }

    fn retained(number: u64, file: u64, last: Seq) -> Change {
        let log = LogId { number, salt: 0 };
        Change::RetainLog(RetainedLog { log, file, first: 1, last, bytes: 64 })
    }

    /// Likewise every change with a sequence in it.
    fn at(sequence: Seq) -> Vec<Change> {
        let keyspace = KeyspaceId(0);
        let info = TableInfo { last_seq: sequence, ..table() };
        vec![
            Change::AddTable { keyspace, level: 0, run: RunId(1), info },
            Change::Flushed { keyspace, through: sequence },
            Change::RetireLogs { below: 0, next: sequence },
            Change::EndLog { number: 1, through: sequence },
            retained(1, 1, sequence),
            Change::Lineage { lineage: 1, start: sequence },
            Change::DropKeyspace { id: keyspace, sequence },
        ]
    }

    fn table() -> TableInfo {
        TableInfo {
            id: TableId(1),
            bytes: 100,
            entries: 1,
            tombstones: 0,
            smallest: vec![1],
            largest: vec![2],
            first_seq: 1,
            last_seq: 1,
            filter_bits: FilterBits::whole(10),
            filter_bytes: 0,
            kept: Some(Kept::default()),
            cleared: 0,
            expires_by: 0,
            salt: 0,
            histogram: Histogram::default(),
            prefixes: Prefixes::default(),
        }
    }

    /// Whether an edit of this change is read and applied.
    fn applies(change: Change) -> bool {
        let name = "default".to_owned();
        let policy = "{}".to_owned();
        let begin = vec![
            Change::CreateKeyspace { id: KeyspaceId(0), name, policy },
            Change::OpenLog { number: 1, file: 9, salt: 0 },
        ];
        let mut version_set = VersionSet::default();
        version_set.apply(&Edit { changes: begin }).unwrap();
        let edit = Edit { changes: vec![change] };
        let read = Edit::decode(&edit.encode(), 0).and_then(|edit| version_set.apply(&edit));
        let read = read.map_err(Error::into_corruption);
        assert!(matches!(read, Ok(()) | Err(Ok(_))), "{edit:?}: {read:?}");
        read.is_ok()
    }

    #[test]
    fn numbers_and_sequences_from_which_none_can_follow_are_damage() {
        for (bound, changes) in [
            (NUMBERS_MAX, naming as fn(u64) -> Vec<Change>),
            (MAX_SEQ, at as fn(u64) -> Vec<Change>),
        ] {
            for change in changes(bound) {
                assert!(applies(change.clone()), "{change:?}");
            }
            for beyond in [bound + 1, u64::MAX] {
                for change in changes(beyond) {
                    assert!(!applies(change.clone()), "{change:?}");
                }
            }
        }
    }
}
