//! The options with which a store is opened.

use crate::entry::Millis;
use crate::error::{Error, Result};
use crate::event::Listener;
use crate::memtable::Memtable;
use crate::operand::MergeOperator;
use crate::table::TableOptions;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use terrane_platform::BROWSER;
use terrane_policy::{BadOption, ParseError, Policy, PolicyOptions};

/// Work that a write waits for before it returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// The write is durable when the call returns. Survives a power cut.
    Sync,
    /// The write is in the log file when the call returns: it survives the end of the process, and
    /// a power cut may take it together with everything after it. An executor syncs the log at least
    /// every [`Options::sync_interval`].
    #[default]
    Buffered,
}

/// Source of the time, in milliseconds since 1970-01-01 UTC.
pub type WallClock = Arc<dyn Fn() -> Millis + Send + Sync>;

/// Decides whether a compaction keeps a value, given the name of its keyspace, its key and the value.
pub type CompactionFilter = Arc<dyn Fn(&str, &[u8], &[u8]) -> FilterDecision + Send + Sync>;

/// Decision of a [`CompactionFilter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterDecision {
    /// The value stays.
    Keep,
    /// This value and all older ones are deleted.
    Remove,
}

/// Makes the policy of the keyspace with the given name, or `None` to leave it the stored one.
pub type CustomPolicy = Arc<dyn Fn(&str) -> Option<Box<dyn Policy>> + Send + Sync>;

/// The least cache that memtables leave, in bytes.
const CACHE_BYTES_MIN: u64 = 256 << 10;

/// The least size of a log file, in bytes: the shortest record and the claim behind it fit.
const LOG_BYTES_MIN: u64 = 72;

/// The size of a store's first log file, in bytes, unless the options ask for smaller ones.
const LOG_FIRST_BYTES: u64 = 512 << 10;

/// Limits and resources of a store. `Options::default()` suits a native program; [`Options::small`] a
/// browser tab, where the options about compaction debt, mappings, workers and a rate have no effect.
///
/// ```
/// # fn main() -> terrane::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("notes");
/// use std::sync::Arc;
/// use terrane::policy::PolicyOptions;
/// use terrane::{Db, Event, Options};
///
/// let options = Options::default()
///     .memory_bytes(256 << 20)
///     .policy(PolicyOptions::preset("lazy-leveled").unwrap().native())
///     .listener(Arc::new(|_, event: &Event| {
///         if let Event::Stalled { reason } = event {
///             eprintln!("writes wait: {reason}");
///         }
///     }));
/// let db = Db::open(path, options)?;
/// assert_eq!(db.default_keyspace().policy()?.name(), "lazy-leveled");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// Whether opening creates the store if there is none.
    pub create: bool,
    /// Whether opening fails if the store already exists.
    pub error_if_exists: bool,
    /// Whether the store is opened read-only: no byte of it changes, the file system may be read-only, and several
    /// processes may do so at once. Calls that would change it fail. The store must exist. It opens although a table's
    /// file is missing or too short: reads that need the table return the damage, and all others succeed.
    pub read_only: bool,
    /// Bytes at which a memtable is sealed and flushed to level 0.
    pub memtable_bytes: u64,
    /// Sealed memtables of one keyspace at which writes stall until one is flushed.
    pub max_immutable_memtables: usize,
    /// Size to which preallocated log files grow, in bytes: 72 or more. The first file of a store takes 512 KiB, and
    /// each new file twice as much as its predecessor. A write that needs more gets a larger file.
    pub wal_file_bytes: u64,
    /// Total bytes of logs beyond which the keyspace that holds the oldest record is flushed.
    pub max_total_wal_bytes: u64,
    /// Bytes of log files that are retained for the change feed ([`Db::changes`](crate::Db::changes)) after tables have
    /// their entries. 0, the default, retains none: the feed then starts with the oldest batch that is not in tables.
    pub feed_bytes: u64,
    /// Runs in level 0 at which writes stall until some are compacted: 2 or more.
    pub l0_stop_trigger: usize,
    /// Pending compaction bytes at which writes to a keyspace stall: what compactions must rewrite until its
    /// levels are within their capacities. 0 for never; by default 256 GiB.
    pub hard_pending_compaction_bytes: u64,
    /// Total memory, in bytes: half of it, or two memtables if that is more, for memtables; the rest for the cache and
    /// the buffers of flushes and compactions, for which the cache shrinks meanwhile, to at least 256 KiB. By default
    /// (`None`) four memtables or twice [`cache_bytes`](Self::cache_bytes), whichever is more, so that two memtables
    /// and the whole cache fit.
    ///
    /// Two things may exceed the budget: a compaction's minimum, which is a block of each input, and the index and the
    /// filter of the table that it writes, some 2% of its bytes; and the readahead of long scans, at most 256 KiB of
    /// each run.
    pub memory_bytes: Option<u64>,
    /// Maximum size of the cache within `memory_bytes`, in bytes: for blocks, partitions of indexes and filters, and
    /// the memory of open tables. With 0 nothing is cached, and each read opens its tables again.
    pub cache_bytes: u64,
    /// Approximate number of files that are open at once, at most half of the process's limit. A closed file is
    /// reopened when it is used again. Applies to stores with a file for each table.
    pub max_open_files: usize,
    /// Whether logs are written through mapped memory, on Linux with ext2, ext3, ext4 or tmpfs. A buffered write of up
    /// to 4 KiB then makes no system call, and still survives the end of the process. A full disk is an error of the
    /// write, and a failed device an error of the next sync. SIGBUS ends the process only if somebody truncates a log
    /// in use or makes it immutable, or if the device fails under ext4 with `data=journal` or `dax`. A store locks 64
    /// KiB of memory while it has buffered writes. It makes system calls instead where it may not lock memory, before
    /// Linux 5.14, and on all other file systems, such as the overlayfs of a container's own files. On by default.
    pub allow_mmap_writes: bool,
    /// Whether tables are memory-mapped to be read, on Linux: a get then decodes blocks that are in the page
    /// cache without a system call. Compactions and scans that read ahead still make system calls. As with
    /// every mapped file, SIGBUS ends the process if a page cannot be read: the device fails, or somebody
    /// truncates a table in use. At most [`max_open_files`](Self::max_open_files) tables are mapped, and
    /// at most 32,768. Off by default.
    pub allow_mmap_reads: bool,
    /// Longest wait of a buffered write for the executor's sync; at least a millisecond.
    pub sync_interval: Duration,
    /// Options of new tables.
    pub table: TableOptions,
    /// Compaction policy of new keyspaces. By default [`PolicyOptions::native`], with tables of 16 MiB; in a browser
    /// tab an unchanged preset, with tables of 2 MiB.
    pub policy: PolicyOptions,
    /// Maker of custom policies, called with the name of each keyspace. Where it returns `None`, the keyspace has its
    /// stored policy. A custom policy does not change the stored one.
    pub custom_policy: Option<CustomPolicy>,
    /// Number of compactions that run at once, beside a flush and a removal, on threads of the store; by default
    /// [`executor::workers`](crate::executor::workers). For [`Db::open`](crate::Db::open) and
    /// [`Db::open_file`](crate::Db::open_file); other executors have their own number.
    pub workers: usize,
    /// Limit on the input of flushes and compactions together, in bytes per second, and so approximately on their
    /// output; 0 for none. Flushes have priority. Native worker threads observe it;
    /// [`Db::set_background_bytes_per_second`](crate::Db::set_background_bytes_per_second) changes it.
    pub background_bytes_per_second: u64,
    /// Listener that receives every event.
    pub listener: Option<Listener>,
    /// Filter that compactions call, on their threads, with the newest version of each key, unless a snapshot sees it.
    /// It may miss values: flushes and trivial moves do not call it, a value may take part in no compaction for long,
    /// an operand is passed only once it has become a value, and a newer version of its key may lie above. If operands
    /// lie above a value that it removes, they start anew. A snapshot
    /// that is taken while a compaction runs may miss what the compaction removes. If the filter panics, the compaction
    /// fails as after any panic of a job ([`crate::ErrorKind::JobPanicked`]). It must not call the store.
    pub compaction_filter: Option<CompactionFilter>,
    /// Operator of merges with [`Operand::Custom`](crate::Operand::Custom): combines an older and a newer value or
    /// operand into one, and must be associative: `f(f(a, b), c)` is `f(a, f(b, c))`. Writers call it under their lock;
    /// reads, flushes and compactions call it as well. It must not call the store.
    ///
    /// * If it panics in a read, so does the read. If it panics in a flush or a compaction, the store takes no more
    ///   writes ([`crate::ErrorKind::JobPanicked`]) until it is reopened, with an operator that does not panic. No
    ///   operand is lost.
    /// * A merge after another operation of its key in a batch is combined with it before the batch is written. If the
    ///   operator panics there, so does the write; a result over the limit refuses the batch. Nothing is written then.
    /// * A store with a keyspace that has such merges opens only with an operator, in every program. The command-line
    ///   tool has none: of its commands only `check` and `repair` read such a store.
    /// * A result over the limit of an operand, 16 bytes less than that of a value, fails reads of its key; the
    ///   operands stay, so that another operator can combine them.
    /// * The store does not record which operator it is. After a reopening with another one, operands that earlier
    ///   flushes and compactions combined stay as the earlier operator combined them, and all others are combined by
    ///   the new one. So a new operator must accept the values and operands of the old one.
    pub merge_operator: Option<MergeOperator>,
    /// Clock by which values expire: natively the system's by default, in the browser `Date.now`, set by the npm
    /// package. A store without a clock refuses values that expire, and existing values never expire. If the clock
    /// jumps backward, the store's time stands still until the clock has caught up. After a reopening with an earlier
    /// clock, an expired value may reappear until it is compacted.
    pub wall_clock: Option<WallClock>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            create: true,
            error_if_exists: false,
            read_only: false,
            memtable_bytes: 16 << 20,
            max_immutable_memtables: 3,
            wal_file_bytes: 16 << 20,
            max_total_wal_bytes: 96 << 20,
            feed_bytes: 0,
            l0_stop_trigger: 16,
            hard_pending_compaction_bytes: 256 << 30,
            memory_bytes: None,
            cache_bytes: 64 << 20,
            max_open_files: 1000,
            allow_mmap_writes: true,
            allow_mmap_reads: false,
            sync_interval: Duration::from_secs(1),
            table: TableOptions::default(),
            policy: PolicyOptions::default().native(),
            custom_policy: None,
            workers: default_workers(),
            background_bytes_per_second: 0,
            listener: None,
            compaction_filter: None,
            merge_operator: None,
            wall_clock: system_clock(),
        }
    }
}

/// Returns the number of processors that background work may use: all but one, at least one, at most eight.
pub(crate) fn default_workers() -> usize {
    workers_of(std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

fn workers_of(cores: usize) -> usize {
    cores.saturating_sub(1).clamp(1, 8)
}

/// Returns the system's clock, if this target has one.
fn system_clock() -> Option<WallClock> {
    if BROWSER {
        return None;
    }
    let since_epoch = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Some(Arc::new(move || since_epoch().map_or(0, |since| since.as_millis() as Millis)))
}

/// Makes a method for each field, which sets it; a field in parentheses is an `Option`.
macro_rules! setters {
    ($($field:ident: $type:ty,)* ($($optional:ident: $some:ty,)*)) => {
        impl Options {
            $(
                #[doc = setters!(@doc $field)]
                #[must_use]
                pub fn $field(mut self, $field: $type) -> Self {
                    self.$field = $field;
                    self
                }
            )*
            $(
                #[doc = setters!(@doc $optional)]
                #[must_use]
                pub fn $optional(mut self, $optional: $some) -> Self {
                    self.$optional = Some($optional);
                    self
                }
            )*
        }
    };
    (@doc $field:ident) => {
        concat!("Sets [`", stringify!($field), "`](field@Options::", stringify!($field), ").")
    };
}

setters! {
    create: bool,
    error_if_exists: bool,
    read_only: bool,
    memtable_bytes: u64,
    max_immutable_memtables: usize,
    wal_file_bytes: u64,
    max_total_wal_bytes: u64,
    feed_bytes: u64,
    l0_stop_trigger: usize,
    hard_pending_compaction_bytes: u64,
    cache_bytes: u64,
    max_open_files: usize,
    allow_mmap_writes: bool,
    allow_mmap_reads: bool,
    sync_interval: Duration,
    table: TableOptions,
    policy: PolicyOptions,
    workers: usize,
    background_bytes_per_second: u64,
    (
        memory_bytes: u64,
        custom_policy: CustomPolicy,
        listener: Listener,
        compaction_filter: CompactionFilter,
        merge_operator: MergeOperator,
        wall_clock: WallClock,
    )
}

impl Options {
    /// Refuses bounds with which nothing could be written.
    pub(crate) fn validate(&self) -> Result<()> {
        let bounds = [
            ("memtable_bytes", self.memtable_bytes),
            ("max_immutable_memtables", self.max_immutable_memtables as u64),
            ("max_open_files", self.max_open_files as u64),
        ];
        if let Some((what, _)) = bounds.into_iter().find(|(_, bound)| *bound == 0) {
            return Err(Error::invalid(what, "at least 1", "0"));
        }
        // A single run is never merged with another.
        if self.l0_stop_trigger < 2 {
            return Err(Error::invalid("l0_stop_trigger", "at least 2", self.l0_stop_trigger));
        }
        if self.wal_file_bytes < LOG_BYTES_MIN {
            let expected = format_args!("at least {LOG_BYTES_MIN}");
            return Err(Error::invalid("wal_file_bytes", expected, self.wal_file_bytes));
        }
        build_policy(&self.policy).map(drop)
    }

    /// Returns the size of a log file made after one of `bytes`, or of a store's first one after 0.
    pub(crate) fn log_bytes_after(&self, bytes: u64) -> u64 {
        bytes.saturating_mul(2).max(LOG_FIRST_BYTES).min(self.wal_file_bytes)
    }

    /// Returns the policy that plans for a keyspace: the caller's custom one, or else the given one.
    pub(crate) fn planner(
        &self,
        keyspace: &str,
        policy: &PolicyOptions,
    ) -> Result<Box<dyn Policy>> {
        let custom = self.custom_policy.as_ref().and_then(|make| make(keyspace));
        custom.map_or_else(|| build_policy(policy), Ok)
    }

    /// Returns the memory budget, in bytes.
    pub(crate) fn budget(&self) -> u64 {
        let memtables = self.memtable_bytes.saturating_mul(2);
        self.memory_bytes.unwrap_or(memtables.max(self.cache_bytes).saturating_mul(2))
    }

    /// Returns the bytes that all memtables together may take: half of the budget, or two memtables if that is more,
    /// so that one fills while another is flushed.
    pub(crate) fn memtables_share(&self) -> u64 {
        (self.budget() / 2).max(self.memtable_bytes.saturating_mul(2))
    }

    /// Returns the bytes that the cache and the buffers of jobs may take: the rest of the budget after memtables.
    pub(crate) fn rest_share(&self) -> u64 {
        self.budget().saturating_sub(self.memtables_share()).max(CACHE_BYTES_MIN)
    }

    /// Returns the bytes that the cache may take while jobs have `reserved` bytes.
    pub(crate) fn cache_share(&self, reserved: u64) -> u64 {
        self.rest_share().saturating_sub(reserved).max(CACHE_BYTES_MIN).min(self.cache_bytes)
    }

    /// Returns a memtable of the size that the options set.
    pub(crate) fn memtable(&self) -> Memtable {
        Memtable::new(usize::try_from(self.memtable_bytes).unwrap_or(usize::MAX))
    }

    /// Bounds for a browser tab: about a sixth of the default memory.
    #[must_use]
    pub fn small() -> Self {
        Options {
            memtable_bytes: 4 << 20,
            max_immutable_memtables: 2,
            wal_file_bytes: 4 << 20,
            max_total_wal_bytes: 16 << 20,
            memory_bytes: Some(24 << 20),
            cache_bytes: 8 << 20,
            policy: PolicyOptions::default(),
            ..Options::default()
        }
    }
}

/// Builds the policy of these options.
pub(crate) fn build_policy(options: &PolicyOptions) -> Result<Box<dyn Policy>> {
    options.build().map_err(invalid_policy)
}

/// Returns the error for a policy with such an option.
pub(crate) fn invalid_policy(bad: BadOption) -> Error {
    let ParseError { expected, found } = bad.into();
    Error::invalid("policy", expected, found)
}

/// Returns the options of a policy as the version set keeps them.
pub(crate) fn policy_json(policy: &PolicyOptions) -> String {
    terrane_types::json::to_string(policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_for_a_policy_says_expected_and_found_once() {
        let options = r#"{"policy": "leveled", "size-ratio": 1}"#.parse().unwrap();
        let refused = build_policy(&options).err().unwrap().to_string();
        assert_eq!(refused, "policy: expected 2 to 64, found leveled: `size-ratio` is 1");
    }

    #[test]
    fn background_work_leaves_a_processor_and_takes_at_most_eight() {
        let workers_of = [0, 1, 2, 4, 9, 64].map(workers_of);
        assert_eq!(workers_of, [1, 1, 1, 3, 8, 8]);
        assert!((1..=8).contains(&default_workers()));
    }

    #[test]
    fn small_bounds_are_a_tenth_to_a_quarter_of_the_default_ones() {
        let (small, whole) = (Options::small(), Options::default());
        for (part, of) in [
            (small.memtable_bytes, whole.memtable_bytes),
            (small.wal_file_bytes, whole.wal_file_bytes),
            (small.max_total_wal_bytes, whole.max_total_wal_bytes),
            (small.budget(), whole.budget()),
            (small.cache_bytes, whole.cache_bytes),
        ] {
            assert!((of / 10..=of / 4).contains(&part), "{part} of {of}");
        }
        let sixth = whole.budget() / 6;
        assert!((sixth..sixth * 5 / 4).contains(&small.budget()), "about a sixth of the memory");
        assert!(small.max_immutable_memtables < whole.max_immutable_memtables);
        assert!(small.policy.target_file_bytes() < whole.policy.target_file_bytes());
    }

    #[test]
    fn memtables_get_half_of_memory_or_two_and_the_cache_the_rest() {
        const MIB: u64 = 1 << 20;
        for (memory, memtable, memtables, rest) in [
            (128 * MIB, 16 * MIB, 64 * MIB, 64 * MIB),
            (128 * MIB, 32 * MIB, 64 * MIB, 64 * MIB),
            (128 * MIB, 48 * MIB, 96 * MIB, 32 * MIB),
            (20 * MIB, 16 * MIB, 32 * MIB, CACHE_BYTES_MIN),
            (u64::MAX, u64::MAX, u64::MAX, CACHE_BYTES_MIN),
        ] {
            let options = Options {
                memory_bytes: Some(memory),
                memtable_bytes: memtable,
                ..Options::default()
            };
            assert_eq!((options.memtables_share(), options.rest_share()), (memtables, rest));
        }
        let memory_bytes = Some(128 * MIB);
        let options = Options { memory_bytes, cache_bytes: 50 * MIB, ..Options::default() };
        assert_eq!(options.rest_share(), 64 * MIB);
        let shares = [0, 14 * MIB, 20 * MIB, 100 * MIB].map(|taken| options.cache_share(taken));
        assert_eq!(shares, [50 * MIB, 50 * MIB, 44 * MIB, CACHE_BYTES_MIN]);
        assert!(CACHE_BYTES_MIN >= 16 * options.table.block_bytes as u64, "it holds some blocks");
        assert_eq!(Options { cache_bytes: 0, ..Options::default() }.cache_share(0), 0);
    }

    #[test]
    fn without_a_budget_two_memtables_and_the_whole_cache_have_room() {
        const MIB: u64 = 1 << 20;
        for (memtable, cache, budget) in
            [(16, 64, 128), (64, 64, 256), (64, 200, 400), (1, 0, 4), (16, 8, 64)]
        {
            let options = Options {
                memtable_bytes: memtable * MIB,
                cache_bytes: cache * MIB,
                ..Options::default()
            };
            assert_eq!(options.budget(), budget * MIB);
            assert!(options.memtables_share() >= 2 * memtable * MIB);
            assert_eq!(options.cache_share(0), cache * MIB);
        }
        let most = Options { memtable_bytes: u64::MAX, ..Options::default() };
        assert_eq!(most.budget(), u64::MAX);
    }

    #[test]
    fn each_bound_has_a_least_value() {
        let refused = |change: &dyn Fn(&mut Options)| {
            let mut options = Options::default();
            change(&mut options);
            options.validate().is_err()
        };
        assert!(!refused(&|_| {}));
        for allowed in [false, true] {
            let by = u64::from(allowed);
            assert_eq!(!refused(&|options| options.memtable_bytes = by), allowed);
            let count = usize::from(allowed);
            assert_eq!(!refused(&|options| options.max_immutable_memtables = count), allowed);
            assert_eq!(!refused(&|options| options.max_open_files = count), allowed);
            assert_eq!(!refused(&|options| options.l0_stop_trigger = 1 + count), allowed);
            assert_eq!(
                !refused(&|options| options.wal_file_bytes = LOG_BYTES_MIN - 1 + by),
                allowed
            );
        }
    }
}
