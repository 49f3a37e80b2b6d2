//! Scheduling: which job is next.
//!
//! 1. Obsolete files are removed first: a flush may need the space.
//! 2. Then flushes, oldest first: writers wait for them.
//! 3. Then a spare log, if the last one fills; then parts of merges that have started, and groups of
//!    compactions, in the order that each asks for, into the upper levels first; then a slice of a range
//!    that was requested (`ranges`) and each keyspace's policy (`planning`), in turns. A policy whose
//!    level 0 is half full, and is not being emptied, is asked before what is left goes into deep levels.
//! 4. Then vacuuming of the storage.

use crate::engine::{Begun, Engine, State};
use crate::entry::Seq;
use crate::error::Error;
use crate::event::Event;
use crate::jobs::{Flush, Merge, Part, SharedMerge, TableSetWriter};
use crate::keyspace::KeyspaceId;
use crate::options::FilterDecision;
use crate::schedule::{Job, Work};
use crate::version::{Tree, hidden_tables};
use std::sync::Arc;
use terrane_policy::{Action, Group, Running, TombstoneRule};
use terrane_table::read::{MergeFilter, Resolver};

/// Kinds of jobs that an executor can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobFilter {
    /// Any; flushes come first.
    Any,
    /// A flush only.
    Flush,
    /// The removal of a file only.
    Removal,
    /// Anything but these.
    Other,
}

impl Engine {
    /// The next job of the kind that is wanted, if any is ready. Whoever takes it must run it to
    /// its end or drop it, which abandons it.
    pub fn next_job(self: &Arc<Self>, filter: JobFilter) -> Option<Job> {
        if filter == JobFilter::Any {
            self.background.search_begins();
        }
        self.versions.writable().ok()?;
        let mut state = self.versions.state();
        if !state.jobs_may_begin() {
            return None;
        }
        state.planner.release_merges();
        let wants = |kind| [JobFilter::Any, kind].contains(&filter);
        let mut work = None;
        if wants(JobFilter::Removal) {
            work = self.next_removal(&mut state);
        }
        if work.is_none() && wants(JobFilter::Flush) {
            work = Self::next_flush(&mut state);
        }
        drop(state);
        if work.is_none() && wants(JobFilter::Other) {
            work = self.next_other();
        }
        if work.is_some() {
            self.background.notify_work();
        }
        Some(Job::new(self.clone(), work?))
    }

    fn next_flush(state: &mut State) -> Option<Work> {
        let (keyspace, through, memtable) = state.flushes.next()?;
        Some(Work::Flush(Box::new(Flush::new(keyspace, through, memtable))))
    }

    fn next_removal(&self, state: &mut State) -> Option<Work> {
        let obsolete_file = self.jobs.obsolete_files.take()?;
        state.vacuum_due = true;
        Some(Work::Remove(obsolete_file))
    }

    /// A wanted log, a group, a change of levels, or else vacuuming. A range that must be compact and the
    /// keyspace's policy take turns.
    fn next_other(&self) -> Option<Work> {
        loop {
            let mut state = self.versions.state();
            if !state.jobs_may_begin() {
                return None;
            }
            if std::mem::take(&mut state.logs.spare_wanted) {
                return Some(Work::SpareLog);
            }
            let keyspaces = self.keyspaces.load();
            if self.background.take_reads_due() {
                let due = keyspaces.values().filter(|keyspace| keyspace.access_stats.take_due());
                state.planner.unplanned.extend(due.map(|keyspace| keyspace.id));
            }
            if self.snapshots.clock.take_due() {
                state.planner.unplanned.extend(keyspaces.keys().copied());
            }
            let mut request = None;
            let mut begun = state.planner.next_begun(1);
            if begun.is_none() {
                request = self.next_plan_request(&mut state, true);
            }
            if begun.is_none() && request.is_none() {
                begun = state.planner.next_begun(usize::MAX);
            }
            if let Some(Begun::Part(part)) = begun {
                drop(state);
                return self.part_work(part);
            }
            if let Some(Begun::Group(number, id, group)) = begun {
                if let Some(keyspace) = keyspaces.get(&id) {
                    // In one moment: what a tombstone hides is in the tree or promised by a group.
                    let (tree, running) = (keyspace.tree(), state.planner.running(id));
                    drop(state);
                    return self.group_work(number, id, group, tree, &running);
                }
                self.end_group(&mut state, number, &group);
                continue;
            }
            if request.is_none() {
                if let Some(seeking) = self.next_range(&mut state) {
                    drop(state);
                    self.slice(seeking);
                    continue;
                }
                request = self.next_plan_request(&mut state, false);
            }
            let Some(request) = request else {
                return std::mem::take(&mut state.vacuum_due).then_some(Work::Vacuum);
            };
            drop(state);
            let reshape = self.propose(request);
            if reshape.is_some() {
                return reshape;
            }
        }
    }

    /// The work of one group, or of its first part: the others are there for executors now.
    fn group_work(
        &self,
        compaction: u64,
        keyspace: KeyspaceId,
        group: Group,
        tree: Arc<Tree>,
        running: &Running,
    ) -> Option<Work> {
        self.emit(|| Event::GroupBegun {
            keyspace,
            compaction,
            inputs: group.inputs.clone(),
            level: group.destination.level,
            run: group.destination.run,
            cuts: group.action.cuts().to_vec(),
            moved: group.action == Action::Move,
        });
        if group.action == Action::Move {
            return Some(Work::Move { compaction, keyspace, group });
        }
        let rule = TombstoneRule::new(tree.shape(), running, &group);
        let hidden = hidden_tables(&tree, &group.inputs, &self.snapshots.readers());
        let merge = SharedMerge::new(compaction, keyspace, group, tree, rule, hidden);
        let first = merge.next_part()?;
        if !merge.group.parts.is_empty() {
            self.versions.state().planner.shared_merges.push(merge);
        }
        self.part_work(first)
    }

    /// The work of a part of a merge.
    fn part_work(&self, part: Part) -> Option<Work> {
        let SharedMerge { keyspace, group, tree, .. } = &*part.merge;
        // Only what an edit has named: a crash may take range deletes of memtables.
        let range_deletes = tree.range_deletes();
        let Action::Merge { cuts, target_file_bytes, filter_bits, split } = &group.action else {
            return None;
        };
        let outputs = TableSetWriter::new(
            &self.jobs,
            *keyspace,
            self.keyspaces.name(*keyspace),
            cuts.clone(),
            *target_file_bytes,
            *filter_bits,
        )
        .splitting(*split)
        .applying(range_deletes.newest());
        let resolver = Resolver::new(self.snapshots.readers())
            .applying(range_deletes.clone())
            .filtering(self.merge_filter(*keyspace))
            .merging(self.options.merge_operator.clone());
        Some(Work::Merge(Box::new(Merge::new(outputs, part, resolver))))
    }

    /// The compaction filter of the options, for the merges of a keyspace.
    fn merge_filter(&self, keyspace: KeyspaceId) -> Option<MergeFilter> {
        let filter = self.options.compaction_filter.clone()?;
        let name = self.keyspaces.name(keyspace)?;
        Some(Box::new(move |key, value| filter(&name, key, value) == FilterDecision::Remove))
    }

    /// A job failed: if `rest` says so, background work rests until it is asked for again.
    pub(crate) fn job_failed(&self, error: &Error, rest: bool) {
        if rest {
            self.versions.state().failed = Some(error.clone());
        }
        self.emit(|| Event::JobFailed { error: error.to_string() });
    }

    /// Retries background work that failed.
    pub fn retry(&self) {
        self.versions.state().failed = None;
        self.jobs.obsolete_files.retry();
        self.background.notify_work();
    }

    /// Returns the reason why background work rests, if it failed.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        let state = self.versions.state();
        let poisoned = |cause: &Error| Error::poisoned(cause);
        state.in_doubt.as_ref().map(poisoned).or_else(|| state.failed.clone())
    }

    /// Whether every memtable that was sealed up to this sequence is in tables.
    #[must_use]
    pub fn flushed(&self, through: Seq) -> bool {
        let state = self.versions.state();
        state.flushes.iter().all(|sealed| sealed.through > through)
    }
}
