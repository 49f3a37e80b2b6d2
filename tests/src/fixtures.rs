//! The kinds of storage, each over a file system that can lose power, fail, fill up or corrupt data.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use terrane::executor::{Executor, SeededExecutor, ThreadExecutor};
use terrane::storage::vfs::{FaultVfs, MemoryVfs, NativeVfs, Vfs};
use terrane::storage::volume::VolumeOptions;
use terrane::storage::{Directory, File, FileId, Storage, Volume};
use terrane::table::{Compression, TableOptions};
use terrane::version::VersionSet;
use terrane::{Db, Options, Result};
use terrane_policy::{
    Adversarial, EcoTune, FilterBits, Fluid, LazyLeveled, Leveled, LeveledFull, PTier,
    PolicyOptions, Spooky, Tiered, TieredFull, Universal, presets,
};
use terrane_workload::Random;

/// A kind of storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file for each table, in memory.
    MemoryDirectory,
    /// The same, with logs that are written through memory.
    MappedDirectory,
    /// A file for each table, in a native directory.
    NativeDirectory,
    /// One backing file in memory.
    SingleVolume,
    /// Three backing files in memory, as on OPFS.
    MemoryVolume,
    /// One native backing file.
    NativeVolume,
}

/// Every kind.
pub const KINDS: [Kind; 6] = [
    Kind::MemoryDirectory,
    Kind::MappedDirectory,
    Kind::NativeDirectory,
    Kind::SingleVolume,
    Kind::MemoryVolume,
    Kind::NativeVolume,
];

impl Kind {
    /// The names of a volume's backing files; none for a directory.
    #[must_use]
    pub fn backings(self) -> &'static [&'static str] {
        match self {
            Kind::MemoryDirectory | Kind::MappedDirectory | Kind::NativeDirectory => &[],
            Kind::MemoryVolume => &["manifest", "log", "data"],
            Kind::SingleVolume | Kind::NativeVolume => &["volume"],
        }
    }
}

/// A place for one store, and the file system through which the store sees it.
pub struct Rig {
    /// The kind of storage.
    pub kind: Kind,
    /// The underlying file system.
    pub inner: Arc<dyn Vfs>,
    /// The file system that the store sees, which can fail.
    pub vfs: FaultVfs,
    /// Whether jobs run on threads, in whatever order the system has them run; else in that of a seed.
    pub threads: bool,
    _dir: Option<tempfile::TempDir>,
}

impl Rig {
    /// An empty place.
    #[must_use]
    pub fn new(kind: Kind) -> Rig {
        let native = matches!(kind, Kind::NativeDirectory | Kind::NativeVolume);
        let dir = native.then(|| tempfile::tempdir().expect("a temporary directory"));
        let inner: Arc<dyn Vfs> = match &dir {
            // Few open files, so that files are closed and reopened.
            Some(dir) => {
                let vfs = NativeVfs::open(dir.path(), true).expect("a directory");
                Arc::new(vfs.open_at_most(8))
            }
            None => Arc::new(MemoryVfs::new()),
        };
        Rig { _dir: dir, ..Rig::over(kind, inner) }
    }

    /// A place with the content of `inner`.
    ///
    /// # Panics
    /// If it cannot be read.
    #[must_use]
    pub fn over(kind: Kind, inner: Arc<dyn Vfs>) -> Rig {
        let vfs = wrapped(kind, &inner);
        Rig { kind, inner, vfs, threads: false, _dir: None }
    }

    /// Restores power: the store sees what the underlying file system holds.
    pub fn restore_power(&mut self) {
        self.vfs = wrapped(self.kind, &self.inner);
    }

    /// The storage over the file system.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn storage(&self) -> Result<Arc<dyn Storage>> {
        let vfs: Arc<dyn Vfs> = Arc::new(self.vfs.clone());
        if self.kind.backings().is_empty() {
            return Ok(Arc::new(Directory::open(vfs)?));
        }
        let present = vfs.list()?;
        let backings = self.kind.backings().iter().map(|name| {
            if present.iter().any(|p| p == name) { vfs.open(name) } else { vfs.create(name) }
        });
        let backings: Vec<Arc<dyn File>> = backings.collect::<Result<_>>()?;
        vfs.sync_names()?;
        // Small steps, so that a small store grows and shrinks often.
        let new_id = vfs.draw_id()?;
        let options = VolumeOptions { new_id, min_growth: 64 << 10, ..VolumeOptions::default() };
        Ok(Arc::new(Volume::open(backings, options)?))
    }

    /// Opens a read-only storage over the same file system, for readers other than the store.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn reading(&self) -> Result<Arc<dyn Storage>> {
        let vfs: Arc<dyn Vfs> = Arc::new(self.vfs.clone());
        if self.kind.backings().is_empty() {
            return Ok(Arc::new(Directory::read_only(vfs)?));
        }
        let backings = self.kind.backings().iter().map(|name| vfs.open(name));
        let options = VolumeOptions { read_only: true, ..VolumeOptions::default() };
        Ok(Arc::new(Volume::open(backings.collect::<Result<_>>()?, options)?))
    }

    /// Opens the store; `seed` determines how jobs interleave, unless they run on threads.
    ///
    /// # Errors
    /// Those of opening.
    pub fn open(&self, options: Options, seed: u64) -> Result<Db> {
        let executor: Arc<dyn Executor> = match self.threads {
            true => Arc::new(ThreadExecutor::new(2)),
            false => Arc::new(SeededExecutor::new(seed)),
        };
        self.open_with(options, executor)
    }

    /// Opens the store with the given executor.
    ///
    /// # Errors
    /// Those of opening.
    pub fn open_with(&self, options: Options, executor: Arc<dyn Executor>) -> Result<Db> {
        Db::open_storage(self.storage()?, options, executor)
    }
}

/// Returns the store's view of a file system.
fn wrapped(kind: Kind, inner: &Arc<dyn Vfs>) -> FaultVfs {
    let vfs = FaultVfs::new(inner.clone()).expect("a readable file system");
    vfs.allow_mmap_writes(kind == Kind::MappedDirectory);
    vfs
}

/// Options so small that a few hundred entries rotate logs, flush, stall and compact, and that tables
/// have several blocks and partitions.
#[must_use]
pub fn tiny() -> Options {
    Options::default()
        .memtable_bytes(11 << 8)
        .wal_file_bytes(4 << 10)
        .max_total_wal_bytes(12 << 10)
        .l0_stop_trigger(6)
        .cache_bytes(16 << 10)
        .table(TableOptions { block_bytes: 256, partition_bytes: 64, ..TableOptions::default() })
        .policy(small_policies()[0].clone())
}

/// Like [`tiny`], with the small policy that `choice` selects.
#[must_use]
pub fn tiny_with(choice: u64) -> Options {
    let policies = small_policies();
    let policy = policies[(choice % policies.len() as u64) as usize].clone();
    tiny().policy(policy)
}

/// Like [`tiny`], with the small policy that `seed` selects and other options drawn at random: a table
/// has one block or dozens, in one partition or one each, cached or not.
#[must_use]
pub fn drawn(seed: u64) -> Options {
    let mut random = Random(seed ^ 0x0971_0425);
    let mut among = |choices: &[u64]| choices[random.below(choices.len() as u64) as usize];
    let table = TableOptions {
        block_bytes: among(&[1, 64, 200, 500, 4096]) as usize,
        partition_bytes: among(&[1, 32, 100, 400, 16384]) as usize,
        filter_bits_per_key: FilterBits::from_thousandths(among(&[0, 2500, 10_000, 10_000]) as u32),
        compression: if among(&[0, 1]) == 0 { Compression::None } else { Compression::Lz4 },
    };
    let (level_base_bytes, target_file_bytes) =
        (among(&[1 << 10, 2 << 10, 8 << 10]), among(&[1 << 10, 1500, 6 << 10]));
    let policies = sized_policies(level_base_bytes, target_file_bytes);
    tiny()
        .memtable_bytes(among(&[1 << 10, 2 << 10, 6 << 10]))
        .cache_bytes(among(&[0, 3 << 10, 16 << 10, 1 << 20]))
        .policy(policies[(seed % policies.len() as u64) as usize].clone())
        .table(table)
        .feed_bytes(among(&[0, 9 << 10, 20 << 10, 1 << 20]))
}

/// A policy that proposes random plans forever: a tree under it never becomes idle.
#[must_use]
pub fn adversarial(seed: u64) -> PolicyOptions {
    PolicyOptions::Adversarial(Adversarial { seed })
}

/// Every policy, so small that a few hundred entries fill several levels.
#[must_use]
pub fn small_policies() -> Vec<PolicyOptions> {
    sized_policies(2 << 10, 1 << 10)
}

/// The first of [`small_policies`] of this name.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn small_policy(name: &str) -> PolicyOptions {
    let mut policies = small_policies().into_iter();
    policies.find(|policy| policy.name() == name).unwrap_or_else(|| panic!("no policy {name}"))
}

/// Every policy, with these sizes of the first level and of tables. Policies that are not tuned here
/// have the defaults of their other parameters. They are made once: crash tests ask for them each time
/// that they open a store.
///
/// # Panics
/// If the options of a policy are not understood.
#[must_use]
pub fn sized_policies(level_base_bytes: u64, target_file_bytes: u64) -> Vec<PolicyOptions> {
    type Sizes = (u64, u64);
    static KEPT: Mutex<BTreeMap<Sizes, Vec<PolicyOptions>>> = Mutex::new(BTreeMap::new());
    let sizes = (level_base_bytes, target_file_bytes);
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.entry(sizes).or_insert_with(|| made_policies(level_base_bytes, target_file_bytes)).clone()
}

fn made_policies(level_base_bytes: u64, target_file_bytes: u64) -> Vec<PolicyOptions> {
    let size_ratio = 3;
    let mut policies = vec![
        PolicyOptions::Tiered(Tiered {
            size_ratio: 2,
            level_base_bytes,
            target_file_bytes,
            filters: terrane_policy::Filters::Uniform,
            partitioning: terrane_policy::Partitioning::DEFAULT,
        }),
        PolicyOptions::Leveled(Leveled {
            size_ratio,
            level_base_bytes,
            target_file_bytes,
            ..Leveled::default()
        }),
        PolicyOptions::Universal(Universal { target_file_bytes, ..Universal::default() }),
        PolicyOptions::LeveledFull(LeveledFull {
            size_ratio,
            level_base_bytes,
            target_file_bytes,
            ..LeveledFull::default()
        }),
        PolicyOptions::TieredFull(TieredFull {
            size_ratio,
            level_base_bytes,
            target_file_bytes,
            ..TieredFull::default()
        }),
        PolicyOptions::LazyLeveled(LazyLeveled {
            size_ratio,
            level_base_bytes,
            target_file_bytes,
            ..LazyLeveled::default()
        }),
        PolicyOptions::Spooky(Spooky {
            size_ratio,
            level_base_bytes,
            l0_compaction_trigger: 1,
            levels_below: 1,
            ..Spooky::default()
        }),
    ];
    for preset in presets() {
        // Added at the end of the list, so that the others keep their places, and with them their seeds.
        let is_added_last = ["ptier", "fluid", "ecotune"].contains(&preset.name);
        if !is_added_last && policies.iter().all(|policy| policy.name() != preset.name) {
            let options = PolicyOptions::preset(preset.name);
            policies.extend(options.map(|p| p.sized(level_base_bytes, target_file_bytes)));
        }
    }
    policies.extend(partitioned_policies(level_base_bytes, target_file_bytes));
    let leveled = Leveled { size_ratio, level_base_bytes, target_file_bytes, ..Leveled::default() };
    policies.push(PolicyOptions::Leveled(Leveled { max_subcompactions: 4, ..leveled.clone() }));
    policies.push(PolicyOptions::Leveled(Leveled { pipelined: true, ..leveled }));
    // Keys are `key` and three digits: a prefix is ten of them.
    policies.push(PolicyOptions::PTier(PTier {
        size_ratio,
        level_base_bytes,
        target_file_bytes,
        split_bytes: target_file_bytes / 4,
        l0_compaction_trigger: 2,
        prefix_length: 5,
        read_limit: 2,
        ..PTier::default()
    }));
    policies.push(PolicyOptions::Fluid(Fluid {
        size_ratios: vec![4, size_ratio],
        runs: vec![2, size_ratio],
        largest_runs: 2,
        level_base_bytes,
        target_file_bytes,
        ..Fluid::default()
    }));
    policies.push(PolicyOptions::EcoTune(EcoTune {
        size_ratio,
        level_base_bytes,
        target_file_bytes,
        ..EcoTune::default()
    }));
    policies
}

/// Policies under each partitioner, with these sizes.
#[must_use]
pub fn partitioned_policies(level_base_bytes: u64, target_file_bytes: u64) -> Vec<PolicyOptions> {
    let [floor, half] = [target_file_bytes / 3, target_file_bytes / 2];
    let options = [
        r#""universal", "partitioner": "none""#.to_owned(),
        r#""binomial", "partitioner": "size", "partition-join-percent": 50, "subcompactions": 1"#
            .to_owned(),
        r#""universal", "partitioner": "local-range", "subcompactions": 2"#.to_owned(),
        r#""leveled", "partitioner": "local-range-by-group", "partition-join-percent": 100"#
            .to_owned(),
        format!(r#""universal", "partitioner": "global-range", "flush-floor-bytes": {floor}"#),
        format!(
            r#""horizontal-leveling", "partitioner": "global-range", "domain-least": "6b",
            "domain-greatest": "6b657a", "flush-floor-bytes": {half}"#
        ),
    ];
    let whole = options.map(|options| format!(r#"{{"policy": {options}}}"#));
    let parsed = whole.iter().map(|options| options.parse::<PolicyOptions>().expect("options"));
    parsed.map(|options| options.sized(level_base_bytes, target_file_bytes)).collect()
}

/// Returns the files that a manifest names.
#[must_use]
pub fn named_files(version_set: &VersionSet) -> BTreeSet<FileId> {
    let tables = version_set.tables().into_iter().map(|info| FileId::table(info.id.0));
    let logs = version_set.logs.iter().map(|log| log.file);
    let logs = logs.chain(version_set.quarantine.iter().map(|kept| kept.file));
    let logs = logs.chain(version_set.retained.iter().map(|log| log.file));
    tables.chain(logs.map(FileId::log)).collect()
}
