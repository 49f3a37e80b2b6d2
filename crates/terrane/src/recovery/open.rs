//! Opening: a new store is created, one that is there is recovered ([`recover`](super::recover)).

use crate::engine::{
    Background, Counters, Engine, KeyspaceInner, KeyspaceMap, Keyspaces, Log, MemtableBytes,
    Planner, Snapshots, SpareLog, State, StoreClock, Versions,
};
use crate::error::{Corruption, Error, Result};
use crate::features::{EXPIRY, MERGE_OPERATOR};
use crate::install::adopt_keyspace;
use crate::jobs::JobContext;
use crate::keyspace::{DEFAULT_KEYSPACE, KeyspaceId};
use crate::operand::{AVAILABLE, missing_operator};
use crate::options::{Options, policy_json};
use crate::recovery::check_log_numbers;
use crate::storage::{FileId, FileKind, Storage};
use crate::sync::atomic::AtomicBool;
use crate::version::{Change, Ids, ObsoleteFiles, Tree, VersionSet};
use std::sync::Arc;
use terrane_policy::TableInfo;

/// The keyspace that is always there.
const DEFAULT_ID: KeyspaceId = KeyspaceId(0);

/// Whether a file name is that of a table.
fn is_table(name: &str) -> bool {
    FileId::parse(name).is_some_and(|id| id.kind == FileKind::Table)
}

impl Engine {
    /// Opens the store in `storage`, or creates it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::NoStore`] if there is none and `create` is off;
    /// [`crate::ErrorKind::InvalidArgument`] if there is one and `error_if_exists` is on, for an option
    /// out of bounds, or if `read_only` is on and `storage` is not read-only;
    /// [`crate::ErrorKind::Corrupt`] for damage;
    /// [`crate::ErrorKind::NewerFormat`]; an I/O error.
    pub fn open(storage: Arc<dyn Storage>, options: Options) -> Result<Arc<Engine>> {
        options.validate()?;
        if options.read_only && !storage.read_only() {
            return Err(Error::invalid(
                "storage of a read-only store",
                "one that was opened read-only",
                format_args!("{}, which may be changed", storage.name()),
            ));
        }
        let recovered = storage.recover()?;
        let fresh = recovered.is_none();
        if fresh && !options.create {
            let why = "it is empty".to_owned();
            return Err(Error::no_store(storage.name(), why));
        }
        if !fresh && options.error_if_exists {
            return Err(Error::invalid(
                "place of a new store",
                "no store there yet",
                format_args!("one in {}", storage.name()),
            ));
        }
        let recovered = recovered.unwrap_or_default();
        // If nothing will be changed, reads that need a lost table report it, and the rest can be read.
        let read_only = storage.read_only();
        let is_refused = |damage: &Corruption| !(read_only && is_table(&damage.file));
        if let Some(damage) = storage.check_files()?.into_iter().find(is_refused) {
            return Err(damage.into());
        }
        let version_set = VersionSet::replay(&recovered.edits)?;
        check_log_numbers(&*storage, &version_set)?;
        storage.resume()?;
        let engine = Engine::assemble(storage, options, version_set)?;
        if fresh {
            engine.create()?;
        } else {
            engine.recover(&recovered)?;
        }
        Ok(engine)
    }

    /// An engine over `version_set`, with no log yet.
    fn assemble(
        storage: Arc<dyn Storage>,
        options: Options,
        version_set: VersionSet,
    ) -> Result<Arc<Engine>> {
        let options = Arc::new(options);
        let work = Arc::new(AtomicBool::new(true));
        let obsolete_files = Arc::new(ObsoleteFiles::new(work.clone()));
        let ids = Arc::new(Ids::from(version_set.next_id));
        let jobs = JobContext::new(storage.clone(), obsolete_files, ids.clone(), &options);
        let mut keyspaces = KeyspaceMap::default();
        for (&id, record) in version_set.keyspaces.iter() {
            let live = |info: &Arc<TableInfo>| jobs.live_table(info.clone());
            let tables: Vec<_> = record.shape.tables().map(|(.., info)| live(info)).collect();
            let tree = Tree::default().next(record, &tables);
            keyspaces.insert(id, Arc::new(KeyspaceInner::new(id, record, tree, &options)?));
        }
        let announced = version_set.features.required as u32;
        if AVAILABLE && announced & MERGE_OPERATOR != 0 && options.merge_operator.is_none() {
            return Err(missing_operator());
        }
        let clock = StoreClock::new(options.wall_clock.clone());
        if announced & EXPIRY != 0 {
            clock.start();
        }
        let state = State {
            planner: Planner {
                unplanned: keyspaces.keys().copied().collect(),
                ..Planner::default()
            },
            version_set,
            ..State::default()
        };
        Ok(Arc::new(Engine {
            log: Log::new(storage.clone()),
            versions: Versions::new(storage.clone(), ids.clone(), state),
            keyspaces: Keyspaces::new(keyspaces, announced, options.l0_stop_trigger),
            snapshots: Snapshots::new(clock),
            memtables: MemtableBytes::default(),
            counters: Counters::default(),
            background: Background::new(work, options.background_bytes_per_second),
            jobs,
            ids,
            storage,
            options,
        }))
    }

    /// Writes the first edit of a new store.
    fn create(&self) -> Result<()> {
        let policy = policy_json(&self.options.policy);
        self.ids.skip_to(1);
        let number = self.ids.fresh();
        let capacity = self.options.log_bytes_after(0);
        let file = self.storage.create(FileId::log(number), capacity)?;
        let name = DEFAULT_KEYSPACE.to_owned();
        let changes = vec![
            Change::CreateKeyspace { id: DEFAULT_ID, name, policy },
            Change::RetireLogs { below: 0, next: 1 },
            self.log.opened(number, number),
        ];
        let mut state = self.versions.lock_edits()?.apply(changes, &[FileId::log(number)], &[])?;
        state.logs.next_bytes = self.options.log_bytes_after(capacity);
        adopt_keyspace(self, &state, DEFAULT_ID)?;
        drop(state);
        self.begin_log(SpareLog { number, file_number: number, file, capacity }, 1, 0)
    }
}
