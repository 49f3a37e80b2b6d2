//! Reads a log from any batch on, also while it is appended to.
//!
//! 1. The first read scans from the start of the log to the record with the wanted batch; later ones continue after
//!    the last record that was read.
//! 2. Only records whose batches are known to be durable are read, so each of them is whole. If a record fails its
//!    checksums, its file was recycled for another log, or it is damaged: the caller knows which.
//! 3. A read ends at the end of a record, after about `bytes` bytes.

use super::LogId;
use super::chunks::Chunks;
use super::record::{HEADER_BYTES, batches, read, record_bytes};
use crate::entry::Seq;
use crate::error::Result;
use crate::storage::File;

/// Bytes per read of the file, unless a record is longer.
const CHUNK: u64 = 64 << 10;

/// A place in a log: the next batch, and an offset at or before its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub log: LogId,
    pub offset: u64,
}

/// Batches that were read, with their sequence numbers, and the place behind them.
#[derive(Debug)]
pub(crate) struct Records {
    pub batches: Vec<(Seq, Vec<u8>)>,
    pub place: Place,
    /// The reason why the next record cannot be read, as the text after "found".
    pub lost: Option<String>,
}

/// Reads the batches from `next` through `through` of the log at `place`, about `bytes` of them.
///
/// # Errors
/// I/O failures.
pub(crate) fn read_records(
    file: &dyn File,
    mut place: Place,
    mut next: Seq,
    through: Seq,
    bytes: usize,
) -> Result<Records> {
    let mut log = Chunks::of_chunks(file, CHUNK)?;
    let (seed, mut found, mut taken) = (place.log.seed(), Vec::new(), 0);
    let mut lost = None;
    while next <= through && taken < bytes {
        let (header, payload) = match read(&mut log, place.offset, seed)? {
            Ok(record) => record,
            Err(invalid) => {
                lost = Some(invalid.to_string());
                break;
            }
        };
        if header.payload_bytes == 0 {
            place.offset += HEADER_BYTES as u64;
            continue;
        }
        if header.first > next {
            lost = Some(format!("the record with sequence {}", header.first));
            break;
        }
        for (seq, batch) in (header.first..).zip(batches(payload).map_while(Result::ok)) {
            if seq == next {
                found.push((seq, batch.1.to_vec()));
                taken += batch.1.len();
                next = seq + 1;
            }
        }
        place.offset += record_bytes(header.payload_bytes);
    }
    Ok(Records { batches: found, place, lost })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::vfs::{MemoryVfs, Vfs};
    use crate::wal::LogWriter;
    use std::sync::Arc;

    fn log() -> (Arc<dyn File>, Place) {
        let file = MemoryVfs::new().create("log").unwrap();
        let log = LogId { number: 3, salt: 7 };
        let mut writer = LogWriter::begin(file.clone(), log, 1 << 20).unwrap();
        writer.append(5, 4, &[b"five", b"six"]).unwrap();
        writer.claim(7, 6).unwrap();
        writer.append(7, 6, &[&[7; 100_000]]).unwrap();
        writer.append(8, 6, &[b"eight"]).unwrap();
        (file, Place { log, offset: 0 })
    }

    fn numbers(records: &Records) -> Vec<Seq> {
        records.batches.iter().map(|(seq, _)| *seq).collect()
    }

    #[test]
    fn reads_start_at_any_batch() {
        let (file, start) = log();
        let all = read_records(&*file, start, 5, 8, usize::MAX).unwrap();
        assert_eq!((numbers(&all), &all.lost), (vec![5, 6, 7, 8], &None));
        assert_eq!(all.batches[1].1, b"six");
        let some = read_records(&*file, start, 6, 7, 1).unwrap();
        assert_eq!(numbers(&some), [6]);
        let more = read_records(&*file, some.place, 7, 7, 1).unwrap();
        assert_eq!((numbers(&more), more.lost), (vec![7], None));
        let none = read_records(&*file, more.place, 8, 7, 1).unwrap();
        assert_eq!((numbers(&none), none.place), (vec![], more.place));
    }

    #[test]
    fn a_file_of_another_log_has_no_batches() {
        let (file, start) = log();
        let other = Place { log: LogId { number: 4, ..start.log }, ..start };
        let read = read_records(&*file, other, 5, 8, usize::MAX).unwrap();
        assert!(read.batches.is_empty() && read.lost.is_some());
        let early = read_records(&*file, start, 4, 8, usize::MAX).unwrap();
        assert_eq!(early.lost.unwrap(), "the record with sequence 5");
    }
}
