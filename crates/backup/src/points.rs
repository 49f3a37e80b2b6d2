//! The moments that can be restored.
//!
//! 1. The last manifest with a base names all that the earlier ones with that base name. The base and its logs are a
//!    *range*, from the moment of the base through the last log.
//! 2. Ranges are visited from the newest one on: the lineages by the epochs of their newest manifests, each after the
//!    one that continues it, and in a lineage the last manifest, then the last one with the base before, and so on.
//!    Times order nothing: clocks differ, and may be set back.
//! 3. A time stands for the newest log at or before it, and is refused if it is after the newest manifest. A sequence
//!    number stands for a moment that only one lineage has.
//! 4. A damaged manifest is passed over, and the one before it has most of its range. Later moments may be lost with
//!    it, so that a restore of the newest moment is refused, and a salvage takes the newest one that is known.

use crate::error::{Error, Result};
use crate::format::{Base, Content, Manifest};
use crate::names::{self, Name};
use crate::place::{Listed, Object, Place};
use crate::rules::Rule;
use crate::time::utc;
use crate::writer::read_base;
use std::cmp::Reverse;
use std::collections::HashMap;
use terrane::entry::{Millis, Seq};
use terrane::{FeedCursor, Lineage};

/// A moment to restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The newest one.
    Newest,
    /// The newest one up to a time, in milliseconds since the epoch, by the clock of the backup's writer. A time after
    /// the newest manifest is refused.
    Time(Millis),
    /// After the batch with this sequence number, which only one lineage has.
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

/// A moment, with the base of its range.
pub(crate) struct Found {
    pub manifest: Manifest,
    pub content: Content,
    pub base: Base,
    /// The last batch of the moment.
    pub sequence: Seq,
    /// Objects that a salvage passed over.
    pub damage: Vec<Error>,
}

/// The end of a lineage, by its newest manifest that can be read.
#[derive(Clone, Copy)]
struct End {
    epoch: u64,
    successor: u64,
}

/// A lineage of a place.
pub(crate) struct Branch {
    /// The lineage that continues it, or 0.
    pub successor: u64,
    pub ranges: Ranges,
}

/// Returns the lineages of a place, from the newest one on.
pub(crate) async fn branches(place: &Place) -> Result<Vec<Branch>> {
    let (mut all, mut ends) = (Vec::new(), HashMap::new());
    for lineage in place.lineages().await? {
        let manifests = place.manifests(lineage).await?;
        if !manifests.is_empty() {
            let end = end(place, lineage, &manifests).await?;
            ends.insert(lineage, end);
            all.push(Branch { successor: end.successor, ranges: Ranges { lineage, manifests } });
        }
    }
    if Rule::NewestFirst.holds() {
        all.sort_by_key(|branch| rank(branch.ranges.lineage, &ends));
    }
    Ok(all)
}

/// Returns the newest manifest that can be read. A lineage without one may be the newest.
async fn end(place: &Place, lineage: u64, manifests: &[u64]) -> Result<End> {
    for &number in manifests.iter().rev() {
        match place.manifest(lineage, number).await {
            Ok(Manifest { epoch, successor, .. }) => return Ok(End { epoch, successor }),
            Err(e) if is_unreadable(&e) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(End { epoch: u64::MAX, successor: 0 })
}

/// Returns the rank of a lineage: later epochs are first, and in an epoch each lineage follows its successor.
fn rank(lineage: u64, ends: &HashMap<u64, End>) -> (Reverse<u64>, usize) {
    let epoch = ends.get(&lineage).map_or(0, |end| end.epoch);
    let successor =
        |of: &u64| ends.get(of).filter(|end| end.epoch == epoch).map(|end| end.successor);
    let chain = std::iter::successors(Some(lineage), successor);
    (Reverse(epoch), chain.take(ends.len()).take_while(|of| ends.contains_key(of)).count())
}

pub(crate) fn is_unreadable(error: &Error) -> bool {
    matches!(error, Error::Damaged { .. } | Error::Newer { .. })
}

/// Visits the ranges of a lineage, from the newest one on.
pub(crate) struct Ranges {
    pub lineage: u64,
    /// Manifests that were not visited.
    manifests: Vec<u64>,
}

impl Ranges {
    /// Returns the next older range. Adds manifests that cannot be read to `damage`.
    pub async fn next(
        &mut self,
        place: &Place,
        damage: &mut Vec<Error>,
    ) -> Result<Option<(Manifest, Content)>> {
        while let Some(number) = self.manifests.pop() {
            let manifest = match place.manifest(self.lineage, number).await {
                Ok(manifest) => manifest,
                Err(e) if is_unreadable(&e) => {
                    damage.push(e);
                    continue;
                }
                Err(e) => return Err(e),
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

/// The moments of a lineage, as far as they were visited.
struct Span {
    lineage: u64,
    first: Moment,
    last: Moment,
}

impl Span {
    fn cursors(&self) -> String {
        let of = |sequence| FeedCursor { lineage: Lineage(self.lineage), sequence };
        format!("{} to {}", of(self.first.sequence), of(self.last.sequence))
    }
}

/// A range that has the moment, and the older ones of its lineage.
struct Match {
    manifest: Manifest,
    content: Content,
    sequence: Seq,
    older: Ranges,
}

/// Finds a moment. A salvage passes over damage, and takes the next older range if a base is damaged.
pub(crate) async fn find(place: &Place, at: At, is_salvage: bool) -> Result<Found> {
    let (mut spans, mut damage, mut matches) = (Vec::new(), Vec::new(), Vec::new());
    for Branch { ranges, .. } in branches(place).await? {
        matches.extend(find_in(place, at, ranges, &mut spans, &mut damage).await?);
        if !matches.is_empty() && !matches!(at, At::Sequence(_)) {
            break;
        }
    }
    if matches.len() > 1 {
        return Err(ambiguous(at, &spans));
    }
    let Some(found) = matches.pop() else {
        return Err(damage.into_iter().next().unwrap_or_else(|| outside(at, &spans)));
    };
    let is_last = match at {
        At::Newest => true,
        At::Time(time) => time > found.manifest.time,
        At::Sequence(_) | At::Cursor(_) => false,
    };
    match damage.first() {
        Some(e) if is_last && !is_salvage => Err(e.clone()),
        _ => with_base(place, found, damage, is_salvage).await,
    }
}

/// Finds a moment in a lineage.
async fn find_in(
    place: &Place,
    at: At,
    mut ranges: Ranges,
    spans: &mut Vec<Span>,
    damage: &mut Vec<Error>,
) -> Result<Option<Match>> {
    while let Some((manifest, content)) = ranges.next(place, damage).await? {
        let (first, last) = moments(&content);
        let last = Moment { time: last.time.max(manifest.time), ..last };
        match spans.last_mut() {
            Some(span) if span.lineage == manifest.lineage => span.first = first,
            _ => spans.push(Span { lineage: manifest.lineage, first, last }),
        }
        let newest = spans.first().map_or(last, |span| span.last);
        let is_late = matches!(at, At::Time(time) if time > newest.time);
        if let Some(sequence) = sequence_at(at, &manifest, &content).filter(|_| !is_late) {
            return Ok(Some(Match { manifest, content, sequence, older: ranges }));
        }
    }
    Ok(None)
}

/// Reads the base of a moment. If the base is damaged, the next older range may have the moment as well; if it does
/// not, a salvage takes the newest moment of that range.
async fn with_base(
    place: &Place,
    found: Match,
    mut damage: Vec<Error>,
    is_salvage: bool,
) -> Result<Found> {
    let Match { mut manifest, mut content, mut sequence, mut older } = found;
    loop {
        let failure = match read_base(place, manifest.lineage, &content.base).await {
            Ok(base) => return Ok(Found { manifest, content, base, sequence, damage }),
            Err(e) if is_unreadable(&e) => e,
            Err(e) => return Err(e),
        };
        let Some(next) = older.next(place, &mut damage).await? else { return Err(failure) };
        // The ranges of a lineage have their first and last moments in common.
        if !is_salvage && next.1.through() < sequence {
            return Err(failure);
        }
        damage.push(failure);
        (manifest, content) = next;
        sequence = sequence.min(content.through());
    }
}

/// Returns the error for a sequence number that several lineages have.
fn ambiguous(at: At, spans: &[Span]) -> Error {
    let At::Sequence(sequence) = at else { return outside(at, spans) };
    let has = |span: &&Span| (span.first.sequence..=span.last.sequence).contains(&sequence);
    let with: Vec<_> = spans.iter().filter(has).collect();
    let time = |span: &Span| format!("{} to {}", utc(span.first.time), utc(span.last.time));
    let lineages: Vec<_> =
        with.iter().map(|span| format!("{} ({})", span.cursors(), time(span))).collect();
    let one = with.first().map_or(0, |span| span.lineage);
    let expected =
        format!("a lineage with it, as in {}", FeedCursor { lineage: Lineage(one), sequence });
    let found = format!("{sequence}, which several have: {}", lineages.join(", "));
    Error::invalid("moment to restore", expected, found)
}

/// Returns the error for a moment that the backup does not have.
fn outside(at: At, spans: &[Span]) -> Error {
    let times = |span: &Span| [span.first.time, span.last.time];
    let (first, last) = (spans.iter().flat_map(times).min(), spans.first().map(|span| span.last));
    let (Some(first), Some(last)) = (first, last) else {
        return Error::invalid("backup", "one with a base", "none");
    };
    let join =
        |text: &dyn Fn(&Span) -> String| spans.iter().map(text).collect::<Vec<_>>().join(", or ");
    let (expected, found) = match at {
        At::Time(time) => (format!("{} to {}", utc(first), utc(last.time)), utc(time)),
        At::Cursor(cursor) => (join(&Span::cursors), cursor.to_string()),
        At::Sequence(_) | At::Newest => {
            let of = |span: &Span| format!("{} to {}", span.first.sequence, span.last.sequence);
            let found = if let At::Sequence(n) = at { n.to_string() } else { String::new() };
            (join(&of), found)
        }
    };
    Error::invalid("moment to restore", expected, found)
}

/// Returns the first and the last moment of a range.
pub(crate) fn moments(content: &Content) -> (Moment, Moment) {
    let first = Moment { sequence: content.base.last, time: content.base.time };
    let time = content.logs.last().map_or(first.time, |log| log.time.max(first.time));
    (first, Moment { sequence: content.through(), time })
}

/// Returns the sum of lengths that an object names. Nothing bounds them.
pub(crate) fn sum(lengths: impl Iterator<Item = u64>) -> u64 {
    lengths.fold(0, u64::saturating_add)
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
