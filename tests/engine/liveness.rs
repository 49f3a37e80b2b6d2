//! The store makes progress: no limit, policy or dropped keyspace stops it.

use std::sync::Arc;
use terrane::executor::JobFilter;
use terrane::executor::Progress;
use terrane::executor::SliceExecutor;
use terrane::storage::vfs::Vfs;
use terrane::{Closed, Durability, Error, ErrorKind, WriteBatch};
use terrane_policy::{Leveled, PolicyOptions};
use terrane_tests::fixtures::{Kind, Rig, tiny};

fn fill(db: &terrane::Db, entries: u32) -> terrane::Result<()> {
    let keyspace = db.default_keyspace();
    for n in 0..entries {
        keyspace.put(&n.to_be_bytes(), &[7; 100], Durability::Buffered)?;
    }
    Ok(())
}

#[test]
fn a_policy_that_keeps_many_l0_runs_does_not_stop_writes() {
    let patient = Leveled { l0_compaction_trigger: 32, ..Leveled::default() };
    let options = tiny().policy(PolicyOptions::Leveled(patient));
    assert!(options.l0_stop_trigger < 32);
    let rig = Rig::new(Kind::MemoryDirectory);
    let db = rig.open_with(options, Arc::new(SliceExecutor::default())).unwrap();
    fill(&db, 2_000).unwrap();
    assert_eq!(db.default_keyspace().get(&7u32.to_be_bytes()).unwrap(), Some(vec![7; 100]));
}

#[test]
fn a_limit_of_no_memtables_is_refused() {
    let rig = Rig::new(Kind::MemoryDirectory);
    let options = tiny().max_immutable_memtables(0);
    assert!(matches!(
        rig.open(options, 0).map_err(Error::into_kind),
        Err(ErrorKind::InvalidArgument(_))
    ));
}

#[test]
fn a_closed_store_refuses_every_call() {
    let rig = Rig::new(Kind::MemoryDirectory);
    let db = rig.open(tiny(), 0).unwrap();
    let keyspace = db.default_keyspace();
    fill(&db, 10).unwrap();
    db.clone().close().unwrap();
    assert!(matches!(db.check().map_err(Error::into_kind), Err(ErrorKind::Closed(Closed::Store))));
    assert!(matches!(
        keyspace.get(b"a").map_err(Error::into_kind),
        Err(ErrorKind::Closed(Closed::Store))
    ));
    assert!(matches!(
        keyspace.scan(..).map_err(Error::into_kind),
        Err(ErrorKind::Closed(Closed::Store))
    ));
    assert!(matches!(
        fill(&db, 1).map_err(Error::into_kind),
        Err(ErrorKind::Closed(Closed::Store))
    ));
}

#[test]
fn a_keyspace_dropped_during_its_flush_leaves_no_file() {
    let rig = Rig::new(Kind::MemoryDirectory);
    let db = rig.open_with(tiny(), Arc::new(SliceExecutor::default())).unwrap();
    let gone = db.create_keyspace("gone").unwrap();
    let mut batch = WriteBatch::new();
    for n in 0..60u32 {
        batch.put(gone.id(), &n.to_be_bytes(), &[1; 60]).unwrap();
    }
    db.write(batch, Durability::Sync).unwrap();
    let mut flush = db.next_job(JobFilter::Flush).expect("the memtable is full");
    assert_eq!(flush.run_for(100).unwrap(), Progress::More);
    assert!(db.drop_keyspace("gone").unwrap());
    while flush.run_for(1 << 20).unwrap() == Progress::More {}
    drop(flush);
    db.wait_until_idle().unwrap();
    let seen = rig.vfs.list().unwrap();
    assert!(!seen.iter().any(|name| name.ends_with(".sst")), "{seen:?}");
    assert_eq!(db.keyspaces(), ["default"]);
}
