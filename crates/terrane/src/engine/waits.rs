//! Waits of writes: how many for each reason and, if the executor has a clock, how long.
//!
//! The engine reads no clock itself: an executor that has one gives it.

use crate::error::Stall;
use crate::event::Clock;
use crate::left_out::{in_browser, on_one_thread};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::lock;
use crate::sync::{Mutex, MutexGuard};
use std::sync::{OnceLock, TryLockError};
use terrane_platform::BROWSER;

/// The duration from which an append counts as a wait, in microseconds.
const APPEND_MICROS: u64 = 1000;

/// Condition that a write waits for.
#[derive(Clone, Copy)]
pub(crate) enum Wait {
    Memtables,
    Memory,
    Level0,
    Wal,
    RangeDeletes,
    Group,
    Lock,
    Sync,
    Append,
    CompactionBytes,
    /// For jobs, before there is a stall for that reason.
    Slowdown(Stall),
}

impl From<Stall> for Wait {
    fn from(reason: Stall) -> Self {
        match reason {
            Stall::Memtables => Wait::Memtables,
            Stall::Memory => Wait::Memory,
            // Nothing bounds these bytes in a browser, whose module leaves their counts out.
            Stall::CompactionBytes if BROWSER => Wait::Level0,
            Stall::CompactionBytes => Wait::CompactionBytes,
            Stall::Level0 => Wait::Level0,
            Stall::Wal => Wait::Wal,
            Stall::RangeDeletes => Wait::RangeDeletes,
        }
    }
}

/// The waits of writes for one reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct WaitStats {
    /// Number of waits.
    pub count: u64,
    /// Their total duration, in microseconds; 0 if the executor has no clock.
    pub micros: u64,
    /// The duration of the longest, in microseconds.
    pub micros_max: u64,
}

/// The waits of writes, by their reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct WriteWaits {
    /// The keyspace had `max_immutable_memtables` sealed memtables.
    pub memtables: WaitStats,
    /// Memtables took all of their share of the memory.
    pub memory: WaitStats,
    /// Level 0 had `l0_stop_trigger` runs, or tables over one key, as its policy counts.
    pub level0: WaitStats,
    /// The WAL file was full and no spare one was ready, so one was created.
    pub wal: WaitStats,
    /// The keyspace's range deletes took all of their memory.
    pub range_deletes: WaitStats,
    /// Another group of writes was committed first; that group's own waits are included.
    pub group: WaitStats,
    /// A requested flush, a check, a checkpoint or the like held the writer lock.
    pub lock: WaitStats,
    /// A synced write waited for its sync, and for one already in progress.
    pub sync: WaitStats,
    /// An append to the log took a millisecond or more, as it may while the operating system syncs the
    /// file or writes dirty pages back. Counted only if the executor has a clock.
    pub append: WaitStats,
    /// The compaction debt was at `hard_pending_compaction_bytes`.
    #[serde(skip_serializing_if = "in_browser")]
    pub compaction_bytes: WaitStats,
    /// The write was slowed down because sealed memtables came near `max_immutable_memtables`.
    #[serde(skip_serializing_if = "on_one_thread")]
    pub memtables_slowdown: WaitStats,
    /// It was slowed down because memtables came near their share of the memory.
    #[serde(skip_serializing_if = "on_one_thread")]
    pub memory_slowdown: WaitStats,
    /// It was slowed down because level 0 came near `l0_stop_trigger`.
    #[serde(skip_serializing_if = "on_one_thread")]
    pub level0_slowdown: WaitStats,
    /// It was slowed down because the compaction debt came near `hard_pending_compaction_bytes`.
    #[serde(skip_serializing_if = "in_browser")]
    pub compaction_bytes_slowdown: WaitStats,
}

impl WriteWaits {
    /// The names of the reasons, each with its waits.
    #[must_use]
    pub fn by_reason(&self) -> [(&'static str, WaitStats); 14] {
        [
            ("memtables", self.memtables),
            ("memory", self.memory),
            ("level0", self.level0),
            ("wal", self.wal),
            ("range_deletes", self.range_deletes),
            ("group", self.group),
            ("lock", self.lock),
            ("sync", self.sync),
            ("append", self.append),
            ("compaction_bytes", self.compaction_bytes),
            ("memtables_slowdown", self.memtables_slowdown),
            ("memory_slowdown", self.memory_slowdown),
            ("level0_slowdown", self.level0_slowdown),
            ("compaction_bytes_slowdown", self.compaction_bytes_slowdown),
        ]
    }

    /// The waits since `before`, which is of the same store. `micros_max` is an upper bound: the longest wait
    /// since the store was opened, or the total of these if that is less.
    #[must_use]
    pub fn since(&self, before: &WriteWaits) -> WriteWaits {
        let of = |now: WaitStats, before: WaitStats| {
            let micros = now.micros.saturating_sub(before.micros);
            let count = now.count.saturating_sub(before.count);
            WaitStats { count, micros, micros_max: now.micros_max.min(micros) }
        };
        WriteWaits {
            memtables: of(self.memtables, before.memtables),
            memory: of(self.memory, before.memory),
            level0: of(self.level0, before.level0),
            wal: of(self.wal, before.wal),
            range_deletes: of(self.range_deletes, before.range_deletes),
            group: of(self.group, before.group),
            lock: of(self.lock, before.lock),
            sync: of(self.sync, before.sync),
            append: of(self.append, before.append),
            compaction_bytes: of(self.compaction_bytes, before.compaction_bytes),
            memtables_slowdown: of(self.memtables_slowdown, before.memtables_slowdown),
            memory_slowdown: of(self.memory_slowdown, before.memory_slowdown),
            level0_slowdown: of(self.level0_slowdown, before.level0_slowdown),
            compaction_bytes_slowdown: of(
                self.compaction_bytes_slowdown,
                before.compaction_bytes_slowdown,
            ),
        }
    }
}

#[derive(Default)]
struct Sums {
    count: AtomicU64,
    micros: AtomicU64,
    micros_max: AtomicU64,
}

impl Sums {
    fn add(&self, micros: u64) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
        self.micros_max.fetch_max(micros, Ordering::Relaxed);
    }

    fn stats(&self) -> WaitStats {
        let load = |sum: &AtomicU64| sum.load(Ordering::Relaxed);
        WaitStats {
            count: load(&self.count),
            micros: load(&self.micros),
            micros_max: load(&self.micros_max),
        }
    }
}

/// Counts and times the waits of writes.
#[derive(Default)]
pub(crate) struct Waits {
    clock: OnceLock<Clock>,
    memtables: Sums,
    memory: Sums,
    level0: Sums,
    wal: Sums,
    range_deletes: Sums,
    group: Sums,
    lock: Sums,
    sync: Sums,
    append: Sums,
    compaction_bytes: Sums,
    slowdowns: Slowdowns,
}

/// Waits by the stall that they avoid.
#[derive(Default)]
struct Slowdowns {
    memtables: Sums,
    memory: Sums,
    level0: Sums,
    compaction_bytes: Sums,
}

impl Waits {
    /// Takes the clock, unless it has one.
    pub fn set_clock(&self, clock: Clock) {
        let _ = self.clock.set(clock);
    }

    fn sums(&self, wait: Wait) -> &Sums {
        match wait {
            Wait::Memtables => &self.memtables,
            Wait::Memory => &self.memory,
            Wait::Level0 => &self.level0,
            Wait::Wal => &self.wal,
            Wait::RangeDeletes => &self.range_deletes,
            Wait::Group => &self.group,
            Wait::Lock => &self.lock,
            Wait::Sync => &self.sync,
            Wait::Append => &self.append,
            Wait::CompactionBytes => &self.compaction_bytes,
            Wait::Slowdown(stall) => match stall {
                Stall::Memtables => &self.slowdowns.memtables,
                Stall::Memory => &self.slowdowns.memory,
                Stall::CompactionBytes if !BROWSER => &self.slowdowns.compaction_bytes,
                // Writes do not slow down for the size of the log.
                _ => &self.slowdowns.level0,
            },
        }
    }

    /// Runs `body`, which waits.
    pub fn time<T>(&self, wait: Wait, body: impl FnOnce() -> T) -> T {
        let clock = self.clock.get();
        let began = clock.map(|now| now());
        let out = body();
        let micros = clock.zip(began).map_or(0, |(now, began)| now().saturating_sub(began));
        if !matches!(wait, Wait::Append) || micros >= APPEND_MICROS {
            self.sums(wait).add(micros);
        }
        out
    }

    /// Locks what a write needs, which is a wait if another has it.
    pub fn lock<'a, T>(&self, mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
        match mutex.try_lock() {
            Ok(guard) => guard,
            // This error holds the lock.
            Err(TryLockError::Poisoned(held)) => held.into_inner(),
            Err(TryLockError::WouldBlock) => self.time(Wait::Lock, || lock(mutex)),
        }
    }

    pub fn stats(&self) -> WriteWaits {
        let of = |wait| self.sums(wait).stats();
        let of_debt = |wait| if BROWSER { WaitStats::default() } else { of(wait) };
        WriteWaits {
            memtables: of(Wait::Memtables),
            memory: of(Wait::Memory),
            level0: of(Wait::Level0),
            wal: of(Wait::Wal),
            range_deletes: of(Wait::RangeDeletes),
            group: of(Wait::Group),
            lock: of(Wait::Lock),
            sync: of(Wait::Sync),
            append: of(Wait::Append),
            compaction_bytes: of_debt(Wait::CompactionBytes),
            memtables_slowdown: of(Wait::Slowdown(Stall::Memtables)),
            memory_slowdown: of(Wait::Slowdown(Stall::Memory)),
            level0_slowdown: of(Wait::Slowdown(Stall::Level0)),
            compaction_bytes_slowdown: of_debt(Wait::Slowdown(Stall::CompactionBytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::executor::{Executor, SliceExecutor};
    use crate::jobs::Progress;
    use crate::schedule::JobFilter;
    use crate::storage::Directory;
    use crate::storage::vfs::MemoryVfs;
    use crate::{Db, Durability, Event, Options, Result};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    /// Does nothing before a writer waits.
    struct Late;

    impl Executor for Late {
        fn wake(&self, _: &Arc<Engine>) {}
        fn wait_for_progress(&self, engine: &Arc<Engine>) -> Result<()> {
            let mut job = crate::schedule::next_job(engine, JobFilter::Flush).unwrap();
            while job.run_for(u64::MAX)? == Progress::More {}
            Ok(())
        }
        fn wait_until_idle(&self, _: &Arc<Engine>, _: &dyn Fn(&Engine) -> bool) -> Result<()> {
            Ok(())
        }
        fn stop(&self, _: &Arc<Engine>) {}
    }

    fn open(options: Options, executor: Arc<dyn Executor>) -> Db {
        let vfs = Arc::new(MemoryVfs::default());
        Db::open_storage(Arc::new(Directory::open(vfs).unwrap()), options, executor).unwrap()
    }

    /// Sets a clock that advances by `step` at each reading.
    fn set_clock(db: &Db, step: u64) {
        let now = AtomicU64::new(0);
        db.engine().set_clock(move || now.fetch_add(step, Ordering::Relaxed));
    }

    #[test]
    fn waits_for_syncs_and_slow_appends_are_timed() {
        let db = open(Options::small(), Arc::new(SliceExecutor::default()));
        set_clock(&db, APPEND_MICROS);
        for n in 0..3 {
            let durability = if n == 0 { Durability::Buffered } else { Durability::Sync };
            db.default_keyspace().put(&[n], &[n], durability).unwrap();
        }
        let of =
            |count| WaitStats { count, micros: count * APPEND_MICROS, micros_max: APPEND_MICROS };
        let expected = WriteWaits { sync: of(2), append: of(3), ..WriteWaits::default() };
        assert_eq!(db.stats().unwrap().waits, expected);
    }

    #[test]
    fn fast_appends_are_no_waits_and_without_a_clock_waits_count() {
        let db = open(Options::small(), Arc::new(SliceExecutor::default()));
        let rows = db.default_keyspace();
        rows.put(b"untimed", b"", Durability::Sync).unwrap();
        set_clock(&db, APPEND_MICROS - 1);
        rows.put(b"timed", b"", Durability::Buffered).unwrap();
        let sync = WaitStats { count: 1, micros: 0, micros_max: 0 };
        assert_eq!(db.stats().unwrap().waits, WriteWaits { sync, ..WriteWaits::default() });
    }

    #[test]
    fn writes_go_on_after_a_listener_panicked_under_their_lock() {
        let options = Options { memtable_bytes: 1, ..Options::small() };
        let db = open(options, Arc::new(SliceExecutor::default()));
        let panics = |_, event: &Event| {
            assert!(!matches!(event, Event::MemtableSealed { .. }), "in the listener");
        };
        db.set_listener(Some(Arc::new(panics)));
        let rows = db.default_keyspace();
        let put = || rows.put(b"key", b"first", Durability::Buffered);
        assert!(catch_unwind(AssertUnwindSafe(put)).is_err());
        assert!(db.engine().log.is_poisoned());
        db.set_listener(None);
        rows.put(b"key", b"second", Durability::Buffered).unwrap();
        assert_eq!(rows.get(b"key").unwrap().unwrap(), b"second");
        assert_eq!(db.stats().unwrap().waits.lock.count, 0);
    }

    #[test]
    fn each_reason_is_listed_by_the_name_that_it_has_in_json() {
        let waits = Waits::default();
        for (times, wait) in [
            (1, Wait::Memtables),
            (2, Wait::Memory),
            (3, Wait::Level0),
            (4, Wait::Wal),
            (5, Wait::Group),
            (6, Wait::Lock),
            (7, Wait::Sync),
            (8, Wait::RangeDeletes),
            (9, Wait::CompactionBytes),
            (10, Wait::Slowdown(Stall::Memtables)),
            (11, Wait::Slowdown(Stall::Memory)),
            (12, Wait::Slowdown(Stall::Level0)),
            (13, Wait::Slowdown(Stall::CompactionBytes)),
        ] {
            (0..times).for_each(|_| waits.time(wait, || {}));
        }
        let stats = waits.stats();
        let listed = stats
            .by_reason()
            .map(|(name, waits)| format!("\"{name}\":{}", terrane_types::json::to_string(&waits)));
        assert_eq!(format!("{{{}}}", listed.join(",")), terrane_types::json::to_string(&stats));
        let counts = stats.by_reason().map(|(_, waits)| waits.count);
        assert_eq!(counts, [1, 2, 3, 4, 8, 5, 6, 7, 0, 9, 10, 11, 12, 13]);
        assert_eq!(stats.since(&WriteWaits::default()), stats);
        assert_eq!(stats.since(&stats), WriteWaits::default());
    }

    #[test]
    fn waits_since_a_moment_are_later_and_within_the_longest() {
        let of = |count, micros, micros_max| WaitStats { count, micros, micros_max };
        let earlier = WriteWaits { wal: of(2, 90, 80), sync: of(1, 5, 5), ..WriteWaits::default() };
        let later =
            WriteWaits { wal: of(5, 120, 80), sync: of(3, 65, 40), ..WriteWaits::default() };
        let since = WriteWaits { wal: of(3, 30, 30), sync: of(2, 60, 40), ..WriteWaits::default() };
        assert_eq!(later.since(&earlier), since);
    }

    #[test]
    fn each_stall_is_a_wait_of_its_reason() {
        let bounds =
            Options { memtable_bytes: 64 << 10, max_immutable_memtables: 1, ..Options::small() };
        let db = open(bounds, Arc::new(Late));
        set_clock(&db, 1);
        let rows = db.default_keyspace();
        (0..4).for_each(|n| {
            rows.put(&[n], &[n; 80 << 10], Durability::Buffered).unwrap();
        });
        let stats = db.stats().unwrap();
        assert_eq!(stats.stalls, 3);
        assert_eq!(stats.waits.memtables, WaitStats { count: 3, micros: 3, micros_max: 1 });
    }
}
