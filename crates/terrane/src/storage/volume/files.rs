//! The files of a volume, by state.

use super::file::VolumeFile;
use crate::storage::{FileId, FileKind};
use crate::vec_map::{VecMap, VecSet};
use std::sync::Arc;

/// All files of a volume.
#[derive(Default)]
pub(super) struct Files {
    /// Created, and not named by a commit yet.
    uncommitted: VecMap<FileId, Arc<VolumeFile>>,
    /// Named by a commit.
    live: VecMap<FileId, Arc<VolumeFile>>,
    /// Dropped by a commit, and not removed.
    dropped: VecMap<FileId, Arc<VolumeFile>>,
    /// The space that live tables take, in bytes.
    table_bytes: u64,
}

impl Files {
    /// Adds a new file; returns false if its number is in use.
    pub(super) fn create(&mut self, id: FileId, file: Arc<VolumeFile>) -> bool {
        let unused = !self.live.contains_key(&id) && !self.dropped.contains_key(&id);
        if unused {
            self.uncommitted.insert(id, file);
        }
        unused
    }

    /// A file that no commit names yet.
    pub(super) fn uncommitted(&self, id: FileId) -> Option<&Arc<VolumeFile>> {
        self.uncommitted.get(&id)
    }

    /// A file that a commit named.
    pub(super) fn live(&self, id: FileId) -> Option<&Arc<VolumeFile>> {
        self.live.get(&id)
    }

    /// All files that commits named.
    pub(super) fn all_live(&self) -> &VecMap<FileId, Arc<VolumeFile>> {
        &self.live
    }

    /// A file that a commit named, even if it was dropped since.
    pub(super) fn named(&self, id: FileId) -> Option<&Arc<VolumeFile>> {
        self.live.get(&id).or_else(|| self.dropped.get(&id))
    }

    /// The space that live tables take, in bytes.
    pub(super) fn table_bytes(&self) -> u64 {
        self.table_bytes
    }

    /// Notes that a commit named a new file.
    pub(super) fn mark_live(&mut self, id: FileId) {
        if let Some(file) = self.uncommitted.remove(&id) {
            self.place(id, file);
        }
    }

    /// Makes `file` the live file with this number.
    pub(super) fn place(&mut self, id: FileId, file: Arc<VolumeFile>) {
        let taken = |file: &Arc<VolumeFile>| if is_table(id) { file.taken() } else { 0 };
        self.table_bytes += taken(&file);
        let before = self.live.insert(id, file);
        self.table_bytes -= before.as_ref().map_or(0, taken);
    }

    /// Notes that a commit dropped a file.
    pub(super) fn mark_dropped(&mut self, id: FileId) {
        if let Some(file) = self.live.remove(&id) {
            if is_table(id) {
                self.table_bytes -= file.taken();
            }
            self.dropped.insert(id, file);
        }
    }

    /// Removes a file that no commit names, or that a commit dropped.
    pub(super) fn remove(&mut self, id: FileId) {
        self.uncommitted.remove(&id);
        self.dropped.remove(&id);
    }

    /// The ids of all files.
    pub(super) fn ids(&self) -> VecSet<FileId> {
        let all = [&self.uncommitted, &self.live, &self.dropped];
        all.iter().flat_map(|files| files.keys().copied()).collect()
    }
}

fn is_table(id: FileId) -> bool {
    id.kind == FileKind::Table
}
