//! The files of a directory and the space they take.

use crate::storage::vfs::Listed;
use crate::storage::{FileId, FileKind, Orphan, Space};
use crate::vec_map::{VecMap, VecSet};

/// All files, with the space they take, so that totals need no system call per file.
#[derive(Default)]
pub(super) struct Files {
    /// Files that commits named.
    pub(super) live: VecMap<FileId, Size>,
    /// Totals of the tables among them. (Logs are few, and grow as they are written.)
    pub(super) tables: Space,
    /// Whether the sizes of files from before the store was opened are known.
    pub(super) measured: bool,
    /// Files that no commit names: being written, or dropped and not removed yet.
    pub(super) unnamed: VecSet<FileId>,
    /// Orphans found at opening that were not removed.
    pub(super) orphans: Vec<Orphan>,
    /// The generation of the manifest.
    pub(super) generation: u64,
}

/// A file's size.
#[derive(Clone, Copy)]
pub(super) struct Size {
    /// Its length, in bytes.
    pub(super) len: u64,
    /// The disk space that it takes, in bytes.
    pub(super) taken: u64,
}

impl Files {
    /// Adds a file that a commit named.
    pub(super) fn add_live(&mut self, id: FileId, size: Size) {
        self.remove_live(id);
        self.unnamed.remove(&id);
        self.live.insert(id, size);
        if id.kind == FileKind::Table {
            count(&mut self.tables, size);
        }
    }

    /// Removes a file that a commit dropped.
    pub(super) fn remove_live(&mut self, id: FileId) {
        if let Some(Size { len, taken }) = self.live.remove(&id)
            && id.kind == FileKind::Table
        {
            self.tables.live = self.tables.live.wrapping_sub(len);
            self.tables.taken = self.tables.taken.wrapping_sub(taken);
        }
    }

    /// Updates sizes from a list of all files.
    pub(super) fn measure(&mut self, listed: &[Listed]) {
        self.measured = true;
        self.tables = Space::default();
        for (id, size) in self.live.iter_mut() {
            // A file that is not listed was named since, or is missing.
            if let Some(found) = find(listed, &id.to_string()) {
                size.taken = found.taken;
            }
            if id.kind == FileKind::Table {
                count(&mut self.tables, *size);
            }
        }
    }
}

/// Adds a table to the totals. Lengths are not trusted: a sum that wraps is right again when the table
/// is removed.
fn count(tables: &mut Space, Size { len, taken }: Size) {
    tables.live = tables.live.wrapping_add(len);
    tables.taken = tables.taken.wrapping_add(taken);
}

/// The file with this name in a sorted list.
pub(super) fn find<'a>(listed: &'a [Listed], name: &str) -> Option<&'a Listed> {
    let at = listed.binary_search_by(|file| file.name.as_str().cmp(name)).ok()?;
    listed.get(at)
}
