//! A new engine: its owners, over the version set that storage has.

use crate::engine::{
    Background, Costs, Counters, Engine, KeyspaceInner, KeyspaceMap, Keyspaces, Log, MemtableBytes,
    Planner, Snapshots, State, StoreClock, StoreState,
};
use crate::error::Result;
use crate::features::{EXPIRY, MERGE_OPERATOR};
use crate::jobs::JobContext;
use crate::operand::{AVAILABLE, missing_operator};
use crate::options::Options;
use crate::storage::Storage;
use crate::sync::atomic::AtomicBool;
use crate::version::{Ids, ObsoleteFiles, Tree, VersionSet};
use std::sync::Arc;
use terrane_policy::TableInfo;

impl Engine {
    /// An engine over `version_set`, with no log yet.
    pub(crate) fn new(
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
        let mut modes = version_set.keyspaces.iter().map(|(_, record)| record.features);
        let merges = AVAILABLE && modes.any(|mode| mode & MERGE_OPERATOR != 0);
        if merges && options.merge_operator.is_none() {
            return Err(missing_operator());
        }
        let clock = StoreClock::new(options.wall_clock.clone());
        if announced & EXPIRY != 0 {
            clock.start();
        }
        let state = State {
            planner: Planner::new(keyspaces.keys().copied()),
            version_set,
            ..State::default()
        };
        Ok(Arc::new(Engine {
            log: Log::new(storage.clone()),
            state: StoreState::new(storage.clone(), ids.clone(), state),
            keyspaces: Keyspaces::new(keyspaces, announced, options.l0_stop_trigger),
            snapshots: Snapshots::new(clock),
            memtables: MemtableBytes::default(),
            counters: Counters::default(),
            background: Background::new(work, options.background_bytes_per_second),
            costs: Costs::default(),
            jobs,
            ids,
            storage,
            options,
        }))
    }
}
