//! The configuration of a simulation.

use crate::device::Device;
use crate::entry::Sizes;
use crate::flash::FlashOptions;
use crate::guards::Guards;
use crate::seeks::Seeks;
use serde::{Deserialize, Serialize};
use terrane_policy::{BadOption, FilterBits, Observed, PolicyOptions};
use terrane_workload::{Choice, Clients, KeyOrder, KeyPrefixes, Workload};

/// A store, the machine it runs on and its workload. Every field has a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// The compaction policy.
    pub policy: PolicyOptions,
    /// PebblesDB's guards, in place of the policy.
    pub guards: Option<Guards>,
    /// LevelDB's compactions of tables that lookups went on past, beside the policy's.
    pub seeks: Option<Seeks>,
    /// Whether merges from below level 0 pause while a memtable is flushed or level 0 is merged, as SILK
    /// schedules them.
    pub pause_deeper_merges: bool,
    /// B: bytes of entries at which a memtable is sealed.
    pub buffer_bytes: u64,
    /// Sealed memtables at which writes stall.
    pub max_immutable_memtables: usize,
    /// Runs in level 0 at which writes stall.
    pub l0_stop_trigger: usize,
    /// Runs in level 0 at which writes slow down to [`Config::delayed_write_rate`]; 0 for never. The
    /// engine's writes slow down smoothly instead. RocksDB has 20.
    pub l0_slowdown_trigger: usize,
    /// Bytes that wait to be compacted at which writes slow down to
    /// [`Config::delayed_write_rate`]; 0 for never. RocksDB has 64 GiB.
    pub soft_pending_compaction_bytes: u64,
    /// Bytes that wait to be compacted at which writes stall; 0 for never. RocksDB and the engine have
    /// 256 GiB.
    pub hard_pending_compaction_bytes: u64,
    /// Bytes per second of all writes that are slowed down.
    pub delayed_write_rate: u64,
    /// Threads that merge. A flush runs in addition.
    pub workers: usize,
    /// The most compactions that run at once; 0 for as many as the policy plans. RocksDB's default is 1: of its two
    /// background jobs one is left for flushes.
    pub max_compactions: usize,
    /// The most workers that share a merge. Each writes tables of its own.
    pub subcompactions: usize,
    /// The least bytes that a worker reads of a merge that it shares.
    pub subcompaction_bytes: u64,
    /// Whether parts of a merge end where an input table starts or ends, as in RocksDB before it sampled keys within
    /// tables. Otherwise they are cut at the keys that are known of tables, also within them, as in the engine.
    pub parts_at_tables: bool,
    /// Processor cores, which clients, flushes and merges share; 0 for one for each thread.
    pub cores: usize,
    /// Bytes of a key.
    pub key_bytes: u64,
    /// Bytes of a value.
    pub value_bytes: u64,
    /// Size of a value as written to memtables and to the log, over its size in a table.
    pub value_compression: f64,
    /// Bytes of a pointer that stands for a value in memtables and tables, while values go to a log that is never
    /// collected, as WiscKey's; 0 for values in tables.
    pub value_pointer_bytes: u64,
    /// Bytes of a block, the unit of reads and of the cache.
    pub block_bytes: u64,
    /// Bits of Bloom filter for each entry of a table; 0 for no filter.
    pub filter_bits_per_key: f64,
    /// Bytes of the block cache.
    pub cache_bytes: u64,
    /// Bytes of the operating system's page cache, which holds what was written to tables and what clients read; 0
    /// for files that are read past it. The engine has no such cache in a browser.
    pub page_cache_bytes: u64,
    /// Whether a range read fetches no block of a table before it reaches the table's first key, as the engine does,
    /// which has that key in memory. If not, it fetches a block of each run when it starts.
    pub lazy_scans: bool,
    /// Whether writes are also logged. The log takes device time and flash; it does not count towards
    /// the tree's amplification.
    pub log: bool,
    /// The storage and the processor.
    pub device: Device,
    /// Whether the policy knows what a block that is read and a page that is merged cost: here by the device's figures.
    /// The engine measures both natively.
    pub measured_costs: bool,
    /// The flash device, if its garbage collection is simulated.
    pub flash: Option<FlashOptions>,
    /// Workload of the application.
    pub workload: Workload,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Operations per window; the report has the throughput of the slowest one, which may start with
    /// any operation of a phase.
    pub window: u64,
    /// Whether the report lists windows, one after the other.
    pub timeline: bool,
}

/// The Spooky paper's setting (section 6): 16-byte keys, 512-byte values, buffers of 64 MB, filters of
/// 10 bits per entry, blocks of 4 KB, a stall at 9 runs in level 0, 16 threads.
impl Default for Config {
    fn default() -> Self {
        Config {
            policy: PolicyOptions::default(),
            guards: None,
            seeks: None,
            pause_deeper_merges: false,
            buffer_bytes: 64 << 20,
            max_immutable_memtables: 2,
            l0_stop_trigger: 9,
            l0_slowdown_trigger: 0,
            soft_pending_compaction_bytes: 0,
            hard_pending_compaction_bytes: 0,
            delayed_write_rate: 16 << 20,
            workers: 16,
            max_compactions: 0,
            subcompactions: 1,
            subcompaction_bytes: 64 << 20,
            parts_at_tables: false,
            cores: 0,
            key_bytes: 16,
            value_bytes: 512,
            value_compression: 1.0,
            value_pointer_bytes: 0,
            block_bytes: 4096,
            filter_bits_per_key: 10.0,
            cache_bytes: 8 << 20,
            page_cache_bytes: 0,
            lazy_scans: true,
            log: true,
            device: Device::default(),
            measured_costs: false,
            flash: None,
            workload: Workload::default(),
            seed: 0,
            window: 100_000,
            timeline: false,
        }
    }
}

/// Reason why a simulation cannot start or continue.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimulationError {
    /// A parameter of the policy is outside its range.
    #[error(transparent)]
    Policy(#[from] BadOption),
    /// Another option is outside its range.
    #[error("{what} is {found}, expected {expected}")]
    Config {
        /// Name of the option.
        what: &'static str,
        /// Its range.
        expected: &'static str,
        /// The value given.
        found: String,
    },
    /// The store needs more than the flash device holds.
    #[error(
        "the flash device is full after {seconds:.0} s: expected at most {capacity_bytes} bytes, the store \
         takes {store_bytes} and what is left of its files' last pages, of {page_bytes} bytes each"
    )]
    FlashFull {
        /// Simulated time, in seconds.
        seconds: f64,
        /// Its capacity, in bytes.
        capacity_bytes: u64,
        /// Bytes of all tables, including unfinished ones.
        store_bytes: u64,
        /// Bytes of a page; each file takes whole pages.
        page_bytes: u64,
    },
    /// Writes are stalled, nothing runs, and the policy has no plan.
    #[error("after {seconds:.0} s writes wait, and neither the policy nor the fallback has a plan")]
    Stuck {
        /// Simulated time, in seconds.
        seconds: f64,
    },
    /// An edit does not fit the shape, although the validator accepted its plan.
    #[error("an accepted plan does not fit the tree: {0}")]
    Edit(#[from] terrane_policy::EditError),
}

impl Config {
    /// Whether values go to a log of their own.
    pub(crate) fn separates_values(&self) -> bool {
        self.value_pointer_bytes > 0
    }

    /// Sizes of entries as they are written to the log.
    pub(crate) fn written_sizes(&self) -> Sizes {
        Sizes { key: self.key_bytes, value: self.value_bytes }
    }

    /// Sizes of entries in memtables.
    pub(crate) fn buffered_sizes(&self) -> Sizes {
        match self.separates_values() {
            true => Sizes { value: self.value_pointer_bytes, ..self.written_sizes() },
            false => self.written_sizes(),
        }
    }

    /// Sizes of entries in tables.
    pub(crate) fn stored_sizes(&self) -> Sizes {
        let value = (self.value_bytes as f64 / self.value_compression) as u64;
        match self.separates_values() {
            true => self.buffered_sizes(),
            false => Sizes { value, ..self.written_sizes() },
        }
    }

    /// Sizes of the newest versions, wherever they lie.
    pub(crate) fn live_sizes(&self) -> Sizes {
        match self.separates_values() {
            true => self.written_sizes(),
            false => self.stored_sizes(),
        }
    }

    /// Filter bits of each key.
    pub(crate) fn filter_bits(&self) -> FilterBits {
        FilterBits::new(self.filter_bits_per_key).unwrap_or_default()
    }

    /// Observations of the policy before anything was read or written: the costs, if it knows them.
    pub(crate) fn costs(&self) -> Observed {
        if !self.measured_costs {
            return Observed::default();
        }
        Observed {
            block_nanos: self.device.block_nanos(self.block_bytes),
            page_nanos: self.device.page_nanos() / self.workers.max(1) as u64,
            ..Observed::default()
        }
    }

    /// Whether writes depend on how many bytes wait to be compacted.
    pub(crate) fn counts_pending_bytes(&self) -> bool {
        self.soft_pending_compaction_bytes > 0 || self.hard_pending_compaction_bytes > 0
    }

    /// Validates the configuration.
    pub(crate) fn validate(&self) -> Result<(), SimulationError> {
        let positive = [
            ("buffer-bytes", self.buffer_bytes),
            ("max-immutable-memtables", self.max_immutable_memtables as u64),
            ("delayed-write-rate", self.delayed_write_rate),
            ("workers", self.workers as u64),
            ("subcompactions", self.subcompactions as u64),
            ("subcompaction-bytes", self.subcompaction_bytes),
            ("block-bytes", self.block_bytes),
            ("window", self.window),
            ("device.request-bytes", self.device.request_bytes),
        ];
        for (what, found) in positive {
            check(what, found as f64, (1.0, 9e15), "1 to 9e15")?;
        }
        if let Some(Guards { keys, ratio, tables, l0_compaction_trigger, last_level }) =
            &self.guards
        {
            let numbers = [
                ("guards.keys", *keys),
                ("guards.ratio", *ratio),
                ("guards.tables", *tables as u64),
                ("guards.l0-compaction-trigger", *l0_compaction_trigger as u64),
            ];
            for (what, found) in numbers {
                check(what, found as f64, (1.0, 9e15), "1 to 9e15")?;
            }
            check("guards.last-level", *last_level as f64, (1.0, 32.0), "1 to 32")?;
        }
        if let Some(Seeks { bytes, least, target_file_bytes }) = &self.seeks {
            let sizes = [("seeks.bytes", *bytes), ("seeks.target-file-bytes", *target_file_bytes)];
            for (what, found) in sizes {
                check(what, found as f64, (1.0, 9e15), "1 to 9e15")?;
            }
            check("seeks.least", *least as f64, (0.0, 9e15), "0 to 9e15")?;
        }
        check("value-pointer-bytes", self.value_pointer_bytes as f64, (0.0, 1e12), "0 to 1e12")?;
        // A single run is never merged with another.
        check("l0-stop-trigger", self.l0_stop_trigger as f64, (2.0, 9e15), "2 to 9e15")?;
        let Device { read_speed, write_speed, .. } = self.device;
        for (what, found) in
            [("device.read-speed", read_speed), ("device.write-speed", write_speed)]
        {
            check(what, found, (1.0, 1e15), "1 to 1e15 bytes per second")?;
        }
        let Device { request_micros, block_micros, merge_nanos_per_byte, .. } = self.device;
        let Device { write_micros, read_micros, flush_nanos_per_byte, merge_micros, .. } =
            self.device;
        let Device { probe_micros, program_micros, .. } = self.device;
        let costs = [
            ("device.request-micros", request_micros),
            ("device.block-micros", block_micros),
            ("device.merge-nanos-per-byte", merge_nanos_per_byte),
            ("device.flush-nanos-per-byte", flush_nanos_per_byte.unwrap_or(0.0)),
            ("device.merge-micros", merge_micros),
            ("device.write-micros", write_micros),
            ("device.read-micros", read_micros),
            ("device.probe-micros", probe_micros),
            ("device.program-micros", program_micros),
        ];
        for (what, found) in costs {
            check(what, found, (0.0, 1e12), "0 to 1e12")?;
        }
        check("key-bytes", self.key_bytes as f64, (1.0, 65536.0), "1 to 65536")?;
        check("value-bytes", self.value_bytes as f64, (0.0, 1e9), "0 to 1e9")?;
        check("value-compression", self.value_compression, (1.0, 1e6), "1 to 1e6")?;
        check("filter-bits-per-key", self.filter_bits_per_key, (0.0, 64.0), "0 to 64")?;
        validate_workload(&self.workload)?;
        if let Some(flash) = &self.flash {
            check("flash.page-bytes", flash.page_bytes as f64, (1.0, 1e12), "1 to 1e12")?;
            check("flash.unit-pages", f64::from(flash.unit_pages), (1.0, 1e9), "1 to 1e9")?;
            check("flash.over-provisioning", flash.over_provisioning, (0.0, 10.0), "0 to 10")?;
            let pages = flash.units() as f64 * f64::from(flash.unit_pages);
            check("flash pages in all", pages, (1.0, 1e9), "at most 1e9: larger pages")?;
        }
        Ok(())
    }
}

fn validate_workload(workload: &Workload) -> Result<(), SimulationError> {
    let Workload { load, load_rate, keys, order, phases, prefixes } = workload;
    if let Some(KeyPrefixes { count, exponent }) = prefixes {
        check("workload.prefixes.count", *count as f64, (1.0, 65_536.0), "1 to 65536")?;
        check("workload.prefixes.exponent", *exponent, (0.0, 64.0), "0 to 64")?;
    }
    check("workload.load", *load as f64, (0.0, 1e12), "0 to 1e12")?;
    check("workload.keys", *keys as f64, (0.0, 1e12), "0 to 1e12")?;
    validate_rate("workload.load-rate", *load_rate)?;
    for phase in phases {
        let (operations, clients) = (phase.operations as f64, phase.clients.len() as f64);
        check("workload.phases.operations", operations, (0.0, 1e12), "0 to 1e12")?;
        check("the number of workload.phases.clients", clients, (1.0, 1e3), "1 to 1000")?;
        phase.clients.iter().try_for_each(validate_clients)?;
    }
    let found = match order {
        KeyOrder::Ascending => return Ok(()),
        KeyOrder::Scattered => "scattered",
        KeyOrder::Skewed => "skewed",
    };
    let mut clients = phases.iter().flat_map(|phase| &phase.clients);
    // Its ranges are of key numbers, which are ranges of keys only where keys ascend with them.
    if clients.any(|clients| matches!(clients.choice, Choice::ShiftingRanges { .. })) {
        let expected = "ascending, which shifting-ranges needs, or another choice, such as zipf";
        return Err(SimulationError::Config {
            what: "workload.order",
            expected,
            found: found.to_owned(),
        });
    }
    Ok(())
}

/// A rate at which the next operation comes within the range of virtual time, or 0.
fn validate_rate(what: &'static str, rate: f64) -> Result<(), SimulationError> {
    let least = if rate == 0.0 { 0.0 } else { 1e-6 };
    check(what, rate, (least, 1e12), "0, or 1e-6 to 1e12")
}

fn validate_clients(clients: &Clients) -> Result<(), SimulationError> {
    check("workload.phases.clients.count", clients.count as f64, (1.0, 1e5), "1 to 100000")?;
    validate_rate("workload.phases.clients.rate", clients.rate)?;
    for (_, share) in clients.mix.shares() {
        check("a share of workload.phases.clients.mix", share, (0.0, 1e12), "0 to 1e12")?;
    }
    let (most, least) = (clients.scan_entries as f64, clients.scan_entries_least as f64);
    check("workload.phases.clients.scan-entries", most, (1.0, 1e12), "1 to 1e12")?;
    let expected = "at most scan-entries";
    check("workload.phases.clients.scan-entries-least", least, (0.0, most), expected)?;
    match &clients.choice {
        Choice::Uniform => {}
        Choice::Zipf { exponent, .. } | Choice::Latest { exponent } => {
            check("workload.phases.clients.choice.exponent", *exponent, (0.0, 64.0), "0 to 64")?;
        }
        Choice::ShiftingRanges { from, to, .. } => {
            let (least, most) = (*from as f64, *to as f64);
            check("workload.phases.clients.choice.from", least, (1.0, 1e4), "1 to 10000")?;
            let expected = "at least from, and at most 10000";
            check("workload.phases.clients.choice.to", most, (least, 1e4), expected)?;
        }
    }
    Ok(())
}

fn check(
    what: &'static str,
    found: f64,
    (least, most): (f64, f64),
    expected: &'static str,
) -> Result<(), SimulationError> {
    if (least..=most).contains(&found) {
        return Ok(());
    }
    Err(SimulationError::Config { what, expected, found: found.to_string() })
}
