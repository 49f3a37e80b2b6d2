//! The version set: every edit applied. It is all durable state except tables and logs.

use super::bounds;
use super::change::{Change, Features, Quarantine, RetainedLog};
use super::edit::Edit;
use crate::coding::checksum;
use crate::entry::Seq;
use crate::error::{Corruption, Result};
use crate::keyspace::KeyspaceId;
use crate::storage::FileId;
use crate::vec_map::VecMap;
use crate::wal::LogId;
use std::sync::Arc;
use terrane_policy::{Compaction, Shape, ShapeEdit, TableInfo};
use terrane_types::SharedMap;
use terrane_types::range_deletes::RangeDeletes;

/// A live log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRecord {
    /// The log's number, part of its checksums.
    pub number: u64,
    /// The number of the file it lies in.
    pub file: u64,
    /// The salt of the store that writes it, part of its checksums.
    pub salt: u64,
    /// The last sequence that counts in it, where recovery has discarded what follows.
    pub through: Option<Seq>,
}

impl LogRecord {
    /// Returns its id.
    #[must_use]
    pub fn id(&self) -> LogId {
        LogId { number: self.number, salt: self.salt }
    }
}

/// One keyspace's durable state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyspaceRecord {
    /// Its name.
    pub name: String,
    /// Its policy options, as JSON.
    pub policy: String,
    /// State of the policy, in its own encoding.
    pub policy_state: Vec<u8>,
    /// Every entry up to this sequence is in tables.
    pub flushed: Seq,
    /// The tree.
    pub shape: Arc<Shape>,
    /// Range deletes that hide entries of its tables.
    pub range_deletes: RangeDeletes,
    /// Kinds of its entries that not every keyspace has, by the features of the store that say so.
    pub features: u32,
}

/// Everything the manifest says. A clone shares all that does not change after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionSet {
    /// The next number for files, runs, logs and keyspaces.
    pub next_id: u64,
    /// The keyspaces.
    pub keyspaces: SharedMap<KeyspaceId, Arc<KeyspaceRecord>>,
    /// Keyspaces by name: a key is half of a hash of the name followed by the id, and the value is the id.
    pub(crate) names: SharedMap<u64, u64>,
    /// Compactions of which some groups are installed: what is left of each, by its number.
    pub remaining: VecMap<u64, (KeyspaceId, Arc<Compaction>)>,
    /// The live logs, oldest first.
    pub logs: Vec<LogRecord>,
    /// The sequence with which the oldest live log starts.
    pub log_start: Seq,
    /// The features that edits gave the store.
    pub features: Features,
    /// Records discarded by recovery, oldest first.
    pub quarantine: Vec<Quarantine>,
    /// Logs retained for the change feed, oldest first; the live logs follow the last of them.
    pub retained: Vec<RetainedLog>,
    /// Dropped keyspaces that batches of the change feed name, without tables. The batch that dropped one has the
    /// number through which it is flushed.
    pub dropped: SharedMap<KeyspaceId, Arc<KeyspaceRecord>>,
    /// The lineage of the change feed, if it is not the one that the store was created with; otherwise 0.
    pub lineage: u64,
    /// Sequence number of the last batch before that lineage.
    pub feed_start: Seq,
}

impl VersionSet {
    /// The version set that a manifest's edits make, decoded.
    ///
    /// # Errors
    /// The errors of [`VersionSet::apply`].
    pub fn replay(edits: &[Vec<u8>]) -> Result<Self> {
        let mut version_set = VersionSet::default();
        for (record, edit) in edits.iter().enumerate() {
            version_set.change(Edit::decode(edit, record as u64)?)?;
        }
        Ok(version_set)
    }

    /// Applies one edit; an edit that does not fit leaves the version set as it was.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Corrupt`] where the edit contradicts what came before.
    pub fn apply(&mut self, edit: &Edit) -> Result<()> {
        let before = self.clone();
        self.change(edit.clone()).inspect_err(|_| *self = before)
    }

    /// Applies one edit in place; one that does not fit is applied in part.
    fn change(&mut self, edit: Edit) -> Result<()> {
        let mut shapes = VecMap::default();
        for change in edit.changes {
            self.apply_change(change, &mut shapes)?;
        }
        for (id, shape_edit) in shapes {
            let shape = &mut self.record(id)?.shape;
            terrane_policy::change(Arc::make_mut(shape), &shape_edit)
                .map_err(|why| misfit("tables that fit the shape", &why.to_string()))?;
        }
        let oldest = self.retained.first().map_or(self.log_start, |log| log.first);
        let is_past = |(_, dropped): &(&KeyspaceId, &Arc<KeyspaceRecord>)| dropped.flushed < oldest;
        let past: Vec<_> = self.dropped.iter().filter(is_past).map(|(id, _)| *id).collect();
        past.iter().for_each(|id| drop(self.dropped.remove(id)));
        Ok(())
    }

    /// The record of a keyspace, to change it.
    fn record(&mut self, id: KeyspaceId) -> Result<&mut KeyspaceRecord> {
        self.keyspaces.get_mut(&id).map(Arc::make_mut).ok_or_else(|| unknown(id))
    }

    fn apply_change(
        &mut self,
        change: Change,
        shapes: &mut VecMap<KeyspaceId, ShapeEdit>,
    ) -> Result<()> {
        bounds::check(&change)?;
        match change {
            Change::NextId(n) => self.next_id = self.next_id.max(n),
            Change::CreateKeyspace { id, name, policy } => {
                self.names.insert(name_key(&name, id), id.0.into());
                let record = KeyspaceRecord {
                    name,
                    policy,
                    policy_state: Vec::new(),
                    flushed: 0,
                    shape: Arc::default(),
                    range_deletes: RangeDeletes::default(),
                    features: 0,
                };
                if self.keyspaces.insert(id, Arc::new(record)).is_some() {
                    return Err(misfit("a new keyspace", &format!("keyspace {} again", id.0)));
                }
            }
            Change::DropKeyspace { id, sequence } => {
                let dropped = self.keyspaces.remove(&id).ok_or_else(|| unknown(id))?;
                self.names.remove(&name_key(&dropped.name, id));
                shapes.remove(&id);
                self.remaining.retain(|_, (keyspace, _)| *keyspace != id);
                let (name, policy) = (dropped.name.clone(), dropped.policy.clone());
                let (flushed, features) = (sequence, dropped.features);
                let kept =
                    KeyspaceRecord { name, policy, flushed, features, ..KeyspaceRecord::default() };
                self.dropped.insert(id, Arc::new(kept));
            }
            Change::Remaining { number, plan, .. } if plan.groups.is_empty() => {
                self.remaining.remove(&number);
            }
            Change::Remaining { keyspace, number, plan } => {
                self.remaining.insert(number, (keyspace, Arc::new(plan)));
            }
            Change::PolicyState { keyspace, state } => {
                self.record(keyspace)?.policy_state = state;
            }
            Change::SetPolicy { keyspace, policy } => {
                self.record(keyspace)?.policy = policy;
            }
            Change::Levels { keyspace, change } => {
                let record = self.record(keyspace)?;
                let shape = terrane_policy::reshape(&record.shape, change)
                    .map_err(|why| misfit("levels that fit the shape", &why.to_string()))?;
                record.shape = Arc::new(shape);
            }
            Change::AddTable { keyspace, level, run, info } => {
                let added = (level, run, Arc::new(info));
                shapes.update(keyspace, |edit: &mut ShapeEdit| edit.added.push(added));
            }
            Change::DropTable { keyspace, table } => {
                shapes.update(keyspace, |edit: &mut ShapeEdit| edit.dropped.push(table));
            }
            Change::Flushed { keyspace, through } => {
                let record = self.record(keyspace)?;
                record.flushed = record.flushed.max(through);
            }
            Change::RangeDeletes { keyspace, from, to, range_deletes } => {
                self.record(keyspace)?.range_deletes.replace(&from, &to, &range_deletes);
            }
            Change::KeyspaceFeatures { keyspace, features } => {
                self.record(keyspace)?.features |= features;
            }
            Change::OpenLog { number, file, salt } => {
                if self.logs.last().is_some_and(|last| last.number >= number) {
                    return Err(misfit("logs in order", &format!("log {number} again")));
                }
                // A file serves one log at a time.
                self.logs.retain(|log| log.file != file);
                self.retained.retain(|log| log.file != file);
                self.logs.push(LogRecord { number, file, salt, through: None });
            }
            Change::EndLog { number, through } => {
                let log = self.logs.iter_mut().find(|log| log.number == number);
                let unknown = || misfit("a live log", &format!("log {number}"));
                log.ok_or_else(unknown)?.through = Some(through);
            }
            Change::Quarantine(remains) => self.quarantine.push(remains),
            Change::DropQuarantine { file } => self.quarantine.retain(|kept| kept.file != file),
            Change::RetireLogs { below, next } => {
                self.logs.retain(|log| log.number >= below);
                self.log_start = next;
            }
            Change::Lineage { lineage, start } => {
                (self.lineage, self.feed_start) = (lineage, start)
            }
            Change::RetainLog(log) => {
                let before = self.retained.last();
                if before.is_some_and(|last| last.last + 1 != log.first) {
                    return Err(misfit(
                        "retained logs in order",
                        &format!("log {}", log.log.number),
                    ));
                }
                self.retained.push(log);
            }
            Change::ForgetLogs { below } => self.retained.retain(|log| log.log.number >= below),
            Change::Features(Features { required, optional }) => {
                self.features.required |= required;
                self.features.optional |= optional;
            }
        }
        Ok(())
    }

    /// One edit that rebuilds this version set from nothing.
    #[must_use]
    pub fn snapshot(&self) -> Edit {
        let mut changes = vec![Change::NextId(self.next_id)];
        if self.features != Features::default() {
            changes.push(Change::Features(self.features));
        }
        for (&id, record) in &self.dropped {
            let KeyspaceRecord { name, policy, features, flushed: sequence, .. } = &**record;
            let (features, sequence) = (*features, *sequence);
            let (name, policy) = (name.clone(), policy.clone());
            changes.extend([
                Change::CreateKeyspace { id, name, policy },
                Change::KeyspaceFeatures { keyspace: id, features },
                Change::DropKeyspace { id, sequence },
            ]);
        }
        for (&keyspace, record) in &self.keyspaces {
            changes.push(Change::CreateKeyspace {
                id: keyspace,
                name: record.name.clone(),
                policy: record.policy.clone(),
            });
            let state = record.policy_state.clone();
            changes.push(Change::PolicyState { keyspace, state });
            changes.push(Change::Flushed { keyspace, through: record.flushed });
            if let Some((from, to)) = record.range_deletes.hull() {
                changes.push(Change::RangeDeletes {
                    keyspace,
                    from: from.to_vec(),
                    to: to.clone(),
                    range_deletes: record.range_deletes.clone(),
                });
            }
            if record.features != 0 {
                let features = record.features;
                changes.push(Change::KeyspaceFeatures { keyspace, features });
            }
            changes.extend(record.shape.tables().map(|(level, run, info)| Change::AddTable {
                keyspace,
                level,
                run,
                info: TableInfo::clone(info),
            }));
        }
        changes.extend(self.remaining.iter().map(|(&number, (keyspace, plan))| {
            Change::Remaining { keyspace: *keyspace, number, plan: Compaction::clone(plan) }
        }));
        changes.push(Change::RetireLogs { below: 0, next: self.log_start });
        for &LogRecord { number, file, salt, through } in &self.logs {
            changes.push(Change::OpenLog { number, file, salt });
            changes.extend(through.map(|through| Change::EndLog { number, through }));
        }
        changes.extend(self.quarantine.iter().map(|remains| Change::Quarantine(*remains)));
        changes.extend(self.retained.iter().map(|log| Change::RetainLog(*log)));
        if self.lineage != 0 {
            let (lineage, start) = (self.lineage, self.feed_start);
            changes.push(Change::Lineage { lineage, start });
        }
        Edit { changes }
    }

    /// Whether it has a required feature, which an edit gave it.
    pub(crate) fn has(&self, feature: u32) -> bool {
        self.features.required & u64::from(feature) == u64::from(feature)
    }

    /// Bytes of what is quarantined.
    #[must_use]
    pub fn quarantine_bytes(&self) -> u64 {
        self.quarantine.iter().fold(0, |sum, kept| kept.bytes.saturating_add(sum))
    }

    /// Every table of every keyspace.
    #[must_use]
    pub fn tables(&self) -> Vec<&Arc<TableInfo>> {
        let mut tables = Vec::new();
        for record in self.keyspaces.values() {
            tables.extend(record.shape.between(0, record.shape.levels().len()));
        }
        tables
    }

    /// The files of live and retained logs.
    pub fn log_files(&self) -> impl Iterator<Item = FileId> {
        let live = self.logs.iter().map(|log| log.file);
        live.chain(self.retained.iter().map(|log| log.file)).map(FileId::log)
    }

    /// The greatest sequence that tables hold: the log was synced through it before.
    #[must_use]
    pub fn flushed_max(&self) -> Seq {
        self.keyspaces.values().map(|k| k.flushed).max().unwrap_or(0)
    }

    /// Returns the sequence number through which batches are durable, as tables, range deletes, drops and a closing
    /// claim of `synced` say. An edit names range deletes and drops once their batches are synced.
    pub(crate) fn durable(&self, synced: Seq) -> Seq {
        let deleted = self.keyspaces.values().map(|record| record.range_deletes.newest()).max();
        let dropped = self.dropped.values().map(|record| record.flushed).max();
        self.flushed_max().max(synced).max(deleted.max(dropped).unwrap_or(0))
    }

    /// The keyspace of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<KeyspaceId> {
        let first = name_key(name, KeyspaceId(0));
        let alike = self.names.from(&first).take_while(|(key, _)| *key >> 32 == first >> 32);
        let mut alike = alike.map(|(key, _)| KeyspaceId(*key as u32));
        alike.find(|id| self.keyspaces.get(id).is_some_and(|record| record.name == name))
    }
}

/// Returns half of a hash of the name followed by the id.
fn name_key(name: &str, id: KeyspaceId) -> u64 {
    checksum(name.as_bytes(), 0) << 32 | u64::from(id.0)
}

fn misfit(expected: &str, found: &str) -> crate::Error {
    Corruption::new("manifest", 0, expected, found).into()
}

fn unknown(id: KeyspaceId) -> crate::Error {
    misfit("a keyspace that exists", &format!("keyspace {}", id.0))
}

#[cfg(test)]
mod tests;
