//! The manifest that commits append to, and what is unknown after one failed: what a directory and a
//! volume share.

use super::FileId;
use super::manifest::Manifest;
use super::record::Record;
use crate::error::{Error, Result};
use crate::vec_map::VecSet;

/// The manifest, and what is unknown after a failed commit. `extra` is for what only one kind of storage
/// has to know.
#[derive(Default)]
pub(super) struct CommitState<Extra = ()> {
    pub(super) manifest: Option<Manifest>,
    /// Bytes written to manifests.
    pub(super) manifest_bytes: u64,
    /// The greatest generation ever started, whether the storage came to name it or not.
    pub(super) last_generation: u64,
    /// The next commit starts a new manifest.
    pub(super) needs_rollover: bool,
    /// Whether a commit that failed may have taken effect.
    pub(super) unsettled: bool,
    /// Files that a failed commit may have named, and those of them to be removed.
    pub(super) in_doubt: VecSet<FileId>,
    pub(super) removed_in_doubt: VecSet<FileId>,
    pub(super) extra: Extra,
}

impl<Extra> CommitState<Extra> {
    /// Whether a record can be appended without a rollover.
    pub(super) fn has_room(&self, record: &Record<'_>) -> Result<bool> {
        match &self.manifest {
            Some(manifest) if !self.needs_rollover => manifest.fits(record),
            _ => Ok(false),
        }
    }

    /// Appends a record, unless a rollover is due or the manifest is full; returns whether it did.
    pub(super) fn append(&mut self, record: &Record<'_>) -> Result<bool> {
        let Some(manifest) = self.manifest.as_mut().filter(|_| !self.needs_rollover) else {
            return Ok(false);
        };
        let before = manifest.appended_bytes();
        let appended = manifest.append(record);
        self.manifest_bytes += manifest.appended_bytes() - before;
        // Where a record may stand in part, none can follow it.
        self.needs_rollover = appended.is_err();
        appended
    }

    /// Makes a commit that names these new files by `put`. Until it succeeds or fails, it may take effect.
    pub(super) fn attempt(
        &mut self,
        added: &[FileId],
        put: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let (was_unsettled, was_due) = (self.unsettled, self.needs_rollover);
        self.unsettled = true;
        put(self).inspect_err(|_| {
            // Where nothing took effect, for want of space, the manifest may still have room for smaller
            // edits, such as those that make space.
            self.needs_rollover = was_due || self.unsettled;
            self.unsettled |= was_unsettled;
            if self.unsettled {
                self.needs_rollover = true;
                self.in_doubt.extend(added.iter().copied());
            }
        })
    }

    /// Notes that a new manifest could not be begun, to which nothing leads yet.
    pub(super) fn not_begun(&mut self, cause: &Error) {
        self.unsettled &= !cause.is_no_space();
    }

    /// Appends a record to the manifest that a new one was to replace, if nothing of the new one took effect and the
    /// rollover was not due; returns whether it did.
    pub(super) fn append_instead(&mut self, record: &Record<'_>, was_due: bool) -> Result<bool> {
        if was_due || self.unsettled {
            return Ok(false);
        }
        (self.needs_rollover, self.unsettled) = (false, true);
        self.unsettled = self.append(record)?;
        Ok(self.unsettled)
    }

    /// Notes that a commit took effect, and with it all that was in doubt. Returns the files that wait to
    /// be removed.
    pub(super) fn settle(&mut self) -> VecSet<FileId> {
        self.unsettled = false;
        self.in_doubt.clear();
        std::mem::take(&mut self.removed_in_doubt)
    }
}
