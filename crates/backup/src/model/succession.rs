//! A take-over at each moment of a writer that moves on to another lineage.

use super::claims::start;
use super::cloud::Cloud;
use super::machine::{Machine, Process};
use super::world::cut_off;
use super::{Verdict, text};
use crate::error::Error;
use crate::place::Place;
use object_store::path::Path;
use std::sync::Arc;
use terrane::{Db, Durability, Seq};

/// Moments at which the step that moves on is cut off: the last are after its end.
const TURNS: u64 = 100;
/// Steps within which a writer has uploaded all, or is fenced.
const STEPS: usize = 100;

async fn started(db: &Db, place: &Place, take_over: bool) -> Verdict<Process> {
    start(db.clone(), place, take_over, u64::MAX).await.ok_or("cut off")?.map_err(text)
}

fn uploaded(process: &Process) -> Seq {
    process.progress.status(0, &Default::default()).sequence
}

/// Cuts off the step of a writer after `turns`. Then another store takes over, and the writer continues.
async fn take_over_after(turns: u64) -> Verdict {
    let place = Place::new(Arc::new(Cloud::new(0)), Path::from("place"));
    let (mut former, mut other) = (Machine::new(0)?, Machine::new(1)?);
    let db = former.open()?;
    let last = db.default_keyspace().put("row", "", Durability::Sync).map_err(text)?;
    let mut first = started(&db, &place, false).await?;
    for _ in 0..STEPS {
        first.writer.step().await.map_err(text)?;
        tokio::task::yield_now().await;
    }
    assert!(uploaded(&first) >= last);
    // It continues what a manifest names, and has acknowledged nothing.
    let mut process = started(&db, &place, false).await?;
    db.begin_lineage().map_err(text)?;
    let _ = cut_off(process.writer.step(), turns).await;
    let before = uploaded(&process);
    started(&other.open()?, &place, true).await?;
    for _ in 0..STEPS {
        let stepped = process.writer.step().await;
        assert_eq!(uploaded(&process), before, "cut off after {turns} turns");
        match stepped {
            Err(Error::Fenced { .. }) => return Ok(()),
            stepped => stepped.map_err(text)?,
        };
        tokio::task::yield_now().await;
    }
    Err(format!("not fenced, cut off after {turns} turns"))
}

#[test]
fn a_writer_replaced_between_lineages_acknowledges_nothing() {
    for turns in 0..TURNS {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(take_over_after(turns)).unwrap();
    }
}
