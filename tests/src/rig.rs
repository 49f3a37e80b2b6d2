//! The four kinds of storage, each over a medium that loses power, fails, fills up and rots.

use crate::random::Random;
use std::sync::Arc;
use terrane::driver::{Driver, SeededDriver};
use terrane::storage::medium::{FaultMedium, Medium, MemoryMedium, NativeMedium};
use terrane::storage::volume::VolumeOptions;
use terrane::storage::{Directory, File, Storage, Volume};
use terrane::table::{Compression, TableOptions};
use terrane::{Db, Options, Result};
use terrane_policy::hostile::Hostile;
use terrane_policy::{
    LazyLeveled, Leveled, LeveledFull, PolicyOptions, Spooky, Tiered, TieredFull, Universal,
};

/// A kind of storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file for each table, in memory.
    MemoryDirectory,
    /// A file for each table, in a directory of the file system.
    NativeDirectory,
    /// Three backing files in memory, as on OPFS.
    MemoryVolume,
    /// One backing file in the file system.
    NativeVolume,
}

/// Every kind.
pub const KINDS: [Kind; 4] =
    [Kind::MemoryDirectory, Kind::NativeDirectory, Kind::MemoryVolume, Kind::NativeVolume];

impl Kind {
    /// The names of a volume's backing files; none for a directory.
    #[must_use]
    pub fn backings(self) -> &'static [&'static str] {
        match self {
            Kind::MemoryDirectory | Kind::NativeDirectory => &[],
            Kind::MemoryVolume => &["journal", "log", "data"],
            Kind::NativeVolume => &["volume"],
        }
    }
}

/// One place for a store, and the medium in front of it.
pub struct Rig {
    /// The kind of storage.
    pub kind: Kind,
    /// What is on the medium.
    pub inner: Arc<dyn Medium>,
    /// The medium that the store sees.
    pub medium: FaultMedium,
    _dir: Option<tempfile::TempDir>,
}

impl Rig {
    /// An empty place.
    #[must_use]
    pub fn new(kind: Kind) -> Rig {
        let native = matches!(kind, Kind::NativeDirectory | Kind::NativeVolume);
        let dir = native.then(|| tempfile::tempdir().expect("a temporary directory"));
        let inner: Arc<dyn Medium> = match &dir {
            // Few open files, so that some are closed and opened again.
            Some(dir) => {
                let medium = NativeMedium::open(dir.path(), true).expect("a directory");
                Arc::new(medium.open_at_most(8))
            }
            None => Arc::new(MemoryMedium::new()),
        };
        Rig { _dir: dir, ..Rig::over(kind, inner) }
    }

    /// A place with whatever `inner` holds.
    ///
    /// # Panics
    /// If it cannot be read.
    #[must_use]
    pub fn over(kind: Kind, inner: Arc<dyn Medium>) -> Rig {
        let medium = FaultMedium::new(inner.clone()).expect("a readable medium");
        Rig { kind, inner, medium, _dir: None }
    }

    /// Power is back: the store sees what is on the medium.
    pub fn restore_power(&mut self) {
        self.medium = FaultMedium::new(self.inner.clone()).expect("a readable medium");
    }

    /// The storage over the medium.
    ///
    /// # Errors
    /// Those of the medium.
    pub fn storage(&self) -> Result<Arc<dyn Storage>> {
        let medium: Arc<dyn Medium> = Arc::new(self.medium.clone());
        if self.kind.backings().is_empty() {
            return Ok(Arc::new(Directory::open(medium)?));
        }
        let present = medium.list()?;
        let backings = self.kind.backings().iter().map(|name| {
            if present.iter().any(|p| p == name) { medium.open(name) } else { medium.create(name) }
        });
        let backings: Vec<Arc<dyn File>> = backings.collect::<Result<_>>()?;
        medium.sync_names()?;
        // Small steps, so that a small store grows and shrinks often.
        let new_id = medium.draw_id()?;
        let options = VolumeOptions { new_id, min_growth: 64 << 10, ..VolumeOptions::default() };
        Ok(Arc::new(Volume::open(backings, options)?))
    }

    /// Opens the store with jobs interleaved as `seed` decides.
    ///
    /// # Errors
    /// What opening says.
    pub fn open(&self, options: Options, seed: u64) -> Result<Db> {
        self.open_with(options, Arc::new(SeededDriver::new(seed)))
    }

    /// Opens the store with a driver of choice.
    ///
    /// # Errors
    /// What opening says.
    pub fn open_with(&self, options: Options, driver: Arc<dyn Driver>) -> Result<Db> {
        Db::open_storage(self.storage()?, options, driver)
    }
}

/// Options so small that a few hundred entries rotate logs, flush, stall and compact, and that tables
/// have several blocks and partitions.
#[must_use]
pub fn tiny() -> Options {
    Options {
        memtable_bytes: 2 << 10,
        log_bytes: 4 << 10,
        logs_bytes_max: 12 << 10,
        level0_runs_max: 6,
        cache_bytes: 16 << 10,
        table: TableOptions { block_bytes: 256, partition_bytes: 64, ..TableOptions::default() },
        policy: small_policies()[0].clone(),
        ..Options::default()
    }
}

/// As [`tiny`], with the small policy that `choice` falls on.
#[must_use]
pub fn tiny_with(choice: u64) -> Options {
    let policies = small_policies();
    let policy = policies[(choice % policies.len() as u64) as usize].clone();
    Options { policy, ..tiny() }
}

/// As [`tiny`], with the small policy that `seed` falls on and whatever else it draws: a table is one
/// block or dozens, in one partition or one each, cached or not.
#[must_use]
pub fn drawn(seed: u64) -> Options {
    let mut random = Random(seed ^ 0x0971_0425);
    let mut among = |choices: &[u64]| choices[random.below(choices.len() as u64) as usize];
    let table = TableOptions {
        block_bytes: among(&[1, 64, 200, 500, 4096]) as usize,
        partition_bytes: among(&[1, 32, 100, 400, 16384]) as usize,
        filter_bits_per_key: among(&[0, 2, 10, 10]) as f32,
        compression: if among(&[0, 1]) == 0 { Compression::None } else { Compression::Lz4 },
    };
    let (base_bytes, table_bytes) =
        (among(&[1 << 10, 2 << 10, 8 << 10]), among(&[1 << 10, 1500, 6 << 10]));
    let policies = sized_policies(base_bytes, table_bytes);
    Options {
        memtable_bytes: among(&[1 << 10, 2 << 10, 6 << 10]),
        cache_bytes: among(&[0, 3 << 10, 16 << 10, 1 << 20]),
        policy: policies[(seed % policies.len() as u64) as usize].clone(),
        table,
        ..tiny()
    }
}

/// A policy that proposes whatever comes to its mind, for ever: a tree under it is never at rest.
#[must_use]
pub fn hostile(seed: u64) -> PolicyOptions {
    PolicyOptions::Hostile(Hostile { seed })
}

/// Every policy, so small that a few hundred entries fill several levels.
#[must_use]
pub fn small_policies() -> [PolicyOptions; 7] {
    sized_policies(2 << 10, 1 << 10)
}

/// Every policy, with a first level and tables of these sizes.
#[must_use]
pub fn sized_policies(base_bytes: u64, table_bytes: u64) -> [PolicyOptions; 7] {
    let size_ratio = 3;
    [
        PolicyOptions::Tiered(Tiered { size_ratio: 2, base_bytes, table_bytes }),
        PolicyOptions::Leveled(Leveled {
            size_ratio,
            base_bytes,
            table_bytes,
            ..Leveled::default()
        }),
        PolicyOptions::Universal(Universal { table_bytes, ..Universal::default() }),
        PolicyOptions::LeveledFull(LeveledFull {
            size_ratio,
            base_bytes,
            table_bytes,
            ..LeveledFull::default()
        }),
        PolicyOptions::TieredFull(TieredFull {
            size_ratio,
            base_bytes,
            table_bytes,
            ..TieredFull::default()
        }),
        PolicyOptions::LazyLeveled(LazyLeveled {
            size_ratio,
            base_bytes,
            table_bytes,
            ..LazyLeveled::default()
        }),
        PolicyOptions::Spooky(Spooky {
            size_ratio,
            base_bytes,
            level0_runs: 1,
            levels_below: 1,
            ..Spooky::default()
        }),
    ]
}
