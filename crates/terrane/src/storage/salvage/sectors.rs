//! Files of which some sectors cannot be read. These read as zeros, which fail every checksum, so that a
//! bad sector costs what it held, and not all that is read together with it.

use crate::error::{Error, Result};
use crate::storage::File;
use crate::sync::{Mutex, lock};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Returns the error of a change to a file of a damaged store.
pub(super) fn read_only(name: &str) -> Error {
    Error::invalid("file of a damaged store", "only reads", name)
}

/// The unit that is given up, in bytes.
const SECTOR: u64 = 4096;

/// The sectors that could not be read.
#[derive(Default)]
pub(super) struct Unreadable {
    files: Mutex<BTreeMap<String, Lost>>,
}

struct Lost {
    /// Offsets of the sectors.
    sectors: BTreeSet<u64>,
    /// Error of the first unreadable sector.
    why: String,
}

impl Unreadable {
    /// A sentence for each file.
    pub(super) fn notes(&self) -> Vec<String> {
        let note = |(name, lost): (&String, &Lost)| {
            let (sectors, why) = (lost.sectors.len(), &lost.why);
            let first = lost.sectors.first().copied().unwrap_or_default();
            format!(
                "{name}: {sectors} of its sectors cannot be read, the first at byte {first}: {why}"
            )
        };
        lock(&self.files).iter().map(note).collect()
    }
}

/// A file that is read around its bad sectors.
pub(super) struct Readable {
    pub(super) file: Arc<dyn File>,
    pub(super) unreadable: Arc<Unreadable>,
}

impl File for Readable {
    fn name(&self) -> &str {
        self.file.name()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        if let Ok(n) = self.file.read_at(buf, offset) {
            return Ok(n);
        }
        let left = self.len()?.saturating_sub(offset);
        let wanted = buf.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let mut done = 0;
        while let Some(rest) = buf.get_mut(done..wanted).filter(|rest| !rest.is_empty()) {
            let at = offset + done as u64;
            let here = rest.len().min((SECTOR - at % SECTOR) as usize);
            let piece = rest.get_mut(..here).unwrap_or_default();
            match self.file.read_at(piece, at) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) => {
                    piece.fill(0);
                    done += here;
                    let mut files = lock(&self.unreadable.files);
                    let lost = files
                        .entry(self.name().to_owned())
                        .or_insert_with(|| Lost { sectors: BTreeSet::new(), why: e.to_string() });
                    lost.sectors.insert(at - at % SECTOR);
                }
            }
        }
        Ok(done)
    }

    fn write_at(&self, _: &[u8], _: u64) -> Result<usize> {
        Err(read_only(self.name()))
    }

    fn sync(&self) -> Result<()> {
        Err(read_only(self.name()))
    }

    fn set_len(&self, _: u64) -> Result<()> {
        Err(read_only(self.name()))
    }

    fn len(&self) -> Result<u64> {
        self.file.len()
    }

    fn next_data(&self, offset: u64) -> Result<u64> {
        self.file.next_data(offset)
    }
}
