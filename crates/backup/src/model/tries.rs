//! Starts that fail one after another, and a claim whose request arrives after them.
//!
//! 1. A store starts, or takes the place of another over. The request of its claim is under way when it gives up.
//! 2. It tries again, and that request is lost.
//! 3. The first request arrives. The store is the last writer, and continues without an operator.

use super::claims::start;
use super::cloud::{Cloud, Fate};
use super::machine::{Machine, Process};
use super::{Verdict, text};
use crate::error::{Error, Result};
use crate::place::Place;
use object_store::path::Path;
use std::sync::Arc;
use terrane::{Db, Durability};

async fn try_on(cloud: &Cloud, db: &Db, take_over: bool) -> Verdict<Result<Process>> {
    let place = Place::new(Arc::new(cloud.clone()), Path::from("place"));
    start(db.clone(), &place, take_over, u64::MAX).await.ok_or_else(|| "cut off".to_owned())
}

/// Plays the schedule with a store that continues its own backup, or takes that of another over.
async fn late_claim(take_over: bool) -> Verdict {
    let cloud = Cloud::new(0);
    let (mut first, mut second) = (Machine::new(0)?, Machine::new(1)?);
    let (own, other) = (first.open()?, second.open()?);
    own.default_keyspace().put("row", "", Durability::Sync).map_err(text)?;
    drop(try_on(&cloud, &own, false).await?.map_err(text)?);
    let db = if take_over { other } else { own };
    for fate in [Fate::Late, Fate::Lost] {
        match try_on(&cloud.with_claims(fate), &db, take_over).await? {
            Err(Error::Objects { .. }) => {}
            Err(e) => return Err(format!("a try ended with another failure: {e}")),
            Ok(_) => return Err("a store has started without a claim".to_owned()),
        }
    }
    while !cloud.late_claims().is_empty() {
        cloud.deliver().await;
    }
    match try_on(&cloud, &db, false).await? {
        Ok(_) => Ok(()),
        Err(e) => Err(format!("the store of a late claim was refused: {e}")),
    }
}

/// Plays both schedules.
pub fn play() -> Verdict {
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(text)?;
    runtime.block_on(async {
        late_claim(false).await?;
        late_claim(true).await
    })
}

#[test]
fn a_late_claim_of_an_earlier_try_is_the_stores_own() {
    play().unwrap();
}
