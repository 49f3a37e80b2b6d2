//! Orphans: files of a directory that no commit names.
//!
//! 1. A table that was started after more commits than the manifest has shows that the manifest lost
//!    some: the store is refused, and nothing changes. (The engine checks logs, whose numbers it
//!    knows.)
//! 2. Opening removes orphans. Tables are kept if the manifest's witness is missing or old, since a
//!    lost commit may have named them.

use super::names::{CREATING, CURRENT_TEMP, manifest_generation};
use super::{Directory, FOOTER_BYTES, Footer};
use crate::error::{Corruption, Result};
use crate::storage::{File, FileId, FileKind, Orphan, Storage, lock, read_exact_at};

impl Directory {
    /// The orphans among `names`.
    pub(super) fn find_orphans(&self, names: &[String], witnessed: bool) -> Vec<Orphan> {
        let files = lock(&self.files);
        let orphan = |name: &String| {
            let (orphan, kept) = match (FileId::parse(name), manifest_generation(name)) {
                (Some(id), _) => {
                    (!files.live.contains_key(&id), id.kind == FileKind::Table && !witnessed)
                }
                (None, Some(found)) => (found != files.generation, false),
                (None, None) => (name == CREATING || name == CURRENT_TEMP, false),
            };
            orphan.then(|| Orphan { file: name.clone(), kept })
        };
        names.iter().filter_map(orphan).collect()
    }

    /// Refuses a manifest that lost commits: one of these tables was started after a commit that it does
    /// not have.
    pub(super) fn check_unnamed_tables(&self, orphans: &[Orphan], manifest: &str) -> Result<()> {
        let (salt, commits) = (self.id().salt(), self.commits());
        for Orphan { file: name, .. } in orphans {
            if FileId::parse(name).is_none_or(|id| id.kind != FileKind::Table) {
                continue;
            }
            let Some(footer) = footer(&*self.vfs.open(name)?)? else { continue };
            if footer.salt == salt && footer.commits > commits {
                let expected = format!("the {} commits before table {name}", footer.commits);
                let found = format!("{commits}, and what was committed after them is lost");
                return Err(Corruption::new(manifest, 0, expected, found).into());
            }
        }
        Ok(())
    }

    /// Removes the orphans that need not be kept.
    pub(super) fn sweep(&self) -> Result<()> {
        let mut files = lock(&self.files);
        let (kept, dead) = std::mem::take(&mut files.orphans).into_iter().partition(|o| o.kept);
        files.orphans = kept;
        let dead: Vec<Orphan> = dead;
        for Orphan { file, .. } in dead {
            self.vfs.remove(&file)?;
            if file == CREATING {
                // Were CURRENT lost one day, it must not be there again.
                self.vfs.sync_names()?;
            }
            if let Some(id) = FileId::parse(&file) {
                files.unnamed.remove(&id);
            }
        }
        Ok(())
    }
}

/// The footer of a table, if the file ends with a valid one.
pub(in crate::storage) fn footer(file: &dyn File) -> Result<Option<Footer>> {
    let len = file.len()?;
    let Some(at) = len.checked_sub(FOOTER_BYTES as u64) else { return Ok(None) };
    let mut bytes = [0; FOOTER_BYTES];
    read_exact_at(file, &mut bytes, at)?;
    Ok(Footer::decode(&bytes, file.name(), len).ok())
}
