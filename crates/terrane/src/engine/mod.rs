//! The engine: one store, opened.
//!
//! The engine spawns nothing, reads no clock and draws no random number. Its calls do their work on
//! the caller's thread; everything else is a *job*, which an [executor](crate::executor) runs.
//!
//! This folder holds what the others work on, and knows none of them. Each owner has its state, its lock and its
//! methods:
//! * `store_state` - the commit of edits, and the state lock. Under that, `state`: `flushes` - sealed memtables,
//!   `log_files` - full and spare logs, `planner` - what is planned and what is next, with `ranges`, `health`;
//! * `log` - its writer, with `recent_batches`, and its syncs;
//! * `keyspaces` - the live ones; a `keyspace` is what its readers and writers share;
//! * `snapshots` - what readers may look at, with `store_clock`; `memtable_bytes` - what memtables take;
//! * `background` - what the engine and its executor signal to each other; `counters`, `waits`; `costs` - of its files.
//!
//! Operations that need several owners are functions in the folders above: `read`, then `install`, `schedule`,
//! `write`, `recovery` and `admin`; `db` has the handles.
//!
//! **Locks**, in the order in which they are taken:
//!
//! 1. `edit_lock` of `store_state`: the right to commit an edit, held over the storage's commit;
//! 2. `writer` of `log`: the log and the order of writes;
//! 3. `state` of `store_state`: the version set, queues, and every change of a super version; or the turn of a log's
//!    sync.
//!
//! A write takes `writer` and, for moments, `state`. Nobody holds these over a sync (other than a
//! synced write, over its own), an edit's commit, the removal of a file, or planning. Readers take
//! none: a super version is an immutable value behind an atomic pointer.

mod access_stats;
mod assembly;
mod background;
mod costs;
mod counters;
mod flushes;
mod health;
mod keyspace;
mod keyspaces;
mod log;
mod log_file;
mod log_files;
mod memtable_bytes;
mod planner;
mod ranges;
mod recent_batches;
mod retained_logs;
mod snapshots;
mod state;
mod store_clock;
mod store_state;
mod waits;

pub use waits::{WaitStats, WriteWaits};

pub(crate) use background::Background;
pub(crate) use costs::Costs;
pub(crate) use counters::Counters;
pub(crate) use flushes::{Flushes, WrittenFlush};
pub(crate) use health::Health;
pub(crate) use keyspace::{KeyspaceInner, KeyspaceMap, KeyspaceReads};
pub(crate) use keyspaces::Keyspaces;
pub(crate) use log::{Log, Recorded, Writer};
pub(crate) use log_file::{HeldLog, SealedLog, SpareLog};
pub(crate) use log_files::{HeldLogs, LogFiles, Retired, Retiring};
pub(crate) use memtable_bytes::MemtableBytes;
pub(crate) use planner::{Begun, PendingReshape, Planner, RunningCompaction};
pub(crate) use ranges::{RangeRequest, Stage};
pub(crate) use recent_batches::{ConditionalWrites, RecentBatches};
pub(crate) use retained_logs::RetainedFile;
pub(crate) use snapshots::Snapshots;
pub(crate) use state::State;
pub(crate) use store_clock::StoreClock;
pub(crate) use store_state::{EditLock, StoreState};
pub(crate) use waits::{Wait, Waits};

use crate::entry::Seq;
use crate::error::{Error, Result};
use crate::event::{Clock, Event};
use crate::jobs::JobContext;
use crate::options::Options;
use crate::storage::Storage;
use crate::sync::lock;
use crate::version::Ids;
use std::sync::Arc;
use terrane_policy::Decision;
use terrane_policy::event::report_policy;

/// One open store. Shared by its callers and its executor.
pub struct Engine {
    pub(crate) options: Arc<Options>,
    pub(crate) storage: Arc<dyn Storage>,
    /// Resources of jobs.
    pub(crate) jobs: Arc<JobContext>,
    pub(crate) ids: Arc<Ids>,
    pub(crate) log: Log,
    pub(crate) state: StoreState,
    pub(crate) keyspaces: Keyspaces,
    pub(crate) snapshots: Snapshots,
    pub(crate) memtables: MemtableBytes,
    pub(crate) counters: Counters,
    pub(crate) background: Background,
    pub(crate) costs: Costs,
}

impl Engine {
    /// Sets how many merges may run at once.
    pub(crate) fn set_workers(&self, workers: usize) {
        self.background.set_workers(workers);
        self.jobs.memory.set_workers(workers);
    }

    /// Gives the engine a clock by which it times events, what writes wait for and what its files cost: microseconds
    /// from any moment on. The first one stays.
    pub(crate) fn set_clock(&self, clock: impl Fn() -> u64 + Send + Sync + 'static) {
        let clock: Clock = Arc::new(clock);
        self.jobs.events.set_clock(clock.clone());
        self.counters.waits.set_clock(clock.clone());
        self.costs.set_clock(clock);
    }

    /// Reports an event to the listener, if there is one; without one it is not built.
    pub(crate) fn emit(&self, event: impl FnOnce() -> Event) {
        self.jobs.events.emit(event);
    }

    /// Reports the decisions of a keyspace's policy, and its status if it has changed.
    pub(crate) fn report_policy(
        &self,
        state: &State,
        keyspace: &KeyspaceInner,
        decisions: Vec<Decision>,
    ) {
        let record = state.version_set.keyspaces.get(&keyspace.id);
        let Some(record) = record.filter(|_| self.jobs.events.is_heard()) else { return };
        let status = keyspace.policy.load().status(&record.shape, &record.policy_state);
        let mut reported = lock(&keyspace.status_reported);
        report_policy(keyspace.id, decisions, status, &mut reported, &mut |event| {
            self.emit(|| event)
        });
    }

    /// Makes every write durable and takes no more.
    ///
    /// # Errors
    /// An I/O error, or one that failed before, so that writes which were acknowledged are not
    /// known to be on it. The store is closed all the same.
    pub(crate) fn close(&self) -> Result<()> {
        self.state.owned()?;
        // An edit that is under way ends first: another may open the store when this returns.
        let _edits = self.state.wait_for_edits();
        let mut writer = self.log.writer();
        self.state.lock().health.close();
        let ended = self.log.end(&mut writer);
        self.storage.close(self.log.syncs.synced());
        self.keyspaces.clear();
        self.log.syncs.wake_all();
        ended
    }

    /// Makes every earlier write durable.
    ///
    /// # Errors
    /// An I/O error; the log is poisoned then.
    pub(crate) fn sync(&self) -> Result<()> {
        self.state.owned()?;
        self.log.sync()
    }

    /// Notes that a job failed: if `rest` says so, background work rests until it is asked for again.
    pub(crate) fn job_failed(&self, error: &Error, rest: bool) {
        if rest {
            self.state.lock().health.fail(error.clone());
        }
        self.emit(|| Event::JobFailed { error: error.to_string() });
    }

    /// Retries background work that failed.
    pub(crate) fn retry(&self) {
        self.state.lock().health.retry();
        self.jobs.obsolete_files.retry();
        self.background.notify_work();
    }

    /// Releases a snapshot, and queues the planning that this allows. Returns whether there may be any.
    pub(crate) fn release_snapshot(&self, at: Seq) -> bool {
        let oldest = self.snapshots.release(at);
        if !oldest.is_some_and(|oldest| self.snapshots.is_awaited(oldest)) {
            return false;
        }
        self.state.lock().planner.plan_reclaimable(&self.snapshots);
        self.background.notify_work();
        true
    }

    /// Removes the files that no edit names and nobody reads at once, rather than by jobs. No lock is held, since
    /// listeners hear of each.
    pub(crate) fn remove_obsolete(&self) {
        if self.storage.read_only() || self.state.in_doubt() {
            return;
        }
        while let Some(mut obsolete) = self.jobs.obsolete_files.take() {
            if self.jobs.remove(&mut obsolete).is_err() {
                self.jobs.obsolete_files.keep_failed(obsolete);
            }
        }
        self.state.lock().vacuum_due = true;
        self.background.notify_work();
    }
}

#[cfg(test)]
mod tests {
    use crate::{Db, Durability, Options};

    #[test]
    fn a_store_is_named_by_its_path_also_where_it_refuses_a_write() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("notes");
        drop(Db::open(&path, Options::default()).unwrap());
        let options = Options { read_only: true, ..Options::default() };
        let db = Db::open(&path, options).unwrap();
        let name = db.engine().storage.name();
        assert!(name.contains(&*path.to_string_lossy()), "{name}");
        let refused = db.default_keyspace().put("key", "value", Durability::Sync).unwrap_err();
        assert!(refused.to_string().contains(&name), "{refused}");
    }
}
