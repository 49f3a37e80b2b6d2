//! Syncs of the log, and seeds, offsets and lengths of its records.

use super::record::{Header, Invalid, MAX_PAYLOAD_BYTES};
use super::*;
use crate::batch::MAX_BATCH_BYTES;
use crate::error::ErrorKind;
use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// A file that counts its syncs, of which some fail.
#[derive(Default)]
struct Syncing {
    syncs: AtomicU32,
    failures: AtomicU32,
    /// The log, and its epoch during the last sync.
    log: OnceLock<Arc<LogSync>>,
    epoch: AtomicU64,
}

impl File for Syncing {
    fn name(&self) -> &str {
        "log"
    }
    fn read_at(&self, _: &mut [u8], _: u64) -> Result<usize> {
        Ok(0)
    }
    fn write_at(&self, buf: &[u8], _: u64) -> Result<usize> {
        Ok(buf.len())
    }
    fn sync(&self) -> Result<()> {
        self.syncs.fetch_add(1, Relaxed);
        self.epoch.store(self.log.get().map_or(0, |log| log.epoch()), Relaxed);
        let fails = self.failures.load(Relaxed) > 0;
        if fails { Err(Error::no_space("log", 1)) } else { Ok(()) }
    }
    fn set_len(&self, _: u64) -> Result<()> {
        Ok(())
    }
    fn len(&self) -> Result<u64> {
        Ok(0)
    }
}

fn appended(file: &Arc<Syncing>, through: Seq) -> Appended {
    Appended { files: vec![file.clone()], through }
}

#[test]
fn what_an_earlier_sync_covers_is_not_synced_again() {
    let (file, log) = (Arc::new(Syncing::default()), LogSync::new());
    for (through, syncs, synced) in [(5, 1, 5), (5, 1, 5), (3, 1, 5), (6, 2, 6)] {
        log.sync(&appended(&file, through)).unwrap();
        assert_eq!((file.syncs.load(Relaxed), log.synced()), (syncs, synced));
    }
    log.advance(9);
    log.advance(7);
    assert_eq!(log.synced(), 9);
}

#[test]
fn after_a_failed_sync_none_is_believed() {
    let (file, log) = (Arc::new(Syncing::default()), LogSync::new());
    log.sync(&appended(&file, 1)).unwrap();
    file.failures.store(1, Relaxed);
    assert!(matches!(
        log.sync(&appended(&file, 2)).map_err(Error::into_kind),
        Err(ErrorKind::NoSpace(_))
    ));
    file.failures.store(0, Relaxed);
    let refused = log.usable().map_err(Error::into_kind);
    assert!(matches!(refused, Err(ErrorKind::Poisoned(cause)) if cause.is_no_space()));
    assert!(matches!(
        log.sync(&appended(&file, 2)).map_err(Error::into_kind),
        Err(ErrorKind::Poisoned(_))
    ));
    assert_eq!((log.synced(), file.syncs.load(Relaxed)), (1, 2));
    log.sync(&appended(&file, 1)).unwrap();
}

#[test]
fn the_epoch_is_odd_during_a_sync_and_even_after_it() {
    let (file, log) = (Arc::new(Syncing::default()), Arc::new(LogSync::new()));
    assert!(file.log.set(log.clone()).is_ok() && log.epoch() == 0);
    for (through, failures, epochs) in [(1, 0, [1, 2]), (1, 0, [1, 2]), (2, 1, [3, 4])] {
        file.failures.store(failures, Relaxed);
        assert_eq!(log.sync(&appended(&file, through)).is_err(), failures > 0);
        assert_eq!([file.epoch.load(Relaxed), log.epoch()], epochs);
    }
}

#[test]
fn no_two_logs_of_any_stores_share_a_seed() {
    let mut seeds = BTreeSet::new();
    for salt in [0, 1, 2, 0x5a17, u64::MAX] {
        for number in [0, 1, 2, 3, 1 << 40] {
            assert!(seeds.insert(LogId { number, salt }.seed()), "{salt:x} {number}");
        }
    }
}

#[test]
fn batches_and_damage_have_their_offsets_in_the_payload() {
    let long = vec![7; 300];
    let parts: [&[u8]; 3] = [&[1], &long, &[2, 3]];
    let mut bytes = Vec::new();
    parts.iter().for_each(|part| record::push_batch(&mut bytes, part));
    let offsets: Vec<_> = batches(&bytes).map(|found| found.unwrap().0).collect();
    // A length takes one byte, from 128 on two.
    assert_eq!(offsets, [1, 1 + 1 + 2, 1 + 1 + 2 + 300 + 1]);
    let cut = batches(&bytes[..200]).last().unwrap();
    assert_eq!(cut.unwrap_err().offset, 1 + 1);
}

#[test]
fn a_header_with_a_longer_payload_than_any_is_no_header() {
    let seed = 7;
    let header = |payload_bytes: usize| {
        let mut body = (payload_bytes as u32).to_le_bytes().to_vec();
        body.extend([0; 24]);
        let sum = crate::coding::checksum(&body, seed) as u32;
        Header::decode(&[&sum.to_le_bytes()[..], &body].concat(), seed)
    };
    assert_eq!(MAX_PAYLOAD_BYTES, payload_bytes(std::iter::once(MAX_BATCH_BYTES)));
    assert_eq!(header(MAX_PAYLOAD_BYTES).unwrap().payload_bytes, MAX_PAYLOAD_BYTES);
    assert_eq!(header(MAX_PAYLOAD_BYTES + 1), Err(Invalid::Header));
}
