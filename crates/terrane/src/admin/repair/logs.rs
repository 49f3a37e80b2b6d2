//! The logs of a damaged store.
//!
//! * Every valid record counts, wherever it lies.
//! * If the manifest is whole, the logs are judged as when the store is opened: a missing record that was synced is
//!   lost, and one that a crash cut off is not.
//! * If it is not, a log is identified by its records, since its file may have another log by then.
//! * Sequence numbers that a whole manifest or a record mentions, and that no record has, are those of lost writes
//!   ([`Reach`], [`lost_writes`]). If nothing is known to follow the last record, the logs end there, as when the store
//!   is opened.

use super::doubt::{Covered, Part};
use super::known::{Known, Sources, missing};
use super::report::{Salvaged, SalvagedFile};
use crate::batch::{self, Operation};
use crate::entry::Seq;
use crate::error::{Error, ErrorKind, Result};
use crate::keyspace::KeyspaceId;
use crate::memtable::Memtable;
use crate::recovery::{MARK, later_log};
use crate::storage::salvage::Remains;
use crate::storage::{File, FileId, FileKind};
use crate::version::{LogRecord, VersionSet};
use crate::wal;
use crate::wal::record::{Found, HEADER_BYTES};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Log numbers beyond every known one that are tried on a log whose number is not known.
const NUMBERS_BEYOND: u64 = 1000;

/// Returns the evidence of a log against a manifest that seems whole: the manifest has not given its number to a log
/// yet, so the commit that opened it is lost (`recovery/witness.rs`).
pub(crate) fn lost_commit(remains: &Remains, known: &Known) -> Option<String> {
    let version_set = known.version_set.as_ref().filter(|_| known.whole)?;
    remains.files.iter().filter(|(id, _)| id.kind == FileKind::Log).find_map(|(id, file)| {
        let log = later_log(&**file, id.number, &remains.salts, version_set).ok().flatten()?;
        Some(format!("{id} holds log {}: the commit that opened it is lost", log.number))
    })
}

/// The state of a log's end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum End {
    /// Nothing seems to follow the last record.
    #[default]
    Clean,
    /// Bytes that are no record follow: a crash left them, or they are damaged.
    Torn,
    /// Part of the file is missing.
    Lost,
}

/// The sequence numbers that a log has, and those that it mentions.
#[derive(Debug, Default)]
struct Reach {
    /// The log's number.
    number: u64,
    /// First and last of each record.
    stretches: Vec<(Seq, Seq)>,
    /// The last sequence number through the last record or claim.
    last: Option<Seq>,
    /// The greatest sequence number that any record or claim reports as written.
    said: Seq,
    /// Whether the log ends with a claim for all of its records.
    claimed: bool,
    end: End,
}

/// Findings in the logs.
#[derive(Default)]
pub(super) struct Logs {
    /// Sequence numbers of the writes whose entries were taken for every keyspace.
    pub covered: Covered,
    /// The lost writes.
    pub lost: Vec<Part>,
    /// The last write that was found, if the manifest is whole.
    pub last: Option<Seq>,
    /// Keyspaces that a batch drops, if the manifest is whole.
    pub dropped: Vec<u32>,
}

/// Takes every valid record of every log that counts.
pub(super) fn read(
    remains: &Remains,
    known: &Known,
    sources: &mut BTreeMap<u32, Sources>,
    report: &mut Salvaged,
) -> Logs {
    let (mut reaches, mut dropped) = (Vec::new(), Vec::new());
    let greatest = remains.files.iter().map(|(id, _)| id.number).max().unwrap_or(0);
    let next = known.version_set.as_ref().map_or(0, |version_set| version_set.next_id);
    let last = greatest.max(next).saturating_add(NUMBERS_BEYOND);
    let named: Vec<_> = known.version_set.iter().flat_map(|c| &c.logs).collect();
    let mut salts = remains.salts.clone();
    salts.extend(named.iter().map(|log| log.salt));
    let (sound, damage) = match judge(remains, known) {
        Ok(notes) => {
            let sound = notes.is_some();
            report.notes.extend(notes.unwrap_or_default());
            (sound, None)
        }
        Err(damage) => (false, Some(damage)),
    };
    for (id, file) in remains.files.iter().filter(|(id, _)| id.kind == FileKind::Log) {
        let named = named.iter().find(|log| log.file == id.number).copied();
        if named.is_none() && known.whole {
            continue;
        }
        let len = remains.named.get(id).copied().unwrap_or(0);
        let salvaged = SalvagedFile::default();
        let mut log = Log { file, named, len, sound, salvaged, dropped: Vec::new() };
        log.salvaged.file = id.to_string();
        let mut reach = Reach { number: named.map_or(0, |log| log.number), ..Reach::default() };
        if let Err(e) = log.read(&salts, id.number..=last, known, sources, &mut reach) {
            log.salvaged.lost.push(e.to_string());
            reach.end = End::Lost;
        }
        reaches.push((id.to_string(), reach));
        dropped.append(&mut log.dropped);
        report.files.push(log.salvaged);
    }
    for log in named {
        let id = FileId::log(log.file);
        if !remains.files.iter().any(|(other, _)| *other == id) {
            missing(id, "", known, report);
            let reach = Reach { number: log.number, end: End::Lost, ..Reach::default() };
            reaches.push((id.to_string(), reach));
        }
    }
    if let Some((name, lost)) = damage {
        // The damage names the file with its directory.
        let same =
            |file: &&mut SalvagedFile| Path::new(&name).file_name() == Some(file.file.as_ref());
        match report.files.iter_mut().find(same) {
            Some(file) => file.lost.push(lost),
            None => {
                let (file, lost) = (name, vec![lost]);
                report.files.push(SalvagedFile { file, lost, ..SalvagedFile::default() });
            }
        }
    }
    match known.version_set.as_ref().filter(|_| known.whole) {
        Some(version_set) => {
            let durable = version_set.durable(remains.synced);
            Logs { dropped, ..lost_writes(version_set, durable, reaches, sound) }
        }
        None => Logs::default(),
    }
}

/// Finds the writes that a whole manifest or a log mentions, and that no log has.
///
/// 1. Writes between two records are lost if no other record has them.
/// 2. Writes after the last record may be lost if a claim, a flush or a clean close mentions some, if a part of a file
///    is missing, or if bytes follow that are no record and no claim of a close or a sync precedes them. Their number
///    is unknown.
fn lost_writes(
    version_set: &VersionSet,
    durable: Seq,
    mut logs: Vec<(String, Reach)>,
    sound: bool,
) -> Logs {
    logs.sort_by_key(|(_, reach)| reach.number);
    let before = version_set.log_start.saturating_sub(1);
    let said = logs.iter().map(|(_, reach)| reach.said).max().unwrap_or(0);
    let said = said.max(before).max(durable);
    let newest = logs.iter().rev().find(|(_, reach)| reach.last.is_some());
    let end = newest.and_then(|(_, reach)| reach.last).unwrap_or(before).max(before);
    let newer = logs.iter().rev().take_while(|(_, reach)| reach.last.is_none());
    let is_cut = |reach: &Reach| match reach.end {
        End::Clean => false,
        End::Torn => !reach.claimed,
        End::Lost => true,
    };
    let cut = newer.chain(newest).find(|(_, reach)| is_cut(reach));
    let name = cut.or(newest).or(logs.last()).map_or("the log", |(name, _)| name.as_str());
    let stretches = logs.iter().flat_map(|(_, reach)| &reach.stretches).copied();
    let covered = Covered::new(stretches.collect());
    let gaps = covered.gaps(version_set.log_start, end);
    let (last, reason) = if cut.is_some() || said > end {
        (Seq::MAX, format!("of which writes after sequence number {end} may be lost"))
    } else if let Some((first, last)) = gaps.last() {
        (*last, format!("of which the writes with sequence numbers {first} to {last} are lost"))
    } else {
        let last = Some(end);
        return Logs {
            covered: if sound { covered } else { Covered::default() },
            lost: vec![],
            last,
            dropped: vec![],
        };
    };
    let more = if gaps.len() > usize::from(last < Seq::MAX) { ", and earlier ones" } else { "" };
    let part = Part::everything(name, format!("{reason}{more}"), last);
    // Tables have the writes that were flushed.
    let concerned = version_set.keyspaces.iter().filter(|(_, record)| record.flushed < last);
    let parts: Vec<_> =
        concerned.map(|(id, _)| Part { keyspace: Some(id.0), ..part.clone() }).collect();
    let all = parts.len() == version_set.keyspaces.len();
    Logs {
        last: Some(covered.last().unwrap_or(end).max(end)),
        covered: if sound { covered } else { Covered::default() },
        lost: if all { vec![part] } else { parts },
        dropped: vec![],
    }
}

/// Judges the logs as when the store is opened. Returns notes about the bytes that are left out then, if no synced
/// batch is missing; or `None` if the manifest is not whole or a log is missing.
///
/// # Errors
/// The damaged file, and the damage.
fn judge(remains: &Remains, known: &Known) -> Result<Option<Vec<String>>, (String, String)> {
    let Some(version_set) = known.version_set.as_ref().filter(|_| known.whole) else {
        return Ok(None);
    };
    let mut replay = wal::Replay::new(version_set.log_start, version_set.durable(remains.synced));
    let mut notes = Vec::new();
    for log in &version_set.logs {
        let id = FileId::log(log.file);
        let file = remains.files.iter().find(|(other, _)| *other == id);
        let Some((_, file)) = file else { return Ok(None) };
        let replayed = replay.log(log.id(), file, log.through, &mut |_, _| Ok(()));
        let found = replayed.map_err(|e| (id.to_string(), e.to_string()))?;
        if found.discarded_bytes > 0 {
            notes.push(format!(
                "{id}: {} bytes from {} on are what a crash left of writes that no sync vouches for, \
                 or damaged ones: opening leaves them out, and what is sound of them was taken",
                found.discarded_bytes, found.end
            ));
        }
    }
    match replay.end() {
        Ok(_) => Ok(Some(notes)),
        Err(e) => Err(match e.kind() {
            ErrorKind::Corrupt(damage) => (damage.file.to_string(), damage.to_string()),
            _ => ("log".to_owned(), e.to_string()),
        }),
    }
}

/// A log that is read.
struct Log<'a> {
    file: &'a Arc<dyn File>,
    /// The manifest's record of the log.
    named: Option<&'a LogRecord>,
    /// Length in bytes, according to the manifest.
    len: u64,
    /// Whether no synced batch is missing from the logs.
    sound: bool,
    salvaged: SalvagedFile,
    /// Keyspaces that its batches drop.
    dropped: Vec<u32>,
}

impl Reach {
    /// Adds a record or claim, unless it is `damaged`, with the batches through a sequence number.
    fn add(&mut self, found: Found, bytes: &[u8], through: Seq, damaged: bool) {
        let first = found.header.first;
        let batches = found.batches(bytes).count() as u64;
        let last = first.saturating_add(batches).saturating_sub(1).min(through);
        self.last = Some(last);
        self.said = self.said.max(last).max(found.header.synced);
        self.claimed = batches == 0 && found.header.synced >= last;
        if batches > 0 && !damaged {
            self.stretches.push((first, last));
        }
    }
}

impl Log<'_> {
    /// Reads the readable bytes of the file.
    fn bytes(&mut self) -> Result<Vec<u8>> {
        let len = self.file.len()?;
        let wanted = usize::try_from(len).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        let room = bytes.try_reserve_exact(wanted);
        room.map_err(|_| Error::invalid("log", "one that memory holds", format!("{len} bytes")))?;
        bytes.resize(wanted, 0);
        let mut there = 0;
        while let Some(rest) = bytes.get_mut(there..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, there as u64)? {
                0 => break,
                n => there += n,
            }
        }
        bytes.truncate(there);
        let (there, len) = (there as u64, len.max(self.len));
        if there < len {
            let lost = len - there;
            let lost = format!("{lost} bytes from {there} on: the file is cut short");
            self.salvaged.lost.push(lost);
        }
        Ok(bytes)
    }

    /// Takes the valid records.
    fn read(
        &mut self,
        salts: &[u64],
        numbers: std::ops::RangeInclusive<u64>,
        known: &Known,
        sources: &mut BTreeMap<u32, Sources>,
        reach: &mut Reach,
    ) -> Result<()> {
        let bytes = self.bytes()?;
        let named = self.named.map(LogRecord::id);
        let of = |salt: &u64| wal::record::log_of(&bytes, *salt, numbers.clone());
        let log = match named.filter(|_| known.whole) {
            None => salts.iter().find_map(of).or(named),
            whole => whole,
        };
        // Where a log has no record, zeros stand at its front.
        let begun = bytes.iter().take(8).any(|b| *b != 0) && !bytes.starts_with(MARK);
        let Some(log) = log else {
            if begun {
                let lost = if salts.is_empty() {
                    "all of it: no manifest, CURRENT or table is left to tell the store's id, without \
                     which no record can be verified"
                } else {
                    "all of it: its first record cannot be read"
                };
                self.salvaged.lost.push(lost.to_owned());
            }
            return Ok(());
        };
        // Records that recovery discarded do not count: their sequence numbers were given again.
        let through = self.named.filter(|named| named.id() == log).and_then(|named| named.through);
        let through = through.unwrap_or(Seq::MAX);
        let mut end = 0;
        for found in wal::scan(&bytes, log)? {
            // A log that is not in use starts with zeros, and older records may follow.
            let is_spare = end == 0 && !begun && !known.whole;
            if found.offset > end && !self.sound && !is_spare {
                let gap = found.offset - end;
                let lost = format!("{gap} bytes from {end} on, before the next record");
                self.salvaged.lost.push(lost);
            }
            end = found.end();
            let lost = self.salvaged.lost.len();
            self.take(&bytes, found, through, known, sources);
            if found.header.first <= through {
                reach.add(found, &bytes, through, self.salvaged.lost.len() > lost);
            }
        }
        let ended = reach.last.is_some_and(|last| last >= through);
        let next = usize::try_from(end).ok().and_then(|end| bytes.get(end..)?.first_chunk::<8>());
        reach.end = match next {
            _ if ended => End::Clean,
            None if (bytes.len() as u64) < self.len => End::Lost,
            Some(next) if *next != [0; 8] && next != MARK => End::Torn,
            _ => End::Clean,
        };
        if end == 0 && begun && !self.sound {
            self.salvaged.lost.push("no record of it can be read".to_owned());
        }
        Ok(())
    }

    /// Takes the entries of a record. Flushed entries are taken as well, since their table may be lost, unless a batch
    /// is missing from the logs: it may be the one that deleted them.
    fn take(
        &mut self,
        bytes: &[u8],
        found: Found,
        through: Seq,
        known: &Known,
        sources: &mut BTreeMap<u32, Sources>,
    ) {
        let begins = found.offset.saturating_add(HEADER_BYTES as u64);
        let batches = found.batches(bytes).take_while(|(seq, _)| *seq <= through);
        let is_taken = |keyspace: KeyspaceId, seq: Seq| {
            let record = known.version_set.as_ref().and_then(|c| c.keyspaces.get(&keyspace));
            let dropped = known.whole && record.is_none();
            let flushed = record.is_some_and(|record| seq <= record.flushed);
            !dropped && (!flushed || self.sound)
        };
        let mut rows_of = |keyspace: KeyspaceId| {
            let rows = &mut sources.entry(keyspace.0).or_default().log;
            rows.get_or_insert_with(|| Arc::new(Memtable::new(bytes.len()))).clone()
        };
        for (seq, batch) in batches {
            for (keyspace, list) in batch::range_deletes(batch, seq).iter() {
                if is_taken(*keyspace, seq) {
                    rows_of(*keyspace).delete_ranges(list);
                }
            }
            for entry in batch::effective(batch, true) {
                let (keyspace, operation) = match entry {
                    Ok(entry) => entry,
                    Err(damage) => {
                        let damage = damage.within(self.file.name(), begins);
                        self.salvaged.lost.push(damage.to_string());
                        return;
                    }
                };
                if let Operation::DropKeyspace(_) = operation {
                    self.dropped.push(keyspace.0);
                    continue;
                }
                if !is_taken(keyspace, seq) {
                    continue;
                }
                let taken = match operation {
                    // It stays apart: the merge of the keyspace joins it with operands of tables.
                    Operation::Merge(key, operand) => {
                        rows_of(keyspace).merge_apart(key, seq, operand)
                    }
                    other => other.insert_into(&rows_of(keyspace), seq, None),
                };
                match taken {
                    Ok(()) => self.salvaged.entries += 1,
                    Err(e) => self.salvaged.lost.push(e.to_string()),
                }
            }
        }
    }
}
