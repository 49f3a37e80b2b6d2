//! Opening: recovery brings back everything that was promised.
//!
//! 1. Read the journal into the catalog; open every table it names.
//! 2. Replay the live logs into memtables, leaving out what tables hold already. A memtable that is
//!    full becomes a table at once, so that recovery needs no more memory than writing.
//! 3. Write the rest as tables of level 0, and with one edit name all of them, retire every log
//!    that was read, and open the next. Until that edit is on the medium nothing has changed, so a
//!    crash in the midst of recovery is repaired by recovering again.
//! 4. Remove files that the catalog does not name: leftovers of work that never took effect.

use super::commit::Writer;
use super::operations::Operations;
use super::state::{KeyspaceInner, Keyspaces, SpareLog, State, View};
use super::stats::Counters;
use super::{Engine, lock};
use crate::batch;
use crate::compaction::{Outputs, Retention};
use crate::entry::{Seq, Tag};
use crate::error::{Corruption, Error, Result};
use crate::event::Event;
use crate::keyspace::{DEFAULT_KEYSPACE, KeyspaceId};
use crate::memtable::Memtable;
use crate::options::Options;
use crate::read::Cursor;
use crate::sorted::SortedMap;
use crate::sorted::SortedSet;
use crate::storage::{FileId, Recovered, Storage};
use crate::sync::ArcSwap;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::table::{BlockCache, Table};
use crate::version::{Catalog, Change, Edit, Graveyard, KeyspaceRecord, LiveTable, Tree};
use crate::wal::{LogWriter, replay};
use std::sync::Arc;
use terrane_policy::{Policy, PolicyOptions, RunId, TableInfo};

/// The keyspace that is always there.
const DEFAULT_ID: KeyspaceId = KeyspaceId(0);

/// Memtables under replay, and the tables that full ones became.
#[derive(Default)]
struct Replay {
    memtables: SortedMap<KeyspaceId, Arc<Memtable>>,
    tables: Vec<(KeyspaceId, Arc<LiveTable>)>,
}

impl Engine {
    /// Opens the store in `storage`, or creates it.
    ///
    /// # Errors
    /// [`Error::NoStore`] if there is none and `create` is off, or if there is one and
    /// `error_if_exists` is on; [`Error::Corrupt`] for damage; [`Error::NewerFormat`]; a failing
    /// medium.
    pub fn open(storage: Arc<dyn Storage>, options: Options) -> Result<Arc<Engine>> {
        options.validate()?;
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
        let mut catalog = Catalog::default();
        for (record, edit) in recovered.edits.iter().enumerate() {
            catalog.apply(&Edit::decode(edit, record as u64)?)?;
        }
        let engine = Engine::assemble(storage, options, catalog)?;
        if fresh {
            engine.create()?;
        } else {
            engine.recover(&recovered)?;
        }
        engine.share_memory();
        Ok(Arc::new(engine))
    }

    /// An engine over `catalog`, its tables open, with no log yet.
    fn assemble(
        storage: Arc<dyn Storage>,
        options: Options,
        mut catalog: Catalog,
    ) -> Result<Engine> {
        let cache = Arc::new(BlockCache::new(options.cache_bytes));
        let work = Arc::new(AtomicBool::new(true));
        let graveyard = Arc::new(Graveyard::new(work.clone()));
        let mut keyspaces = Keyspaces::default();
        for (&id, record) in catalog.keyspaces.iter_mut() {
            let mut opened = Vec::new();
            let runs = Arc::make_mut(&mut record.shape).levels.iter_mut().flat_map(|l| &mut l.runs);
            for info in runs.flat_map(|run| &mut run.tables) {
                let file = storage.open(FileId::table(info.id.0))?;
                let table = Table::open(file, info.clone(), cache.clone())?;
                // With what the journal does not keep.
                info.clone_from(table.info());
                opened.push(LiveTable::new(table, graveyard.clone()));
            }
            let tree = Tree::default().next(record.shape.clone(), &opened);
            keyspaces.insert(id, Arc::new(keyspace(id, record, tree, options.memtable())?));
        }
        let state = State {
            next_id: catalog.next_id,
            unplanned: keyspaces.keys().copied().collect(),
            catalog,
            ..State::default()
        };
        Ok(Engine {
            writer: Mutex::new(Writer::idle()),
            state: Mutex::new(state),
            keyspaces: ArcSwap::from_pointee(keyspaces),
            visible: AtomicU64::default(),
            snapshots: Mutex::default(),
            counters: Counters::default(),
            memtable_bytes: AtomicU64::new(0),
            work,
            graveyard,
            cache,
            storage,
            options,
        })
    }

    /// Writes the first edit of a new store.
    fn create(&self) -> Result<()> {
        let policy = policy_json(&self.options.policy);
        let mut state = lock(&self.state);
        state.next_id = 1;
        let number = state.fresh_id();
        let file = self.storage.create(FileId::log(number), self.options.log_bytes)?;
        let name = DEFAULT_KEYSPACE.to_owned();
        let changes = vec![
            Change::CreateKeyspace { id: DEFAULT_ID, name, policy },
            Change::RetireLogs { below: 0, next: 1 },
            Change::OpenLog { number, file: number },
        ];
        self.commit_edit(&mut state, changes, &[FileId::log(number)], &[])?;
        self.adopt_keyspaces(&state)?;
        self.start_log(SpareLog { number, file_number: number, file }, 1)
    }

    fn recover(&self, recovered: &Recovered) -> Result<()> {
        let mut state = lock(&self.state);
        let forgotten = state.resume_compactions(&self.keyspaces.load());
        if !forgotten.is_empty() {
            self.commit_edit(&mut state, forgotten, &[], &[])?;
        }
        drop(state);
        let mut logs = Vec::new();
        let catalog = lock(&self.state).catalog.clone();
        for log in &catalog.logs {
            logs.push((log.number, self.storage.open(FileId::log(log.file))?));
        }
        let mut replayed = Replay::default();
        let floor = catalog.flushed_max();
        let done = replay(&logs, catalog.log_start, floor, &mut |first, payload| {
            self.replay_record(&catalog, &mut replayed, first, payload)
        })?;
        if done.next == 0 {
            let expected = "logs that begin with sequence 1 or later";
            return Err(Corruption::new("manifest", 0, expected, "sequence 0").into());
        }
        self.visible.store(done.next - 1, Ordering::Release);
        self.emit(&Event::Recovered {
            records: done.records,
            entries: done.entries,
            discarded_bytes: done.discarded_bytes + recovered.discarded_bytes,
            repaired: recovered.repaired.clone(),
        });
        // Logs of an unusual size do not serve again.
        let mut usual = Vec::new();
        for (log, (_, file)) in catalog.logs.iter().zip(&logs) {
            if file.len()? == self.options.log_bytes {
                usual.push(SpareLog {
                    number: log.number,
                    file_number: log.file,
                    file: file.clone(),
                });
            }
        }
        if done.records == 0 && done.discarded_bytes == 0 && usual.len() == logs.len() {
            let irregular = recovered.discarded_bytes > 0 || !recovered.repaired.is_empty();
            self.keep_logs(usual, done.next, irregular)?;
        } else {
            self.retire_replayed(&catalog, replayed, usual, done.next)?;
        }
        self.remove_strays()
    }

    /// Nothing was in the logs: they go on as they are. A journal with damage or a torn end is
    /// begun anew by the next commit, so there is one at once.
    fn keep_logs(&self, logs: Vec<SpareLog>, next: Seq, irregular: bool) -> Result<()> {
        let mut state = lock(&self.state);
        if irregular {
            self.commit_edit(&mut state, Vec::new(), &[], &[])?;
        }
        state.spare_logs.extend(logs);
        let log = self.open_log(&mut state, self.options.log_bytes)?;
        drop(state);
        self.start_log(log, next)
    }

    /// Brings one record's entries back, those that no table holds.
    fn replay_record(
        &self,
        catalog: &Catalog,
        replay: &mut Replay,
        first: Seq,
        payload: &[u8],
    ) -> Result<()> {
        for (seq, entry) in (first..).zip(batch::decode(payload)) {
            let (kind, id, key, value) =
                entry.map_err(|damage| Corruption::new("log", 0, "a sound batch", damage))?;
            // A keyspace that was dropped has no record, and its entries go with it.
            let Some(record) = catalog.keyspaces.get(&id) else { continue };
            if seq <= record.flushed {
                continue;
            }
            let tag = Tag::new(seq, kind);
            replay.memtables.update(id, |memtable| memtable.insert(key, tag, value))?;
        }
        let full = |m: &Memtable| m.bytes() as u64 >= self.options.memtable_bytes;
        let ids: Vec<_> =
            replay.memtables.iter().filter(|(_, m)| full(m)).map(|(id, _)| *id).collect();
        ids.into_iter().try_for_each(|id| self.write_replayed(replay, id))
    }

    /// Turns a keyspace's replayed memtable into a table that no edit names yet.
    fn write_replayed(&self, replay: &mut Replay, id: KeyspaceId) -> Result<()> {
        let Some(memtable) = replay.memtables.remove(&id) else { return Ok(()) };
        // There are no readers yet: only the newest version of a key counts.
        let mut retention = Retention::new(Vec::new());
        let mut outputs = Outputs::new(self, Vec::new(), u64::MAX, None);
        let mut cursor = memtable.cursor();
        cursor.seek_first()?;
        while cursor.valid() {
            if retention.keeps(cursor.key(), cursor.tag(), |_| true) {
                outputs.add(self, cursor.key(), cursor.tag(), cursor.value())?;
            }
            cursor.next()?;
        }
        outputs.cut(self)?;
        replay.tables.extend(outputs.finished().iter().map(|t| (id, t.clone())));
        Ok(())
    }

    /// Names the tables that replay made, retires every log that was read and opens the next.
    fn retire_replayed(
        &self,
        catalog: &Catalog,
        mut replay: Replay,
        usual: Vec<SpareLog>,
        next: Seq,
    ) -> Result<()> {
        for id in replay.memtables.keys().copied().collect::<Vec<_>>() {
            self.write_replayed(&mut replay, id)?;
        }
        let mut state = lock(&self.state);
        let mut changes = Vec::new();
        let mut added = Vec::new();
        for (keyspace, table) in &replay.tables {
            let info = TableInfo::clone(table.table().info());
            added.push(FileId::table(info.id.0));
            let run = RunId(state.fresh_id());
            changes.push(Change::AddTable { keyspace: *keyspace, level: 0, run, info });
        }
        for &keyspace in catalog.keyspaces.keys() {
            changes.push(Change::Flushed { keyspace, through: next - 1 });
        }
        let number = state.fresh_id();
        changes.push(Change::RetireLogs { below: number, next });
        let log = match usual.into_iter().next() {
            Some(spare) => SpareLog { number, ..spare },
            None => {
                let file = self.storage.create(FileId::log(number), self.options.log_bytes)?;
                added.push(FileId::log(number));
                SpareLog { number, file_number: number, file }
            }
        };
        changes.push(Change::OpenLog { number, file: log.file_number });
        let replaced = catalog.logs.iter().map(|l| l.file).filter(|f| *f != log.file_number);
        let dropped: Vec<_> = replaced.map(FileId::log).collect();
        self.commit_edit(&mut state, changes, &added, &dropped)?;

        for (id, keyspace) in self.keyspaces.load().iter() {
            let opened = replay.tables.iter().filter(|(k, _)| k == id).map(|(_, t)| t.clone());
            self.swap_tree(&state, keyspace, &opened.collect::<Vec<_>>(), None);
        }
        drop(state);
        dropped.into_iter().for_each(|file| self.bury(file));
        self.start_log(log, next)
    }

    /// Removes files that no edit names.
    fn remove_strays(&self) -> Result<()> {
        let catalog = lock(&self.state).catalog.clone();
        let mut named: SortedSet<FileId> = SortedSet::default();
        named.extend(catalog.tables().iter().map(|info| FileId::table(info.id.0)));
        named.extend(catalog.logs.iter().map(|log| FileId::log(log.file)));
        for file in self.storage.files()? {
            if !named.contains(&file) {
                self.storage.remove(file)?;
            }
        }
        while self.graveyard.take().is_some() {}
        Ok(())
    }

    /// Makes `log` the one that takes the next record.
    fn start_log(&self, log: SpareLog, next: Seq) -> Result<()> {
        let mut writer = lock(&self.writer);
        *writer = Writer {
            log: Some(LogWriter::begin(log.file, log.number, self.options.log_bytes)?),
            log_file: log.file_number,
            reusable: true,
            next,
            synced: next - 1,
            unsynced: Vec::new(),
            poisoned: None,
        };
        self.visible.store(next - 1, Ordering::Release);
        Ok(())
    }

    /// Makes the keyspaces that the catalog has and the engine has not.
    pub(super) fn adopt_keyspaces(&self, state: &State) -> Result<()> {
        let mut keyspaces = Keyspaces::clone(&self.keyspaces.load());
        for (&id, record) in &state.catalog.keyspaces {
            if !keyspaces.contains_key(&id) {
                let active = self.options.memtable();
                let keyspace = keyspace(id, record, Tree::default(), active)?;
                keyspaces.insert(id, Arc::new(keyspace));
                self.emit(&Event::KeyspaceCreated { keyspace: id, name: record.name.clone() });
            }
        }
        self.keyspaces.store(Arc::new(keyspaces));
        Ok(())
    }
}

fn refuse_policy(found: String) -> Error {
    let expected = "a policy that this release knows, its parameters in range";
    Error::invalid("policy", expected, found)
}

/// The policy options that the catalog keeps as JSON.
pub(super) fn policy_options(json: &str) -> Result<PolicyOptions> {
    json.parse().map_err(|e| refuse_policy(format!("{json}: {e}")))
}

/// The policy that the catalog keeps as JSON.
pub(super) fn build_policy(json: &str) -> Result<Box<dyn Policy>> {
    policy_options(json)?.build().map_err(|e| refuse_policy(e.to_string()))
}

fn keyspace(
    id: KeyspaceId,
    record: &KeyspaceRecord,
    tree: Tree,
    active: Memtable,
) -> Result<KeyspaceInner> {
    let active = Arc::new(active);
    let view = View { active, sealed: Vec::new(), tree: Arc::new(tree) };
    let policy = build_policy(&record.policy)?;
    let operations = Operations::of(&*policy);
    let (policy, view) = (ArcSwap::from_pointee(policy), ArcSwap::from_pointee(view));
    Ok(KeyspaceInner { id, name: record.name.clone(), policy, view, operations })
}

/// The options of a policy as the catalog keeps them.
pub(super) fn policy_json(policy: &PolicyOptions) -> String {
    serde_json::to_string(policy).unwrap_or_default()
}
