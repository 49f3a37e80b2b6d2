//! Retention: removal of old objects.
//!
//! 1. Among the manifests with one base, the last names all that the others name. It is kept until it is older than the
//!    retention; the others are not kept. The newest manifest of the lineage that continues is always kept.
//! 2. Claims older than an hour are removed but for the newest one. Then manifests of that age that are not kept are
//!    removed, and then objects of that age that no kept manifest names. Younger objects may belong to a base that is
//!    not named yet. A former writer that was suspended may create a manifest where one was removed: it has no claim by
//!    then, and is fenced.
//! 3. Ages are differences of times of the object store's own clock, since the newest manifest, which was created just
//!    now. Local clocks may jump.
//! 4. This runs right after the writer has created a manifest. Whoever takes over later finds all that the newest
//!    manifest names, and what it uploads is younger than an hour until this writer learns that it is fenced.

use crate::error::{Error, Result};
use crate::format::{Content, Manifest};
use crate::names::{self, Name};
use crate::options::Options;
use crate::place::{Listed, Object, Place};
use crate::rules::Rule;
use crate::writer::read_base;
use std::collections::HashSet;
use std::time::Duration;

/// Removes objects that retention does not keep, in all lineages.
pub(crate) async fn collect(place: &Place, options: &Options) -> Result<()> {
    let lineages = place.lineages().await?;
    let mut listed = Vec::new();
    for lineage in lineages {
        listed.push((lineage, place.list(lineage, names::MANIFEST).await?));
    }
    let now = listed.iter().flat_map(|(_, manifests)| manifests).map(|manifest| manifest.modified);
    let Some(now) = now.max() else { return Ok(()) };
    collect_claims(place, options, now).await?;
    for (lineage, manifests) in listed {
        collect_lineage(place, options, lineage, &manifests, now).await?;
    }
    Ok(())
}

/// Removes the claims of former writers.
async fn collect_claims(place: &Place, options: &Options, now: i64) -> Result<()> {
    let mut claims = place.claims().await?;
    claims.pop();
    claims.retain(|(_, modified)| is_older(*modified, now, options.removal_age));
    place.remove(claims.into_iter().map(|(number, _)| Place::claim_name(number)).collect()).await
}

/// Whether an object that was written at `modified` is older than `age`.
fn is_older(modified: i64, now: i64, age: Duration) -> bool {
    let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    now.saturating_sub(modified) > age
}

async fn collect_lineage(
    place: &Place,
    options: &Options,
    lineage: u64,
    manifests: &[Listed],
    now: i64,
) -> Result<()> {
    let mut named = HashSet::new();
    let mut removed = Vec::new();
    // Below this number the manifests have another base than those before.
    let mut below = u64::MAX;
    let mut is_newest = true;
    for listed in manifests.iter().rev() {
        let Name::Manifest(number) = listed.name else { continue };
        let is_last = number < below;
        let manifest = if is_last { read(place, lineage, number).await? } else { None };
        if let Some(manifest) = &manifest {
            below = manifest.content.as_ref().map_or(number, |content| content.base.since);
        }
        let continues = is_newest && manifest.as_ref().is_none_or(|m| m.successor == 0);
        let is_kept = continues || is_last && !is_older(listed.modified, now, options.retention);
        if !is_kept && is_older(listed.modified, now, options.removal_age) {
            removed.push(Object { lineage, name: listed.name });
        } else if let Some(manifest) = manifest {
            name_all(place, &manifest, &mut named).await?;
        }
        is_newest = false;
    }
    place.remove(removed).await?;
    for folder in [names::BASE, names::TABLE, names::LOG] {
        let objects = place.list(lineage, folder).await?;
        let is_removed = |listed: &&Listed| {
            let is_named = named.contains(&listed.name) && Rule::KeepNamed.holds();
            !is_named && is_older(listed.modified, now, options.removal_age)
        };
        let removed = objects.iter().filter(is_removed);
        place.remove(removed.map(|listed| Object { lineage, name: listed.name }).collect()).await?;
    }
    Ok(())
}

/// Reads a manifest; a damaged one names nothing.
async fn read(place: &Place, lineage: u64, number: u64) -> Result<Option<Manifest>> {
    match place.manifest(lineage, number).await {
        Ok(manifest) => Ok(Some(manifest)),
        Err(Error::Damaged { .. }) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Adds the names of all that a manifest needs.
async fn name_all(place: &Place, manifest: &Manifest, named: &mut HashSet<Name>) -> Result<()> {
    let Some(Content { base, logs, .. }) = &manifest.content else { return Ok(()) };
    named.extend(logs.iter().map(|log| {
        let (first, last, checksum) = (log.first, log.last, log.checksum);
        Name::Log { first, last, checksum }
    }));
    if !named.insert(Name::Base { last: base.last, checksum: base.checksum }) {
        return Ok(());
    }
    match read_base(place, manifest.lineage, base).await {
        Ok(base) => {
            let tables = base.tables.iter();
            named.extend(tables.map(|t| Name::Table { number: t.number, checksum: t.checksum }));
            Ok(())
        }
        Err(Error::Damaged { .. }) => Ok(()),
        Err(e) => Err(e),
    }
}
