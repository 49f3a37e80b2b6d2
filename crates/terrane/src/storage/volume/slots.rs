//! Reading and writing the superblock slots, and telling what a file without one is.

use super::sync_tracker::SyncTracker;
use crate::error::{Corruption, Error, Result};
use crate::storage::extent::Extent;
use crate::storage::format::Format;
use crate::storage::manifest::Manifest;
use crate::storage::volume::Volume;
use crate::storage::volume::commit::VolumeState;
use crate::storage::volume::superblock::{self, RESERVED, SLOT_BYTES, SLOTS, Slot, Superblock};
use crate::storage::write_all_at;
use crate::storage::{File, Storage};
use crate::sync::atomic::Ordering;
use terrane_platform::BROWSER;

/// Bytes searched for a manifest in a file without superblocks: it may be a large file of another kind.
const SEARCHED: u64 = 64 << 20;

impl Volume {
    /// Reads both slots.
    pub(super) fn read_slots(&self) -> Result<[Slot; 2]> {
        let file = self.backing0()?;
        let mut slots = [Slot::Blank; 2];
        for (slot, offset) in slots.iter_mut().zip(SLOTS) {
            let mut bytes = [0; SLOT_BYTES];
            let n = file.read_at(&mut bytes, offset)?;
            *slot = superblock::decode(bytes.get(..n).unwrap_or_default());
        }
        Ok(slots)
    }

    /// Writes slot 0 or 1 and syncs.
    pub(super) fn write_slot(&self, slot: usize, superblock: &Superblock) -> Result<()> {
        let file = SyncTracker::new(self.space.backing(0)?);
        let offset = SLOTS.get(slot).copied().unwrap_or_default();
        write_all_at(&file, &superblock.encode(), offset)?;
        file.sync()
    }

    /// The superblock that names this manifest region.
    pub(super) fn superblock(&self, format: Format, generation: u64, region: Extent) -> Superblock {
        Superblock {
            format,
            backings: self.space.backings().len() as u32,
            id: self.id(),
            generation,
            manifest_offset: region.offset,
            manifest_len: region.len,
        }
    }

    /// Whether nothing was ever written to the backings: a creation at most did not get to its first
    /// slot.
    pub(super) fn untouched(&self) -> Result<bool> {
        for (n, backing) in self.space.backings().iter().enumerate() {
            let len = backing.file.len()?;
            if len > if n == 0 { RESERVED } else { 0 } {
                return Ok(false);
            }
        }
        let mut bytes = vec![0; RESERVED as usize];
        self.backing0()?.read_at(&mut bytes, 0)?;
        Ok(bytes.iter().all(|b| *b == 0))
    }

    /// Whether a manifest near the front shows that there was a store, though nothing is left of either slot. The
    /// browser's module does without the search, for its size.
    fn has_lost_superblocks(&self) -> Result<bool> {
        let file = self.backing0()?;
        let len = file.len()?.min(SEARCHED);
        Ok(crate::storage::salvage::find_manifest(&**file, len)?.is_some())
    }

    /// Whether the creation of a store, or of a copy, was never finished here, so that there is no
    /// store. Changes nothing.
    ///
    /// # Errors
    /// I/O failures.
    pub fn is_unfinished(&self) -> Result<bool> {
        let generations = self.read_slots()?.map(|slot| match slot {
            Slot::Valid(superblock) => Some(superblock.generation),
            _ => None,
        });
        Ok(generations.iter().max() == Some(&Some(0)))
    }

    /// Writes both slots again, one after the other: a sync of what was read may have failed, in this process or
    /// in one before, and commits are lost if no slot that names their region is durable.
    pub(super) fn confirm_slots(&self, manifest: &Manifest) -> Result<()> {
        let (offset, len) = manifest.region();
        let format = manifest.for_next_generation().format;
        let superblock = self.superblock(format, manifest.generation(), Extent { offset, len });
        (0..SLOTS.len()).try_for_each(|slot| self.write_slot(slot, &superblock))
    }

    /// The current superblock; `None` if there is no store yet. A damaged or outdated slot is written again when the
    /// volume is resumed.
    pub(super) fn current(&self, repaired: &mut Vec<Corruption>) -> Result<Option<Superblock>> {
        let name = self.backing0()?.name().to_owned();
        let slots = self.read_slots()?;
        let valid = slots.iter().filter_map(|s| match s {
            Slot::Valid(superblock) => Some(*superblock),
            _ => None,
        });
        let Some(newest) = valid.max_by_key(|s| s.generation) else {
            if slots.contains(&Slot::Damaged) {
                let expected = "a superblock in either slot";
                let found = "none that passes its checksum";
                return Err(Corruption::new(name, 0, expected, found).into());
            }
            if self.untouched()? {
                return Ok(None);
            }
            if !BROWSER && self.has_lost_superblocks()? {
                let found = "none, but a manifest further on";
                return Err(Corruption::new(name, 0, "a superblock in either slot", found).into());
            }
            let why = "its first bytes are not those of one".to_owned();
            return Err(Error::no_store(self.name.clone(), why));
        };
        newest.format.check(&name)?;
        if newest.generation == 0 {
            return Ok(None);
        }
        if newest.backings as usize != self.space.backings().len() {
            return Err(Error::invalid(
                "backing files of a volume",
                newest.backings,
                self.space.backings().len(),
            ));
        }
        for (n, slot) in slots.iter().enumerate() {
            let outdated = matches!(slot, Slot::Valid(s) if s.generation < newest.generation);
            if *slot != Slot::Valid(newest) {
                // A check reports an outdated slot only if it stays so.
                if !outdated || self.read_only {
                    repaired.push(damaged_slot(&name, n, newest.generation));
                }
            }
        }
        Ok(Some(newest))
    }

    /// Marks a new volume as an unfinished creation before anything else is written. The caller holds
    /// the lock of the commit state, so that this happens once.
    pub(super) fn start(&self, _: &mut VolumeState) -> Result<()> {
        if self.started.load(Ordering::Acquire) {
            return Ok(());
        }
        if self.id().is_none() {
            let expected = "16 random bytes";
            return Err(Error::invalid("id of a new store", expected, self.id()));
        }
        let marker = self.superblock(Format::CURRENT, 0, Extent { offset: 0, len: 0 });
        let file = self.backing0()?;
        if file.len()? < RESERVED {
            file.set_len(RESERVED)?;
        }
        self.write_slot(1, &marker)?;
        self.free_all_but_superblocks()?;
        self.started.store(true, Ordering::Release);
        Ok(())
    }
}

/// The damage to report for a slot that is not what it should be.
pub(super) fn damaged_slot(file: &str, slot: usize, generation: u64) -> Corruption {
    let offset = SLOTS.get(slot).copied().unwrap_or_default();
    let expected = format!("superblock slot {slot} of generation {generation}");
    Corruption::new(file, offset, expected, "none that passes its checksum")
}
