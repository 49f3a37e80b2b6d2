//! Reads and writes that continue after the system moved fewer bytes than it was asked for, or was
//! interrupted.

use crate::vfs::system::FileExt;
use std::fs::File;
use std::io::{self, ErrorKind};

/// Moves `len` bytes from or to `offset` of a file: calls `step` with the number of bytes moved so far,
/// and the offset of the next, until it moves none or all are moved. Returns how many were.
pub(super) fn repeat(
    len: usize,
    offset: u64,
    mut step: impl FnMut(usize, u64) -> io::Result<usize>,
) -> io::Result<usize> {
    let mut moved = 0;
    while moved < len {
        match step(moved, offset + moved as u64) {
            Ok(0) => break,
            Ok(n) => moved += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(moved)
}

/// Writes `buf` at `offset`; returns how many bytes were written.
pub(super) fn write(file: &File, buf: &[u8], offset: u64) -> io::Result<usize> {
    repeat(buf.len(), offset, |done, at| file.write_at(buf.get(done..).unwrap_or_default(), at))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Repeats the results of `system` for 10 bytes from offset 100. Returns the outcome and the calls.
    fn run(system: Vec<io::Result<usize>>) -> (io::Result<usize>, Vec<(usize, u64)>) {
        let (mut system, mut calls) = (system.into_iter(), Vec::new());
        let moved = repeat(10, 100, |done, at| {
            calls.push((done, at));
            system.next().unwrap()
        });
        assert!(system.next().is_none());
        (moved, calls)
    }

    #[test]
    fn short_and_interrupted_calls_are_continued_where_they_ended() {
        let interrupted = || Err(ErrorKind::Interrupted.into());
        let (moved, calls) = run(vec![Ok(3), interrupted(), Ok(6), Ok(1)]);
        assert_eq!(moved.unwrap(), 10);
        assert_eq!(calls, [(0, 100), (3, 103), (3, 103), (9, 109)]);
    }

    #[test]
    fn the_end_of_a_file_and_an_error_end_it() {
        assert_eq!(run(vec![Ok(4), Ok(0)]).0.unwrap(), 4);
        let failed = run(vec![Ok(4), Err(ErrorKind::Other.into())]).0;
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::Other);
    }
}
