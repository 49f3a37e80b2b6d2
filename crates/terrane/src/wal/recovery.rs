//! Log replay after a crash.
//!
//! # Steps
//!
//! 1. The next sequence expected is `start`. Visit the logs in the order of their numbers.
//! 2. In each, read records from the start. A record is *accepted* if both checksums match and it
//!    starts with the expected sequence; its batches are applied, and the next sequence is expected.
//! 3. The first record that is not accepted ends that log. The next log may still continue: this is
//!    how a full log ends.
//! 4. Search the rest of each log for valid records, at every offset where one may start (see
//!    [`record`](super::record)).
//! 5. The *claim* is the greatest synced sequence in these records, or the `floor`. (An accepted
//!    record claims less than its own first sequence.) If it reaches the sequence expected at the end,
//!    a durable batch is missing: the log is corrupt. If not, what was not accepted is what the crash
//!    lost.
//!
//! # Why this is correct
//!
//! * *A prefix of history.* Sequences leave no gap, and only the expected one is accepted, so what is
//!   applied is the history up to a point. A group of batches is one record, under one checksum.
//! * *No synced batch is lost.* The records through the last sync are durable and consecutive, so
//!   step 2 accepts them all. Only damage stops it earlier.
//! * *A crash is not mistaken for damage.* Unsynced writes may become durable in any order, with gaps.
//!   But a record never claims more than was synced when it was written, and all of that is accepted,
//!   so the claim is less than the sequence expected at the end, whatever else survives.
//! * *Damage is not mistaken for a crash*, as far as the remaining records can tell: if step 2 stops at
//!   a synced record, every record written after that sync claims it, and step 4 finds any that
//!   survives, in any log. The same holds for the floor.
//! * *After the last record* a background sync and a close leave a claim, which is such a record for
//!   everything that was synced.
//! * *A last record without a claim* is not claimed by anything. Damage to it, and to earlier records
//!   that no later one claims, looks like a crash that cut the log there. It ends the log, and what can
//!   be recognized of it, at least its header, is counted in [`Replayed::discarded_bytes`]. (A crash
//!   that lost only the zeros after the last record is counted as one that lost a header.)
//! * *Stale records*, which an earlier log left in the file, have another seed (durability rule 5). Without that,
//!   one could continue the log, since sequence numbers that a crash lost are used again.
//!
//! A discarded record is not erased, but its log is never appended to again: the caller ends it there
//! by an edit, beyond which later replays do not read (`through`), and continues in another log. A log
//! from which nothing was discarded may be appended to at the end of its records.
//!
//! # Rewriting what may not be durable
//!
//! What was accepted beyond the claim may only be in the page cache: a killed process leaves it there,
//! and after a failed sync a page may be marked clean though it was never written. So
//! [`write_again`] rewrites and syncs it before anything depends on it.

use super::LogId;
use super::chunks::Chunks;
use super::record::{HEADER_BYTES, Header, Invalid, Search, batches, read, record_bytes};
use crate::batch::{BatchDamage, decode};
use crate::entry::{MAX_SEQ, Seq};
use crate::error::{Corruption, Error, Result};
use crate::storage::{File, write_all_at};
use std::sync::Arc;

/// The result of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Replayed {
    /// The sequence number after the last batch applied, which the next batch gets.
    pub next: Seq,
    /// Records applied.
    pub records: u64,
    /// Batches applied.
    pub batches: u64,
    /// Entries applied.
    pub entries: u64,
    /// Bytes of records, whole or in part, that the crash cut off: from the first missing record through
    /// the last recognizable one, summed over the logs.
    pub discarded_bytes: u64,
    /// Batches through this sequence number are known to have been synced.
    pub claim: Seq,
}

/// The result of replaying one log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayedLog {
    /// End of the applied records.
    pub end: u64,
    /// Bytes from there on of records, whole or in part, that were not applied.
    pub discarded_bytes: u64,
    /// The last sequence number applied, from this log or an earlier one.
    pub last: Seq,
}

/// Bytes that [`write_again`] writes at a time.
const REWRITE_BYTES: u64 = 256 << 10;

/// Applies a batch: its sequence number, and its bytes, which were validated ([`decode`]).
pub type Apply<'a> = &'a mut dyn FnMut(Seq, &[u8]) -> Result<()>;

/// A replay in progress. The caller passes all logs of the store, in the order of their numbers. What
/// was applied is valid only once [`Replay::end`] has found no damage.
pub struct Replay {
    replayed: Replayed,
    ends: Vec<End>,
}

impl Replay {
    /// A replay that expects sequence number `start` next. Batches through `floor` are known to be
    /// durable.
    #[must_use]
    pub fn new(start: Seq, floor: Seq) -> Self {
        let replayed = Replayed { next: start, claim: floor, ..Replayed::default() };
        Replay { replayed, ends: Vec::new() }
    }

    /// Applies the next log. If `through` is given, the log ends with that sequence number, which is
    /// known to be durable: nothing after it counts.
    ///
    /// # Errors
    /// Corruption, I/O failures, and the errors of `apply`.
    pub fn log(
        &mut self,
        id: LogId,
        file: &Arc<dyn File>,
        through: Option<Seq>,
        apply: Apply<'_>,
    ) -> Result<ReplayedLog> {
        let before = self.replayed.discarded_bytes;
        let end = replay_log(id.seed(), file, through, &mut self.replayed, apply)?;
        let discarded_bytes = self.replayed.discarded_bytes - before;
        let last = self.replayed.next.saturating_sub(1);
        let log = ReplayedLog { end: end.offset, discarded_bytes, last };
        self.ends.push(end);
        Ok(log)
    }

    /// Ends the replay, after the last log.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Corrupt`] if a synced batch is missing.
    pub fn end(self) -> Result<Replayed> {
        let Replay { replayed, ends } = self;
        if replayed.claim >= replayed.next {
            return Err(missing(&ends, replayed.next, replayed.claim));
        }
        Ok(replayed)
    }
}

/// Rewrites in place, and syncs, what may not be durable of a replayed log: its records with batches
/// after `claim`, and claims after the other records.
///
/// # Errors
/// I/O failures.
pub fn write_again(id: LogId, file: &dyn File, found: ReplayedLog, claim: Seq) -> Result<()> {
    let ReplayedLog { end, last, .. } = found;
    let mut log = Chunks::over(file)?;
    let (mut before, mut offset, mut next) = (0, 0, last + 1);
    // The replay validated these records.
    while offset < end
        && let Some(bytes) = log.bytes(offset, HEADER_BYTES)?
        && let Ok(header) = Header::decode(bytes, id.seed())
    {
        if header.first > claim {
            next = header.first;
            break;
        }
        before = offset;
        offset += record_bytes(header.payload_bytes);
    }
    let mut from = if next > claim + 1 { before } else { offset };
    if from == end {
        return Ok(());
    }
    while from < end {
        let piece = (end - from).min(REWRITE_BYTES);
        let Some(bytes) = log.bytes(from, piece as usize)? else { break };
        write_all_at(file, bytes, from)?;
        from += piece;
    }
    file.sync()
}

/// End of a log's accepted records.
struct End {
    file: Arc<dyn File>,
    offset: u64,
    /// Reason why the next record is not accepted.
    stop: Stop,
    /// Whether there are valid records at or after the end.
    more: bool,
}

/// Reason why a record is not accepted.
enum Stop {
    /// The log ends here, according to the manifest.
    Ended,
    /// There is no valid record.
    Invalid(Invalid),
    /// It starts with another sequence number.
    Other(Seq),
}

impl Stop {
    /// Whether it has a valid header and a torn payload.
    fn is_torn(&self) -> bool {
        matches!(self, Stop::Invalid(Invalid::Cut(_) | Invalid::Payload(_)))
    }
}

/// Steps 2 to 4 for one log.
fn replay_log(
    seed: u64,
    file: &Arc<dyn File>,
    through: Option<Seq>,
    replayed: &mut Replayed,
    apply: Apply<'_>,
) -> Result<End> {
    let mut log = Chunks::over(&**file)?;
    let mut offset = 0;
    replayed.claim = replayed.claim.max(through.unwrap_or(0));
    let stop = loop {
        if through.is_some_and(|last| replayed.next > last) {
            return Ok(End { file: file.clone(), offset, stop: Stop::Ended, more: false });
        }
        let (header, payload) = match read(&mut log, offset, seed)? {
            Ok(record) if record.0.first == replayed.next => record,
            Ok((header, _)) => break Stop::Other(header.first),
            Err(invalid) => break Stop::Invalid(invalid),
        };
        if header.payload_bytes == 0 {
            replayed.claim = header.synced.max(replayed.claim);
            offset += HEADER_BYTES as u64;
            continue;
        }
        let (count, entries) = count_entries(file.name(), offset, &header, payload)?;
        for (seq, batch) in (header.first..).zip(batches(payload).flatten()) {
            apply(seq, batch.1)?;
        }
        replayed.next += count;
        replayed.records += 1;
        replayed.batches += count;
        replayed.entries += entries;
        offset += record_bytes(header.payload_bytes);
    };

    // The recognizable part of the record at the end, even if no other follows.
    let mut last = match stop {
        Stop::Invalid(Invalid::Cut(_)) => log.len(),
        Stop::Invalid(Invalid::Payload(n)) => offset + record_bytes(n),
        Stop::Invalid(Invalid::Header) => offset + HEADER_BYTES as u64,
        _ => offset,
    };
    let (mut search, mut more) = (Search::from(offset, seed), false);
    while let Some(found) = search.next(&mut log)? {
        replayed.claim = found.header.synced.max(replayed.claim);
        last = last.max(found.end());
        more = true;
    }
    replayed.discarded_bytes += last.min(log.len()).saturating_sub(offset);
    Ok(End { file: file.clone(), offset, stop, more })
}

/// The numbers of batches and entries in a record with valid checksums. A payload that does not decode
/// is damage, or has an entry of a later release.
fn count_entries(file: &str, offset: u64, header: &Header, payload: &[u8]) -> Result<(u64, u64)> {
    let damaged =
        |at: usize, damage: BatchDamage| damage.within(file, offset + (HEADER_BYTES + at) as u64);
    let (mut count, mut entries) = (0, 0);
    for batch in batches(payload) {
        let (at, batch) = batch.map_err(|damage| damaged(0, damage))?;
        for entry in decode(batch) {
            entry.map_err(|damage| damaged(at, damage))?;
            entries += 1;
        }
        count += 1;
    }
    if header.first > MAX_SEQ - count {
        let expected = format!("sequences up to {MAX_SEQ}");
        let found = format!("{count} batches from {}", header.first);
        return Err(Corruption::new(file, offset, expected, found).into());
    }
    Ok((count, entries))
}

/// The error for the missing record with sequence number `next`. It should be at the end of the last
/// log with an accepted record; but if nothing of a record is left there, and the next log with
/// records does not start with one, it should be at the start of that log.
fn missing(ends: &[End], next: Seq, claim: Seq) -> Error {
    let last = ends.iter().rposition(|end| end.offset > 0).unwrap_or(0);
    let mut candidates = ends.iter().skip(last);
    let mut end = candidates.next();
    if end.is_some_and(|end| !end.more && !end.stop.is_torn()) {
        let later = candidates.find(|later| later.more);
        end = later.filter(|later| matches!(later.stop, Stop::Invalid(_))).or(end);
    }
    let expected = format!("the record with sequence {next} (those through {claim} were synced)");
    let Some(end) = end else {
        return Corruption::new("the log", 0, expected, "no log file").into();
    };
    let found = match end.stop {
        Stop::Invalid(invalid) => invalid.to_string(),
        Stop::Other(first) => format!("the record with sequence {first}"),
        Stop::Ended => "the end of the log".to_owned(),
    };
    Corruption::new(end.file.name(), end.offset, expected, found).into()
}
