//! Claims: the writers of a place follow one another, and each ends the one before.
//!
//! 1. A store may claim a place that it has claimed last, as its record says (`record`), or that nobody has claimed.
//!    Otherwise another store has taken over, or the place was emptied or is not mounted: an operator must ask for it.
//! 2. A writer creates the claim after the newest one, only if there is none of that number, which is its *epoch*. Of
//!    writers that start at once one does. In a place that has manifests and no claim it follows the latest epoch.
//! 3. It continues a lineage by the manifest after the newest one, with the same content and its own epoch, which it
//!    creates only if there is none of that number. Then it ends all other lineages of the place in the same way, by a
//!    manifest that names the lineage that continues.
//! 4. A writer that meets a manifest of a later epoch is fenced. Each creates its own manifest before it looks at the
//!    other lineages, so of two writers at least one meets the other: the one of the later epoch stays.
//! 5. A former writer finds such a manifest where it creates its next one, and is fenced. However late it notices, no
//!    manifest names what it has uploaded since.
//! 6. A claim is created a second time, which must be refused. An object store that ignores the condition would let two
//!    writers overwrite each other.
//! 7. If the newest manifest has later batches than the store, or names a lineage that continues that of the store, the
//!    store is an older copy: an operator must ask for it. If that manifest is damaged, an operator must ask as well,
//!    even for the store that has written it.
//! 8. A store that takes over from another, or is older, starts a lineage before it creates its claim, so that no
//!    lineage has two histories. Whether the place has manifests of the former lineage does not matter: a copy of the
//!    store that has claimed the place may create the first of them at any moment. In the new lineage nothing shows
//!    that the store is older, so a take-over that fails before its claim is there needs an operator again (`record`).

use crate::base::blocking;
use crate::error::{Error, Result};
use crate::format::{Claim, Manifest};
use crate::names::{Name, folder};
use crate::place::{Object, Place};
use crate::record::{Marks, Record};
use crate::rules::Rule;
use crate::time::{now_after, utc};
use terrane::Db;
use terrane::entry::Seq;

/// The most tries against a former writer that still writes.
const TRIES: usize = 16;

/// Takes the place for a store's writer. Returns the writer's claim, and the newest manifest of its lineage, which has
/// the claim's epoch.
pub(crate) async fn take(place: &Place, db: &Db, take_over: bool) -> Result<(Claim, Manifest)> {
    let (own, key) = (db.clone(), place.to_string());
    let opened = blocking(move || {
        let record = Record::of(&own, key)?;
        let marks = record.marks()?;
        Ok::<_, terrane::Error>((record, marks))
    });
    let (record, marks) = opened.await?;
    let newest = place.newest_claim().await?;
    let former = match &newest {
        Some((number, _)) => Some(*number),
        None => newest_epoch(place).await?,
    };
    // The record that follows is no batch of the backup.
    let last = db.latest_sequence();
    let permitted = match permit(newest.as_ref(), former.is_some(), &marks) {
        Ok(()) => refuse_behind_backup(place, db.feed_cursor().lineage.0, last).await,
        refused => refused,
    };
    let is_asked = match permitted {
        Err(Error::NotOwner { .. }) if take_over || !Rule::OwnClaim.holds() => true,
        permitted => permitted.map(|()| false)?,
    };
    let mark = match Rule::OwnMark.holds() {
        true => terrane::storage::StoreId::random()?.salt().max(1),
        false => marks.known.max(1),
    };
    let followed = newest.and_then(|newest| newest.1).map_or(0, |claim| claim.mark);
    let mut tried = match is_asked {
        true => marks.taking_over(followed, mark),
        false => marks.following(followed),
    };
    tried.attempt(mark);
    if Rule::RecordFirst.holds() {
        let own = record.clone();
        blocking(move || own.put(&tried)).await?;
    }
    if is_asked && Rule::OwnClaim.holds() && Rule::OwnLineage.holds() {
        begin_lineage(db).await?;
    }
    let claim = create_claim(place, db, former.unwrap_or(0), mark).await?;
    blocking(move || record.put(&Marks::of(mark))).await?;
    loop {
        let lineage = db.feed_cursor().lineage.0;
        if let Some(manifest) = continue_lineage(place, lineage, claim.number, last).await? {
            return Ok((claim, manifest));
        }
        if !take_over {
            refuse_behind_backup(place, lineage, last).await?;
        }
        begin_lineage(db).await?;
    }
}

/// Starts a lineage, which no other store has.
async fn begin_lineage(db: &Db) -> Result<()> {
    let own = db.clone();
    Ok(blocking(move || own.begin_lineage()).await.map(drop)?)
}

/// Returns the latest epoch of the newest manifests, if there are any.
async fn newest_epoch(place: &Place) -> Result<Option<u64>> {
    let mut epoch = None;
    for lineage in place.lineages().await? {
        epoch = epoch.max(newest(place, lineage).await?.map(|newest| newest.epoch));
    }
    Ok(epoch)
}

/// Creates the claim after `former`, with a mark that was drawn for it.
async fn create_claim(place: &Place, db: &Db, former: u64, mark: u64) -> Result<Claim> {
    let number = former.checked_add(1).ok_or_else(|| {
        Error::invalid(Place::claim_name(former), "a claim with a number after it", "the last one")
    })?;
    let claim = Claim { number, lineage: db.feed_cursor().lineage.0, mark, time: now_after(0) };
    // The client may have sent the request twice, since the reply to the first was lost.
    let is_own =
        async || Ok::<_, Error>(place.claim(number).await?.is_some_and(|it| it.mark == mark));
    if !place.create_claim(&claim).await? && !is_own().await? {
        return Err(fenced(Place::claim_name(number)));
    }
    if place.create_claim(&claim).await? {
        let expected = "one that refuses to create an object twice";
        return Err(Error::invalid("object store", expected, "one that replaces it"));
    }
    Ok(claim)
}

/// Refuses a place that another writer has claimed last, or one without the claims of its backups or of the store.
fn permit(newest: Option<&(u64, Option<Claim>)>, has_manifests: bool, marks: &Marks) -> Result<()> {
    let found = match newest {
        None if marks.known == 0 && !has_manifests => return Ok(()),
        None if marks.known == 0 => "backups without a claim".to_owned(),
        None => {
            let expected = "the backups that this store has written there".to_owned();
            let found = "none, as if a disk is not mounted".to_owned();
            return Err(Error::NotOwner { expected, found });
        }
        Some((_, Some(claim))) if marks.contain(claim.mark) => return Ok(()),
        Some((_, Some(claim))) => {
            let Claim { number, lineage, time, .. } = claim;
            format!("writer {number} since {}, of lineage {}", utc(*time), folder(*lineage))
        }
        Some((number, None)) => format!("a damaged claim of writer {number}"),
    };
    let expected =
        "this store, or the one that it was restored from, as the last writer".to_owned();
    Err(Error::NotOwner { expected, found })
}

/// Refuses a store that lacks batches of its own lineage, or is from before another lineage continued it. If the newest
/// manifest is damaged, an older one may still show that; none shows that the store has all batches.
async fn refuse_behind_backup(place: &Place, lineage: u64, last: Seq) -> Result<()> {
    let mut damage = None;
    for number in place.manifests(lineage).await?.into_iter().rev() {
        match place.manifest(lineage, number).await {
            Ok(_) if !Rule::RefuseOlder.holds() => break,
            Ok(manifest) => {
                refuse_behind_manifest(&manifest, last)?;
                break;
            }
            Err(e @ Error::Damaged { .. }) => damage = damage.or(Some(e)),
            Err(e) => return Err(e),
        }
    }
    let Some(damage) = damage else { return Ok(()) };
    let expected =
        "a sound newest manifest, which shows whether this store has all batches".to_owned();
    Err(Error::NotOwner { expected, found: damage.to_string() })
}

/// Refuses a store that is from before a manifest of its lineage.
fn refuse_behind_manifest(manifest: &Manifest, last: Seq) -> Result<()> {
    let through = manifest.content.as_ref().map_or(0, |content| content.through());
    let lineage = folder(manifest.lineage);
    let expected = if manifest.successor != 0 {
        let successor = folder(manifest.successor);
        format!("a store of lineage {successor}, which continues lineage {lineage}")
    } else if through > last {
        format!("a store with the batches up to {through} of lineage {lineage}")
    } else {
        return Ok(());
    };
    Err(Error::NotOwner { expected, found: format!("an older copy, with batches up to {last}") })
}

/// Continues a lineage with a store whose last batch is `last`, and ends the others of the place. Returns `None` if the
/// lineage has batches after those of the store.
pub(crate) async fn continue_lineage(
    place: &Place,
    lineage: u64,
    epoch: u64,
    last: Seq,
) -> Result<Option<Manifest>> {
    for _ in 0..TRIES {
        let newest = newest(place, lineage).await?;
        refuse_later(newest.as_ref(), epoch)?;
        let content = newest.as_ref().and_then(|newest| newest.content.as_ref());
        if content.is_some_and(|content| content.through() > last) {
            return Ok(None);
        }
        let manifest = Manifest { successor: 0, ..next(newest, lineage, epoch)? };
        if create(place, &manifest).await? {
            end_others(place, lineage, epoch).await?;
            return Ok(Some(manifest));
        }
    }
    Err(contended(lineage))
}

/// Ends all other lineages of the place.
async fn end_others(place: &Place, lineage: u64, epoch: u64) -> Result<()> {
    for other in place.lineages().await? {
        if other != lineage && Rule::EndOthers.holds() {
            end(place, other, lineage, epoch).await?;
        }
    }
    Ok(())
}

/// Ends a lineage, which `successor` continues.
async fn end(place: &Place, lineage: u64, successor: u64, epoch: u64) -> Result<()> {
    for _ in 0..TRIES {
        let newest = newest(place, lineage).await?;
        refuse_later(newest.as_ref(), epoch)?;
        let Some(newest) = newest.filter(|newest| newest.successor == 0) else { return Ok(()) };
        let manifest = Manifest { successor, ..next(Some(newest), lineage, epoch)? };
        if create(place, &manifest).await? {
            return Ok(());
        }
    }
    Err(contended(lineage))
}

/// Fences the writer of an epoch by a manifest of a later one.
fn refuse_later(newest: Option<&Manifest>, epoch: u64) -> Result<()> {
    match newest.filter(|newest| newest.epoch > epoch && Rule::LaterEpoch.holds()) {
        None => Ok(()),
        Some(Manifest { lineage, number, .. }) => {
            Err(fenced(Object { lineage: *lineage, name: Name::Manifest(*number) }))
        }
    }
}

/// Returns the newest manifest of a lineage, if there is one. A damaged one counts as one without content, so that the
/// writer of the lineage is fenced all the same.
async fn newest(place: &Place, lineage: u64) -> Result<Option<Manifest>> {
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
fn next(newest: Option<Manifest>, lineage: u64, epoch: u64) -> Result<Manifest> {
    let Some(newest) = newest else {
        let time = now_after(0);
        return Ok(Manifest { lineage, number: 1, epoch, time, successor: 0, content: None });
    };
    Ok(Manifest { number: number_after(&newest)?, epoch, time: now_after(newest.time), ..newest })
}

/// Returns the number of the manifest after `newest`.
pub(crate) fn number_after(newest: &Manifest) -> Result<u64> {
    let Manifest { lineage, number, .. } = *newest;
    number.checked_add(1).ok_or_else(|| {
        let object = Object { lineage, name: Name::Manifest(number) };
        Error::invalid(object, "a manifest with a number after it", "the last one")
    })
}

/// Creates a manifest if there is none of its number; returns whether it did.
pub(crate) async fn create(place: &Place, manifest: &Manifest) -> Result<bool> {
    let object = Object { lineage: manifest.lineage, name: Name::Manifest(manifest.number) };
    place.create(object, manifest.encode().into()).await
}

/// Returns the failure of a writer that starts while another does, or just after.
fn fenced(object: impl ToString) -> Error {
    Error::Fenced { object: object.to_string(), last: 0 }
}

fn contended(lineage: u64) -> Error {
    let expected = "a single writer of the backup";
    Error::invalid(format!("lineage {lineage:016x}"), expected, "others that write all the time")
}
