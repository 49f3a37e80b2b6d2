//! Reading the logs after a crash.
//!
//! # Steps
//!
//! 1. The next sequence expected is `start`. Go over the logs in the order of their numbers.
//! 2. In each, read records from the front. A record is *accepted* if both checksums hold and it
//!    begins with the expected sequence; its batches are applied, and the next sequence is expected.
//! 3. The first record that is not accepted ends that log. The next log may still go on: a log that
//!    was filled ends so.
//! 4. Look through the rest of each log, at every place where a record may start, for valid records
//!    ([`record`](super::record) says how).
//! 5. The *claim* is the greatest synced sequence that these records hold, or the `floor`. (A record
//!    that was accepted claims less than its own first sequence.) If it reaches the sequence that is
//!    expected at the end, a batch that was durable is missing: the log is corrupt. If not,
//!    what was not accepted is what the crash lost.
//!
//! # Why that is right
//!
//! * *A prefix of history.* Sequences leave no gap, and only the expected one is accepted, so what is
//!   applied is the history up to a point. A group of batches is one record, under one checksum.
//! * *No synced batch is lost.* The records through the last sync are durable and follow
//!   one another, so step 2 accepts them all. Only damage stops it earlier.
//! * *A crash is not taken for damage.* Unsynced writes may reach the file system in any order, with gaps.
//!   But a record never claims more than was synced when it was written, all of that is accepted, so
//!   the claim is less than the sequence expected at the end, whatever survives of the rest.
//! * *Damage is not taken for a crash*, as far as anything that is left knows better: if step 2 stops
//!   at a synced record, every record written after that sync claims it, and one that survives, in
//!   any log, is found by step 4. The same holds for what the floor says.
//! * *Behind the last record* a background sync and a close leave a claim, which is such a record for
//!   all that was synced.
//! * *A last record without a claim* has no witness. Damage to it, and to the records before it that no
//!   later one claims, looks like a crash that cut the log there. It ends the log, and what can be
//!   seen of it, its header at least, is counted in [`Replayed::discarded_bytes`]. (A crash that took
//!   no record but the zeros behind the last one is counted as one that took a header.)
//! * *Stale records*, which an earlier log left in the file, have another seed (rule 5). Without it
//!   one could follow: sequences that a crash lost are given again.
//!
//! A discarded record is not erased, but its log is never appended to: the caller ends it there by an
//! edit, beyond which later replays do not read (`through`), and goes on in another log. A log from
//! which nothing was discarded may be appended to where its records end.
//!
//! # Once more, for good
//!
//! What was accepted beyond the claim may be in the page cache alone: a process that was killed
//! leaves it there, and after a sync that failed a page may be marked clean that was never written.
//! So [`write_again`] writes it once more, and syncs it, before anything is built on it.

use super::LogId;
use super::record::{HEADER_BYTES, Header, Invalid, Search, batches, read, record_bytes};
use super::window::Window;
use crate::batch::{BatchDamage, decode};
use crate::entry::{MAX_SEQ, Seq};
use crate::error::{Corruption, Error, Result};
use crate::storage::{File, write_all_at};
use std::sync::Arc;

/// What a replay found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Replayed {
    /// The sequence after the last batch applied: the first that the store gives next.
    pub next: Seq,
    /// Records applied.
    pub records: u64,
    /// Batches applied.
    pub batches: u64,
    /// Entries applied.
    pub entries: u64,
    /// Bytes that hold records, or what is left of them, which the crash cut off from the log: from
    /// the first record missing through the last one that can be made out, summed over the logs.
    pub discarded_bytes: u64,
    /// Batches through this sequence were synced, as far as anything that is left says.
    pub claim: Seq,
}

/// What a replay found in one log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayedLog {
    /// Where the records end that were applied.
    pub end: u64,
    /// Bytes from there on that hold records, or what is left of them, which were not.
    pub discarded_bytes: u64,
    /// The last sequence applied, of this log and those before it.
    pub last: Seq,
}

/// Bytes that are written again at a time.
const REWRITE_BYTES: u64 = 256 << 10;

/// Is given a batch of a log: its sequence and its bytes, which decode ([`decode`]).
pub type Apply<'a> = &'a mut dyn FnMut(Seq, &[u8]) -> Result<()>;

/// A replay on its way. The caller gives it all logs that the store has, in the order of their numbers.
/// What it applies counts only when [`Replay::end`] has found no damage: until then the caller can drop it.
pub struct Replay {
    replayed: Replayed,
    ends: Vec<End>,
}

impl Replay {
    /// Expects the sequence `start` next. Batches through `floor` are known to be durable.
    #[must_use]
    pub fn new(start: Seq, floor: Seq) -> Self {
        let replayed = Replayed { next: start, claim: floor, ..Replayed::default() };
        Replay { replayed, ends: Vec::new() }
    }

    /// Applies what the log of the next number holds. Where `through` is given, the log ends with
    /// that sequence, which is known to be durable: nothing after it counts.
    ///
    /// # Errors
    /// Damage, a failing file system, and the errors of `apply`.
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

    /// What was found, when there are no more logs.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where a synced batch is missing.
    pub fn end(self) -> Result<Replayed> {
        let Replay { replayed, ends } = self;
        if replayed.claim >= replayed.next {
            return Err(missing(&ends, replayed.next, replayed.claim));
        }
        Ok(replayed)
    }
}

/// Writes once more, in place, what no sync vouches for of a log that was replayed: its records with
/// batches after `claim`, and claims behind the others.
///
/// # Errors
/// A failing file system.
pub fn write_again(id: LogId, file: &dyn File, found: ReplayedLog, claim: Seq) -> Result<()> {
    let ReplayedLog { end, last, .. } = found;
    let mut log = Window::over(file)?;
    let (mut before, mut offset, mut next) = (0, 0, last + 1);
    // The records were found to be sound.
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

/// Where a log's accepted records end.
struct End {
    file: Arc<dyn File>,
    offset: u64,
    /// What is there instead of the next record.
    stop: Stop,
    /// Whether valid records lie at or after the end.
    more: bool,
}

/// Why a record is not accepted.
enum Stop {
    /// The log ends here, as the manifest says.
    Ended,
    /// There is none.
    Invalid(Invalid),
    /// It begins with another sequence.
    Other(Seq),
}

impl Stop {
    /// Whether it has a sound header and not all of its payload.
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
    let mut log = Window::over(&**file)?;
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
        let (count, entries) = decoded(file.name(), offset, &header, payload)?;
        for (seq, batch) in (header.first..).zip(batches(payload).flatten()) {
            apply(seq, batch.1)?;
        }
        replayed.next += count;
        replayed.records += 1;
        replayed.batches += count;
        replayed.entries += entries;
        offset += record_bytes(header.payload_bytes);
    };

    // What can be made out of the record at the end reaches to here, even if none follows it.
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

/// The numbers of batches and of their entries in a record whose checksums hold; a payload that does
/// not decode is damage, or has an entry of a later release.
fn decoded(file: &str, offset: u64, header: &Header, payload: &[u8]) -> Result<(u64, u64)> {
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

/// Names the place where the record with sequence `next` should be. That is the end of the last log
/// that had an accepted record; but if nothing is left there of a record, and in the next log with
/// records they follow what is none, it is the front of that one.
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
