//! Records of a log, whole, cut and damaged.

use crate::Error;
use crate::log::{Records, frame};

/// Returns all records of a log.
pub(super) fn records(log: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let mut records = Records::new(log);
    let mut all = Vec::new();
    while let Some(record) = records.next()? {
        all.push(record.into_owned());
    }
    Ok(all)
}

#[test]
fn records_are_read_across_blocks() {
    const BLOCK: usize = 32 << 10;
    let lengths = [0, 1, BLOCK - 22, 0, BLOCK - 7, BLOCK - 6, 1, 3 * BLOCK + 5, 10, 2 * BLOCK];
    let all: Vec<Vec<u8>> = lengths.iter().map(|length| vec![*length as u8; *length]).collect();
    let log = frame(all.iter().map(|record| &record[..]));
    assert_eq!(records(&log).unwrap(), all);
    // Room that was allocated in advance.
    assert_eq!(records(&[&log[..], &[0; 100]].concat()).unwrap(), all);
    // A record that the file ends in is not there yet.
    for cut in [1, 10, BLOCK, 2 * BLOCK] {
        assert_eq!(records(&log[..log.len() - cut]).unwrap(), all[..all.len() - 1]);
    }
}

#[test]
fn damage_before_the_end_is_found() {
    let log = frame([&b"one"[..], b"two", b"three"]);
    let damaged = |at: usize, with: u8| {
        let mut log = log.clone();
        log[at] ^= with;
        records(&log)
    };
    let expected = |expected: &'static str, found: &'static str| {
        Err::<Vec<Vec<u8>>, _>(Error::Chunk { at: 10, expected, found })
    };
    assert_eq!(damaged(17, 1), expected("a chunk with its checksum", "another checksum"));
    assert_eq!(damaged(16, 0x40), expected("a chunk of a type from 1 to 8", "another type"));
    let length = log.len();
    assert_eq!(damaged(length - 1, 1).unwrap(), [b"one", b"two"]);
    let apart = |kinds: [u8; 2]| {
        let mut parts = frame([&b"a"[..], b"b"]);
        for (at, kind) in [(0, kinds[0]), (8, kinds[1])] {
            parts[at + 6] = kind;
            let sum = crate::checksum::masked(&parts[at + 6..at + 8]);
            parts[at..at + 4].copy_from_slice(&sum.to_le_bytes());
        }
        records(&parts)
    };
    assert_eq!(apart([2, 4]).unwrap(), [b"ab"]);
    assert!(matches!(apart([1, 4]), Err(Error::Chunk { found: "a later part", .. })));
    assert!(matches!(apart([2, 1]), Err(Error::Chunk { found: "the first of another", .. })));
}

#[test]
fn recycled_chunks_of_another_log_end_it() {
    let chunk = |number: u32, payload: &[u8]| {
        let typed = [&[5][..], &number.to_le_bytes(), payload].concat();
        let sum = crate::checksum::masked(&typed).to_le_bytes();
        let length = (payload.len() as u16).to_le_bytes();
        [&sum[..], &length, &typed].concat()
    };
    let log = [chunk(7, b"one"), chunk(7, b"two"), chunk(6, b"old")].concat();
    assert_eq!(records(&log).unwrap(), [b"one", b"two"]);
}
