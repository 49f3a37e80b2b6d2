//! The list of a backup: its last writer, and the ranges of moments that can be restored.

use crate::error::{Error, Result};
use crate::format::{Claim, Content, Manifest};
use crate::names::{Name, folder};
use crate::place::Place;
use crate::points::{Branch, Moment, branches, lacking, moments, needed, sum, there};
use crate::writer::read_base;
use object_store::ObjectStore;
use object_store::path::Path;
use std::collections::HashMap;
use std::sync::Arc;
use terrane::entry::Millis;

/// Moments that can be restored from the same tables.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Range {
    /// The lineage, as 16 hexadecimal digits.
    pub lineage: String,
    /// The lineage that continues this one, if it has ended.
    pub successor: Option<String>,
    /// The first moment.
    pub first: Moment,
    /// The last moment.
    pub last: Moment,
    /// Time of the last manifest with these tables. An idle writer creates one each hour.
    pub manifest: Millis,
    /// Number of the tables.
    pub tables: u64,
    /// Bytes of the tables.
    pub table_bytes: u64,
    /// Number of the logs.
    pub logs: u64,
    /// Bytes of the logs.
    pub log_bytes: u64,
    /// Objects that are missing or damaged, a sentence each.
    pub damage: Vec<String>,
}

/// The writer that has claimed a place last.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LastWriter {
    /// Number of its claim.
    pub number: u64,
    /// Time at which it started, in milliseconds since the epoch, by its clock.
    pub time: Millis,
    /// The lineage of its store at that time, as 16 hexadecimal digits.
    pub lineage: String,
}

/// A backup: its last writer, its ranges, the newest first, and the manifests that cannot be read.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Backups {
    /// The last writer, unless its claim is missing or cannot be read.
    pub writer: Option<LastWriter>,
    /// Damage of the newest claim, as a sentence.
    pub claim_damage: Option<String>,
    /// The ranges.
    pub ranges: Vec<Range>,
    /// Manifests that are damaged, or of a later release, a sentence each. Their ranges are not in the list.
    pub damage: Vec<String>,
}

/// Lists the last writer and the ranges of a backup, with objects that are missing or have another length, and the
/// claim and the manifests that cannot be read.
///
/// # Errors
/// Requests that fail; a newest claim of a later release.
pub async fn list(objects: Arc<dyn ObjectStore>, prefix: Path) -> Result<Backups> {
    let place = Place::new(objects, prefix);
    let (mut listed, mut unreadable) = (Backups::default(), Vec::new());
    match last_writer(&place).await {
        Ok(writer) => listed.writer = writer,
        Err(e @ Error::Damaged { .. }) => listed.claim_damage = Some(e.to_string()),
        Err(e) => return Err(e),
    }
    for Branch { successor, mut ranges } in branches(&place).await? {
        let there = there(&place, ranges.lineage).await?;
        while let Some((manifest, content)) = ranges.next(&place, &mut unreadable).await? {
            let successor = (successor != 0).then(|| folder(successor));
            let range = range(&place, &manifest, &content, &there).await;
            listed.ranges.push(Range { successor, ..range });
        }
    }
    listed.damage = unreadable.iter().map(Error::to_string).collect();
    Ok(listed)
}

async fn last_writer(place: &Place) -> Result<Option<LastWriter>> {
    let Some(&(number, _)) = place.claims().await?.last() else { return Ok(None) };
    let claim = place.claim(number).await?;
    let writer = |Claim { number, lineage, time, .. }: Claim| LastWriter {
        number,
        time,
        lineage: folder(lineage),
    };
    Ok(claim.map(writer))
}

/// Describes a range.
async fn range(
    place: &Place,
    manifest: &Manifest,
    content: &Content,
    there: &HashMap<Name, u64>,
) -> Range {
    let (lineage, (first, last)) = (manifest.lineage, moments(content));
    let base = read_base(place, lineage, &content.base).await;
    let mut damage: Vec<_> = base.as_ref().err().map(Error::to_string).into_iter().collect();
    let tables = base.map(|base| base.tables).unwrap_or_default();
    damage.extend(lacking(lineage, there, &needed(content, &tables)).map(|e| e.to_string()));
    Range {
        lineage: folder(lineage),
        successor: None,
        first,
        last,
        manifest: manifest.time,
        tables: tables.len() as u64,
        table_bytes: sum(tables.iter().map(|table| table.bytes)),
        logs: content.logs.len() as u64,
        log_bytes: sum(content.logs.iter().map(|log| log.bytes)),
        damage,
    }
}
