//! Lookup of programs for wasm-pack. It downloads none: with `--mode no-install` it takes those that
//! are on `PATH`.

use anyhow::{Result, ensure};
use std::env::consts::EXE_EXTENSION;
use std::path::{Path, PathBuf};

/// A folder of downloads, in which there are none.
pub struct Cache(PathBuf);

impl Cache {
    /// In the folder of temporary files.
    ///
    /// # Errors
    /// None.
    pub fn new(name: &str) -> Result<Cache> {
        Ok(Cache(std::env::temp_dir().join(name)))
    }

    /// In this folder.
    #[must_use]
    pub fn at(path: &Path) -> Cache {
        Cache(path.to_owned())
    }

    /// A path in it.
    #[must_use]
    pub fn join(&self, path: &Path) -> PathBuf {
        self.0.join(path)
    }

    /// Nothing.
    ///
    /// # Errors
    /// When it may download.
    pub fn download(
        &self,
        install_permitted: bool,
        name: &str,
        _binaries: &[&str],
        _url: &str,
    ) -> Result<Option<Download>> {
        ensure!(
            !install_permitted,
            "{name} is not downloaded: run wasm-pack with --mode no-install"
        );
        Ok(None)
    }
}

/// A folder with programs.
pub struct Download(PathBuf);

impl Download {
    /// The folder at this path.
    #[must_use]
    pub fn at(path: &Path) -> Download {
        Download(path.to_owned())
    }

    /// A program in it.
    ///
    /// # Errors
    /// When it is not there.
    pub fn binary(&self, name: &str) -> Result<PathBuf> {
        let path = self.0.join(name).with_extension(EXE_EXTENSION);
        ensure!(path.is_file(), "there is no {}", path.display());
        Ok(path)
    }
}
