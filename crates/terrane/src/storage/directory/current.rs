//! `CURRENT`: names the current manifest; and what files without it mean.
//!
//! ```text
//! magic 8 bytes | store id 16 bytes | generation u64 | checksum u64 | zeros to 16 KiB, then all of it
//! again
//! ```
//!
//! `CREATING` has the same form, with the id of the store that is being created and generation 0.

use super::Directory;
use super::names::{CREATING, CURRENT, RESTORING, manifest_generation};
use crate::coding::{Decoder, checksum};
use crate::error::{Corruption, Error, Result};
use crate::storage::manifest::{self, FRAME_ALIGN};
use crate::storage::vfs::Vfs;
use crate::storage::{FileId, Recovered, StoreId};

const MAGIC: &[u8; 8] = b"TRNCUR\r\n";
/// The length of a copy of `CURRENT`: no sector holds two.
pub(super) const COPY: usize = FRAME_ALIGN as usize;

/// Encodes `CURRENT`.
pub(super) fn encode_current(id: StoreId, generation: u64) -> Vec<u8> {
    let mut copy = MAGIC.to_vec();
    copy.extend_from_slice(&id.bytes());
    copy.extend_from_slice(&generation.to_le_bytes());
    copy.extend_from_slice(&checksum(&copy, 0).to_le_bytes());
    copy.resize(COPY, 0);
    copy.repeat(2)
}

/// Decodes `CURRENT`: the store's id, the generation it names, and which of its copies (0, 1) are
/// invalid. `None` if neither is valid.
#[must_use]
pub fn decode_current(bytes: &[u8]) -> Option<(StoreId, u64, Vec<usize>)> {
    let copies = [0, COPY].map(|at| {
        let mut d = Decoder::new(bytes.get(at..)?);
        let body = d.take(MAGIC.len() + StoreId::BYTES + 8)?;
        let sound = d.u64()? == checksum(body, 0);
        let mut d = Decoder::new(body.strip_prefix(MAGIC)?);
        let named = (StoreId::decode(&mut d)?, d.u64()?);
        sound.then_some(named)
    });
    let (id, generation) = copies.iter().flatten().copied().next()?;
    let bad = copies.iter().enumerate().filter(|(_, c)| c.is_none()).map(|(n, _)| n);
    Some((id, generation, bad.collect()))
}

/// The first bytes of a file, as many as `CURRENT` has.
pub(super) fn read(vfs: &dyn Vfs, name: &str) -> Result<Vec<u8>> {
    let mut bytes = vec![0; 2 * COPY];
    let n = vfs.open(name)?.read_at(&mut bytes, 0)?;
    bytes.truncate(n);
    Ok(bytes)
}

/// Whether this is the name of a manifest, a table or a log.
fn is_content(name: &str) -> bool {
    FileId::parse(name).is_some() || manifest_generation(name).is_some()
}

/// Whether a directory without `CURRENT`, with these names, is an unfinished creation: `CREATING` is
/// there, with nothing else or with the files of the store that it names. A creation writes one commit.
/// Any other `CREATING` says nothing of the files beside it.
pub(super) fn is_creation(vfs: &dyn Vfs, names: &[String]) -> Result<bool> {
    if !names.iter().any(|n| n == CREATING) {
        return Ok(false);
    }
    if !names.iter().any(|n| is_content(n)) {
        return Ok(true);
    }
    let Some((id, ..)) = decode_current(&read(vfs, CREATING)?) else { return Ok(false) };
    for name in names {
        let Some(generation) = manifest_generation(name) else { continue };
        let file = vfs.open(name)?;
        match manifest::salvage(&*file, 0, file.len()?, generation) {
            Ok(found) if found.salt != id.salt() || found.commits > 1 => return Ok(false),
            Ok(_) => {}
            // It was not finished.
            Err(e) => drop(e.into_corruption()?),
        }
    }
    Ok(true)
}

impl Directory {
    /// Whether the creation of a store, of a copy, or a restore in `vfs` was never finished, so that there is
    /// no store. Changes nothing.
    ///
    /// # Errors
    /// I/O failures.
    pub fn is_unfinished(vfs: &dyn Vfs) -> Result<bool> {
        let names = vfs.list()?;
        let is_creation = || Ok(!names.iter().any(|n| n == CURRENT) && is_creation(vfs, &names)?);
        if names.iter().any(|n| n == RESTORING) { Ok(true) } else { is_creation() }
    }

    /// The store's salt and the generation that `CURRENT` names, if it can be read.
    pub(in crate::storage) fn current(vfs: &dyn Vfs) -> Option<(u64, u64)> {
        let (id, generation, _) = decode_current(&read(vfs, CURRENT).ok()?)?;
        Some((id.salt(), generation))
    }

    /// Judges a directory without `CURRENT`: no store, an unfinished creation, or damage.
    pub(super) fn without_current(&self, names: &[String]) -> Result<Option<Recovered>> {
        let left: Vec<_> = names.iter().filter(|n| is_content(n)).collect();
        if is_creation(&*self.vfs, names)? {
            if !self.read_only && !left.is_empty() {
                left.into_iter().try_for_each(|name| self.vfs.remove(name))?;
                // A creation that follows replaces CREATING, which must not vouch for them then.
                self.vfs.sync_names()?;
            }
            return Ok(None);
        }
        if let Some(name) = left.first() {
            let expected = "the name of the manifest, as there are files of a store";
            let found = format!("no such file beside {name}");
            return Err(Corruption::new(CURRENT, 0, expected, found).into());
        }
        match names.iter().find(|name| Directory::is_other_name(name)) {
            None => Ok(None),
            Some(other) => Err(Error::no_store(
                self.vfs.place(),
                format!("it has no file {CURRENT}, but {other}"),
            )),
        }
    }

    /// Reads the store and the generation that `CURRENT` names; adds damage to one of its copies to
    /// `repaired`.
    pub(super) fn read_current(&self, repaired: &mut Vec<Corruption>) -> Result<(StoreId, u64)> {
        let bytes = read(&*self.vfs, CURRENT)?;
        let (id, generation, bad) = decode_current(&bytes).ok_or_else(|| {
            let found = format!("{} bytes without a valid copy", bytes.len());
            Corruption::new(CURRENT, 0, "the manifest's generation", found)
        })?;
        repaired.extend(bad.into_iter().map(|copy| {
            let expected = format!("copy {} of the manifest's generation", copy + 1);
            let offset = (copy * COPY) as u64;
            Corruption::new(CURRENT, offset, expected, "bytes that fail their checksum")
        }));
        Ok((id, generation))
    }
}
