//! The four kinds of storage, each over a medium that loses power, fails, fills up and rots.

use std::sync::Arc;
use terrane::driver::{Driver, SeededDriver};
use terrane::storage::medium::{FaultMedium, Medium, MemoryMedium, NativeMedium};
use terrane::storage::volume::VolumeOptions;
use terrane::storage::{Directory, File, Storage, Volume};
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
            Some(dir) => Arc::new(NativeMedium::open(dir.path(), true).expect("a directory")),
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
        let options = VolumeOptions { min_growth: 64 << 10, ..VolumeOptions::default() };
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

/// Options so small that a few hundred entries rotate logs, flush, stall and compact.
#[must_use]
pub fn tiny() -> Options {
    tiny_with(0)
}

/// As [`tiny`], with the small policy that `choice` falls on.
#[must_use]
pub fn tiny_with(choice: u64) -> Options {
    let policies = small_policies();
    let policy = policies[(choice % policies.len() as u64) as usize].clone();
    Options {
        memtable_bytes: 2 << 10,
        log_bytes: 4 << 10,
        logs_bytes_max: 12 << 10,
        level0_runs_max: 6,
        cache_bytes: 16 << 10,
        policy,
        ..Options::default()
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
