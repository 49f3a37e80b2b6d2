//! The moments that can be restored.
//!
//! 1. The last manifest with a base names all that the earlier ones with that base name. The base and its logs are a
//!    *range*, from the moment of the base through the last log.
//! 2. Ranges are visited from the newest one on: the lineages by the times of their newest manifests, and in a lineage
//!    the last manifest, then the last one with the base before, and so on.
//! 3. A time stands for the newest log at or before it.

use crate::error::{Error, Result};
use crate::format::{Content, Manifest};
use crate::names::{self, Name};
use crate::place::{Listed, Object, Place};
use crate::time::utc;
use crate::writer::read_base;
use object_store::ObjectStore;
use object_store::path::Path;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;
use terrane::FeedCursor;
use terrane::entry::{Millis, Seq};

/// A moment to restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The newest one.
    Newest,
    /// The newest one up to a time, in milliseconds since the epoch, by the clock of the backup's writer.
    Time(Millis),
    /// After the batch with this sequence number, of the newest lineage that has it.
    Sequence(Seq),
    /// A place in the change feed.
    Cursor(FeedCursor),
}

/// A moment of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Sequence number of the last batch before it.
    pub sequence: Seq,
    /// Time of the moment, in milliseconds since the epoch.
    pub time: Millis,
}

/// Moments that can be restored from the same tables.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Range {
    /// The lineage, as 16 hexadecimal digits.
    pub lineage: String,
    /// The first moment.
    pub first: Moment,
    /// The last moment.
    pub last: Moment,
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

/// A range with the manifest that names it.
pub(crate) struct Found {
    pub manifest: Manifest,
    pub content: Content,
    /// The last batch of the moment.
    pub sequence: Seq,
}

/// Returns the lineages of a place, each with its manifests; the one with the newest manifest is first.
pub(crate) async fn lineages(place: &Place) -> Result<Vec<(u64, Vec<u64>)>> {
    let mut all = Vec::new();
    for lineage in place.lineages().await? {
        let manifests = place.manifests(lineage).await?;
        let Some(&newest) = manifests.last() else { continue };
        let time = match place.manifest(lineage, newest).await {
            Ok(manifest) => manifest.time,
            Err(Error::Damaged { .. }) => 0,
            Err(e) => return Err(e),
        };
        all.push((Reverse(time), lineage, manifests));
    }
    all.sort_by_key(|(time, ..)| *time);
    Ok(all.into_iter().map(|(_, lineage, manifests)| (lineage, manifests)).collect())
}

/// Visits the ranges of a lineage, from the newest one on.
pub(crate) struct Ranges {
    lineage: u64,
    /// Manifests that were not visited.
    manifests: Vec<u64>,
    /// Whether damaged manifests are passed over.
    pub skips_damage: bool,
}

impl Ranges {
    pub fn of((lineage, manifests): (u64, Vec<u64>)) -> Self {
        Ranges { lineage, manifests, skips_damage: false }
    }

    /// Returns the next older range.
    pub async fn next(&mut self, place: &Place) -> Result<Option<(Manifest, Content)>> {
        while let Some(number) = self.manifests.pop() {
            let manifest = match place.manifest(self.lineage, number).await {
                Err(Error::Damaged { .. }) if self.skips_damage => continue,
                read => read?,
            };
            if let Some(content) = manifest.content.clone() {
                let before = self.manifests.partition_point(|n| *n < content.base.since);
                self.manifests.truncate(before);
                return Ok(Some((manifest, content)));
            }
        }
        Ok(None)
    }
}

/// Returns the last batch of a moment, if a range has it.
fn sequence_at(at: At, manifest: &Manifest, content: &Content) -> Option<Seq> {
    let (first, through) = (content.base.last, content.through());
    let sequence = match at {
        At::Newest => through,
        At::Sequence(sequence) => sequence,
        At::Cursor(cursor) => (cursor.lineage.0 == manifest.lineage).then_some(cursor.sequence)?,
        At::Time(time) => {
            (content.base.time <= time).then_some(())?;
            let before = content.logs.iter().rev().find(|log| log.time <= time);
            // The moment of the base itself is one.
            before.map_or(first, |log| log.last.max(first))
        }
    };
    (first <= sequence && sequence <= through).then_some(sequence)
}

/// Finds a moment.
pub(crate) async fn find(place: &Place, at: At, skips_damage: bool) -> Result<Found> {
    let mut bounds: Option<(Moment, u64, Moment)> = None;
    for lineage in lineages(place).await? {
        let mut ranges = Ranges { skips_damage, ..Ranges::of(lineage) };
        while let Some((manifest, content)) = ranges.next(place).await? {
            let (first, last) = moments(&content);
            let last = Moment { time: last.time.max(manifest.time), ..last };
            let (_, lineage, newest) = bounds.unwrap_or((first, manifest.lineage, last));
            bounds = Some((first, lineage, newest));
            let is_late = matches!(at, At::Time(time) if time > newest.time);
            if let Some(sequence) = sequence_at(at, &manifest, &content).filter(|_| !is_late) {
                return Ok(Found { manifest, content, sequence });
            }
        }
    }
    let Some((first, lineage, last)) = bounds else {
        return Err(Error::invalid("backup", "one with a base", "none"));
    };
    let (expected, found) = match at {
        At::Time(time) => (format!("{} to {}", utc(first.time), utc(last.time)), utc(time)),
        At::Sequence(n) => (format!("{} to {}", first.sequence, last.sequence), n.to_string()),
        At::Newest => (String::new(), String::new()),
        At::Cursor(cursor) => {
            (format!("{lineage:016x}-{} or an earlier one", last.sequence), cursor.to_string())
        }
    };
    Err(Error::invalid("moment to restore", expected, found))
}

/// Returns the first and the last moment of a range.
fn moments(content: &Content) -> (Moment, Moment) {
    let first = Moment { sequence: content.base.last, time: content.base.time };
    let time = content.logs.last().map_or(first.time, |log| log.time.max(first.time));
    (first, Moment { sequence: content.through(), time })
}

/// Lists the ranges of a backup, the newest first, with objects that are missing or have another length.
///
/// # Errors
/// Requests that fail; manifests that are damaged, or of a later release.
pub async fn list(objects: Arc<dyn ObjectStore>, prefix: Path) -> Result<Vec<Range>> {
    let place = Place::new(objects, prefix);
    let mut found = Vec::new();
    for (lineage, manifests) in lineages(&place).await? {
        let there = there(&place, lineage).await?;
        let mut ranges = Ranges::of((lineage, manifests));
        while let Some((_, content)) = ranges.next(&place).await? {
            let (first, last) = moments(&content);
            let base = read_base(&place, lineage, &content.base).await;
            let mut damage: Vec<_> =
                base.as_ref().err().map(Error::to_string).into_iter().collect();
            let tables = base.map(|base| base.tables).unwrap_or_default();
            damage.extend(
                lacking(lineage, &there, &needed(&content, &tables)).map(|e| e.to_string()),
            );
            found.push(Range {
                lineage: names::folder(lineage),
                first,
                last,
                tables: tables.len() as u64,
                table_bytes: tables.iter().map(|table| table.bytes).sum(),
                logs: content.logs.len() as u64,
                log_bytes: content.logs.iter().map(|log| log.bytes).sum(),
                damage,
            });
        }
    }
    Ok(found)
}

/// Returns the tables and logs of a lineage, with their lengths.
pub(crate) async fn there(place: &Place, lineage: u64) -> Result<HashMap<Name, u64>> {
    let mut there = HashMap::new();
    for folder in [names::TABLE, names::LOG] {
        let listed = place.list(lineage, folder).await?;
        there.extend(listed.into_iter().map(|Listed { name, bytes, .. }| (name, bytes)));
    }
    Ok(there)
}

/// Returns the tables and logs that a range needs, with their lengths.
pub(crate) fn needed(content: &Content, tables: &[crate::format::TableRef]) -> Vec<(Name, u64)> {
    let tables = tables
        .iter()
        .map(|table| (Name::Table { number: table.number, checksum: table.checksum }, table.bytes));
    let logs = content.logs.iter().map(|log| {
        let (first, last, checksum) = (log.first, log.last, log.checksum);
        (Name::Log { first, last, checksum }, log.bytes)
    });
    tables.chain(logs).collect()
}

/// Returns the damage of needed objects that are missing, or have another length.
pub(crate) fn lacking(
    lineage: u64,
    there: &HashMap<Name, u64>,
    needed: &[(Name, u64)],
) -> impl Iterator<Item = Error> {
    needed.iter().filter_map(move |(name, bytes)| {
        let found = match there.get(name) {
            None => "no object".to_owned(),
            Some(found) if found != bytes => format!("{found} bytes"),
            Some(_) => return None,
        };
        let object = Object { lineage, name: *name };
        Some(Error::damaged(object, format!("{bytes} bytes"), found))
    })
}
