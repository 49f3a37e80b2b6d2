//! A limit of the memory of each turn: a control group of the kernel, whose page cache counts as well, so that a store
//! that is larger is read from the device.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Folder in which the kernel shows control groups.
pub const ROOT: &str = "/sys/fs/cgroup";

/// A control group, which is removed in the end.
pub struct MemoryLimit(PathBuf);

impl MemoryLimit {
    /// Makes a group of at most `bytes` below `root`, of either version of control groups.
    ///
    /// # Errors
    /// Control groups that this user may not make.
    pub fn new(root: &Path, bytes: u64) -> Result<Self> {
        let first = root.join("memory");
        let (parent, file) = match first.is_dir() {
            true => (first.as_path(), "memory.limit_in_bytes"),
            false => (root, "memory.max"),
        };
        let group = parent.join(format!("terrane-compare-{}", std::process::id()));
        let expected = || format!("make the control group {}, which takes root", group.display());
        fs::create_dir(&group).with_context(expected)?;
        let limit = MemoryLimit(group);
        let file = limit.0.join(file);
        fs::write(&file, bytes.to_string()).with_context(|| file.display().to_string())?;
        Ok(limit)
    }

    /// Returns the folder of the group, by which a process [enters](enter) it.
    pub fn group(&self) -> &Path {
        &self.0
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// Moves this process into a group.
///
/// # Errors
/// A group that is gone.
pub fn enter(group: &Path) -> Result<()> {
    let file = group.join("cgroup.procs");
    fs::write(&file, std::process::id().to_string()).with_context(|| file.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::{MemoryLimit, enter};
    use std::fs;

    #[test]
    fn a_group_of_either_version_has_the_limit_and_its_process() {
        for (folder, file) in [("memory", "memory.limit_in_bytes"), ("other", "memory.max")] {
            let root = tempfile::tempdir().unwrap();
            fs::create_dir(root.path().join(folder)).unwrap();
            let limit = MemoryLimit::new(root.path(), 64 << 20).unwrap();
            enter(limit.group()).unwrap();
            let read = |file| fs::read_to_string(limit.group().join(file)).unwrap();
            assert_eq!(read(file), "67108864");
            assert_eq!(read("cgroup.procs"), std::process::id().to_string());
            assert_eq!(limit.group().parent().unwrap() == root.path(), folder == "other");
        }
    }

    #[test]
    fn a_group_that_cannot_be_made_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let error = MemoryLimit::new(&root.path().join("none"), 1).err().unwrap();
        assert!(error.to_string().starts_with("make the control group "));
    }
}
