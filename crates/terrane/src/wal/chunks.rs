//! A log, read in large chunks.

use crate::error::Result;
use crate::storage::{File, read_exact_at};

/// Bytes per read, unless a record is longer.
const CHUNK: u64 = 1 << 20;

/// A file or bytes in memory.
pub(super) trait Source {
    fn len(&self) -> Result<u64>;
    /// Fills `buf` from `offset`, which must not pass the end.
    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()>;
    /// The first offset, at or after `offset`, that may not be in a hole.
    fn next_data(&self, offset: u64) -> Result<u64>;
}

impl Source for &dyn File {
    fn len(&self) -> Result<u64> {
        File::len(*self)
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        read_exact_at(*self, buf, offset)
    }

    fn next_data(&self, offset: u64) -> Result<u64> {
        File::next_data(*self, offset)
    }
}

impl Source for &[u8] {
    fn len(&self) -> Result<u64> {
        Ok(<[u8]>::len(self) as u64)
    }

    fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let from = self.iter().skip(offset as usize);
        buf.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        Ok(())
    }

    fn next_data(&self, offset: u64) -> Result<u64> {
        Ok(offset)
    }
}

/// A source, and the part of it that was read last.
pub(super) struct Chunks<S> {
    source: S,
    len: u64,
    /// The offset of `buffer` in the source.
    base: u64,
    buffer: Vec<u8>,
    /// Bytes per read, unless more are asked for.
    chunk: u64,
}

impl<S: Source> Chunks<S> {
    pub(super) fn over(source: S) -> Result<Self> {
        Chunks::of_chunks(source, CHUNK)
    }

    /// Returns a reader of `chunk` bytes at a time.
    pub(super) fn of_chunks(source: S, chunk: u64) -> Result<Self> {
        let len = source.len()?;
        Ok(Chunks { source, len, base: 0, buffer: Vec::new(), chunk })
    }

    /// The source's length, in bytes.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// `n` bytes from `offset`; `None` if the source ends before.
    #[inline]
    pub(super) fn bytes(&mut self, offset: u64, n: usize) -> Result<Option<&[u8]>> {
        let Some(left) = self.len.checked_sub(offset).filter(|&left| left >= n as u64) else {
            return Ok(None);
        };
        if offset < self.base || offset - self.base + n as u64 > self.buffer.len() as u64 {
            self.slide(offset, left.min(self.chunk.max(n as u64)) as usize)?;
        }
        let skip = (offset - self.base) as usize;
        Ok(self.buffer.get(skip..).and_then(|bytes| bytes.get(..n)))
    }

    /// The first byte at `offset` or after it that is not zero; the end of the source if there is none.
    pub(super) fn skip_zeros(&mut self, mut offset: u64) -> Result<u64> {
        while offset < self.len {
            if !(self.base..self.base + self.buffer.len() as u64).contains(&offset) {
                offset = self.source.next_data(offset)?.max(offset).min(self.len);
                self.slide(offset, (self.len - offset).min(self.chunk) as usize)?;
            }
            let rest = self.buffer.get((offset - self.base) as usize..).unwrap_or_default();
            match rest.iter().position(|byte| *byte != 0) {
                Some(zeros) => return Ok(offset + zeros as u64),
                None => offset += rest.len() as u64,
            }
        }
        Ok(self.len)
    }

    #[cold]
    fn slide(&mut self, offset: u64, n: usize) -> Result<()> {
        self.base = offset;
        self.buffer.clear();
        self.buffer.resize(n, 0);
        self.source.fill(&mut self.buffer, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Bytes that count how many of them are read.
    struct Counted<'a>(&'a [u8], &'a Cell<usize>);

    impl Source for Counted<'_> {
        fn len(&self) -> Result<u64> {
            Ok(self.0.len() as u64)
        }

        fn fill(&self, buf: &mut [u8], offset: u64) -> Result<()> {
            self.1.set(self.1.get() + buf.len());
            Source::fill(&self.0, buf, offset)
        }

        fn next_data(&self, offset: u64) -> Result<u64> {
            Ok(offset)
        }
    }

    #[test]
    fn what_is_read_forward_is_read_about_once() {
        let log: Vec<u8> = (0..5 * CHUNK / 2).map(|at| (at % 251) as u8).collect();
        let read = Cell::new(0);
        let mut chunks = Chunks::over(Counted(&log, &read)).unwrap();
        let mut offset = 0;
        for n in (1..2000).cycle() {
            let end = offset + n;
            let Some(bytes) = chunks.bytes(offset as u64, n).unwrap() else { break };
            assert_eq!(bytes, &log[offset..end]);
            offset = end;
        }
        assert!(offset + 2000 > log.len() && read.get() < log.len() + 3 * 2000, "{}", read.get());
    }
}
