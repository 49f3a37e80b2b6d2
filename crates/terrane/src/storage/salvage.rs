//! Finds the files of a store that cannot be opened. Writes nothing.
//!
//! 1. The manifest, as far as it can be read: in a directory, that of the newest generation with a
//!    valid first record, whatever generation `CURRENT` names, unless it is another store's; in a volume, the
//!    one that the superblocks name or, if both are lost, the newest one whose first record is found at
//!    a unit boundary.
//! 2. The tables and logs: in a directory, by name; in a volume, where the manifest says. Without a
//!    manifest, a volume is searched for table footers, which finds tables in a single extent (but no
//!    logs, which have no footer).
//! 3. Sectors that cannot be read are passed over (`sectors`).

mod sectors;

use crate::entry::Seq;
use crate::error::Result;
use crate::storage::directory::footer;
use crate::storage::extent::{Extent, UNIT};
use crate::storage::manifest::{self, SalvagedRecords};
use crate::storage::record::{Placement, replay};
use crate::storage::vfs::Vfs;
use crate::storage::volume::superblock::{self, RESERVED, SLOT_BYTES, SLOTS, Slot};
use crate::storage::{Directory, File, FileId, FileKind, read_exact_at};
use crate::table::footer::{FOOTER_BYTES, Footer, MAGIC_BYTES};
use crate::vec_map::VecMap;
use sectors::{Readable, Unreadable, read_only};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes that a search reads at a time.
const PART: u64 = 1 << 20;

/// Remains of a store.
#[derive(Default)]
pub struct Remains {
    /// The engine's edits, a snapshot first; empty if no manifest can be read.
    pub edits: Vec<Vec<u8>>,
    /// Whether these are all edits, as far as the manifest can tell.
    pub whole: bool,
    /// Batches through this sequence number were durable when the store was last closed, as the manifest says.
    pub synced: Seq,
    /// The files that are live after them, with their lengths, in bytes.
    pub named: BTreeMap<FileId, u64>,
    /// Tables and logs.
    pub files: Vec<(FileId, Arc<dyn File>)>,
    /// Salts that checksums may have: that of the store, and those of its tables.
    pub salts: Vec<u64>,
    /// Damage, a sentence each.
    pub notes: Vec<String>,
    /// Whether anything found belongs to a store.
    is_store: bool,
    unreadable: Arc<Unreadable>,
}

/// Finds what is left of a store in a directory.
///
/// # Errors
/// [`crate::ErrorKind::NoStore`] if it holds the store of another program; I/O failures.
pub fn directory(vfs: &dyn Vfs) -> Result<Remains> {
    Directory::refuse_foreign(vfs)?;
    let mut remains = Remains::default();
    let current = Directory::current(vfs);
    remains.salts.extend(current.map(|(salt, _)| salt));
    let names = vfs.list()?;
    remains.is_store = current.is_some();
    for name in &names {
        if let Some(id) = FileId::parse(name) {
            match vfs.open(name) {
                Ok(file) => remains.add(id, remains.readable(file)),
                Err(e) => remains.notes.push(e.to_string()),
            }
            remains.is_store = true;
        }
    }
    let mut manifests: Vec<_> =
        names.iter().filter_map(|n| Some((Directory::manifest_generation(n)?, n))).collect();
    manifests.sort_unstable();
    let newest = manifests.last().map(|(generation, _)| *generation);
    let mut manifest = None;
    for (generation, name) in manifests.into_iter().rev() {
        remains.is_store = true;
        let read = vfs.open(name).and_then(|file| {
            let file = remains.readable(file);
            let len = file.len()?;
            manifest::salvage(&*file, 0, len, generation)
        });
        match read {
            Ok(records) if !records.payloads.is_empty() => {
                let before = (remains.salts.len(), remains.notes.len());
                remains.add_records(name, &records);
                if remains.is_foreign(records.salt, current.map(|(salt, _)| salt)) {
                    remains.salts.truncate(before.0);
                    remains.notes.truncate(before.1);
                    remains.notes.push(format!("{name} is ignored: it is another store's"));
                    remains.edits.clear();
                    remains.named.clear();
                    remains.whole = false;
                    remains.synced = 0;
                    continue;
                }
                // A later manifest that was never finished may be unreadable.
                let last = current.map(|(_, named)| named).or(newest);
                remains.whole &= last <= Some(generation);
                manifest = Some((name, records));
                break;
            }
            Ok(_) => remains.notes.push(format!("{name} has no record that can be read")),
            Err(e) => remains.notes.push(e.to_string()),
        }
    }
    if remains.edits.is_empty() {
        remains.notes.push("no manifest can be read: all tables and logs are used".into());
    }
    if let Some((name, records)) = manifest {
        remains.compare_commits(name, &records);
    }
    Ok(remains)
}

/// Finds what is left of a store in a volume of one backing file.
///
/// # Errors
/// I/O failures.
pub fn volume(backing: &Arc<dyn File>) -> Result<Remains> {
    let mut remains = Remains::default();
    let backing = &remains.readable(backing.clone());
    let mut newest = None;
    for offset in SLOTS {
        let mut bytes = [0; SLOT_BYTES];
        let n = backing.read_at(&mut bytes, offset)?;
        match superblock::decode(bytes.get(..n).unwrap_or_default()) {
            Slot::Valid(slot) => {
                let region = (slot.generation, slot.manifest_offset, slot.manifest_len);
                newest = newest.max(Some(region));
                remains.is_store = true;
                remains.add_salt(slot.id.salt());
            }
            _ => remains.notes.push(format!("the superblock at {offset} cannot be read")),
        }
    }
    let len = backing.len()?;
    let region = match newest {
        Some(region) => Some(region),
        None => find_manifest(&**backing, len)?,
    };
    if let Some((generation, offset, len)) = region {
        match manifest::salvage(&**backing, offset, len, generation) {
            Ok(records) => {
                for (id, placement) in remains.add_records(backing.name(), &records) {
                    let file =
                        PlacedFile { name: id.to_string(), backing: backing.clone(), placement };
                    remains.add(id, Arc::new(file));
                }
            }
            Err(e) => remains.notes.push(e.to_string()),
        }
    }
    if remains.edits.is_empty() {
        let searched = "no manifest can be read: tables in one piece were searched for, logs and \
                        tables in several pieces are not found";
        remains.notes.push(searched.into());
        find_tables(backing, len, &mut remains)?;
    }
    Ok(remains)
}

impl Remains {
    /// Whether nothing of a store was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.is_store && self.edits.is_empty() && self.files.is_empty()
    }

    /// Returns the failed reads so far, a sentence for each raw file.
    #[must_use]
    pub fn unreadable(&self) -> Vec<String> {
        self.unreadable.notes()
    }

    fn readable(&self, file: Arc<dyn File>) -> Arc<dyn File> {
        Arc::new(Readable { file, unreadable: self.unreadable.clone() })
    }

    fn add_salt(&mut self, salt: u64) {
        if !self.salts.contains(&salt) {
            self.salts.push(salt);
        }
    }

    /// Marks the manifest as incomplete if a table was started after a commit that it does not have.
    fn compare_commits(&mut self, manifest: &str, records: &SalvagedRecords) {
        let tables = self.files.iter().filter(|(id, _)| id.kind == FileKind::Table);
        let unnamed = tables.filter(|(id, _)| !self.named.contains_key(id));
        let footers = unnamed.filter_map(|(id, file)| Some((*id, footer(&**file).ok().flatten()?)));
        let mut later =
            footers.filter(|(_, f)| f.salt == records.salt && f.commits > records.commits);
        if let Some((id, footer)) = later.next() {
            self.whole = false;
            self.notes.push(format!(
                "{manifest} has {} commits, and there were {} before table {id}",
                records.commits, footer.commits
            ));
        }
    }

    /// Whether the manifest under `salt`, whose records were added, belongs to another store than
    /// `CURRENT`, if that can be read, and the tables. The salts of tables decide or, since a copy's tables
    /// have those of other stores, the lengths of those that the manifest names.
    fn is_foreign(&self, salt: u64, current: Option<u64>) -> bool {
        if current == Some(salt) {
            return false;
        }
        let (mut of_current, mut as_named, mut others) = (false, 0, 0);
        for (id, file) in self.files.iter().filter(|(id, _)| id.kind == FileKind::Table) {
            let Some(found) = footer(&**file).ok().flatten() else { continue };
            if found.salt == salt {
                return false;
            }
            of_current |= current == Some(found.salt);
            let len = file.len().ok();
            *(if self.named.get(id).copied() == len { &mut as_named } else { &mut others }) += 1;
        }
        of_current || others > as_named || (current.is_some() && as_named == 0)
    }

    /// Adds a file and, for a table, its salt.
    fn add(&mut self, id: FileId, file: Arc<dyn File>) {
        if let Some(footer) = footer(&*file).ok().flatten().filter(|_| id.kind == FileKind::Table) {
            self.add_salt(footer.salt);
        }
        self.files.push((id, file));
    }

    /// Adds what a manifest's records say; returns the placement of the live files after them.
    fn add_records(&mut self, name: &str, records: &SalvagedRecords) -> VecMap<FileId, Placement> {
        self.whole = records.whole;
        self.synced = records.synced;
        self.add_salt(records.salt);
        if !records.whole {
            let read = records.payloads.len();
            self.notes.push(format!("{name} can be read through record {read} and not beyond"));
        } else if records.discarded_bytes > 0 {
            let bytes = records.discarded_bytes;
            self.notes.push(format!("{name} ends with {bytes} bytes of a commit that never ended"));
        }
        let pairs: Vec<_> = records.payloads.iter().map(|p| (0, p.as_slice())).collect();
        let replayed = replay(name, &pairs).unwrap_or_else(|contradiction| {
            // A record that contradicts earlier ones is ignored, with all after it.
            self.notes.push(contradiction.to_string());
            self.whole = false;
            let mut shorter = (0..pairs.len()).rev().filter_map(|kept| pairs.get(..kept));
            shorter.find_map(|pairs| replay(name, pairs).ok()).unwrap_or_default()
        });
        self.edits = replayed.edits;
        self.named = replayed.live.iter().map(|(id, placement)| (*id, placement.len)).collect();
        replayed.live
    }
}

/// The number and salt of the table in a file, if that ends with a valid footer.
pub fn table_in(file: &dyn File) -> Option<(u64, u64)> {
    footer(file).ok().flatten().map(|footer| (footer.table, footer.salt))
}

/// The region of the newest generation of which a copy of the first record is at a unit boundary.
pub(in crate::storage) fn find_manifest(
    backing: &dyn File,
    len: u64,
) -> Result<Option<(u64, u64, u64)>> {
    let mut found = None;
    let mut offset = RESERVED;
    loop {
        let data = backing.next_data(offset)?.max(offset);
        offset = data - data % UNIT;
        if offset >= len {
            break;
        }
        if let Some((generation, capacity)) = manifest::region_at(backing, offset)? {
            found = found.max(Some((generation, Reverse(offset), capacity)));
        }
        offset += UNIT;
    }
    let Some((generation, Reverse(offset), capacity)) = found else { return Ok(None) };
    // Where the first copy is lost, this is the second, in the middle of the region. Only the region
    // itself has all records, and a witness behind them.
    let read = |offset: &u64| {
        let read = manifest::salvage(backing, *offset, capacity, generation);
        read.map_or((0, 0), |records| (records.witness, records.payloads.len()))
    };
    let starts = [offset.checked_sub(capacity / 2), Some(offset)];
    Ok(starts.into_iter().flatten().max_by_key(read).map(|start| (generation, start, capacity)))
}

/// Finds tables in a single extent: those whose footer leads to a start at a unit boundary.
fn find_tables(backing: &Arc<dyn File>, len: u64, remains: &mut Remains) -> Result<()> {
    let magic = MAGIC_BYTES;
    let mut base = RESERVED;
    loop {
        // No magic starts in a hole, since its first byte is not zero.
        base = backing.next_data(base)?.max(base);
        if base >= len {
            break;
        }
        // Parts overlap by one byte less than a magic, so that each magic is in exactly one.
        let part = (PART + magic.len() as u64 - 1).min(len - base);
        let mut bytes = vec![0; usize::try_from(part).unwrap_or(0)];
        read_exact_at(&**backing, &mut bytes, base)?;
        for at in bytes.windows(magic.len()).enumerate().filter(|(_, b)| *b == magic) {
            let end = base + (at.0 + magic.len()) as u64;
            if let Some((id, file)) = table_that_ends_at(backing, end) {
                remains.add(id, file);
            }
        }
        base += PART;
    }
    remains.files.sort_by_key(|(id, _)| *id);
    Ok(())
}

fn table_that_ends_at(backing: &Arc<dyn File>, end: u64) -> Option<(FileId, Arc<dyn File>)> {
    let mut bytes = [0; FOOTER_BYTES];
    read_exact_at(&**backing, &mut bytes, end.checked_sub(FOOTER_BYTES as u64)?).ok()?;
    let (number, len) = Footer::file_of(&bytes)?;
    let offset = end.checked_sub(len).filter(|offset| offset % UNIT == 0)?;
    let extents = vec![Extent { offset, len: len.next_multiple_of(UNIT) }];
    let placement = Placement { len, extents, ..Placement::default() };
    let id = FileId { kind: FileKind::Table, number };
    let file = PlacedFile { name: id.to_string(), backing: backing.clone(), placement };
    Some((id, Arc::new(file)))
}

/// A file in a volume, for reading.
struct PlacedFile {
    name: String,
    backing: Arc<dyn File>,
    placement: Placement,
}

impl File for PlacedFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let left = self.placement.len.saturating_sub(offset);
        let wanted = buf.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let (mut done, mut skipped) = (0, offset);
        for extent in &self.placement.extents {
            let Some(there) = extent.len.checked_sub(skipped) else {
                skipped -= extent.len;
                continue;
            };
            let rest = buf.get_mut(done..wanted).unwrap_or_default();
            let here = usize::try_from(there).unwrap_or(usize::MAX).min(rest.len());
            let piece = rest.get_mut(..here).unwrap_or_default();
            let n = self.backing.read_at(piece, extent.offset + skipped)?;
            done += n;
            if n < here || done == wanted {
                break;
            }
            skipped = 0;
        }
        Ok(done)
    }

    fn write_at(&self, _: &[u8], _: u64) -> Result<usize> {
        Err(read_only(&self.name))
    }

    fn sync(&self) -> Result<()> {
        Err(read_only(&self.name))
    }

    fn set_len(&self, _: u64) -> Result<()> {
        Err(read_only(&self.name))
    }

    fn len(&self) -> Result<u64> {
        Ok(self.placement.len)
    }
}

#[cfg(test)]
pub(crate) mod tests;
