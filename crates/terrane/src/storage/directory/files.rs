//! The files of a directory, and what they take.

use crate::storage::vfs::Listed;
use crate::storage::{FileId, FileKind, Orphan, Space};
use crate::vec_map::{VecMap, VecSet};

/// The files there are, and what they take, so that figures need no look at each.
#[derive(Default)]
pub(super) struct Files {
    /// Those that commits named.
    pub(super) live: VecMap<FileId, Size>,
    /// Sums over the tables among them. Logs are few, and take more as they are written.
    pub(super) tables: Space,
    /// Whether it is known what those take that were there when the store was opened.
    pub(super) measured: bool,
    /// Those that no commit names: being written, or dropped and not removed yet.
    pub(super) unnamed: VecSet<FileId>,
    /// What was found at opening that no commit names, and has not been removed.
    pub(super) orphans: Vec<Orphan>,
    /// The manifest's.
    pub(super) generation: u64,
}

/// A file's size.
#[derive(Clone, Copy)]
pub(super) struct Size {
    /// Its length, in bytes.
    pub(super) len: u64,
    /// Bytes that it takes on the file system.
    pub(super) taken: u64,
}

impl Files {
    /// A commit named this file.
    pub(super) fn name(&mut self, id: FileId, size: Size) {
        self.forget(id);
        self.unnamed.remove(&id);
        self.live.insert(id, size);
        if id.kind == FileKind::Table {
            count(&mut self.tables, size);
        }
    }

    /// A commit dropped this file, or names it again.
    pub(super) fn forget(&mut self, id: FileId) {
        if let Some(Size { len, taken }) = self.live.remove(&id)
            && id.kind == FileKind::Table
        {
            self.tables.live = self.tables.live.wrapping_sub(len);
            self.tables.taken = self.tables.taken.wrapping_sub(taken);
        }
    }

    /// Learns what each file takes from a list of all.
    pub(super) fn measure(&mut self, listed: &[Listed]) {
        self.measured = true;
        self.tables = Space::default();
        for (id, size) in self.live.iter_mut() {
            // One that is not listed was named since, or is missing.
            if let Some(found) = find(listed, &id.to_string()) {
                size.taken = found.taken;
            }
            if id.kind == FileKind::Table {
                count(&mut self.tables, *size);
            }
        }
    }
}

/// Adds a table to the sums. Lengths are not trusted: what wraps comes right when it is taken off.
fn count(tables: &mut Space, Size { len, taken }: Size) {
    tables.live = tables.live.wrapping_add(len);
    tables.taken = tables.taken.wrapping_add(taken);
}

/// The file of this name in a list of all.
pub(super) fn find<'a>(listed: &'a [Listed], name: &str) -> Option<&'a Listed> {
    let at = listed.binary_search_by(|file| file.name.as_str().cmp(name)).ok()?;
    listed.get(at)
}
