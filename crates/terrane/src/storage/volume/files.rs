//! The files of a volume, by how far each has come.

use super::file::VolumeFile;
use crate::storage::{FileId, FileKind};
use crate::vec_map::{VecMap, VecSet};
use std::sync::Arc;

/// Every file of a volume.
#[derive(Default)]
pub(super) struct Files {
    /// Created, and not named by a commit.
    fresh: VecMap<FileId, Arc<VolumeFile>>,
    /// Named.
    live: VecMap<FileId, Arc<VolumeFile>>,
    /// Dropped by a commit, and not removed.
    dropped: VecMap<FileId, Arc<VolumeFile>>,
    /// What the tables among the live ones take, in bytes, so that nobody has to look at each.
    table_bytes: u64,
}

impl Files {
    /// Adds one that no commit names yet; false where its number was used before.
    pub(super) fn create(&mut self, id: FileId, file: Arc<VolumeFile>) -> bool {
        let unused = !self.live.contains_key(&id) && !self.dropped.contains_key(&id);
        if unused {
            self.fresh.insert(id, file);
        }
        unused
    }

    /// One that no commit names yet.
    pub(super) fn fresh(&self, id: FileId) -> Option<&Arc<VolumeFile>> {
        self.fresh.get(&id)
    }

    /// One that a commit named.
    pub(super) fn live(&self, id: FileId) -> Option<&Arc<VolumeFile>> {
        self.live.get(&id)
    }

    /// All that commits named.
    pub(super) fn all_live(&self) -> &VecMap<FileId, Arc<VolumeFile>> {
        &self.live
    }

    /// One that a commit named, dropped since or not.
    pub(super) fn named(&self, id: FileId) -> Option<&Arc<VolumeFile>> {
        self.live.get(&id).or_else(|| self.dropped.get(&id))
    }

    /// What live tables take, in bytes.
    pub(super) fn table_bytes(&self) -> u64 {
        self.table_bytes
    }

    /// A commit named `id`, which was created here.
    pub(super) fn name(&mut self, id: FileId) {
        if let Some(file) = self.fresh.remove(&id) {
            self.place(id, file);
        }
    }

    /// Makes `file` the live one of this number.
    pub(super) fn place(&mut self, id: FileId, file: Arc<VolumeFile>) {
        let taken = |file: &Arc<VolumeFile>| if is_table(id) { file.taken() } else { 0 };
        self.table_bytes += taken(&file);
        let before = self.live.insert(id, file);
        self.table_bytes -= before.as_ref().map_or(0, taken);
    }

    /// A commit dropped `id`.
    pub(super) fn forget(&mut self, id: FileId) {
        if let Some(file) = self.live.remove(&id) {
            if is_table(id) {
                self.table_bytes -= file.taken();
            }
            self.dropped.insert(id, file);
        }
    }

    /// Lets go of one that no commit names, or that one dropped.
    pub(super) fn remove(&mut self, id: FileId) {
        self.fresh.remove(&id);
        self.dropped.remove(&id);
    }

    /// The numbers of all.
    pub(super) fn ids(&self) -> VecSet<FileId> {
        let all = [&self.fresh, &self.live, &self.dropped];
        all.iter().flat_map(|files| files.keys().copied()).collect()
    }
}

fn is_table(id: FileId) -> bool {
    id.kind == FileKind::Table
}
