//! Opening: recovery brings back everything that was promised.
//!
//! 1. Read the journal into the catalog. Every table that it names must be there with its length; it
//!    is opened, and so verified, when it is first used.
//! 2. Replay the live logs into memtables, leaving out what tables hold already: they take what they
//!    took when these entries were written.
//! 3. Write them as tables of level 0, and with one edit name all of them, retire every log that was
//!    read, and open the next. Until that edit is on the medium nothing has changed, so a crash in
//!    the midst of recovery is repaired by recovering again.
//! 4. Where there is no room for that, the store opens all the same, to be read: the memtables are
//!    shown, the logs stay as they are, and no write is taken until it is opened again with room.
//!    So does one that is only to be read.
//! 5. Remove files that the catalog does not name: leftovers of work that never took effect.

use super::commit::Writer;
use super::install::{next_tree, show};
use super::log_sync::LogSync;
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
use crate::storage::{File, FileId, Recovered, Storage};
use crate::sync::ArcSwap;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::table::{BlockCache, Table, TableFiles};
use crate::version::{Catalog, Change, Graveyard, KeyspaceRecord, LiveTable, Tree};
use crate::wal::{LogWriter, replay};
use std::sync::Arc;
use terrane_policy::{Policy, PolicyOptions, RunId, TableId, TableInfo};

/// The keyspace that is always there.
const DEFAULT_ID: KeyspaceId = KeyspaceId(0);

/// What the logs held: of each keyspace memtables, the oldest first. The last is being filled.
type Memtables = SortedMap<KeyspaceId, Vec<Arc<Memtable>>>;

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
        if let Some(damage) = storage.check_files()?.into_iter().next() {
            return Err(damage.into());
        }
        let catalog = Catalog::replay(&recovered.edits)?;
        let engine = Engine::assemble(storage, options, catalog)?;
        if fresh {
            engine.create()?;
        } else {
            engine.recover(&recovered)?;
        }
        Ok(Arc::new(engine))
    }

    /// An engine over `catalog`, with no log yet.
    fn assemble(storage: Arc<dyn Storage>, options: Options, catalog: Catalog) -> Result<Engine> {
        let cache = Arc::new(BlockCache::new(options.cache_share()));
        let files: Arc<dyn TableFiles> = Arc::new(Files(storage.clone()));
        let work = Arc::new(AtomicBool::new(true));
        let graveyard = Arc::new(Graveyard::new(work.clone()));
        let mut keyspaces = Keyspaces::default();
        for (&id, record) in catalog.keyspaces.iter() {
            let live = |info: &Arc<TableInfo>| {
                let table = Table::new(info.clone(), files.clone(), cache.clone());
                LiveTable::new(table, graveyard.clone())
            };
            let tables: Vec<_> = record.shape.tables().map(|(.., info)| live(info)).collect();
            let tree = Tree::default().next(record.shape.clone(), &tables);
            keyspaces.insert(id, Arc::new(keyspace(id, record, tree, options.memtable())?));
        }
        let state = State {
            next_id: catalog.next_id,
            unplanned: keyspaces.keys().copied().collect(),
            catalog,
            ..State::default()
        };
        Ok(Engine {
            manifest: Mutex::default(),
            writer: Mutex::new(Writer::idle()),
            log_sync: LogSync::new(),
            state: Mutex::new(state),
            keyspaces: ArcSwap::from_pointee(keyspaces),
            visible: AtomicU64::default(),
            snapshots: Mutex::default(),
            counters: Counters::default(),
            memtable_bytes: AtomicU64::new(0),
            sealed_bytes: AtomicU64::new(0),
            work,
            graveyard,
            files,
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
            self.opened(number, number),
        ];
        drop(state);
        let state = self.commit_edit(&self.manifest()?, changes, &[FileId::log(number)], &[])?;
        self.adopt_keyspaces(&state)?;
        drop(state);
        let capacity = self.options.log_bytes;
        self.start_log(SpareLog { number, file_number: number, file, capacity }, 1)
    }

    fn recover(&self, recovered: &Recovered) -> Result<()> {
        let mut state = lock(&self.state);
        let forgotten = state.resume_compactions(&self.keyspaces.load());
        drop(state);
        if !forgotten.is_empty() && !self.storage.read_only() {
            drop(self.commit_edit(&self.manifest()?, forgotten, &[], &[])?);
        }
        let mut logs = Vec::new();
        let catalog = lock(&self.state).catalog.clone();
        for (&keyspace, record) in &catalog.keyspaces {
            let (policy, problems) = PolicyOptions::stored(&record.policy);
            if !problems.is_empty() {
                self.emit(|| Event::PolicyAdjusted { keyspace, policy, problems });
            }
        }
        for log in &catalog.logs {
            logs.push((log.id(), self.storage.open(FileId::log(log.file))?));
        }
        let mut memtables = Memtables::default();
        let floor = catalog.flushed_max();
        let done = replay(&logs, catalog.log_start, floor, &mut |seq, batch| {
            self.replay_batch(&catalog, &mut memtables, seq, batch)
        })?;
        if done.next == 0 {
            let expected = "logs that begin with sequence 1 or later";
            return Err(Corruption::new("manifest", 0, expected, "sequence 0").into());
        }
        self.visible.store(done.next - 1, Ordering::Release);
        let discarded_bytes = done.discarded_bytes + recovered.discarded_bytes;
        self.counters.discarded_bytes.store(discarded_bytes, Ordering::Relaxed);
        self.emit(|| Event::Recovered {
            records: done.records,
            batches: done.batches,
            entries: done.entries,
            discarded_bytes,
            repaired: recovered.repaired.clone(),
        });
        if self.storage.read_only() {
            let refused = Error::read_only("write", &self.storage.name());
            return self.show_replayed(&memtables, &refused);
        }
        // Logs of an unusual size, or those of the store that this is a copy of, do not serve again.
        let mut usual = Vec::new();
        for (log, (_, file)) in catalog.logs.iter().zip(&logs) {
            if log.salt == self.storage.id().salt() && file.len()? == self.options.log_bytes {
                usual.push(SpareLog {
                    number: log.number,
                    file_number: log.file,
                    file: file.clone(),
                    capacity: self.options.log_bytes,
                });
            }
        }
        let clean = done.records == 0 && done.discarded_bytes == 0 && usual.len() == logs.len();
        let begun = if clean {
            let irregular = recovered.discarded_bytes > 0 || !recovered.repaired.is_empty();
            self.keep_logs(usual, done.next, irregular)
        } else {
            self.retire_replayed(&catalog, &memtables, usual, done.next)
        };
        match begun {
            Err(full @ Error::NoSpace(_)) => self.show_replayed(&memtables, &full)?,
            begun => begun?,
        }
        self.remove_strays()
    }

    /// Nothing was in the logs: they go on as they are. A journal with damage or a torn end is
    /// begun anew by the next commit, so there is one at once.
    fn keep_logs(&self, logs: Vec<SpareLog>, next: Seq, irregular: bool) -> Result<()> {
        if irregular {
            drop(self.commit_edit(&self.manifest()?, Vec::new(), &[], &[])?);
        }
        lock(&self.state).spare_logs.extend(logs);
        self.add_spare_log(0)?;
        let log = lock(&self.state).spare_logs.remove(0);
        self.start_log(log, next)
    }

    /// Brings one batch's entries back, those that no table holds.
    fn replay_batch(
        &self,
        catalog: &Catalog,
        memtables: &mut Memtables,
        seq: Seq,
        batch: &[u8],
    ) -> Result<()> {
        for entry in batch::decode(batch) {
            let (kind, id, key, value) = entry.map_err(|damage| damage.within("log", 0))?;
            // A keyspace that was dropped has no record, and its entries go with it.
            let Some(record) = catalog.keyspaces.get(&id) else { continue };
            if seq <= record.flushed {
                continue;
            }
            let tag = Tag::new(seq, kind);
            memtables.update(id, |list| match list.last() {
                Some(memtable) => memtable.insert(key, tag, value),
                None => {
                    let memtable = self.options.memtable();
                    let inserted = memtable.insert(key, tag, value);
                    list.push(Arc::new(memtable));
                    inserted
                }
            })?;
        }
        for (_, list) in memtables.iter_mut() {
            if list.last().is_some_and(|m| m.bytes() as u64 >= self.options.memtable_bytes) {
                list.push(Arc::new(self.options.memtable()));
            }
        }
        Ok(())
    }

    /// Shows what the logs held to readers. Nothing else comes of it, since there is no room: the
    /// logs take no more, so that no flush installs and no write is taken.
    fn show_replayed(&self, memtables: &Memtables, full: &Error) -> Result<()> {
        self.log_sync.poison(full);
        for (id, keyspace) in self.keyspaces.load().iter() {
            for memtable in memtables.get(id).into_iter().flatten() {
                let Some(through) = memtable.last_seq() else { continue };
                let view = keyspace.view.load_full();
                let (sealed, tree) = (view.sealed.clone(), view.tree.clone());
                let active = memtable.clone();
                keyspace.view.store(Arc::new(View { active, sealed, tree }));
                self.memtable_bytes.fetch_add(memtable.bytes() as u64, Ordering::Relaxed);
                self.seal(&mut lock(&self.state), *id, through);
            }
        }
        Ok(())
    }

    /// Writes a replayed memtable as tables that no edit names yet.
    fn write_replayed(
        &self,
        keyspace: KeyspaceId,
        memtable: &Arc<Memtable>,
    ) -> Result<Vec<Arc<LiveTable>>> {
        // There are no readers yet: only the newest version of a key counts.
        let mut retention = Retention::new(Vec::new());
        let mut outputs = Outputs::new(self, keyspace, Vec::new(), u64::MAX, None);
        let mut cursor = memtable.cursor();
        cursor.seek_first()?;
        while cursor.valid() {
            if retention.keeps(cursor.key(), cursor.tag(), |_| true) {
                outputs.add(self, cursor.key(), cursor.tag(), cursor.value())?;
            }
            cursor.next()?;
        }
        outputs.cut(self)?;
        Ok(outputs.finished().to_vec())
    }

    /// Names the tables that replay made, retires every log that was read and opens the next.
    fn retire_replayed(
        &self,
        catalog: &Catalog,
        memtables: &Memtables,
        usual: Vec<SpareLog>,
        next: Seq,
    ) -> Result<()> {
        let mut tables = Vec::new();
        for (id, list) in memtables.iter() {
            for memtable in list {
                tables.extend(self.write_replayed(*id, memtable)?.into_iter().map(|t| (*id, t)));
            }
        }
        let mut state = lock(&self.state);
        let mut changes = Vec::new();
        let mut added = Vec::new();
        for (keyspace, table) in &tables {
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
                let capacity = self.options.log_bytes;
                SpareLog { number, file_number: number, file, capacity }
            }
        };
        changes.push(self.opened(number, log.file_number));
        let replaced = catalog.logs.iter().map(|l| l.file).filter(|f| *f != log.file_number);
        let dropped: Vec<_> = replaced.map(FileId::log).collect();
        drop(state);
        let state = self.commit_edit(&self.manifest()?, changes, &added, &dropped)?;

        for (id, keyspace) in self.keyspaces.load().iter() {
            let opened = tables.iter().filter(|(k, _)| k == id).map(|(_, t)| t.clone());
            let tree = next_tree(&state.catalog, keyspace, &opened.collect::<Vec<_>>());
            show(&state, keyspace, tree, None);
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
        let id = self.log_id(log.number);
        let writing = LogWriter::begin(log.file, id, self.options.log_bytes)?;
        *writer = Writer::appending(writing, log.file_number, next);
        self.log_sync.advance(next - 1);
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
                self.emit(|| Event::KeyspaceCreated { keyspace: id, name: record.name.clone() });
            }
        }
        self.keyspaces.store(Arc::new(keyspaces));
        Ok(())
    }
}

/// The tables of a storage.
struct Files(Arc<dyn Storage>);

impl TableFiles for Files {
    fn open(&self, table: TableId) -> Result<Arc<dyn File>> {
        self.0.open(FileId::table(table.0))
    }
}

/// The policy of these options.
pub(crate) fn build_policy(options: &PolicyOptions) -> Result<Box<dyn Policy>> {
    let expected = "a policy with its parameters in range";
    options.build().map_err(|e| Error::invalid("policy", expected, e))
}

fn keyspace(
    id: KeyspaceId,
    record: &KeyspaceRecord,
    tree: Tree,
    active: Memtable,
) -> Result<KeyspaceInner> {
    let active = Arc::new(active);
    let view = View { active, sealed: Vec::new(), tree: Arc::new(tree) };
    let policy = build_policy(&PolicyOptions::stored(&record.policy).0)?;
    let operations = Operations::of(&*policy);
    let (policy, view) = (ArcSwap::from_pointee(policy), ArcSwap::from_pointee(view));
    Ok(KeyspaceInner { id, name: record.name.clone(), policy, view, operations })
}

/// The options of a policy as the catalog keeps them.
pub(super) fn policy_json(policy: &PolicyOptions) -> String {
    serde_json::to_string(policy).unwrap_or_default()
}
