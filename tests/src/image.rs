//! The bytes of a closed store, and which of them matter.
//!
//! A byte matters if a live structure covers it with a checksum:
//!
//! 1. In `CURRENT`: magic, generation and checksum of either copy. In a volume: the body and checksum
//!    of either superblock slot.
//! 2. In the manifest: both frames of every record, without the zeros that pad them.
//! 3. Every byte of a table that the manifest names.
//! 4. In each live log: header and payload of the records that recovery replays.
//!
//! All other bytes may hold anything: padding, a log after its last record, leftovers of a torn commit,
//! free space, the rest of a unit after the end of a table.

use crate::fixtures::Kind;
use std::collections::BTreeMap;
use std::ops::Range;
use terrane::entry::Seq;
use terrane::storage::fuzz::{
    ManifestId, Scan, Slot, decode_current, decode_record, decode_superblock, scan,
};
use terrane::storage::vfs::{MemoryVfs, Vfs};
use terrane::storage::{FileId, read_exact_at, write_all_at};
use terrane::version::{Edit, VersionSet};
use terrane::wal;

/// Files and their bytes.
#[derive(Clone)]
pub struct Image {
    /// By name.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// Structure that a byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// `CURRENT`, or a superblock: there are two copies.
    Head,
    /// A record of the manifest: there are two copies.
    Manifest,
    /// A table.
    Table,
    /// A log record that a later one, a table or the closing claim proves to have been synced.
    Proven,
    /// A log record that nothing proves; if it is damaged, it is lost with all records after it.
    Unproven {
        /// The number of records from this one on.
        records: usize,
    },
    /// A record of a log that is retained for the change feed.
    Retained,
}

/// A range of bytes that matter.
#[derive(Clone, Debug)]
pub struct Part {
    /// The raw file.
    pub file: String,
    /// The byte range in it.
    pub range: Range<u64>,
    /// Structure that it belongs to.
    pub of: Structure,
}

/// A stretch of a raw file.
struct Piece {
    file: String,
    offset: u64,
    len: u64,
}

impl Image {
    /// Reads all files of a file system.
    ///
    /// # Panics
    /// If it cannot be read.
    #[must_use]
    pub fn of(vfs: &dyn Vfs) -> Image {
        let read = |name: String| {
            let file = vfs.open(&name).expect("a file that is listed");
            let mut bytes = vec![0; file.len().expect("a length") as usize];
            read_exact_at(&*file, &mut bytes, 0).expect("all bytes");
            (name, bytes)
        };
        Image { files: vfs.list().expect("names").into_iter().map(read).collect() }
    }

    /// A file system with these files.
    ///
    /// # Panics
    /// If memory is full.
    #[must_use]
    pub fn vfs(&self) -> MemoryVfs {
        let vfs = MemoryVfs::new();
        for (name, bytes) in &self.files {
            let file = vfs.create(name).expect("room in memory");
            write_all_at(&*file, bytes, 0).expect("room in memory");
        }
        vfs
    }

    /// A file system with these files, and one bit flipped.
    ///
    /// # Panics
    /// If the bit is past the end of the file.
    #[must_use]
    pub fn flipped(&self, name: &str, bit: u64) -> MemoryVfs {
        let vfs = self.vfs();
        let byte = self.files[name][(bit / 8) as usize] ^ 1 << (bit % 8);
        let file = vfs.open(name).expect("a file of the image");
        write_all_at(&*file, &[byte], bit / 8).expect("a byte of the file");
        vfs
    }

    /// All parts that matter, of an undamaged store.
    ///
    /// # Panics
    /// If the store is damaged.
    #[must_use]
    pub fn parts(&self, kind: Kind) -> Vec<Part> {
        let mut parts = Vec::new();
        let (manifest, base, bytes, id) = self.manifest(kind, &mut parts);
        let scanned = scan(bytes, id, manifest, base).expect("a sound manifest");
        frames(manifest, &scanned, &mut parts);

        let mut version_set = VersionSet::default();
        let mut places = BTreeMap::new();
        for (number, (_, payload)) in scanned.records.iter().enumerate() {
            let record = decode_record(payload).expect("a sound record");
            for (id, placement) in record.placed {
                places.insert(id, self.pieces(kind, id, &placement));
            }
            record.dropped.iter().for_each(|id| drop(places.remove(id)));
            if let Some(edit) = record.edit {
                let edit = Edit::decode(edit, number as u64).expect("a sound edit");
                version_set.apply(&edit).expect("an edit that fits");
            }
        }
        for info in version_set.tables() {
            let pieces = &places[&FileId::table(info.id.0)];
            locate(pieces, 0..info.bytes, Structure::Table, &mut parts);
        }
        for retained in &version_set.retained {
            let pieces = &places[&FileId::log(retained.file)];
            let bytes = self.bytes(pieces);
            for record in wal::scan(&bytes, retained.log).expect("bytes in memory") {
                let header = wal::record::HEADER_BYTES as u64;
                let end = record.offset + header + record.header.payload_bytes as u64;
                locate(pieces, record.offset..end, Structure::Retained, &mut parts);
            }
        }
        self.logs(&version_set, scanned.inherited.synced, &places, &mut parts);
        parts
    }

    /// The manifest's file, the offset of its region, the region and the manifest's id. Adds the heads
    /// that name it to `parts`.
    pub(crate) fn manifest(
        &self,
        kind: Kind,
        parts: &mut Vec<Part>,
    ) -> (&str, u64, &[u8], ManifestId) {
        let mut head = |file: &str, range| {
            parts.push(Part { file: file.to_owned(), range, of: Structure::Head });
        };
        if kind.backings().is_empty() {
            let (store, generation, _) =
                decode_current(&self.files["CURRENT"]).expect("a sound CURRENT");
            head("CURRENT", 0..40);
            head("CURRENT", 16384..16384 + 40);
            let name = format!("MANIFEST-{generation:06}");
            let (name, bytes) = self.files.get_key_value(&name).expect("a manifest");
            return (name, 0, bytes, ManifestId { store, generation });
        }
        let (name, bytes) = self.files.get_key_value(kind.backings()[0]).expect("a backing");
        let Slot::Valid(superblock) = decode_superblock(&bytes[..512]) else {
            panic!("a sound superblock")
        };
        head(name, 0..72);
        head(name, 16384..16384 + 72);
        let base = superblock.manifest_offset;
        let region = &bytes[base as usize..(base + superblock.manifest_len) as usize];
        let id = ManifestId { store: superblock.id, generation: superblock.generation };
        (name, base, region, id)
    }

    /// Returns the places of a file's bytes.
    fn pieces(
        &self,
        kind: Kind,
        id: FileId,
        placement: &terrane::storage::fuzz::Placement,
    ) -> Vec<Piece> {
        let backings = kind.backings();
        if backings.is_empty() {
            return vec![Piece { file: id.to_string(), offset: 0, len: placement.len }];
        }
        let file = backings[usize::from(placement.backing)];
        let piece = |e: &terrane::storage::fuzz::Extent| Piece {
            file: file.to_owned(),
            offset: e.offset,
            len: e.len,
        };
        placement.extents.iter().map(piece).collect()
    }

    fn bytes(&self, pieces: &[Piece]) -> Vec<u8> {
        let piece =
            |p: &Piece| &self.files[&p.file][p.offset as usize..(p.offset + p.len) as usize];
        pieces.iter().flat_map(|p| piece(p).iter().copied()).collect()
    }

    /// The records that recovery replays, log by log. `synced` is the sequence number of the closing claim.
    fn logs(
        &self,
        version_set: &VersionSet,
        synced: Seq,
        places: &BTreeMap<FileId, Vec<Piece>>,
        parts: &mut Vec<Part>,
    ) {
        let mut next = version_set.log_start;
        let mut proven: Seq = version_set.flushed_max().max(synced);
        let mut taken: Vec<(&Vec<Piece>, Range<u64>, Seq)> = Vec::new();
        for log in &version_set.logs {
            let pieces = &places[&FileId::log(log.file)];
            let bytes = self.bytes(pieces);
            let mut end = 0;
            for record in wal::scan(&bytes, log.id()).expect("bytes in memory") {
                if record.offset != end || record.header.first != next {
                    break;
                }
                // If another log continues, a claim at the end of this one proves nothing more.
                if end == 0 && taken.last().is_some_and(|(.., first)| *first == next) {
                    taken.pop();
                }
                end = record.end();
                let from = record.offset + wal::record::HEADER_BYTES as u64;
                let to = from + record.header.payload_bytes as u64;
                next += wal::batches(&bytes[from as usize..to as usize]).count() as u64;
                proven = proven.max(record.header.synced);
                taken.push((pieces, record.offset..to, record.header.first));
            }
        }
        for (n, (pieces, range, first)) in taken.iter().enumerate() {
            let unproven = Structure::Unproven { records: taken.len() - n };
            let of = if *first <= proven { Structure::Proven } else { unproven };
            locate(pieces, range.clone(), of, parts);
        }
    }
}

/// Both frames of every record, but for the last where a crash left one of them.
fn frames(file: &str, scanned: &Scan<'_>, parts: &mut Vec<Part>) {
    let whole = scanned.records.len() - usize::from(!scanned.repaired.is_empty());
    for (number, (offset, payload)) in scanned.records.iter().enumerate().take(whole) {
        // The first payload follows 44 bytes that describe the region.
        let region = if number == 0 { 44 } else { 0 };
        let len = 32 + region + payload.len() as u64;
        for start in [*offset, offset + scanned.capacity / 2] {
            let file = file.to_owned();
            parts.push(Part { file, range: start..start + len, of: Structure::Manifest });
        }
    }
}

/// Locates a range of a file's bytes.
fn locate(pieces: &[Piece], range: Range<u64>, of: Structure, parts: &mut Vec<Part>) {
    let mut start = 0;
    for piece in pieces {
        let (from, to) = (range.start.max(start), range.end.min(start + piece.len));
        if from < to {
            let at = |n: u64| piece.offset + n - start;
            parts.push(Part { file: piece.file.clone(), range: at(from)..at(to), of });
        }
        start += piece.len;
    }
}
