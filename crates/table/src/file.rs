//! The interface to open files.

use crate::error::{Corruption, Error, Result};

/// An open file. Reads and writes are positional, so that threads can share it.
///
/// Short counts are returned as they are: [`read_exact_at`] and [`write_all_at`] turn them into
/// errors. (Browsers return short or negative counts at their quota.)
pub trait File: Send + Sync {
    /// The name, for messages.
    fn name(&self) -> &str;
    /// Reads into `buf` from `offset`; returns fewer bytes only at the end of the file.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize>;
    /// Writes `buf` at `offset`, growing the file if needed; returns the number of bytes written.
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize>;
    /// Makes all earlier writes durable.
    fn sync(&self) -> Result<()>;
    /// Truncates the file to `len` bytes, or extends it with zeros.
    fn set_len(&self, len: u64) -> Result<()>;
    /// Extends the file to `len` bytes, which read as zeros; a longer file is left as it is. If the
    /// file system can preallocate, later writes there neither run out of space nor change metadata
    /// that a sync would have to write.
    fn allocate(&self, len: u64) -> Result<()> {
        if self.len()? < len { self.set_len(len) } else { Ok(()) }
    }
    /// Maps the file, whose first `len` bytes are allocated, for appends from offset `from` on without a system call
    /// for each record. Returns `None` where that is not allowed, or the system cannot.
    #[cfg(not(target_arch = "wasm32"))]
    fn map(&self, from: u64, len: u64) -> Option<Box<dyn MappedFile>> {
        let _ = (from, len);
        None
    }
    /// The bytes of the whole file, memory-mapped, if that is allowed and the system can. For a file that does
    /// not change.
    #[cfg(not(target_arch = "wasm32"))]
    fn mapped(&self) -> Option<&[u8]> {
        None
    }
    /// The file's length, in bytes.
    fn len(&self) -> Result<u64>;
    /// The disk space that the file takes, in bytes: less than its length if it has holes, more if it
    /// was preallocated.
    fn allocated(&self) -> Result<u64> {
        self.len()
    }
    /// The offset of the next data at or after `offset`, as `SEEK_DATA` finds it; the end of the file
    /// if there is none. If the file system cannot tell, it is `offset`.
    fn next_data(&self, offset: u64) -> Result<u64> {
        Ok(offset)
    }
    /// Whether its bytes are memory of this process, so that writes wait for nothing.
    fn is_in_memory(&self) -> bool {
        false
    }
    /// Closes the file while handles to it may still exist. What other processes are kept out of is
    /// theirs from here on, so every later call fails; a file that nobody is kept out of may ignore it.
    fn close(&self) {}
    /// Whether the file's length is 0.
    fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// A file that is appended to through memory.
pub trait MappedFile: Send {
    /// Writes `head` at `offset` and `rest` after it. `head` is stored last, so that a process that ends meanwhile
    /// never leaves `head` without `rest`. Returns `false` where the caller must write both with [`File::write_at`].
    fn append(&mut self, head: &[u8], rest: &[u8], offset: u64) -> bool;
}

/// Reads exactly `buf`.
///
/// # Errors
/// [`crate::error::ErrorKind::Corrupt`] if the file ends before; those of the file.
pub fn read_exact_at(file: &dyn File, buf: &mut [u8], offset: u64) -> Result<()> {
    let found = file.read_at(buf, offset)?;
    if found == buf.len() {
        return Ok(());
    }
    Err(Corruption::new(
        file.name(),
        offset,
        format_args!("{} bytes", buf.len()),
        format_args!("{found} before the end of the file"),
    )
    .into())
}

/// Writes all of `buf`.
///
/// # Errors
/// [`crate::error::ErrorKind::Short`] if the file takes fewer bytes; those of the file.
#[cfg_attr(target_arch = "wasm32", inline(never))]
pub fn write_all_at(file: &dyn File, buf: &[u8], offset: u64) -> Result<()> {
    let found = file.write_at(buf, offset)?;
    if found == buf.len() {
        return Ok(());
    }
    let found = i64::try_from(found).unwrap_or(i64::MAX);
    Err(Error::short("write", file.name(), offset, buf.len() as u64, found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use std::sync::Mutex;

    /// A file of a length, which only its users' methods know of.
    struct Length(Mutex<u64>);

    impl File for Length {
        fn name(&self) -> &str {
            "length"
        }
        fn read_at(&self, _: &mut [u8], _: u64) -> Result<usize> {
            Ok(0)
        }
        fn write_at(&self, _: &[u8], _: u64) -> Result<usize> {
            Ok(0)
        }
        fn sync(&self) -> Result<()> {
            Ok(())
        }
        fn set_len(&self, len: u64) -> Result<()> {
            *self.0.lock().unwrap() = len;
            Ok(())
        }
        fn len(&self) -> Result<u64> {
            Ok(*self.0.lock().unwrap())
        }
    }

    #[test]
    fn an_ordinary_file_is_allocated_by_length_and_never_shrinks() {
        let file = Length(Mutex::new(0));
        assert!(file.is_empty().unwrap());
        for (wanted, found) in [(9, 9), (4, 9), (9, 9), (12, 12)] {
            file.allocate(wanted).unwrap();
            assert_eq!((file.len().unwrap(), file.allocated().unwrap()), (found, found));
        }
        assert!(!file.is_empty().unwrap());
        assert_eq!(file.next_data(7).unwrap(), 7);
    }

    #[test]
    fn a_file_that_takes_or_has_fewer_bytes_reports_both_counts() {
        let file = Length(Mutex::new(0));
        assert!(read_exact_at(&file, &mut [], 3).is_ok() && write_all_at(&file, &[], 3).is_ok());
        let read = read_exact_at(&file, &mut [0; 5], 3).map_err(Error::into_kind);
        let Err(ErrorKind::Corrupt(read)) = read else { panic!("{read:?}") };
        assert_eq!((read.offset, &*read.expected), (3, "5 bytes"));
        let written = write_all_at(&file, &[0; 5], 3).map_err(Error::into_kind);
        let Err(ErrorKind::Short(written)) = written else { panic!("{written:?}") };
        assert_eq!((written.offset, written.expected, written.found), (3, 5, 0));
    }
}
