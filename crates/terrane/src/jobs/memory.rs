//! The memory that jobs work in, and what it leaves to the cache.
//!
//! 1. Of [`Options::memory_bytes`] memtables have their share; the cache and the buffers of jobs share
//!    the rest. A job reserves its buffers, and the cache is smaller by as much until they are freed.
//! 2. How far a merge reads ahead in each input is free to choose. Half of the rest is for that, and the
//!    cache keeps the other half. As many merges as run at once have equal shares of it, with two more left
//!    over; where still more start, or some cannot do with theirs, each takes at most half of what is left.
//!    The more inputs, the less each reads at once, down to a block.
//! 3. What cannot be chosen is reserved in any case: a block of each input, and the index and the filter
//!    of the table that is being written.

use crate::options::Options;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::lock;
use crate::table::{BlockCache, MAX_READAHEAD_BYTES};
use std::sync::Arc;

/// Reservations are multiples of this, in bytes, so that a job that writes does not resize the cache
/// in each of its slices.
const UNIT: u64 = 64 << 10;

/// The memory of all jobs of a store.
pub(crate) struct JobMemory {
    options: Arc<Options>,
    cache: Arc<BlockCache>,
    /// Number of merges that run at once.
    workers: AtomicUsize,
    reserved: Mutex<u64>,
}

/// The memory of one job, reserved until this is dropped.
pub(crate) struct Reservation {
    memory: Arc<JobMemory>,
    bytes: u64,
}

impl JobMemory {
    pub fn new(options: Arc<Options>, cache: Arc<BlockCache>) -> Arc<Self> {
        let (workers, reserved) = (AtomicUsize::new(1), Mutex::default());
        Arc::new(JobMemory { options, cache, workers, reserved })
    }

    /// Says how many merges run at once.
    pub fn set_workers(&self, workers: usize) {
        self.workers.store(workers, Ordering::Relaxed);
    }

    /// Returns the reserved bytes.
    #[cfg(test)]
    pub fn reserved(&self) -> u64 {
        *lock(&self.reserved)
    }

    /// Reserves nothing yet.
    pub fn reserve(self: &Arc<Self>) -> Reservation {
        Reservation { memory: Arc::clone(self), bytes: 0 }
    }

    /// Reserves the buffers of a merge of `inputs` inputs. Returns also the bytes that it may read of each
    /// at once.
    pub fn reserve_merge(self: &Arc<Self>, inputs: usize) -> (Reservation, u64) {
        let inputs = inputs.max(1) as u64;
        let table = &self.options.table;
        // As it is stored, as it is read, and the index that leads to it.
        let block_bytes = (2 * table.block_bytes + table.partition_bytes) as u64;
        let mut reservation = self.reserve();
        let mut reserved = lock(&self.reserved);
        let all = self.options.rest_share() / 2;
        let share = all / (self.workers.load(Ordering::Relaxed).max(1) as u64 + 2);
        let free = (all.saturating_sub(*reserved) / 2).min(share);
        let ahead = (free / inputs).saturating_sub(block_bytes).min(MAX_READAHEAD_BYTES);
        reservation.resize(&mut reserved, inputs.saturating_mul(block_bytes + ahead));
        drop(reserved);
        (reservation, ahead)
    }
}

impl Reservation {
    /// Changes it to about `bytes`.
    pub fn set(&mut self, bytes: u64) {
        if self.bytes != bytes.next_multiple_of(UNIT) {
            let memory = Arc::clone(&self.memory);
            self.resize(&mut lock(&memory.reserved), bytes);
        }
    }

    /// Under the lock, so that the cache has the size that the last change gives it.
    fn resize(&mut self, reserved: &mut u64, bytes: u64) {
        let JobMemory { options, cache, .. } = &*self.memory;
        let bytes = bytes.next_multiple_of(UNIT);
        let before = options.cache_share(*reserved);
        *reserved = (*reserved - self.bytes).saturating_add(bytes);
        self.bytes = bytes;
        let after = options.cache_share(*reserved);
        if before != after {
            cache.resize(after);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::SliceExecutor;
    use crate::storage::Directory;
    use crate::storage::vfs::MemoryVfs;
    use crate::table::TableOptions;
    use crate::{Db, Durability};
    use terrane_policy::{PolicyOptions, Tiered};

    fn memory(memory_bytes: u64) -> Arc<JobMemory> {
        let options = Options { memory_bytes: Some(memory_bytes), ..Options::default() };
        let cache = Arc::new(BlockCache::new(options.cache_share(0)));
        JobMemory::new(Arc::new(options), cache)
    }

    #[test]
    fn merges_share_what_they_read_ahead() {
        let memory = memory(96 << 20);
        let half = (96 - 48) << 20 >> 1;
        let (few, ahead) = memory.reserve_merge(4);
        assert_eq!(ahead, MAX_READAHEAD_BYTES);
        let (many, ahead) = memory.reserve_merge(200);
        assert!(ahead < MAX_READAHEAD_BYTES && many.bytes <= half / 2 + UNIT);
        let more: Vec<_> = (0..4).map(|_| memory.reserve_merge(10)).collect();
        assert!(more.iter().all(|(_, ahead)| *ahead > 0), "what begins later has some, too");
        assert!(*lock(&memory.reserved) <= half + UNIT * 6);
        drop((few, many, more));
        assert_eq!(*lock(&memory.reserved), 0);
    }

    #[test]
    fn as_many_merges_as_run_at_once_have_equal_shares() {
        let memory = memory(96 << 20);
        memory.set_workers(8);
        let merges: Vec<_> = (0..8).map(|_| memory.reserve_merge(100)).collect();
        let ahead = merges[0].1;
        assert!(ahead > 0 && merges.iter().all(|(_, other)| *other == ahead));
        let (late, less) = memory.reserve_merge(100);
        assert!(less <= ahead);
        drop((merges, late));
        assert_eq!(*lock(&memory.reserved), 0);
        memory.set_workers(1);
        assert!(memory.reserve_merge(100).1 > ahead, "one alone has more");
    }

    #[test]
    fn a_merge_of_too_many_inputs_reads_block_by_block() {
        let (reservation, ahead) = memory(64 << 20).reserve_merge(10_000);
        assert_eq!(ahead, 0);
        let TableOptions { block_bytes, partition_bytes, .. } = Options::default().table;
        let input = (2 * block_bytes + partition_bytes) as u64;
        assert_eq!(reservation.bytes, (10_000 * input).next_multiple_of(UNIT));
    }

    #[test]
    fn a_merge_of_many_runs_and_the_cache_stay_within_the_budget() {
        let options = Options {
            memtable_bytes: 64 << 10,
            memory_bytes: Some(8 << 20),
            cache_bytes: 8 << 20,
            l0_stop_trigger: 1000,
            policy: PolicyOptions::Tiered(Tiered::default()),
            ..Options::default()
        };
        let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
        let executor = Arc::new(SliceExecutor::default());
        let db = Db::open_storage(storage, options.clone(), executor).unwrap();
        let rows = db.default_keyspace();
        for n in 0..20_000u32 {
            let value = [n.wrapping_mul(0x9e37_79b9).to_be_bytes(); 25].concat();
            rows.put(&n.wrapping_mul(7919).to_be_bytes(), &value, Durability::Buffered).unwrap();
        }
        db.flush().unwrap();
        rows.scan(..).unwrap().for_each(|entry| drop(entry.unwrap()));

        let engine = db.engine();
        let rest = options.rest_share();
        let mut most = 0;
        let mut compaction = rows.begin_compact_range(..).unwrap();
        while !compaction.is_done().unwrap() {
            db.run_jobs(16 << 10).unwrap();
            let reserved = *lock(&engine.jobs.memory.reserved);
            assert!(reserved + engine.jobs.cache.bytes() <= rest, "{reserved} reserved");
            most = most.max(reserved);
        }
        assert!(most > 4 * UNIT, "{most} at most");
        assert_eq!(*lock(&engine.jobs.memory.reserved), 0);
    }

    #[test]
    fn a_merge_beyond_the_expected_number_gets_half_of_the_rest() {
        let memory = memory(96 << 20);
        let half = (96 - 48) << 20 >> 1;
        let merges: Vec<_> = (0..2).map(|_| memory.reserve_merge(100)).collect();
        let left = half - memory.reserved();
        let (late, ahead) = memory.reserve_merge(100);
        assert!(ahead > 0 && ahead < merges[0].1);
        assert!(late.bytes <= left / 2 + UNIT, "{} of {left}", late.bytes);
    }
}
