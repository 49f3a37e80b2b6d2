//! A compaction policy of one's own. It returns plans with reasons; the engine checks each plan, so
//! that a wrong one can waste work but lose nothing. `cargo run --example own_policy`.

use std::error::Error;
use std::sync::Arc;
use terrane::policy::{Action, Compaction, Destination, Group, Plan, PlanContext, Policy};
use terrane::{Db, Durability, Event, Options};

/// Rewrites the whole tree as one run whenever level 0 has this number of runs: reads are cheap,
/// and writes dear.
struct AllInOne {
    runs: usize,
}

impl Policy for AllInOne {
    fn name(&self) -> &'static str {
        "all-in-one"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let waiting = context.shape.levels().first().map_or(0, |level| level.runs.len());
        if waiting < self.runs || !context.running.compactions.is_empty() {
            return None;
        }
        let inputs = context.shape.tables().map(|(_, _, table)| table.id).collect();
        let destination = Destination { level: 1, run: context.fresh };
        let group = Group::new(inputs, destination, Action::merge(1 << 20));
        let reason = format!("level 0 has {waiting} runs: with level 1 they become one");
        Some(Compaction::parallel(vec![group], reason).into())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let options = Options::default()
        .memtable_bytes(64 << 10)
        .custom_policy(Arc::new(|_keyspace| Some(Box::new(AllInOne { runs: 4 }))))
        .listener(Arc::new(|_, event: &Event| match event {
            Event::CompactionBegun { reason, .. } => println!("{reason}"),
            Event::PlanRefused { why, .. } => println!("refused: {why}"),
            _ => {}
        }));
    let db = Db::open(dir.path().join("store"), options)?;
    let rows = db.default_keyspace();
    for n in 0..20_000u32 {
        let key = n.wrapping_mul(0x9e37_79b9).to_be_bytes();
        rows.put(key, [7; 100], Durability::Buffered)?;
    }
    db.flush()?;
    db.wait_until_idle()?;

    let shape = rows.shape()?;
    let runs: Vec<usize> = shape.levels().iter().map(|level| level.runs.len()).collect();
    println!("runs of each level: {runs:?}");
    assert!(matches!(runs[..], [0..4, 1]), "{runs:?}");
    assert_eq!(rows.scan(..)?.count(), 20_000);
    db.close()?;
    Ok(())
}
