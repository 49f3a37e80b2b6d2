//! Logs read in chunks, against the bytes of their files.

use super::*;
use crate::wal::chunks::Chunks;

const MIB: usize = 1 << 20;

/// A file of a little more than three chunks, zero but for some bytes.
fn sparse(bytes: &[usize]) -> (Arc<Disk>, Vec<u8>) {
    let mut image = vec![0; 3 * MIB + 100];
    bytes.iter().for_each(|at| image[*at] = *at as u8 | 1);
    (Disk::holding("log", image.clone()), image)
}

#[test]
fn chunks_return_the_bytes_of_their_file_in_any_order() {
    let all: Vec<_> = (0..3 * MIB + 100).step_by(1000).collect();
    let (disk, image) = sparse(&all);
    let file: &dyn File = &*disk;
    let mut chunks = Chunks::over(file).unwrap();
    let end = image.len();
    let places =
        [0, 10, MIB, MIB - 5, 2 * MIB + 7, 3, end - 50, 2 * MIB, end - 50, MIB + 1, end - 1, 0];
    for at in places {
        for n in [0, 1, 33, MIB, 2 * MIB] {
            let expected = image.get(at..at + n);
            assert_eq!(chunks.bytes(at as u64, n).unwrap(), expected, "{n} at {at}");
        }
    }
    assert_eq!(chunks.len(), end as u64);
}

#[test]
fn zeros_are_skipped_to_the_first_byte_that_is_none() {
    let end = 3 * MIB + 100;
    for bytes in [&[][..], &[5, MIB - 1, 2 * MIB + 9], &[MIB, 3 * MIB + 99], &[2 * MIB]] {
        let (disk, image) = sparse(bytes);
        let file: &dyn File = &*disk;
        let mut chunks = Chunks::over(file).unwrap();
        for from in [0, 6, MIB, 8, 2 * MIB + 10, MIB - 1, end - 1, 0, end] {
            let next = image[from..].iter().position(|byte| *byte != 0);
            let expected = next.map_or(end, |zeros| from + zeros) as u64;
            assert_eq!(chunks.skip_zeros(from as u64).unwrap(), expected, "from {from}");
        }
    }
}
