//! Claims: a writer continues a lineage, and ends all others of the place.
//!
//! 1. A writer draws an epoch when it starts. It continues a lineage by the manifest after the newest one, with the
//!    same content and its own epoch, which it creates only if there is none of that number. If there is one, another
//!    writer was faster: the writer reads what is there, and tries again.
//! 2. A former writer finds that manifest where it creates its next one, and is fenced. However late it notices, no
//!    manifest names what it has uploaded since.
//! 3. Other lineages of the place are ended in the same way, by a manifest that names the lineage that continues.
//! 4. The first manifest is created a second time, which must be refused. An object store that ignores the condition
//!    would let two writers overwrite each other.
//! 5. If the newest manifest has later batches than the store, the store is an older copy: it starts a lineage.

use crate::error::{Error, Result};
use crate::format::Manifest;
use crate::names::Name;
use crate::place::{Object, Place};
use crate::time::now_after;
use terrane::entry::Seq;

/// The most tries against faster writers.
const TRIES: usize = 16;

/// The newest manifest of a lineage, which is this writer's.
pub(crate) struct Claimed {
    pub manifest: Manifest,
}

/// Outcome of a claim.
pub(crate) enum Claim {
    Claimed(Claimed),
    /// The lineage has batches after those of the store.
    Ahead,
}

/// Continues a lineage with a store whose last batch is `last`.
pub(crate) async fn claim(place: &Place, lineage: u64, epoch: u64, last: Seq) -> Result<Claim> {
    for _ in 0..TRIES {
        let newest = newest(place, lineage).await?;
        let content = newest.as_ref().and_then(|newest| newest.content.as_ref());
        if content.is_some_and(|content| content.through() > last) {
            return Ok(Claim::Ahead);
        }
        let manifest = Manifest { successor: 0, ..next(newest, lineage, epoch) };
        if create(place, &manifest).await? {
            if create(place, &manifest).await? {
                let expected = "one that refuses to create an object twice";
                return Err(Error::invalid("object store", expected, "one that replaces it"));
            }
            end_others(place, lineage, epoch).await?;
            return Ok(Claim::Claimed(Claimed { manifest }));
        }
    }
    Err(contended(lineage))
}

/// Ends all other lineages of the place.
async fn end_others(place: &Place, lineage: u64, epoch: u64) -> Result<()> {
    for other in place.lineages().await? {
        if other != lineage {
            end(place, other, lineage, epoch).await?;
        }
    }
    Ok(())
}

/// Ends a lineage, which `successor` continues.
async fn end(place: &Place, lineage: u64, successor: u64, epoch: u64) -> Result<()> {
    for _ in 0..TRIES {
        let newest = newest(place, lineage).await?.filter(|newest| newest.successor == 0);
        let Some(newest) = newest else { return Ok(()) };
        let manifest = Manifest { successor, ..next(Some(newest), lineage, epoch) };
        if create(place, &manifest).await? {
            return Ok(());
        }
    }
    Err(contended(lineage))
}

/// Returns the newest manifest of a lineage, if there is one. A damaged one counts as one without content, so that its
/// writer is fenced all the same.
pub(crate) async fn newest(place: &Place, lineage: u64) -> Result<Option<Manifest>> {
    let Some(&number) = place.manifests(lineage).await?.last() else { return Ok(None) };
    match place.manifest(lineage, number).await {
        Err(Error::Damaged { .. }) => {
            let (time, epoch, successor) = (0, 0, 0);
            Ok(Some(Manifest { lineage, number, epoch, time, successor, content: None }))
        }
        read => read.map(Some),
    }
}

/// Returns the manifest after `newest` of a writer with this epoch, with the same content.
fn next(newest: Option<Manifest>, lineage: u64, epoch: u64) -> Manifest {
    let (number, time) = newest.as_ref().map_or((0, 0), |newest| (newest.number, newest.time));
    let (number, time) = (number + 1, now_after(time));
    let (successor, content) =
        newest.map_or((0, None), |newest| (newest.successor, newest.content));
    Manifest { lineage, number, epoch, time, successor, content }
}

/// Creates a manifest if there is none of its number; returns whether it did.
pub(crate) async fn create(place: &Place, manifest: &Manifest) -> Result<bool> {
    let object = Object { lineage: manifest.lineage, name: Name::Manifest(manifest.number) };
    place.create(object, manifest.encode().into()).await
}

fn contended(lineage: u64) -> Error {
    let expected = "a single writer of the backup";
    Error::invalid(format!("lineage {lineage:016x}"), expected, "others that write all the time")
}
