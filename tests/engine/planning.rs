//! What the engine tells policies, and what their plans do to the tree.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use terrane::{Db, Durability, Event, Options};
use terrane_policy::{LevelChange, Observed, Order, PolicyOptions};
use terrane_tests::fixtures::{Kind, Rig, adversarial, small_policies, tiny};

type Events = Arc<Mutex<Vec<Event>>>;

/// A store that records its events.
fn watched(rig: &Rig, policy: PolicyOptions) -> (Db, Events) {
    let events = Events::default();
    let recorded = events.clone();
    let listener = Arc::new(move |event: &Event| recorded.lock().unwrap().push(event.clone()));
    let options = Options { policy, listener: Some(listener), ..tiny() };
    (rig.open(options, 1).unwrap(), events)
}

fn key(n: u32) -> [u8; 4] {
    n.wrapping_mul(0x9e37_79b9).to_be_bytes()
}

fn fill(db: &Db, from: u32, to: u32) {
    let keyspace = db.default_keyspace();
    for n in from..to {
        keyspace.put(&key(n), &[7; 50], Durability::Buffered).unwrap();
    }
}

fn small(name: &str) -> PolicyOptions {
    small_policies().into_iter().find(|p| p.name() == name).unwrap()
}

/// What the policy observed before each of its plans.
fn observations(events: &Events) -> Vec<Observed> {
    let observation = |event: &Event| match event {
        Event::CompactionBegun { observed, .. } | Event::LevelChanged { observed, .. } => {
            Some(observed.clone())
        }
        _ => None,
    };
    events.lock().unwrap().iter().filter_map(observation).collect()
}

#[test]
fn a_plan_sees_reads_and_writes_since_the_previous_plan() {
    let rig = Rig::new(Kind::MemoryDirectory);
    let (db, events) = watched(&rig, small("leveled"));
    fill(&db, 0, 500);
    for n in 0..70 {
        db.default_keyspace().get(&key(n)).unwrap();
    }
    for _ in 0..3 {
        drop(db.default_keyspace().scan(..).unwrap());
    }
    fill(&db, 500, 1000);
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    let observed = observations(&events);
    assert!(observed.len() > 3);
    let sum = |of: fn(&Observed) -> u64| observed.iter().map(of).sum::<u64>();
    assert_eq!((sum(|o| o.point_reads), sum(|o| o.range_reads)), (70, 3));
    assert!((900..=1000).contains(&sum(|o| o.updates)), "{}", sum(|o| o.updates));
    assert!(observed.iter().filter(|o| o.point_reads > 0).count() == 1);
    assert!(observed.iter().all(|o| o.table_reads.is_empty()), "this policy does not watch reads");
}

#[test]
fn a_read_aware_policy_sees_reads_per_table_without_writes() {
    let rig = Rig::new(Kind::MemoryDirectory);
    let (db, events) = watched(&rig, adversarial(3));
    fill(&db, 0, 200);
    db.flush().unwrap();
    events.lock().unwrap().clear();
    for n in 0..5000 {
        db.default_keyspace().get(&key(n % 200)).unwrap();
        db.run_jobs(1 << 10).unwrap();
    }
    let observed = observations(&events);
    assert!(observed.iter().any(|o| !o.table_reads.is_empty()), "{observed:?}");
    let (reads, lookups) = (observed.iter().flat_map(|o| o.table_reads.values()), 5000 * 10);
    assert!(reads.sum::<u64>() < lookups);
}

#[test]
fn a_flush_is_cut_into_the_tables_of_one_run() {
    let rig = Rig::new(Kind::MemoryDirectory);
    let (db, events) = watched(&rig, adversarial(5));
    fill(&db, 0, 400);
    db.flush().unwrap();
    for n in 0..400 {
        assert!(db.default_keyspace().get(&key(n)).unwrap().is_some());
    }
    let events = events.lock().unwrap();
    let flushes = events.iter().filter_map(|event| match event {
        Event::Flushed { tables, .. } => Some(tables),
        _ => None,
    });
    let cut: Vec<_> = flushes.filter(|tables| tables.len() > 1).collect();
    assert!(!cut.is_empty());
    for tables in cut {
        assert!(tables.is_sorted_by(|a, b| a.largest < b.smallest), "{tables:?}");
    }
}

#[test]
fn an_added_level_survives_a_restart() {
    let rig = Rig::new(Kind::MemoryDirectory);
    let (db, events) = watched(&rig, small("leveled"));
    fill(&db, 0, 1000);
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    let added = |event: &Event| {
        let Event::LevelChanged { change: LevelChange::Add(level), .. } = event else {
            return false;
        };
        *level > 0
    };
    assert!(events.lock().unwrap().iter().any(added));
    let bytes = |db: &Db| {
        let stats = db.stats().unwrap().keyspaces.remove(0);
        stats.levels.iter().map(|level| level.bytes).collect::<Vec<_>>()
    };
    let before = bytes(&db);
    assert!(before.len() > 2, "{before:?}");
    db.close().unwrap();
    let (db, _) = watched(&rig, small("leveled"));
    assert_eq!(bytes(&db), before);
    assert_eq!(db.check().unwrap().damage, []);
}

#[test]
fn sequential_groups_keep_key_order_across_restarts() {
    let rig = Rig::new(Kind::MemoryDirectory);
    let (mut db, events) = watched(&rig, small("spooky"));
    let mut logs = vec![events];
    // The smallest key of each group's outputs, by compaction.
    let mut installed: BTreeMap<u64, Vec<Vec<u8>>> = BTreeMap::new();
    let (mut sequential, mut resumed) = (Vec::new(), 0);
    for round in 0..60u32 {
        fill(&db, round * 40, round * 40 + 40);
        let events = logs.last().unwrap().lock().unwrap().clone();
        let under_way = events.iter().rev().find_map(|event| match event {
            Event::GroupInstalled { compaction, moved: false, .. } => Some(*compaction),
            _ => None,
        });
        let ended = |number| {
            events.iter().any(
                |e| matches!(e, Event::CompactionEnded { compaction } if *compaction == number),
            )
        };
        if under_way.is_some_and(|number| !ended(number)) {
            resumed += 1;
        }
        db.close().unwrap();
        let (again, events) = watched(&rig, small("spooky"));
        (db, _) = (again, logs.push(events));
    }
    db.flush().unwrap();
    db.wait_until_idle().unwrap();
    for event in logs.iter().flat_map(|events| events.lock().unwrap().clone()) {
        match event {
            Event::CompactionBegun { compaction, order: Order::Sequential, groups, .. } => {
                sequential.push((compaction, groups));
            }
            Event::GroupInstalled { compaction, moved: false, outputs, .. } => {
                let first = outputs.into_iter().map(|t| t.smallest).next();
                installed.entry(compaction).or_default().extend(first);
            }
            _ => {}
        }
    }
    assert!(sequential.iter().any(|(_, groups)| *groups > 3), "{sequential:?}");
    assert!(resumed > 5, "{resumed}");
    for (compaction, _) in sequential {
        let keys = installed.remove(&compaction).unwrap_or_default();
        assert!(keys.is_sorted(), "{keys:?}");
    }
    let keyspace = db.default_keyspace();
    assert!((0..60 * 40).all(|n| keyspace.get(&key(n)).unwrap() == Some(vec![7; 50])));
}
