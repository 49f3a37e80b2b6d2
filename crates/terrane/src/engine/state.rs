//! What changes under the state lock: the version set, and the queues and plans that go with it.

use crate::engine::Keyspaces;
use crate::entry::Seq;
use crate::error::{Corruption, Error};
use crate::jobs::{Part, SharedMerge};
use crate::keyspace::KeyspaceId;
use crate::memtable::Memtable;
use crate::storage::File;
#[cfg(not(target_arch = "wasm32"))]
use crate::storage::MappedFile;
use crate::vec_map::{VecMap, VecSet};
use crate::version::{Change, LiveTable, VersionSet};
use crate::wal::LogId;
use std::sync::Arc;
use terrane_policy::{
    Compaction, FlushPlan, Group, Observed, Order, Policy, Reshape, Running, TableId, validate,
    with_followers,
};
use terrane_table::read::Range;
use terrane_types::SharedMap;

/// How far a sealed memtable is on its way to level 0.
pub(crate) enum FlushStatus {
    /// No job has taken it.
    Waiting,
    /// A job writes its table.
    Running,
    /// It is written.
    Written {
        /// How it was cut.
        plan: FlushPlan,
        /// The tables, in key order; none if nothing was left to write.
        tables: Vec<Arc<LiveTable>>,
    },
}

/// A sealed memtable.
pub(crate) struct Sealed {
    /// The memtable's position among all sealed memtables.
    pub number: u64,
    pub memtable: Arc<Memtable>,
    /// Every entry of the keyspace up to here is in this memtable or an older one.
    pub through: Seq,
    pub status: FlushStatus,
}

/// A live log that no writer appends to any more.
pub(crate) struct SealedLog {
    pub id: LogId,
    pub file_number: u64,
    pub file: Arc<dyn File>,
    /// The last sequence in it or in one before.
    pub last: Seq,
    /// Where its records end.
    pub bytes: u64,
    /// Whether its file has the usual size, so that it can be recycled.
    pub reusable: bool,
    /// What it was written through. The job that retires the log unmaps it, since a writer would have others wait,
    /// unless there are too many.
    #[cfg(not(target_arch = "wasm32"))]
    pub mapped: Option<Box<dyn MappedFile>>,
}

/// A log file that was given its next number and waits to be written.
#[derive(Clone)]
pub(crate) struct SpareLog {
    pub number: u64,
    pub file_number: u64,
    pub file: Arc<dyn File>,
    pub capacity: u64,
}

/// A compaction that has begun.
pub(crate) struct RunningCompaction {
    pub number: u64,
    pub keyspace: KeyspaceId,
    pub order: Order,
    /// In words, as the manifest has it.
    pub reason: String,
    /// The policy that made the plan; `None` for one that was asked for otherwise.
    pub planner: Option<Arc<Box<dyn Policy>>>,
    /// What its planner was given, until the first group is installed.
    pub untold: Observed,
    /// Whether it began with more groups than one, so that the manifest records what is left of it.
    pub several: bool,
    /// Groups that no job has taken.
    pub waiting: Vec<Group>,
    /// Groups that are neither installed nor abandoned; those that wait are among them.
    pub open: Vec<Group>,
}

impl RunningCompaction {
    /// The next group for a job, if one may begin: its place among those that wait, and its level.
    fn next(&self) -> Option<(usize, usize)> {
        let next = self.order.next_group(self.waiting.iter(), self.open.iter())?;
        Some((next, self.waiting.get(next)?.destination.level))
    }

    /// These groups of it, as a plan.
    fn plan_of(&self, groups: Vec<Group>) -> Compaction {
        Compaction { groups, order: self.order, reason: self.reason.as_str().into() }
    }
}

/// What a job is to do of a compaction that has begun.
pub(crate) enum Begun {
    Part(Part),
    /// A group of a compaction, with the number of that.
    Group(u64, KeyspaceId, Group),
}

/// A change of levels that a job is to make. Until then its keyspace's policy is not asked.
#[derive(Clone)]
pub(crate) struct PendingReshape {
    pub reshape: Reshape,
    /// The policy that asked for it.
    pub planner: Arc<Box<dyn Policy>>,
    /// What it was given.
    pub observed: Observed,
}

/// A range that is to be compact.
pub(crate) struct RangeRequest {
    pub number: u64,
    pub keyspace: KeyspaceId,
    pub range: Range,
    /// What was written up to here is part of it.
    pub through: Seq,
    /// Tables of the bottom with smaller ids lose the entries that no reader needs.
    pub before: TableId,
    /// The oldest snapshot at the time of the request.
    pub oldest_snapshot: Seq,
    /// Where the next slice ends, if tables were cut for it.
    pub end: Option<Vec<u8>>,
    pub target_file_bytes: u64,
    /// Slices left after which the keyspace's policy is called before the next slice.
    pub yields: u64,
    pub stage: Stage,
}

/// How far a range is.
pub(crate) enum Stage {
    /// The keyspace's policy is asked first, if it is to be asked.
    Waits,
    /// Its next slice is next.
    Turn,
    /// A thread is finding its next slice.
    Sought,
    /// A compaction is in the way of its next slice: no other of the keyspace begins before it.
    Blocked,
    /// This compaction is its slice.
    Runs(u64),
    /// No slice can be made.
    Refused(Error),
}

/// Everything under the state lock.
#[derive(Default)]
pub(crate) struct State {
    pub version_set: VersionSet,
    pub sealed: VecMap<KeyspaceId, Vec<Sealed>>,
    /// The keyspaces of sealed memtables that no job has taken, by [`Sealed::number`]. Memtables of dropped
    /// keyspaces are skipped.
    pub flushes: SharedMap<u64, u64>,
    /// Memtables sealed so far.
    pub seals: u64,
    pub compactions: Vec<RunningCompaction>,
    /// Merges of them that have parts which no job has taken.
    pub shared_merges: Vec<Arc<SharedMerge>>,
    pub reshapes: VecMap<KeyspaceId, PendingReshape>,
    /// In the order in which they were asked for.
    pub ranges: Vec<RangeRequest>,
    pub sealed_logs: Vec<SealedLog>,
    pub spare_logs: Vec<SpareLog>,
    /// The size of the next log file.
    pub next_log_bytes: u64,
    /// The number of the oldest sealed log and the most memtables that can keep it, if they were counted.
    pub log_pins: Option<(u64, usize)>,
    /// Whether a job is to make a spare log.
    pub spare_wanted: bool,
    /// Cloned by those who read logs over a while: what retires meanwhile does not get recycled.
    pub logs_held: Arc<()>,
    /// Plans refused in a row, by keyspace; after two the fallback plans instead.
    pub refused: VecMap<KeyspaceId, u32>,
    /// Keyspaces whose shape changed since their policy last said that nothing is to do.
    pub unplanned: VecSet<KeyspaceId>,
    /// Keyspaces with a table that is rewritten once the oldest snapshot has reached this sequence number.
    pub reclaimable: VecMap<KeyspaceId, Seq>,
    /// Whether a policy is being asked for a plan; only one is at a time.
    pub planning: bool,
    /// The keyspace whose policy was asked last.
    pub asked: Option<KeyspaceId>,
    /// Compactions begun so far.
    pub begun: u64,
    /// What opening found in need of repair and left as it is, with no space, or no right, to write.
    pub repairable: Vec<Corruption>,
    /// Whether a file was removed since the storage was last vacuumed.
    pub vacuum_due: bool,
    /// Why background work stopped; cleared when it is tried again.
    pub failed: Option<Error>,
    /// A commit to the manifest failed, so it is unknown whether it is durable; or a job panicked, so that
    /// what it left here is.
    pub in_doubt: Option<Error>,
    pub closed: bool,
}

impl State {
    /// Whether jobs may begin.
    pub fn jobs_may_begin(&self) -> bool {
        !self.closed && self.failed.is_none() && self.in_doubt.is_none()
    }

    /// What is next of the compactions that have begun, down to a level: what goes to the highest, and
    /// of one level parts of merges before further groups.
    pub fn next_begun(&mut self, deepest: usize) -> Option<Begun> {
        self.shared_merges.retain(|merge| merge.has_parts());
        let (mut level, mut merge, mut group) = (deepest, None, None);
        for shared in &self.shared_merges {
            let to = shared.group.destination.level;
            if to < level || to == level && merge.is_none() {
                (level, merge) = (to, Some(shared));
            }
        }
        for (of, compaction) in self.compactions.iter().enumerate() {
            let Some((at, to)) = compaction.next() else { continue };
            if to < level || to == level && merge.is_none() && group.is_none() {
                (level, merge, group) = (to, None, Some((of, at)));
            }
        }
        if let Some(part) = merge.and_then(SharedMerge::next_part) {
            return Some(Begun::Part(part));
        }
        let (of, at) = group?;
        let of = self.compactions.get_mut(of)?;
        Some(Begun::Group(of.number, of.keyspace, of.waiting.remove(at)))
    }

    /// Whether a group that has begun goes to level 0 or 1 of a keyspace.
    pub fn empties_level0(&self, keyspace: KeyspaceId) -> bool {
        let goes_up = |group: &Group| group.destination.level <= 1;
        self.compactions.iter().any(|c| c.keyspace == keyspace && c.open.iter().any(goes_up))
    }

    /// What the manifest records of a compaction when this group of it is installed.
    pub fn remaining_after(&self, number: u64, group: &Group) -> Option<Change> {
        let compaction = self.compactions.iter().find(|c| c.number == number && c.several)?;
        let left = compaction.open.iter().filter(|open| *open != group).cloned().collect();
        let plan = compaction.plan_of(left);
        Some(Change::Remaining { keyspace: compaction.keyspace, number, plan })
    }

    /// Resumes the compactions that a restart interrupted. Returns the changes that remove from the
    /// manifest those that no longer fit the shape, since a group of theirs was abandoned.
    pub fn resume_compactions(&mut self, keyspaces: &Keyspaces) -> Vec<Change> {
        let mut forgotten = Vec::new();
        for (number, (keyspace, plan)) in self.version_set.remaining.clone() {
            let running = self.running(keyspace);
            let shape = self.version_set.keyspaces.get(&keyspace).map(|record| &record.shape);
            let mut plan = Compaction::clone(&plan);
            forget_installed(&mut plan.groups);
            if shape.is_some_and(|shape| validate(shape, &running, &plan).is_ok()) {
                self.compactions.push(RunningCompaction {
                    number,
                    keyspace,
                    planner: keyspaces.get(&keyspace).map(|k| k.policy.load_full()),
                    order: plan.order,
                    reason: plan.reason.text.clone(),
                    // It is recorded once a group is installed, and counts are in memory.
                    untold: Observed::default(),
                    several: true,
                    waiting: plan.groups.clone(),
                    open: plan.groups,
                });
            } else {
                let plan = Compaction { groups: Vec::new(), ..plan };
                forgotten.push(Change::Remaining { keyspace, number, plan });
            }
        }
        forgotten
    }

    /// A group is abandoned: those that follow it fall with it, before they begin. Returns them all.
    pub fn fall(&mut self, number: u64, group: &Group) -> Vec<Group> {
        let Some(compaction) = self.compactions.iter_mut().find(|c| c.number == number) else {
            return Vec::new();
        };
        let falling = with_followers(group, &compaction.open);
        compaction.waiting.retain(|waiting| !falling.contains(waiting));
        falling
    }

    /// A group is installed or abandoned: policies no longer see it. Returns its compaction if it was
    /// the last.
    pub fn end_group(&mut self, number: u64, group: &Group) -> Option<RunningCompaction> {
        let at = self.compactions.iter().position(|c| c.number == number)?;
        let compaction = self.compactions.get_mut(at)?;
        compaction.open.retain(|open| open != group);
        // Where tables were held, a plan may be possible now.
        self.unplanned.insert(compaction.keyspace);
        let (ended, keyspace) = (compaction.open.is_empty(), compaction.keyspace);
        for request in self.ranges.iter_mut().filter(|r| r.keyspace == keyspace) {
            match request.stage {
                Stage::Blocked => request.stage = Stage::Turn,
                // What was cut is to be merged before a policy merges it otherwise.
                Stage::Runs(n) if n == number && ended => {
                    let goes_on = request.end.is_some() || request.yields == 0;
                    request.stage = if goes_on { Stage::Turn } else { Stage::Waits };
                }
                _ => {}
            }
        }
        ended.then(|| self.compactions.remove(at))
    }

    /// The keyspace's policy was asked: next are the ranges that waited for that.
    pub fn planner_asked(&mut self, keyspace: KeyspaceId) {
        for request in self.ranges.iter_mut().filter(|r| r.keyspace == keyspace) {
            if matches!(request.stage, Stage::Waits) {
                request.stage = Stage::Turn;
            }
        }
    }

    /// Whether a range has its turn before the keyspace's policy.
    pub fn holds_planner(&self, keyspace: KeyspaceId) -> bool {
        let holds = |stage: &Stage| matches!(stage, Stage::Turn | Stage::Sought | Stage::Blocked);
        self.ranges.iter().any(|r| r.keyspace == keyspace && holds(&r.stage))
    }

    /// Compactions of one keyspace, as its policy must see them.
    pub fn running(&self, keyspace: KeyspaceId) -> Running {
        Running {
            compactions: self
                .compactions
                .iter()
                .filter(|c| c.keyspace == keyspace)
                .map(|c| c.plan_of(c.open.clone()))
                .collect(),
        }
    }
}

/// Groups that follow one that is no longer among them follow none: it is installed.
fn forget_installed(groups: &mut [Group]) {
    let open: Vec<_> = groups.iter().flat_map(|group| group.inputs.iter().copied()).collect();
    for group in groups {
        group.follows = group.follows.filter(|table| open.contains(table));
    }
}

#[cfg(test)]
mod tests;
