//! The record stream shared by [`Directory`](super::Directory) and [`Volume`](super::Volume).
//!
//! A manifest is one *region* of a raw file: a directory's manifest from its start, or an extent of a
//! volume's first backing. It is written once, front to back, and never reused: when a record does
//! not fit, or recovery met anything irregular, the storage begins a new *generation* elsewhere,
//! with a snapshot as its first record.
//!
//! 1. A region is two *mirrors*, its two halves. Record after record lies in both, at the same
//!    place in each, from a multiple of 16 KiB on.
//! 2. [`Manifest::create`] writes the first record and zeros to the region's end, and syncs.
//! 3. [`Manifest::append`] writes a record as a frame in either mirror, filled up with zeros to a
//!    multiple of 4 KiB; then it syncs.
//! 4. [`scan`] takes for each index in order the first valid copy. It ends where neither copy is
//!    valid. A later record that is valid makes that damage; otherwise what lies there is a commit
//!    that never ended, and bytes behind what that one can have written are damage to unused room.
//!
//! ```text
//! region: mirror, mirror
//! mirror: record 0, zeros to a multiple of 16 KiB | record 1, zeros | ... | zeros
//! record: checksum u64 | payload length u32 | 0 u32 | generation u64 | index u64 | payload
//! first record's payload:  version, required, optional features u32 | store id 16 bytes |
//!                          commits before it u64 | capacity u64 | snapshot
//! witness: checksum u64 | records u64, in the last 16 KiB of the second mirror
//! ```
//!
//! **No record is forgotten without a word.** When a record is durable, the witness says how many
//! there are; the sync of the next record makes that durable, too, and so does
//! closing the store. A manifest that ends before the
//! record that its witness counts last has lost it, however much like an end its bytes look.
//!
//! **No single flipped bit, and no single lost sector of up to 16 KiB, takes a record that was
//! committed.** No such sector is shared by two frames, so it takes at most one copy of one record,
//! and the other stands in the other mirror. A record is synced before the next one is written and
//! before its commit returns, so only the last can be torn, and the last is taken if either copy is
//! whole. A write that ruins every sector it touches harms no earlier record, and where a committed
//! one is written again ([`Manifest::confirm`], with the same bytes), its other copy is durable
//! meanwhile.
//!
//! **Nothing stale parses.** A frame's checksum is seeded with the store's salt, its generation and
//! its index, and the
//! region was all zeros (synced) before its generation was named, so what lies in it was written by
//! this generation. What a torn commit left could meet only a commit at the same place; an
//! irregular end begins a new generation instead of writing there.

mod region;

pub(super) use region::{SalvagedRecords, region_at, salvage};
pub use region::{Scan, scan};

use crate::error::{Corruption, Error, Result};
use crate::storage::format::Format;
use crate::storage::record::{Record, Replayed, replay};
use crate::storage::{File, StoreId, write_all_at};
use region::{
    REGION_HEADER_BYTES, encode_frame, encode_region, encode_witness, frame_size, frame_span,
    is_witnessed, read_region,
};
use std::sync::Arc;

/// SalvagedRecords begin at multiples of this, in bytes: no sector of a file system is larger.
pub(crate) const FRAME_ALIGN: u64 = 16 << 10;
/// The least capacity of a region, in bytes.
pub(crate) const MIN_CAPACITY: u64 = 1 << 20;
/// A region holds this many times its first record: two are the snapshot, the rest are others.
const CAPACITY_FACTOR: u64 = 8;

/// Whose manifest it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManifestId {
    /// The store's.
    pub store: StoreId,
    /// Which of its manifests.
    pub generation: u64,
}

impl ManifestId {
    /// What seeds the checksum of the frames of this record.
    #[must_use]
    pub fn seed(self, index: u64) -> u64 {
        self.store.salt() ^ self.generation.rotate_left(32) ^ index
    }
}

/// What a generation takes over from the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inherited {
    /// The store's format, with features that this release may not know.
    pub format: Format,
    /// How many commits the store has made.
    pub commits: u64,
}

impl Inherited {
    /// That of a store's first generation.
    pub(crate) const NONE: Inherited = Inherited { format: Format::CURRENT, commits: 0 };
}

/// An open manifest, positioned after its last record.
pub(crate) struct Manifest {
    file: Arc<dyn File>,
    base: u64,
    capacity: u64,
    id: ManifestId,
    /// Its first record is a commit itself.
    inherited: Inherited,
    /// The index of the next record, and where it goes in each mirror.
    index: u64,
    end: u64,
    appended: u64,
    /// An append failed: nobody knows what lies from `end` on.
    in_doubt: bool,
    /// The last record as it was read, and where, until it is known to be durable.
    unconfirmed: Option<(u64, Vec<u8>)>,
    /// The witness may not say durably how many records there are.
    witness_stale: bool,
}

/// A manifest as it was found.
pub(crate) struct OpenedManifest {
    pub(crate) manifest: Manifest,
    pub(crate) replayed: Replayed,
    pub(crate) repaired: Vec<Corruption>,
    pub(crate) discarded_bytes: u64,
    /// The witness is valid, and as new as a crash may leave it: nothing after the records was lost.
    pub(crate) witnessed: bool,
}

impl Manifest {
    /// How large a region to give to a manifest whose first record is `snapshot`, in bytes.
    pub(crate) fn capacity_for(snapshot: &Record<'_>) -> u64 {
        let first = frame_span(frame_size(snapshot.encode().len() + REGION_HEADER_BYTES));
        (first * CAPACITY_FACTOR).max(MIN_CAPACITY)
    }

    /// Begins a generation in a region of `capacity` bytes from `base`, whatever lies there.
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
            // A new file reads as zeros where nothing is written.
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

    /// A manifest in a region, of which nothing is known yet.
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

    /// Copies the manifest, record by record, into another region of the same capacity, from `base`
    /// of `file`, as `generation`.
    pub(crate) fn copy(&self, file: Arc<dyn File>, base: u64, generation: u64) -> Result<Self> {
        let name = self.file.name();
        let bytes = read_region(&*self.file, self.base, self.capacity)?;
        let scan = scan(&bytes, self.id, name, self.base)?;
        self.missing_records(&scan).map_or(Ok(()), Err)?;
        let records = scan.records.iter().map(|(_, payload)| *payload);
        let id = ManifestId { generation, ..self.id };
        let (bytes, _) = encode_region(records, self.capacity, id, self.inherited, name)?;
        write_all_at(&*file, &bytes, base)?;
        file.sync()?;
        let Manifest { capacity, inherited, index, end, appended, in_doubt, .. } = *self;
        let fresh = Manifest::at(file, base, capacity, id, inherited);
        let copy = Manifest { index, end, appended, in_doubt, witness_stale: true, ..fresh };
        copy.write_witness();
        Ok(copy)
    }

    /// Reads the manifest `id` in a region, and changes nothing.
    pub(crate) fn open(
        file: Arc<dyn File>,
        base: u64,
        capacity: u64,
        id: ManifestId,
    ) -> Result<OpenedManifest> {
        let bytes = read_region(&*file, base, capacity)?;
        let scan = scan(&bytes, id, file.name(), base)?;
        let replayed = replay(file.name(), &scan.records)?;
        let witnessed = is_witnessed(&scan);
        let Scan { records, repaired, end, discarded_bytes, capacity, inherited, witness, .. } =
            scan;
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

    /// Makes a manifest that was opened durable: a record that was read but is not durable yet must
    /// not be acted on. If an earlier sync of the last record failed, another one would not save it,
    /// so it is written again, as it is, one copy after the other. (The first was synced before its
    /// generation was named, and those between before the next was written.)
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

    /// How many commits the store has made, those of earlier generations included.
    pub(crate) fn commits(&self) -> u64 {
        self.inherited.commits.saturating_add(self.index)
    }

    /// What the next generation takes over.
    pub(crate) fn for_next_generation(&self) -> Inherited {
        Inherited { commits: self.commits(), ..self.inherited }
    }

    /// Has the next generation take over these features, too.
    pub(crate) fn add_features(&mut self, format: Format) {
        self.inherited.format.add(format);
    }

    /// Writes how many records are durable. Not synced, and an error is no failure of the commit:
    /// a witness that is missing claims nothing.
    fn write_witness(&self) {
        let at = self.base + self.capacity - FRAME_ALIGN;
        let _ = write_all_at(&*self.file, &encode_witness(self.id, self.index), at);
    }

    /// Makes the witness durable, unless it is, when nothing will be appended for now.
    pub(crate) fn close(&mut self) {
        if std::mem::take(&mut self.witness_stale) && !self.in_doubt {
            self.write_witness();
            let _ = self.file.sync();
        }
    }

    /// Bytes that were written by appending, in both mirrors.
    pub(crate) fn appended_bytes(&self) -> u64 {
        self.appended
    }

    /// The region: where it begins, and its bytes.
    pub(crate) fn region(&self) -> (u64, u64) {
        (self.base, self.capacity)
    }

    /// Appends a record and syncs; false, and nothing is written, where the region is too full.
    /// After an error what was written is unknown: only a new generation settles it.
    pub(crate) fn append(&mut self, record: &Record<'_>) -> Result<bool> {
        let frame = encode_frame(&record.encode(), self.id, self.index)?;
        let end = self.end + frame_span(frame.len());
        if end > self.capacity / 2 - FRAME_ALIGN {
            return Ok(false);
        }
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

    /// Reads the region again and answers every damage in it.
    pub(crate) fn check(&self) -> Result<Vec<Corruption>> {
        let bytes = read_region(&*self.file, self.base, self.capacity)?;
        let mut scan = match scan(&bytes, self.id, self.file.name(), self.base) {
            Ok(scan) => scan,
            Err(Error::Corrupt(damage)) => return Ok(vec![*damage]),
            Err(e) => return Err(e),
        };
        if self.in_doubt {
            // The record that an append left may be there, in part or whole.
            let in_mirror = |d: &Corruption| (d.offset - self.base) % (self.capacity / 2);
            scan.repaired.retain(|d| in_mirror(d) < self.end);
            scan.records.truncate(usize::try_from(self.index).unwrap_or(usize::MAX));
        }
        let lost = self.missing_records(&scan);
        Ok(scan.repaired.into_iter().chain(lost).collect())
    }

    /// The damage where there is not every record that was appended.
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
