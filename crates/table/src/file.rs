//! Open files, as tables and logs are read and written.

use crate::error::{Corruption, Error, Result};

/// An open file. Reads and writes take offsets, so that threads share it.
///
/// A count that differs from what was asked is not hidden: [`read_exact_at`] and [`write_all_at`]
/// turn it into an error (browsers at their quota return short or negative counts).
pub trait File: Send + Sync {
    /// The name for messages.
    fn name(&self) -> &str;
    /// Reads into `buf` from `offset`; the count is short only at the end of the file.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize>;
    /// Writes `buf` at `offset`, growing the file where needed; returns the count written.
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize>;
    /// Makes every earlier write durable.
    fn sync(&self) -> Result<()>;
    /// Cuts or extends (with zeros) the file to `len` bytes.
    fn set_len(&self, len: u64) -> Result<()>;
    /// Extends the file to `len` bytes, which read as zeros. Where the file system can allocate room
    /// ahead, writing there neither fails for want of it nor changes what a sync has to write beside
    /// the bytes. A file that is as long stays as it is.
    fn allocate(&self, len: u64) -> Result<()> {
        if self.len()? < len { self.set_len(len) } else { Ok(()) }
    }
    /// The file's length, in bytes.
    fn len(&self) -> Result<u64>;
    /// The room that the file takes, in bytes: less than its length where it has holes, and more
    /// where it was given room before it is written.
    fn allocated(&self) -> Result<u64> {
        self.len()
    }
    /// Where bytes are stored that lie at `offset` or after it: all before reads as zeros, and the
    /// end of the file stands for none. Where the file system does not tell, it is `offset`.
    fn next_data(&self, offset: u64) -> Result<u64> {
        Ok(offset)
    }
    /// Whether the file holds no byte.
    fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// Reads all of `buf`; a short count is damage: the bytes should be there.
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

/// Writes all of `buf`; a short count is an error.
pub fn write_all_at(file: &dyn File, buf: &[u8], offset: u64) -> Result<()> {
    let found = file.write_at(buf, offset)?;
    if found == buf.len() {
        return Ok(());
    }
    let found = i64::try_from(found).unwrap_or(i64::MAX);
    Err(Error::short("write", file.name(), offset, buf.len() as u64, found))
}
