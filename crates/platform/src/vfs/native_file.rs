//! A native file, whose descriptor may be closed and opened again between two calls.

use crate::vfs::allocate::allocate;
use crate::vfs::descriptor_table::{Descriptor, DescriptorTable};
#[cfg(target_os = "linux")]
use crate::vfs::mapped_file::Mapped;
#[cfg(target_os = "linux")]
use crate::vfs::read_mapping::{Pages, ReadMapping};
use crate::vfs::repeat::{repeat, write};
use crate::vfs::system::{FileExt, next_data};
use std::fs;
use std::io;
use std::sync::Arc;
use terrane_table::error::{Error, Result};
use terrane_table::file::File;
#[cfg(target_os = "linux")]
use terrane_table::file::MappedFile;

pub(super) struct NativeFile {
    pub(super) name: String,
    pub(super) descriptor: Arc<Descriptor>,
    pub(super) descriptors: Arc<DescriptorTable>,
    /// Whether it may be mapped to be written.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux maps files"))]
    pub(super) maps: bool,
    #[cfg(target_os = "linux")]
    pub(super) read_mapping: ReadMapping,
}

impl NativeFile {
    /// Lets others have the file. Closing it would not be enough: a child process that is being
    /// spawned may hold a copy of the descriptor.
    pub(super) fn unlock(&self) {
        let _ = self.descriptors.with(&self.descriptor, fs::File::unlock);
    }

    /// Returns the number of bytes by which `len` exceeds the file's length.
    fn growth_to(&self, len: u64) -> u64 {
        len.saturating_sub(self.len().unwrap_or(0))
    }

    fn error(&self, action: &'static str, wanted: u64, e: io::Error) -> Error {
        Error::io(action, &self.name, wanted, e)
    }
}

impl File for NativeFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let read = self.descriptors.with(&self.descriptor, |file| {
            repeat(buf.len(), offset, |done, at| {
                file.read_at(buf.get_mut(done..).unwrap_or_default(), at)
            })
        });
        read.map_err(|e| self.error("read", 0, e))
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        let written = self.descriptors.write(&self.descriptor, |file| write(file, buf, offset));
        written.map_err(|e| self.error("write", buf.len() as u64, e))
    }

    fn sync(&self) -> Result<()> {
        self.descriptors.sync(&self.descriptor).map_err(|e| self.error("sync", 0, e))
    }

    fn set_len(&self, len: u64) -> Result<()> {
        let resized = self.descriptors.write(&self.descriptor, |file| file.set_len(len));
        resized.map_err(|e| self.error("resize", self.growth_to(len), e))
    }

    fn allocate(&self, len: u64) -> Result<()> {
        let allocated = self.descriptors.write(&self.descriptor, |file| allocate(file, len));
        allocated.map_err(|e| self.error("allocate", self.growth_to(len), e))
    }

    #[cfg(target_os = "linux")]
    fn map(&self, from: u64, len: u64) -> Option<Box<dyn MappedFile>> {
        if !self.maps {
            return None;
        }
        Some(Box::new(Mapped::new(from, len, &self.descriptor, &self.descriptors)?))
    }

    #[cfg(target_os = "linux")]
    fn mapped(&self) -> Option<&[u8]> {
        self.read_mapping.bytes(|left| {
            let map = |file: &fs::File| Ok(Pages::map(file, left));
            self.descriptors.with(&self.descriptor, map).ok()?
        })
    }

    fn len(&self) -> Result<u64> {
        let found = self.descriptors.with(&self.descriptor, fs::File::metadata);
        Ok(found.map_err(|e| self.error("measure", 0, e))?.len())
    }

    fn next_data(&self, offset: u64) -> Result<u64> {
        let found = self.descriptors.with(&self.descriptor, |file| next_data(file, offset));
        found.map_err(|e| self.error("seek", 0, e))
    }

    fn allocated(&self) -> Result<u64> {
        let found = self.descriptors.with(&self.descriptor, fs::File::metadata);
        Ok(taken(&found.map_err(|e| self.error("measure", 0, e))?))
    }
}

/// The disk space that a file takes, in bytes; its length if the system does not tell.
pub(super) fn taken(file: &fs::Metadata) -> u64 {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::blocks(file) * 512;
    #[cfg(not(unix))]
    file.len()
}

impl Drop for NativeFile {
    fn drop(&mut self) {
        self.descriptors.forget(&self.descriptor);
    }
}
