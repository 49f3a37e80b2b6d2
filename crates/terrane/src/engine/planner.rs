//! The planner: policies that are due, their plans, and the next steps of these.
//!
//! It says nothing of how a policy is asked or a plan is judged (`schedule`): it is what is known between
//! two plans, all of it under the state lock.

use crate::engine::Snapshots;
use crate::engine::ranges::{RangeRequest, Ranges, Stage};
use crate::entry::Seq;
use crate::jobs::{Part, SharedMerge};
use crate::keyspace::KeyspaceId;
use crate::vec_map::{VecMap, VecSet};
use crate::version::{Change, VersionSet};
use std::sync::Arc;
use terrane_policy::{
    Compaction, Group, Observed, Order, Policy, Reshape, Running, validate, with_followers,
};

/// A compaction that has started.
pub(crate) struct RunningCompaction {
    pub number: u64,
    pub keyspace: KeyspaceId,
    pub order: Order,
    /// In words, as the manifest has it.
    pub reason: String,
    /// The policy that made the plan; `None` for one that was asked for otherwise.
    pub planner: Option<Arc<Box<dyn Policy>>>,
    /// Observations given to its planner, until the first group is installed.
    pub unreported: Observed,
    /// Whether it started with more groups than one, so that the manifest records what is left of it.
    pub several: bool,
    /// Groups that no job has taken.
    pub waiting: Vec<Group>,
    /// Groups that are neither installed nor abandoned; those that wait are among them.
    pub open: Vec<Group>,
}

impl RunningCompaction {
    /// The next group for a job, if one may start: its place among those that wait, and its level.
    fn next(&self) -> Option<(usize, usize)> {
        let next = self.order.next_group(self.waiting.iter(), self.open.iter())?;
        Some((next, self.waiting.get(next)?.destination.level))
    }

    /// These groups of it, as a plan.
    fn plan_of(&self, groups: Vec<Group>) -> Compaction {
        Compaction { groups, order: self.order, reason: self.reason.as_str().into() }
    }
}

/// Next step of a running compaction.
pub(crate) enum Begun {
    Part(Part),
    /// A group of a compaction, with the number of that.
    Group(u64, KeyspaceId, Group),
}

/// A change of levels for a job. Until then its keyspace's policy is not asked.
#[derive(Clone)]
pub(crate) struct PendingReshape {
    pub reshape: Reshape,
    /// The policy that asked for it.
    pub planner: Arc<Box<dyn Policy>>,
    /// Observations given to the policy.
    pub observed: Observed,
}

/// Planned work, and keyspaces that are due for a plan.
#[derive(Default)]
pub(crate) struct Planner {
    compactions: Vec<RunningCompaction>,
    /// Merges of them that have parts which no job has taken.
    shared_merges: Vec<Arc<SharedMerge>>,
    reshapes: VecMap<KeyspaceId, PendingReshape>,
    pub ranges: Ranges,
    /// Plans refused in a row, by keyspace; after two the fallback plans instead.
    refused: VecMap<KeyspaceId, u32>,
    /// Keyspaces whose shape changed since their policy last had no plan.
    unplanned: VecSet<KeyspaceId>,
    /// Keyspaces with a table that is rewritten once the oldest snapshot has reached this sequence number.
    reclaimable: VecMap<KeyspaceId, Seq>,
    /// Whether a policy is being asked for a plan; only one is at a time.
    planning: bool,
    /// The keyspace whose policy was asked last.
    asked: Option<KeyspaceId>,
    /// Compactions started so far.
    begun: u64,
}

impl Planner {
    /// A planner of keyspaces whose policies are all due.
    pub fn new(keyspaces: impl IntoIterator<Item = KeyspaceId>) -> Self {
        Planner { unplanned: keyspaces.into_iter().collect(), ..Planner::default() }
    }

    /// Queues the policy of a keyspace: what it would be asked about has changed.
    pub fn queue(&mut self, id: KeyspaceId) {
        self.unplanned.insert(id);
    }

    /// Starts to ask a policy for a plan: no other is asked meanwhile.
    pub fn start_asking(&mut self) {
        self.planning = true;
    }

    /// Notes that the policy has answered.
    pub fn stop_asking(&mut self) {
        self.planning = false;
    }

    /// Returns the number of plans of a keyspace that were refused in a row.
    pub fn refusals(&self, id: KeyspaceId) -> u32 {
        self.refused.get(&id).copied().unwrap_or(0)
    }

    /// Returns the number of compactions started so far.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// Starts a compaction.
    pub fn begin(&mut self, compaction: RunningCompaction) {
        self.begun += 1;
        self.compactions.push(compaction);
    }

    /// Shares a merge of which other jobs can take parts.
    pub fn share(&mut self, merge: Arc<SharedMerge>) {
        self.shared_merges.push(merge);
    }

    /// Returns the change of levels that waits for a keyspace's job, if any.
    pub fn reshape(&self, id: KeyspaceId) -> Option<&PendingReshape> {
        self.reshapes.get(&id)
    }

    /// Queues a change of levels for a job.
    pub fn begin_reshape(&mut self, id: KeyspaceId, pending: PendingReshape) {
        self.reshapes.insert(id, pending);
    }

    /// Removes a change of levels that was made or abandoned, and queues the policy of its keyspace.
    pub fn end_reshape(&mut self, id: KeyspaceId) -> Option<PendingReshape> {
        let ended = self.reshapes.remove(&id)?;
        self.unplanned.insert(id);
        Some(ended)
    }

    /// Returns the next keyspace whose policy is due, if `may` agrees and no other is being asked. In turn, so that
    /// one whose policy always has a plan puts no other off.
    pub fn next(&mut self, may: impl Fn(&Self, KeyspaceId) -> bool) -> Option<KeyspaceId> {
        if self.planning {
            return None;
        }
        let mut ids: Vec<_> = self.unplanned.iter().copied().collect();
        let after = ids.partition_point(|id| Some(*id) <= self.asked);
        ids.rotate_left(after);
        let id = ids.into_iter().find(|id| !self.ranges.hold_policy(*id) && may(self, *id))?;
        self.asked = Some(id);
        self.unplanned.remove(&id);
        Some(id)
    }

    /// Counts a policy's answer after `refusals` in a row.
    pub fn answered(&mut self, id: KeyspaceId, refused: u32) {
        if refused == 0 {
            self.refused.remove(&id);
        } else {
            self.refused.insert(id, refused);
        }
        self.ranges.policy_asked(id);
    }

    /// The keyspace has another policy.
    pub fn policy_changed(&mut self, id: KeyspaceId) {
        self.refused.remove(&id);
        self.unplanned.insert(id);
    }

    /// A keyspace was dropped. Its compactions end as their groups do.
    pub fn forget(&mut self, id: KeyspaceId) {
        self.unplanned.remove(&id);
        self.reclaimable.remove(&id);
        self.reshapes.remove(&id);
        self.ranges.forget(id);
        self.refused.remove(&id);
    }

    /// A compaction that runs, by its number.
    pub fn compaction(&self, number: u64) -> Option<&RunningCompaction> {
        self.compactions.iter().find(|c| c.number == number)
    }

    fn compaction_mut(&mut self, number: u64) -> Option<&mut RunningCompaction> {
        self.compactions.iter_mut().find(|c| c.number == number)
    }

    /// Whether a compaction of a keyspace runs.
    pub fn compacts(&self, id: KeyspaceId) -> bool {
        self.compactions.iter().any(|c| c.keyspace == id)
    }

    /// Groups, and parts of merges, that no job has taken.
    pub fn waiting(&self) -> usize {
        let groups: usize = self.compactions.iter().map(|c| c.waiting.len()).sum();
        groups + self.shared_merges.iter().map(|merge| merge.parts_left()).sum::<usize>()
    }

    /// Notes that a step has reported the operations of its compaction.
    pub fn report(&mut self, number: u64) {
        if let Some(compaction) = self.compaction_mut(number) {
            compaction.unreported = Observed::default();
        }
    }

    /// Forgets the merges whose parts are all taken: they still hold their inputs, and the removal of these is a
    /// job.
    pub fn release_merges(&mut self) {
        self.shared_merges.retain(|merge| merge.has_parts());
    }

    /// The next range that may run, if there is one.
    pub fn next_range(&mut self) -> Option<&mut RangeRequest> {
        let Planner { ranges, unplanned, reshapes, .. } = self;
        ranges.next(|request| {
            let may = match request.stage {
                Stage::Ready => true,
                Stage::Queued => !unplanned.contains(&request.keyspace),
                _ => false,
            };
            may && !reshapes.contains_key(&request.keyspace)
        })
    }

    /// Notes what the oldest snapshot must reach before a table of a keyspace is rewritten, if there is one. Returns
    /// whether that changes anything.
    pub fn await_release(&mut self, id: KeyspaceId, until: Option<Seq>) -> bool {
        match until {
            Some(until) => {
                self.reclaimable.insert(id, until);
                true
            }
            None => self.reclaimable.remove(&id).is_some(),
        }
    }

    /// The least that the oldest snapshot must reach before a table is rewritten; `Seq::MAX` if there is none.
    pub fn reclaimable_at(&self) -> Seq {
        self.reclaimable.values().min().copied().unwrap_or(Seq::MAX)
    }

    /// Queues the policies whose tables can be rewritten now, and notes what the oldest snapshot must reach next.
    pub fn plan_reclaimable(&mut self, snapshots: &Snapshots) {
        self.queue_reclaimable(snapshots.oldest());
        snapshots.await_oldest(self.reclaimable_at());
    }

    /// Queues the policies whose tables can be rewritten, `oldest` being the oldest snapshot.
    fn queue_reclaimable(&mut self, oldest: Seq) {
        let due = self.reclaimable.iter().filter(|(_, until)| **until <= oldest);
        let due: Vec<_> = due.map(|(id, _)| *id).collect();
        for id in due {
            self.reclaimable.remove(&id);
            self.unplanned.insert(id);
        }
    }

    /// Returns the next step of the running compactions, down to level `deepest`: the highest level first, and on
    /// one level parts of merges before further groups.
    pub fn next_begun(&mut self, deepest: usize) -> Option<Begun> {
        self.release_merges();
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

    /// Whether a group that has started goes to level 0 or 1 of a keyspace.
    pub fn empties_level0(&self, keyspace: KeyspaceId) -> bool {
        let goes_up = |group: &Group| group.destination.level <= 1;
        self.compactions.iter().any(|c| c.keyspace == keyspace && c.open.iter().any(goes_up))
    }

    /// The change that records a compaction's rest when this group of it is installed.
    pub fn remaining_after(&self, number: u64, group: &Group) -> Option<Change> {
        let compaction = self.compaction(number).filter(|c| c.several)?;
        let left = compaction.open.iter().filter(|open| *open != group).cloned().collect();
        let plan = compaction.plan_of(left);
        Some(Change::Remaining { keyspace: compaction.keyspace, number, plan })
    }

    /// Resumes the compactions that a restart interrupted. Returns the changes that remove from the
    /// manifest those that no longer fit the shape, since a group of theirs was abandoned.
    pub fn resume(
        &mut self,
        version_set: &VersionSet,
        policy: impl Fn(KeyspaceId) -> Option<Arc<Box<dyn Policy>>>,
    ) -> Vec<Change> {
        let mut forgotten = Vec::new();
        for (number, (keyspace, plan)) in version_set.remaining.clone() {
            let running = self.running(keyspace);
            let shape = version_set.keyspaces.get(&keyspace).map(|record| &record.shape);
            let mut plan = Compaction::clone(&plan);
            forget_installed(&mut plan.groups);
            if shape.is_some_and(|shape| validate(shape, &running, &plan).is_ok()) {
                self.compactions.push(RunningCompaction {
                    number,
                    keyspace,
                    planner: policy(keyspace),
                    order: plan.order,
                    reason: plan.reason.text.clone(),
                    // It is recorded once a group is installed, and counts are in memory.
                    unreported: Observed::default(),
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

    /// A group is abandoned: those that follow it fall with it, before they start. Returns them all.
    pub fn fall(&mut self, number: u64, group: &Group) -> Vec<Group> {
        let Some(compaction) = self.compaction_mut(number) else { return Vec::new() };
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
        self.ranges.group_ended(keyspace, number, ended);
        ended.then(|| self.compactions.remove(at))
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

/// Views and settings for tests.
#[cfg(test)]
impl Planner {
    pub fn compactions(&self) -> &[RunningCompaction] {
        &self.compactions
    }

    pub fn reshapes(&self) -> usize {
        self.reshapes.len()
    }

    pub fn asked(&self) -> Option<KeyspaceId> {
        self.asked
    }

    pub fn set_unplanned(&mut self, ids: impl IntoIterator<Item = KeyspaceId>) {
        self.unplanned = ids.into_iter().collect();
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
