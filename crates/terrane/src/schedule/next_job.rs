//! Scheduling: which job is next.
//!
//! 1. Obsolete files are removed first: a flush may need the space.
//! 2. Then flushes, oldest first: writers wait for them.
//! 3. Then a spare log, if the last one fills; then parts of merges that have started, and groups of
//!    compactions, in the order that each asks for, into the upper levels first; then a slice of a range
//!    that was requested (`ranges`) and each keyspace's policy (`planning`), in turns. A policy whose
//!    level 0 is half full, and is not being emptied, is asked before what is left goes into deep levels.
//! 4. Then vacuuming of the storage.

use super::planning::{ask_policy, next_plan_request};
use super::ranges::{next_range, slice};
use super::work::Work;
use crate::engine::{Begun, Engine, Keyspaces, State};
use crate::event::Event;
use crate::install;
use crate::jobs::{Flush, JobContext, Merge, Part, SharedMerge, TableSetWriter};
use crate::keyspace::KeyspaceId;
use crate::options::{FilterDecision, Options};
use crate::schedule::Job;
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

/// The next job of the kind that is wanted, if any is ready. Whoever takes it must run it to
/// its end or drop it, which abandons it.
pub(crate) fn next_job(engine: &Arc<Engine>, filter: JobFilter) -> Option<Job> {
    if filter == JobFilter::Any {
        engine.background.search_begins();
    }
    engine.state.writable().ok()?;
    let mut state = engine.state.lock();
    if !state.health.jobs_may_begin() {
        return None;
    }
    state.planner.release_merges();
    let wants = |kind| [JobFilter::Any, kind].contains(&filter);
    let mut work = None;
    if wants(JobFilter::Removal) {
        work = next_removal(&engine.jobs, &mut state);
    }
    if work.is_none() && wants(JobFilter::Flush) {
        work = next_flush(&mut state);
    }
    drop(state);
    if work.is_none() && wants(JobFilter::Other) {
        work = next_other(engine);
    }
    if work.is_some() {
        engine.background.notify_work();
    }
    Some(Job::new(engine.clone(), work?))
}

fn next_flush(state: &mut State) -> Option<Work> {
    let (keyspace, through, memtable) = state.flushes.next()?;
    Some(Work::Flush(Box::new(Flush::new(keyspace, through, memtable))))
}

fn next_removal(jobs: &JobContext, state: &mut State) -> Option<Work> {
    let obsolete_file = jobs.obsolete_files.take()?;
    state.vacuum_due = true;
    Some(Work::Remove(obsolete_file))
}

/// A wanted log, a group, a change of levels, or else vacuuming. A range that must be compact and the
/// keyspace's policy take turns.
fn next_other(engine: &Engine) -> Option<Work> {
    loop {
        let mut state = engine.state.lock();
        if !state.health.jobs_may_begin() {
            return None;
        }
        if state.logs.take_spare_wanted() {
            return Some(Work::SpareLog);
        }
        let keyspaces = engine.keyspaces.load();
        if engine.background.take_reads_due() {
            let due = keyspaces.values().filter(|keyspace| keyspace.reads.access_stats.take_due());
            due.for_each(|keyspace| state.planner.queue(keyspace.id));
        }
        if engine.snapshots.clock.take_due() {
            keyspaces.keys().for_each(|id| state.planner.queue(*id));
        }
        let mut request = None;
        let mut begun = state.planner.next_begun(1);
        if begun.is_none() {
            request = next_plan_request(engine, &mut state, true);
        }
        if begun.is_none() && request.is_none() {
            begun = state.planner.next_begun(usize::MAX);
        }
        if let Some(Begun::Part(part)) = begun {
            drop(state);
            return part_work(engine, part);
        }
        if let Some(Begun::Group(number, id, group)) = begun {
            if let Some(keyspace) = keyspaces.get(&id) {
                // In one moment: what a tombstone hides is in the tree or promised by a group.
                let (tree, running) = (keyspace.tree(), state.planner.running(id));
                drop(state);
                return group_work(engine, number, id, group, tree, &running);
            }
            install::end_group(&engine.keyspaces, &engine.jobs.events, &mut state, number, &group);
            continue;
        }
        if request.is_none() {
            if let Some(seeking) = next_range(&engine.keyspaces, &mut state) {
                drop(state);
                slice(engine, seeking);
                continue;
            }
            request = next_plan_request(engine, &mut state, false);
        }
        let Some(request) = request else {
            return std::mem::take(&mut state.vacuum_due).then_some(Work::Vacuum);
        };
        drop(state);
        let reshape = ask_policy(engine, request);
        if reshape.is_some() {
            return reshape;
        }
    }
}

/// The work of one group, or of its first part: the others are there for executors now.
fn group_work(
    engine: &Engine,
    compaction: u64,
    keyspace: KeyspaceId,
    group: Group,
    tree: Arc<Tree>,
    running: &Running,
) -> Option<Work> {
    engine.emit(|| Event::GroupBegun {
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
    let hidden = hidden_tables(&tree, &group.inputs, &engine.snapshots.readers());
    let merge = SharedMerge::new(compaction, keyspace, group, tree, rule, hidden);
    let first = merge.next_part()?;
    if !merge.group.parts.is_empty() {
        engine.state.lock().planner.share(merge);
    }
    part_work(engine, first)
}

/// The work of a part of a merge.
fn part_work(engine: &Engine, part: Part) -> Option<Work> {
    let SharedMerge { keyspace, group, tree, .. } = &*part.merge;
    // Only what an edit has named: a crash may take range deletes of memtables.
    let range_deletes = tree.range_deletes();
    let Action::Merge { cuts, target_file_bytes, filter_bits, split } = &group.action else {
        return None;
    };
    let outputs = TableSetWriter::new(
        &engine.jobs,
        *keyspace,
        engine.keyspaces.name(*keyspace),
        cuts.clone(),
        *target_file_bytes,
        *filter_bits,
    )
    .splitting(*split)
    .applying(range_deletes.newest());
    let resolver = Resolver::new(engine.snapshots.readers())
        .applying(range_deletes.clone())
        .filtering(merge_filter(&engine.options, &engine.keyspaces, *keyspace))
        .merging(engine.options.merge_operator.clone());
    Some(Work::Merge(Box::new(Merge::new(outputs, part, resolver))))
}

/// The compaction filter of the options, for the merges of a keyspace.
fn merge_filter(
    options: &Options,
    keyspaces: &Keyspaces,
    keyspace: KeyspaceId,
) -> Option<MergeFilter> {
    let filter = options.compaction_filter.clone()?;
    let name = keyspaces.name(keyspace)?;
    Some(Box::new(move |key, value| filter(&name, key, value) == FilterDecision::Remove))
}
