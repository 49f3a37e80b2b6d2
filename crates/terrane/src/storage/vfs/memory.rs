//! Files in memory: for stores that end with their process, and for tests.

use crate::error::{Error, Result};
use crate::storage::vfs::Vfs;
use crate::storage::{File, StoreId, lock};
use crate::sync::{Mutex, RwLock};
use crate::vec_map::VecMap;
use std::io::ErrorKind;
use std::sync::{Arc, PoisonError};

/// Named files in memory. Clones share them. A removed file lives on behind its open handles. The ids
/// drawn are 1, 2, 3 and so on.
#[derive(Clone, Default)]
pub struct MemoryVfs {
    files: Arc<Mutex<VecMap<Name, Bytes>>>,
    ids: Arc<Mutex<u128>>,
}

type Name = Arc<str>;
type Bytes = Arc<RwLock<Vec<u8>>>;

impl MemoryVfs {
    /// An empty file system.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

fn missing(action: &'static str, name: &str) -> Error {
    Error::io(action, name, 0, ErrorKind::NotFound.into())
}

impl Vfs for MemoryVfs {
    fn place(&self) -> String {
        "memory".to_owned()
    }

    fn draw_id(&self) -> Result<StoreId> {
        let mut last = lock(&self.ids);
        *last += 1;
        Ok(StoreId::new(last.to_be_bytes()))
    }

    fn create(&self, name: &str) -> Result<Arc<dyn File>> {
        let bytes = Bytes::default();
        lock(&self.files).insert(name.into(), bytes.clone());
        Ok(Arc::new(MemoryFile { name: name.to_owned(), bytes }))
    }

    fn open(&self, name: &str) -> Result<Arc<dyn File>> {
        let bytes =
            lock(&self.files).get(&name.into()).cloned().ok_or_else(|| missing("open", name))?;
        Ok(Arc::new(MemoryFile { name: name.to_owned(), bytes }))
    }

    fn remove(&self, name: &str) -> Result<()> {
        lock(&self.files).remove(&name.into()).map(drop).ok_or_else(|| missing("remove", name))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let mut files = lock(&self.files);
        let bytes = files.remove(&from.into()).ok_or_else(|| missing("rename", from))?;
        files.insert(to.into(), bytes);
        Ok(())
    }

    fn list(&self) -> Result<Vec<String>> {
        Ok(lock(&self.files).keys().map(|name| name.to_string()).collect())
    }

    fn sync_names(&self) -> Result<()> {
        Ok(())
    }
}

struct MemoryFile {
    name: String,
    bytes: Bytes,
}

impl MemoryFile {
    /// Truncates `bytes` to `len`, or extends them with zeros. Running out of memory is an
    /// [`crate::ErrorKind::NoSpace`].
    fn resize(&self, bytes: &mut Vec<u8>, len: u64) -> Result<()> {
        let more = len.saturating_sub(bytes.len() as u64);
        let full = || Error::no_space(&self.name, more);
        bytes.try_reserve(usize::try_from(more).map_err(|_| full())?).map_err(|_| full())?;
        bytes.resize(usize::try_from(len).map_err(|_| full())?, 0);
        Ok(())
    }
}

impl File for MemoryFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let bytes = self.bytes.read().unwrap_or_else(PoisonError::into_inner);
        let rest = usize::try_from(offset).ok().and_then(|at| bytes.get(at..)).unwrap_or(&[]);
        let n = rest.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..n), rest.get(..n)) {
            to.copy_from_slice(from);
        }
        Ok(n)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        let mut bytes = self.bytes.write().unwrap_or_else(PoisonError::into_inner);
        let end = offset.saturating_add(buf.len() as u64);
        if end > bytes.len() as u64 {
            self.resize(&mut bytes, end)?;
        }
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let Some(to) = bytes.get_mut(start..).and_then(|rest| rest.get_mut(..buf.len())) else {
            return Ok(0);
        };
        to.copy_from_slice(buf);
        Ok(buf.len())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn is_in_memory(&self) -> bool {
        true
    }

    fn set_len(&self, len: u64) -> Result<()> {
        let mut bytes = self.bytes.write().unwrap_or_else(PoisonError::into_inner);
        self.resize(&mut bytes, len)
    }

    fn len(&self) -> Result<u64> {
        Ok(self.bytes.read().unwrap_or_else(PoisonError::into_inner).len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn clones_share_files_and_a_write_past_the_end_leaves_zeros() {
        let vfs = MemoryVfs::new();
        let file = vfs.create("a").unwrap();
        assert_eq!(file.write_at(b"xy", 3).unwrap(), 2);
        let mut buf = [9; 8];
        let other = vfs.clone().open("a").unwrap();
        assert_eq!(other.read_at(&mut buf, 0).unwrap(), 5);
        assert_eq!(&buf[..5], b"\0\0\0xy");
        assert_eq!(other.read_at(&mut buf, 5).unwrap(), 0);
        vfs.remove("a").unwrap();
        assert!(vfs.open("a").is_err());
        assert_eq!(file.len().unwrap(), 5);
    }

    #[test]
    fn a_file_is_cut_or_zero_extended_to_the_given_length() {
        let vfs = MemoryVfs::new();
        assert_eq!(vfs.place(), "memory");
        let file = vfs.create("a").unwrap();
        file.write_at(b"abcd", 0).unwrap();
        for (len, found) in [(4, &b"abcd"[..]), (2, b"ab"), (3, b"ab\0"), (5, b"ab\0\0\0")] {
            file.set_len(len).unwrap();
            let mut buf = [9; 8];
            let n = file.read_at(&mut buf, 0).unwrap();
            assert_eq!((&buf[..n], file.len().unwrap()), (found, len));
        }
        file.write_at(b"z", 1).unwrap();
        assert_eq!(file.len().unwrap(), 5, "a write within");
    }

    #[test]
    fn a_write_beyond_all_memory_is_a_full_disk() {
        let file = MemoryVfs::new().create("a").unwrap();
        assert!(matches!(
            file.write_at(b"x", u64::MAX - 4).map_err(Error::into_kind),
            Err(ErrorKind::NoSpace(_))
        ));
        assert!(matches!(
            file.set_len(u64::MAX).map_err(Error::into_kind),
            Err(ErrorKind::NoSpace(_))
        ));
    }
}
