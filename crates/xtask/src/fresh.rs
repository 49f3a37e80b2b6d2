//! Whether a build step would do again what it did.
//!
//! A step is current when its output is there and its stamp carries the same key (profile, tool
//! versions) and a time later than every file and folder among its inputs. The time is that of the
//! step's start, so that a file edited while it ran counts as newer.

use anyhow::{Context, Result};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A build step with inputs and one telling output.
pub struct Step {
    /// File of the stamp.
    pub stamp: PathBuf,
    /// Further inputs that decide the output.
    pub key: String,
    /// Files and folders that it reads; a folder counts with everything below it.
    pub inputs: Vec<PathBuf>,
    /// The file that it writes last.
    pub output: PathBuf,
}

impl Step {
    /// Runs `build` unless the step is current.
    ///
    /// # Errors
    /// What `build` returns, or a stamp that cannot be written.
    pub fn bring_up_to_date(&self, build: impl FnOnce() -> Result<()>) -> Result<()> {
        if self.is_current().unwrap_or(false) {
            return Ok(());
        }
        // Written first and given its name last: its time is the start's, by the clock that the file
        // system gives all other files.
        let pending = self.stamp.with_extension("pending");
        fs::create_dir_all(self.stamp.parent().context("a stamp lies in a folder")?)?;
        fs::write(&pending, &self.key)?;
        build()?;
        Ok(fs::rename(pending, &self.stamp)?)
    }

    fn is_current(&self) -> io::Result<bool> {
        if !self.output.exists() || fs::read_to_string(&self.stamp)? != self.key {
            return Ok(false);
        }
        let built = fs::metadata(&self.stamp)?.modified()?;
        for input in &self.inputs {
            if newest(input)? >= built {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The latest modification at or below `path`. A folder's own time changes with removed files.
fn newest(path: &Path) -> io::Result<SystemTime> {
    let metadata = fs::metadata(path)?;
    let mut newest_time = metadata.modified()?;
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            newest_time = newest_time.max(newest(&entry?.path())?);
        }
    }
    Ok(newest_time)
}

#[cfg(test)]
mod tests {
    use super::Step;
    use std::cell::Cell;
    use std::fs::{self, File};
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    fn step(folder: &Path, key: &str) -> Step {
        Step {
            stamp: folder.join("stamps/step"),
            key: key.into(),
            inputs: vec![folder.join("src")],
            output: folder.join("out"),
        }
    }

    fn age(path: &Path, seconds: u64) {
        let time = SystemTime::now() - Duration::from_secs(seconds);
        File::open(path).unwrap().set_modified(time).unwrap();
    }

    #[test]
    fn a_step_runs_again_exactly_when_a_dependency_changed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("src/deep")).unwrap();
        let source = root.join("src/deep/a.rs");
        fs::write(&source, "a").unwrap();
        let settle = || [&source, &root.join("src/deep"), &root.join("src")].map(|p| age(p, 60));
        let runs = Cell::new(0);
        let build = |key: &str| {
            step(root, key)
                .bring_up_to_date(|| {
                    runs.set(runs.get() + 1);
                    Ok(fs::write(root.join("out"), "built")?)
                })
                .unwrap();
            runs.get()
        };
        settle();
        assert_eq!(build("release"), 1);
        assert_eq!(build("release"), 1, "nothing changed");
        assert_eq!(build("dev"), 2, "the key changed");
        fs::write(&source, "b").unwrap();
        assert_eq!(build("dev"), 3, "a file changed");
        settle();
        fs::remove_file(root.join("out")).unwrap();
        assert_eq!(build("dev"), 4, "the output is gone");
        fs::remove_file(&source).unwrap();
        assert_eq!(build("dev"), 5, "a source file is gone");
    }

    #[test]
    fn a_step_that_fails_stays_out_of_date() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        fs::write(folder.path().join("out"), "old").unwrap();
        age(&folder.path().join("src"), 60);
        let step = step(folder.path(), "release");
        assert!(step.bring_up_to_date(|| anyhow::bail!("broken")).is_err());
        assert!(!step.is_current().unwrap_or(false));
    }
}
