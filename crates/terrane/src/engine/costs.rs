//! The costs of the store's own files, for policies that weigh reads against merges.
//!
//! 1. **A merged page.** Slices of merges are timed: their time for each 4 KiB of entries, shared by the merges that
//!    may run at once.
//! 2. **A block read at random.** When such a policy is asked, [`BLOCKS`] blocks are read at random places of the
//!    tree's tables, past the block cache, and timed: the first time once something was merged, then after each
//!    [`MEASURED_AFTER`] bytes that merges read. A block that the system's page cache holds costs as little as in a
//!    get.
//! 3. Measurements weigh half as much after each further [`HALVED_AFTER`] bytes, or [`BLOCKS`] blocks, so that a
//!    device that becomes slower is noticed.
//!
//! Where the executor has no clock, or nothing was merged yet, costs are unknown. In a browser they always are.

use crate::event::Clock;
use crate::sync::{Mutex, lock};
use crate::version::Tree;
use std::sync::OnceLock;
use terrane_platform::BROWSER;
use terrane_policy::Observed;
use terrane_table::table::key_hash;

/// Bytes that merges read between two measurements of blocks.
const MEASURED_AFTER: u64 = 16 << 20;
/// Blocks of a measurement.
const BLOCKS: u64 = 8;
/// Bytes of merges after which those before count half.
const HALVED_AFTER: u64 = 64 << 20;
/// Bytes of a block and of a page.
const PAGE: u64 = 4096;

/// Measurements so far, and the clock of further ones.
#[derive(Default)]
pub(crate) struct Costs {
    clock: OnceLock<Clock>,
    measured: Mutex<Measured>,
}

#[derive(Default)]
struct Measured {
    merges: Timed,
    blocks: Timed,
    /// Bytes that merges read since blocks were measured.
    unmeasured: u64,
    /// Places drawn so far.
    drawn: u64,
}

/// Amounts and their time.
#[derive(Default)]
struct Timed {
    amount: u64,
    micros: u64,
}

impl Timed {
    /// Adds an amount; the sums are halved first if they are above `most`.
    fn add(&mut self, amount: u64, micros: u64, most: u64) {
        if self.amount >= most {
            (self.amount, self.micros) = (self.amount / 2, self.micros / 2);
        }
        self.amount = self.amount.saturating_add(amount);
        self.micros = self.micros.saturating_add(micros);
    }

    /// Nanoseconds of `amount`: 0 if nothing was measured, and otherwise 1 at least.
    fn nanos(&self, amount: u64) -> u64 {
        let nanos = self.micros.saturating_mul(1000).saturating_mul(amount);
        nanos.checked_div(self.amount).map_or(0, |nanos| nanos.max(1))
    }
}

impl Costs {
    /// Sets the clock, unless there is one.
    pub fn set_clock(&self, clock: Clock) {
        if !BROWSER {
            let _ = self.clock.set(clock);
        }
    }

    fn micros(&self) -> Option<u64> {
        self.clock.get().filter(|_| !BROWSER).map(|now| now())
    }

    /// Runs a slice of a merge; counts its time if it read `bytes` in full, and so returned no outcome.
    pub fn time_slice<T, E>(
        &self,
        bytes: u64,
        slice: impl FnOnce() -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        let begun = self.micros();
        let outcome = slice()?;
        if let (Some(begun), Some(ended), None) = (begun, self.micros(), &outcome) {
            let mut measured = lock(&self.measured);
            measured.merges.add(bytes, ended.saturating_sub(begun), HALVED_AFTER);
            measured.unmeasured = measured.unmeasured.saturating_add(bytes);
        }
        Ok(outcome)
    }

    /// Adds the costs to what a policy is given, where `workers` merges may run at once. May read blocks of the tree.
    pub fn observe(&self, observed: &mut Observed, tree: &Tree, workers: usize) {
        self.measure_blocks(tree);
        let measured = lock(&self.measured);
        observed.block_nanos = measured.blocks.nanos(1);
        observed.page_nanos = measured.merges.nanos(PAGE).div_ceil(workers.max(1) as u64);
    }

    /// Measures blocks if that is due. Policies are asked one at a time, so no other thread measures meanwhile.
    fn measure_blocks(&self, tree: &Tree) {
        let mut drawn = {
            let mut measured = lock(&self.measured);
            let is_due = measured.unmeasured >= MEASURED_AFTER
                || measured.unmeasured > 0 && measured.blocks.amount == 0;
            if !is_due {
                return;
            }
            measured.unmeasured = 0;
            measured.drawn = measured.drawn.wrapping_add(BLOCKS);
            measured.drawn
        };
        let bytes: u64 = tree.tables().map(|live| live.table().info().bytes).sum();
        let Some(begun) = self.micros().filter(|_| bytes > 0) else { return };
        let mut read = 0;
        for _ in 0..BLOCKS {
            drawn = drawn.wrapping_sub(1);
            read += u64::from(read_block(tree, key_hash(&drawn.to_le_bytes()) % bytes));
        }
        let Some(ended) = self.micros() else { return };
        if read > 0 {
            lock(&self.measured).blocks.add(read, ended.saturating_sub(begun), BLOCKS);
        }
    }
}

/// Reads a block's bytes at a place among those of all tables; returns whether they were read. What is wrong with a
/// table is left to its readers.
fn read_block(tree: &Tree, mut place: u64) -> bool {
    for live in tree.tables() {
        let table = live.table();
        match place.checked_sub(table.info().bytes) {
            Some(beyond) => place = beyond,
            None => {
                let (mut block, start) = ([0; PAGE as usize], place / PAGE * PAGE);
                return table.read_raw(&mut block, start).is_ok();
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::executor::{SliceExecutor, ThreadExecutor};
    use crate::options::Options;
    use crate::storage::Directory;
    use crate::storage::vfs::MemoryVfs;
    use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use crate::{Db, Durability};
    use std::sync::Arc;
    use terrane_policy::{PolicyOptions, Vertiorizon};

    /// A clock that advances by `step` at each reading.
    fn costs(step: u64) -> Costs {
        let (costs, now) = (Costs::default(), AtomicU64::new(0));
        costs.set_clock(Arc::new(move || now.fetch_add(step, Ordering::Relaxed)));
        costs
    }

    fn observed(costs: &Costs, tree: &Tree, workers: usize) -> (u64, u64) {
        let mut observed = Observed::default();
        costs.observe(&mut observed, tree, workers);
        (observed.block_nanos, observed.page_nanos)
    }

    fn merge(costs: &Costs, bytes: u64) {
        assert_eq!(costs.time_slice(bytes, || Ok::<Option<()>, ()>(None)), Ok(None));
    }

    #[test]
    fn a_merged_page_costs_its_share_of_full_slices() {
        let costs = costs(100);
        assert_eq!(observed(&costs, &Tree::default(), 1), (0, 0));
        assert_eq!(costs.time_slice(PAGE, || Ok::<_, ()>(Some(()))), Ok(Some(())));
        assert_eq!(costs.time_slice(PAGE, || Err::<Option<()>, _>(())), Err(()));
        assert_eq!(observed(&costs, &Tree::default(), 1), (0, 0), "none was a full slice");
        merge(&costs, 4 * PAGE);
        assert_eq!(observed(&costs, &Tree::default(), 1), (0, 25_000));
        assert_eq!(observed(&costs, &Tree::default(), 2), (0, 12_500));
    }

    #[test]
    fn costs_follow_a_machine_that_becomes_slower() {
        let mut timed = Timed::default();
        (0..100).for_each(|_| timed.add(10, 10, 80));
        assert_eq!(timed.nanos(1), 1000);
        (0..100).for_each(|_| timed.add(10, 90, 80));
        assert!((8900..=9000).contains(&timed.nanos(1)), "{}", timed.nanos(1));
    }

    #[test]
    fn on_threads_a_tuned_policy_learns_the_costs_of_its_files() {
        let known = Arc::new(AtomicBool::new(false));
        let learned = known.clone();
        let listener = move |_, event: &Event| {
            if let Event::CompactionBegun { observed, .. } = event
                && observed.block_nanos > 0
                && observed.page_nanos > 0
            {
                learned.store(true, Ordering::Relaxed);
            }
        };
        let policy = PolicyOptions::Vertiorizon(Vertiorizon {
            level_base_bytes: 240 << 10,
            target_file_bytes: 256 << 10,
            ..Vertiorizon::default()
        });
        let options = Options { memtable_bytes: 256 << 10, policy, ..Options::small() };
        let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::default())).unwrap());
        let executor = Arc::new(ThreadExecutor::new(1));
        let db = Db::open_storage(storage, options.listener(Arc::new(listener)), executor).unwrap();
        let rows = db.default_keyspace();
        // The first merge that reads a slice in full is one of several memtables.
        let mut written = 0u32;
        while !known.load(Ordering::Relaxed) {
            for _ in 0..1000 {
                let key = written.wrapping_mul(0x9e37_79b9).to_be_bytes();
                rows.put(&key, &[7; 1000], Durability::Buffered).unwrap();
                written += 1;
            }
            db.wait_until_idle().unwrap();
            assert!(written < 100_000, "no plan was given the costs");
        }
        db.close().unwrap();
    }

    #[test]
    fn blocks_of_the_tree_are_read_anew_after_more_merges() {
        let vfs = Arc::new(MemoryVfs::default());
        let storage = Arc::new(Directory::open(vfs).unwrap());
        let executor = Arc::new(SliceExecutor::default());
        let db = Db::open_storage(storage, Options::small(), executor).unwrap();
        let rows = db.default_keyspace();
        for n in 0..100u8 {
            rows.put(&[n], &[n; 1000], Durability::Buffered).unwrap();
        }
        db.flush().unwrap();
        let keyspace = db.engine().keyspaces.get(rows.id()).unwrap();
        let (tree, costs) = (keyspace.tree(), costs(800));
        assert_eq!(observed(&costs, &tree, 1).0, 0, "nothing was merged");
        merge(&costs, PAGE);
        assert_eq!(observed(&costs, &tree, 1).0, 100_000);
        let drawn = || lock(&costs.measured).drawn;
        assert_eq!(drawn(), BLOCKS);
        merge(&costs, MEASURED_AFTER - 1);
        observed(&costs, &tree, 1);
        assert_eq!(drawn(), BLOCKS, "not yet");
        merge(&costs, 1);
        assert_eq!(observed(&costs, &tree, 1).0, 100_000);
        assert_eq!(drawn(), 2 * BLOCKS);
    }
}
