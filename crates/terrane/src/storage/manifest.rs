//! The manifest: the log of records shared by [`Directory`](super::Directory) and
//! [`Volume`](super::Volume).
//!
//! A manifest is one *region* of a raw file: all of a directory's manifest file, or an extent of a
//! volume's first backing. It is written once, front to back, and never reused. When a record does not
//! fit, or recovery found an irregularity, the storage starts a new *generation* elsewhere, with a
//! snapshot as its first record.
//!
//! 1. A region is two *mirrors*, its two halves. Each record is a *frame* in both, at the same offset
//!    and aligned to 16 KiB.
//! 2. [`Manifest::create`] writes the first record and zeros to the end of the region, and syncs.
//! 3. [`Manifest::append`] writes a record's frame to each mirror, padded with zeros to a multiple of
//!    4 KiB; then it syncs.
//! 4. [`scan`] takes the first valid copy for each index in order, and ends where neither copy is
//!    valid. If a later record is valid, that is damage. Otherwise what is there is a torn commit, and
//!    bytes beyond what that commit can have written are damage to unused space.
//!
//! ```text
//! region: mirror, mirror
//! mirror: record 0, zeros to a multiple of 16 KiB | record 1, zeros | ... | zeros
//! record: checksum u64 | payload length u32 | 0 u32 | generation u64 | index u64 | payload
//! first record's payload:  version, required, optional features u32 | store id 16 bytes |
//!                          commits before it u64 | capacity u64 | snapshot
//! witness: checksum u64 | records u64, in the last 16 KiB of the second mirror
//! closing claim: checksum u64 | synced sequence u64, after the witness
//! ```
//!
//! **No record is lost silently.** When a record is durable, the *witness* is set to the number of
//! records; the sync of the next record, or of closing the store, makes the witness durable. A
//! manifest with fewer records than its witness counts has lost some, even if it looks like one that
//! ends there.
//!
//! **No synced write is lost silently once the store was closed.** A log shows by its claims what was
//! synced, but one damaged sector may hold both the last claim and the records before it. So closing
//! also writes the synced sequence number beside the witness: a *closing claim*, in a file that is not the log.
//!
//! **No single flipped bit, and no single lost sector of up to 16 KiB, loses a committed record.** No
//! such sector is shared by two frames, so it affects at most one copy of one record, and the other
//! copy is in the other mirror. A sector that cannot be read is as a lost one; where neither mirror can
//! be read at the same place, that is an error of the file. A record is synced before the next one is
//! written and before its commit returns, so only the last one can be torn, and it is accepted if either
//! copy is whole. A write that ruins every sector it touches harms no earlier record; when a committed
//! record is written again ([`Manifest::confirm`], with the same bytes), its other copy is durable meanwhile.
//!
//! **Nothing stale is read.** A frame's checksum is seeded with the store's salt, the generation and
//! the index, and the region was all zeros (synced) before its generation was named, so everything in
//! it was written by this generation. The remains of a torn commit could only collide with a commit at
//! the same offset; after an irregular end, a new generation starts instead.

mod generation;
mod region;

pub(crate) use generation::FRAME_ALIGN;
pub use generation::{Inherited, ManifestId};
pub(super) use region::{SalvagedRecords, region_at, salvage};
pub use region::{Scan, scan};

use crate::entry::Seq;
use crate::error::{Corruption, Error, Result};
use crate::storage::format::Format;
use crate::storage::record::{Record, Replayed, replay};
use crate::storage::{File, write_all_at};
use region::{
    REGION_HEADER_BYTES, Region, encode_frame, encode_region, encode_witness, frame_size,
    frame_span, is_witnessed, read_region,
};
use std::sync::Arc;

/// The capacity of a region that its first record does not enlarge, in bytes. A store's first regions are smaller.
pub(crate) const MIN_CAPACITY: u64 = 1 << 20;
/// The capacity of a store's first region, in bytes. The next ones are twice as large, up to [`MIN_CAPACITY`].
pub(crate) const FIRST_CAPACITY: u64 = 512 << 10;
/// The capacity of a region in multiples of its first record, of which two are its copies.
const CAPACITY_FACTOR: u64 = 8;

/// An open manifest, positioned after its last record.
pub(crate) struct Manifest {
    file: Arc<dyn File>,
    base: u64,
    capacity: u64,
    id: ManifestId,
    /// Not counting the first record, which is a commit itself.
    inherited: Inherited,
    /// The index of the next record, and its offset in each mirror.
    index: u64,
    end: u64,
    appended: u64,
    /// An append failed, so what is stored from `end` on is unknown.
    in_doubt: bool,
    /// The last record that was read, and its offset, until it is known to be durable.
    unconfirmed: Option<(u64, Vec<u8>)>,
    /// The durable witness may not count all records.
    witness_stale: bool,
}

/// A manifest that was opened, and what was found in it.
pub(crate) struct OpenedManifest {
    pub(crate) manifest: Manifest,
    pub(crate) replayed: Replayed,
    pub(crate) repaired: Vec<Corruption>,
    pub(crate) discarded_bytes: u64,
    /// The witness is valid and recent enough to show that no record was lost at the end.
    pub(crate) witnessed: bool,
}

impl Manifest {
    /// Returns the capacity, in bytes, of a region whose first record is `snapshot` and which follows `previous`.
    pub(crate) fn capacity_for(snapshot: &Record<'_>, previous: Option<&Manifest>) -> u64 {
        let first = frame_span(frame_size(snapshot.encode().len() + REGION_HEADER_BYTES));
        let doubled = previous.map_or(FIRST_CAPACITY, |manifest| 2 * manifest.capacity);
        (first * CAPACITY_FACTOR).max(doubled.min(MIN_CAPACITY))
    }

    /// Starts a generation in the region of `capacity` bytes at `base`, and overwrites what is there.
    pub(crate) fn create(
        file: Arc<dyn File>,
        (base, capacity): (u64, u64),
        id: ManifestId,
        inherited: Inherited,
        snapshot: &Record<'_>,
    ) -> Result<Self> {
        let first = snapshot.encode();
        let (bytes, end) = encode_region([&*first], capacity, id, inherited, file.name())?;
        if file.len()? <= base {
            // A new file reads as zeros.
            file.allocate(base + capacity)?;
            for mirror in [0, bytes.len() / 2] {
                let record = bytes.get(mirror..mirror + end as usize).unwrap_or_default();
                write_all_at(&*file, record, base + mirror as u64)?;
            }
        } else {
            write_all_at(&*file, &bytes, base)?;
        }
        let manifest =
            Manifest { index: 1, end, ..Manifest::at(file, base, capacity, id, inherited) };
        manifest.write_witness();
        manifest.file.sync()?;
        Ok(manifest)
    }

    /// A manifest without records.
    fn at(
        file: Arc<dyn File>,
        base: u64,
        capacity: u64,
        id: ManifestId,
        inherited: Inherited,
    ) -> Self {
        Manifest {
            file,
            base,
            capacity,
            id,
            inherited,
            index: 0,
            end: 0,
            appended: 0,
            in_doubt: false,
            unconfirmed: None,
            witness_stale: false,
        }
    }

    /// Copies the manifest, record by record, as `generation` into another region of the same
    /// capacity, at `base` of `file`.
    pub(crate) fn copy(&self, file: Arc<dyn File>, base: u64, generation: u64) -> Result<Self> {
        let name = self.file.name();
        let Region { bytes, .. } = read_region(&*self.file, self.base, self.capacity)?;
        let scan = scan(&bytes, self.id, name, self.base)?;
        self.missing_records(&scan).map_or(Ok(()), Err)?;
        let records = scan.records.iter().map(|(_, payload)| *payload);
        let id = ManifestId { generation, ..self.id };
        let (bytes, _) = encode_region(records, self.capacity, id, self.inherited, name)?;
        write_all_at(&*file, &bytes, base)?;
        let Manifest { capacity, inherited, index, end, .. } = *self;
        let copy = Manifest { index, end, ..Manifest::at(file, base, capacity, id, inherited) };
        copy.write_witness();
        copy.file.sync()?;
        Ok(copy)
    }

    /// Opens the manifest `id` in a region without changing anything.
    pub(crate) fn open(
        file: Arc<dyn File>,
        base: u64,
        capacity: u64,
        id: ManifestId,
    ) -> Result<OpenedManifest> {
        let Region { bytes, unreadable } = read_region(&*file, base, capacity)?;
        let scan = scan(&bytes, id, file.name(), base)?;
        let replayed = replay(file.name(), &scan.records)?;
        let witnessed = is_witnessed(&scan);
        let Scan { records, repaired, end, discarded_bytes, capacity, inherited, witness, .. } =
            scan;
        let repaired = [unreadable, repaired].concat();
        let index = records.len() as u64;
        let last = records.last().filter(|_| index > 1);
        let manifest = Manifest {
            index,
            end,
            unconfirmed: last.map(|(at, payload)| (*at, payload.to_vec())),
            witness_stale: witness != index,
            ..Manifest::at(file, base, capacity, id, inherited)
        };
        Ok(OpenedManifest { manifest, replayed, repaired, discarded_bytes, witnessed })
    }

    /// Makes an opened manifest durable, since a record that is not durable yet must not be acted on.
    /// If an earlier sync of the last record failed, another sync would not save it, so it is written
    /// again, one copy after the other. (The first record was synced before its generation was named,
    /// the others before the next one was written.)
    pub(crate) fn confirm(&mut self) -> Result<()> {
        self.file.sync()?;
        if let Some((at, payload)) = self.unconfirmed.take() {
            let frame = encode_frame(&payload, self.id, self.index - 1)?;
            for mirror in [0, self.capacity / 2] {
                write_all_at(&*self.file, &frame, at + mirror)?;
                self.file.sync()?;
            }
        }
        self.write_witness();
        Ok(())
    }

    /// The generation.
    pub(crate) fn generation(&self) -> u64 {
        self.id.generation
    }

    /// Returns the number of commits in all generations.
    pub(crate) fn commits(&self) -> u64 {
        self.inherited.commits.saturating_add(self.index)
    }

    /// Returns the state that the next generation inherits.
    pub(crate) fn for_next_generation(&self) -> Inherited {
        Inherited { commits: self.commits(), ..self.inherited }
    }

    /// Adds features for the next generation to inherit.
    pub(crate) fn add_features(&mut self, format: Format) {
        self.inherited.format.add(format);
    }

    /// Writes the number of durable records and the closing claim, without a sync. An error does not
    /// fail the commit: a missing witness claims nothing.
    fn write_witness(&self) {
        let at = self.base + self.capacity - FRAME_ALIGN;
        let _ = write_all_at(
            &*self.file,
            &encode_witness(self.id, self.index, self.inherited.synced),
            at,
        );
    }

    /// Returns the closing claim, as it was read or last written.
    pub(crate) fn synced(&self) -> Seq {
        self.inherited.synced
    }

    /// Makes the witness durable, and the claim that batches through `synced` are.
    pub(crate) fn close(&mut self, synced: Seq) {
        self.witness_stale |= synced > self.inherited.synced;
        if std::mem::take(&mut self.witness_stale) && !self.in_doubt {
            self.inherited.synced = synced.max(self.inherited.synced);
            self.write_witness();
            let _ = self.file.sync();
        }
    }

    /// Bytes appended, in both mirrors.
    pub(crate) fn appended_bytes(&self) -> u64 {
        self.appended
    }

    /// The region: its offset and its length, in bytes.
    pub(crate) fn region(&self) -> (u64, u64) {
        (self.base, self.capacity)
    }

    /// Whether a record fits in the region.
    pub(crate) fn fits(&self, record: &Record<'_>) -> Result<bool> {
        Ok(self.next_frame(record)?.is_some())
    }

    /// Returns the frame of the next record and the offset of its end, if it fits in the region.
    fn next_frame(&self, record: &Record<'_>) -> Result<Option<(Vec<u8>, u64)>> {
        let frame = encode_frame(&record.encode(), self.id, self.index)?;
        let end = self.end + frame_span(frame.len());
        Ok((end <= self.capacity / 2 - FRAME_ALIGN).then_some((frame, end)))
    }

    /// Appends a record and syncs. Returns false, and writes nothing, if the region is too full. After
    /// an error it is unknown what was written; only a new generation resolves that.
    pub(crate) fn append(&mut self, record: &Record<'_>) -> Result<bool> {
        let Some((frame, end)) = self.next_frame(record)? else { return Ok(false) };
        self.in_doubt = true;
        for mirror in [0, self.capacity / 2] {
            write_all_at(&*self.file, &frame, self.base + mirror + self.end)?;
        }
        self.file.sync()?;
        self.in_doubt = false;
        self.witness_stale = true;
        self.index += 1;
        self.end = end;
        self.appended += 2 * frame.len() as u64;
        self.write_witness();
        Ok(true)
    }

    /// Reads the region again; returns all damage in it.
    pub(crate) fn check(&self) -> Result<Vec<Corruption>> {
        let Region { bytes, unreadable } = read_region(&*self.file, self.base, self.capacity)?;
        let mut scan = match scan(&bytes, self.id, self.file.name(), self.base) {
            Ok(scan) => scan,
            Err(e) => return Ok(vec![e.into_corruption()?]),
        };
        if self.in_doubt {
            // A record of the failed append may be there, in part or whole.
            let in_mirror = |d: &Corruption| (d.offset - self.base) % (self.capacity / 2);
            scan.repaired.retain(|d| in_mirror(d) < self.end);
            scan.records.truncate(usize::try_from(self.index).unwrap_or(usize::MAX));
        }
        let lost = self.missing_records(&scan);
        Ok(unreadable.into_iter().chain(scan.repaired).chain(lost).collect())
    }

    /// The damage, if records that were appended are missing.
    fn missing_records(&self, scan: &Scan<'_>) -> Option<Corruption> {
        let found = scan.records.len() as u64;
        (found != self.index).then(|| {
            Corruption::new(
                self.file.name(),
                self.base + scan.end,
                format_args!("{} records", self.index),
                format_args!("{found} that are whole"),
            )
        })
    }
}

/// The generation after `last`.
pub(crate) fn next_generation(last: u64) -> Result<u64> {
    last.checked_add(1).ok_or_else(|| {
        Error::invalid("manifest generation", format_args!("less than {}", u64::MAX), last)
    })
}

#[cfg(test)]
mod tests;
