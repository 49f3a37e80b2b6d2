//! Edits applied: snapshots, names, shared records, retained logs.

use super::*;
use terrane_policy::{
    Action, Destination, FilterBits, Group, Histogram, Kept, Prefixes, RunId, TableId,
};

fn table(id: u64, smallest: &str, largest: &str) -> TableInfo {
    TableInfo {
        id: TableId(id),
        bytes: 100,
        entries: 2,
        tombstones: 0,
        smallest: smallest.into(),
        largest: largest.into(),
        first_seq: id * 10,
        last_seq: id * 10 + 1,
        filter_bits: FilterBits::from_thousandths(9_500),
        filter_bytes: 64,
        kept: Some(Kept::default()),
        cleared: 0,
        expires_by: 0,
        salt: 5,
        histogram: Histogram::default(),
        prefixes: Prefixes::default(),
    }
}

fn remains(file: u64) -> Quarantine {
    Quarantine { file, log: LogId { number: 6, salt: 9 }, offset: 64, bytes: 100 }
}

fn retain(number: u64, first: Seq, last: Seq) -> Change {
    let log = LogId { number, salt: 9 };
    Change::RetainLog(RetainedLog { log, file: number, first, last, bytes: 64 })
}

/// Changes that create and drop a keyspace.
fn dropped(id: u32, sequence: Seq) -> [Change; 2] {
    let (id, name, policy) = (KeyspaceId(id), "dropped".to_owned(), "{}".to_owned());
    [Change::CreateKeyspace { id, name, policy }, Change::DropKeyspace { id, sequence }]
}

fn built() -> VersionSet {
    let keyspace = KeyspaceId(0);
    let mut version_set = VersionSet::default();
    let add = |level, run, info| Change::AddTable { keyspace, level, run: RunId(run), info };
    for changes in [
        vec![
            Change::CreateKeyspace { id: keyspace, name: "default".into(), policy: "{}".into() },
            Change::OpenLog { number: 1, file: 1, salt: 9 },
            Change::NextId(2),
        ],
        vec![add(0, 3, table(2, "a", "m")), Change::Flushed { keyspace, through: 21 }],
        vec![add(0, 5, table(4, "c", "z")), Change::OpenLog { number: 6, file: 6, salt: 9 }],
        vec![Change::RetireLogs { below: 6, next: 42 }, Change::NextId(9)],
        vec![
            Change::EndLog { number: 6, through: 50 },
            Change::Quarantine(remains(7)),
            Change::Quarantine(remains(8)),
        ],
        vec![Change::DropQuarantine { file: 7 }],
        vec![retain(2, 3, 20), retain(3, 21, 30), retain(4, 31, 41)],
        // The feed starts with batch 21 afterwards.
        [dropped(3, 20), dropped(2, 21)].concat(),
        vec![Change::ForgetLogs { below: 3 }, Change::Lineage { lineage: 8, start: 12 }],
    ] {
        version_set.apply(&Edit { changes }).unwrap();
    }
    version_set
}

#[test]
fn a_snapshot_rebuilds_the_version_set() {
    let version_set = built();
    let mut again = VersionSet::default();
    again.apply(&version_set.snapshot()).unwrap();
    assert_eq!(again, version_set);
    let log = LogRecord { number: 6, file: 6, salt: 9, through: Some(50) };
    assert_eq!(version_set.logs, [log]);
    assert_eq!(version_set.quarantine, [remains(8)]);
    assert_eq!(version_set.log_start, 42);
    let kept = version_set.dropped.iter().map(|(id, dropped)| (id.0, dropped.flushed));
    assert_eq!(kept.collect::<Vec<_>>(), [(2, 21)]);
}

#[test]
fn the_rest_of_a_compaction_is_dropped_with_it_or_its_keyspace() {
    let mut version_set = built();
    let mut apply = |changes: Vec<Change>| {
        version_set.apply(&Edit { changes }).unwrap();
        version_set.remaining.keys().copied().collect::<Vec<_>>()
    };
    let other = KeyspaceId(7);
    let left = |keyspace, number, groups| {
        let plan = Compaction::parallel(groups, "a test");
        Change::Remaining { keyspace, number, plan }
    };
    let group = || {
        let destination = Destination { level: 1, run: RunId(9) };
        vec![Group::new(vec![TableId(2)], destination, Action::Move)]
    };
    let (name, policy) = ("other".to_owned(), "{}".to_owned());
    apply(vec![Change::CreateKeyspace { id: other, name, policy }]);
    let all = apply(vec![
        left(KeyspaceId(0), 1, group()),
        left(other, 2, group()),
        left(KeyspaceId(0), 3, group()),
    ]);
    assert_eq!(all, [1, 2, 3]);
    assert_eq!(apply(vec![left(KeyspaceId(0), 1, Vec::new())]), [2, 3]);
    assert_eq!(apply(vec![Change::DropKeyspace { id: other, sequence: 1 }]), [3]);
}

#[test]
fn retained_logs_follow_one_another_and_leave_their_files() {
    let mut version_set = built();
    let firsts = |of: &VersionSet| of.retained.iter().map(|log| log.first).collect::<Vec<_>>();
    assert_eq!(firsts(&version_set), [21, 31]);
    let gap = Edit { changes: vec![retain(9, 43, 50)] };
    assert!(version_set.apply(&gap).is_err());
    let recycled = Change::OpenLog { number: 9, file: 3, salt: 9 };
    version_set.apply(&Edit { changes: vec![recycled] }).unwrap();
    assert_eq!(firsts(&version_set), [31]);
}

fn create(id: u32, name: &str) -> Edit {
    let (id, name, policy) = (KeyspaceId(id), name.to_owned(), "{}".to_owned());
    Edit { changes: vec![Change::CreateKeyspace { id, name, policy }] }
}

#[test]
fn an_edit_shares_the_records_of_other_keyspaces() {
    let mut version_set = VersionSet::default();
    for n in 0..2000 {
        version_set.apply(&create(n, &format!("keyspace {n}"))).unwrap();
    }
    let before = version_set.clone();
    let keyspace = KeyspaceId(7);
    version_set.apply(&create(2000, "one more")).unwrap();
    version_set.apply(&Edit { changes: vec![Change::Flushed { keyspace, through: 9 }] }).unwrap();
    // A record in a copied chunk has two owners.
    let copied = before.keyspaces.values().filter(|record| Arc::strong_count(record) > 1);
    assert!(copied.count() < 500);
    assert_eq!((before.keyspaces.len(), version_set.keyspaces.len()), (2000, 2001));
}

#[test]
fn a_keyspace_is_found_by_its_name_until_it_is_dropped() {
    let mut version_set = VersionSet::default();
    for n in 0..300 {
        version_set.apply(&create(n, &format!("keyspace {n}"))).unwrap();
    }
    for n in 0..300 {
        let name = format!("keyspace {n}");
        assert_eq!(version_set.find(&name), Some(KeyspaceId(n)));
        let changes = vec![Change::DropKeyspace { id: KeyspaceId(n), sequence: 1 }];
        version_set.apply(&Edit { changes }).unwrap();
        assert_eq!(version_set.find(&name), None);
        version_set.apply(&create(1000 + n, &name)).unwrap();
        assert_eq!(version_set.find(&name), Some(KeyspaceId(1000 + n)));
    }
}

#[test]
fn features_add_up() {
    let mut version_set = built();
    for (required, optional) in [(1, 0), (2, 8), (0, 16)] {
        let changes = vec![Change::Features(Features { required, optional })];
        version_set.apply(&Edit { changes }).unwrap();
    }
    assert_eq!(version_set.features, Features { required: 3, optional: 24 });
}

#[test]
fn an_edit_that_does_not_fit_changes_nothing() {
    let mut version_set = built();
    let before = version_set.clone();
    let keyspace = KeyspaceId(0);
    let bad = Edit {
        changes: vec![Change::NextId(99), Change::DropTable { keyspace, table: TableId(77) }],
    };
    assert!(version_set.apply(&bad).is_err());
    assert_eq!(version_set, before);
}
