//! Scheduling: the one place that knows the interface of policies.
//!
//! It does what the engine does, in the engine's order:
//! 1. Groups of compactions that have begun are handed out first.
//! 2. Then the policy is asked, once for each change of the tree, and the validator asked about its
//!    answer. After two refusals in a row the fallback is taken instead.
//! 3. Where writes wait for level 0, nothing is under way and the policy is content, the fallback is
//!    taken, too.

use crate::trace::{Event, KEYSPACE};
use std::collections::VecDeque;
use std::sync::Arc;
use terrane_policy::policy::{Installed, MAX_STATE};
use terrane_policy::{
    BadOption, Compaction, Group, Plan, Policy, PolicyOptions, RunId, Running, Shape, TableInfo,
    TombstoneRule, fallback, validate,
};

/// A compaction that has begun.
struct Begun {
    number: u64,
    reason: String,
    /// Whether the policy made the plan, not the fallback.
    own: bool,
    /// Groups that nobody has taken.
    waiting: VecDeque<Arc<Group>>,
    /// Groups that are not installed; those that wait are among them.
    open: Vec<Arc<Group>>,
}

/// A group that is to be merged or moved.
pub(crate) struct Task {
    pub(crate) compaction: u64,
    pub(crate) group: Arc<Group>,
    pub(crate) tombstones: TombstoneRule,
}

/// What planning may use of the store.
pub(crate) struct Situation<'a> {
    pub(crate) shape: &'a Shape,
    /// The last id that was given to a table, a run or a compaction.
    pub(crate) last_id: &'a mut u64,
    pub(crate) emit: &'a mut dyn FnMut(Event),
}

impl Situation<'_> {
    fn fresh(&mut self) -> u64 {
        *self.last_id += 1;
        *self.last_id
    }
}

/// A policy at work.
pub(crate) struct Scheduler {
    policy: Box<dyn Policy>,
    state: Vec<u8>,
    level0_runs_max: usize,
    begun: Vec<Begun>,
    /// Whether the tree has changed since the policy last said that nothing is to do.
    unplanned: bool,
    /// Plans refused in a row.
    refused: u32,
}

impl Scheduler {
    pub(crate) fn new(options: &PolicyOptions, level0_runs_max: usize) -> Result<Self, BadOption> {
        let policy = options.build()?;
        let state = policy.adopt(&Shape::default());
        let (begun, unplanned, refused) = (Vec::new(), false, 0);
        Ok(Scheduler { policy, state, level0_runs_max, begun, unplanned, refused })
    }

    /// The tree has changed.
    pub(crate) fn changed(&mut self) {
        self.unplanned = true;
    }

    /// The next group, if there is one; a compaction may begin with it.
    pub(crate) fn next(&mut self, mut situation: Situation) -> Option<Task> {
        loop {
            let waiting = self.begun.iter_mut().find_map(|c| {
                let group = c.waiting.pop_front()?;
                Some((c.number, group))
            });
            if let Some((compaction, group)) = waiting {
                let tombstones = TombstoneRule::new(situation.shape, &self.running(), &group);
                return Some(Task { compaction, group, tombstones });
            }
            if !self.unplanned {
                return None;
            }
            self.unplanned = self.plan(&mut situation);
        }
    }

    /// Asks the policy once; answers whether a compaction began or was refused.
    fn plan(&mut self, situation: &mut Situation) -> bool {
        let running = self.running();
        let (shape, fresh) = (situation.shape, RunId(*situation.last_id + 1));
        let own = self.refused < 2;
        let plan = if own {
            self.policy.plan(shape, &self.state, &running, fresh)
        } else {
            self.refused = 0;
            fallback(shape, &running, fresh)
        };
        let waits = shape.levels.first().is_some_and(|l| l.runs.len() >= self.level0_runs_max);
        let plan = plan.or_else(|| {
            let helps = waits && self.begun.is_empty();
            helps.then(|| fallback(shape, &running, fresh)).flatten()
        });
        let Some(Plan::Compact(compaction)) = plan else { return false };
        if let Err(refusal) = validate(shape, &running, &compaction) {
            self.refused += 1;
            (situation.emit)(Event::PlanRefused { keyspace: KEYSPACE, why: refusal.to_string() });
            return true;
        }
        if own {
            self.refused = 0;
        }
        self.begin(situation, compaction, own);
        true
    }

    fn begin(&mut self, situation: &mut Situation, plan: Compaction, own: bool) {
        // Runs that the plan creates have names from the next id up.
        let named = plan.groups.iter().map(|g| g.destination.run.0).max().unwrap_or(0);
        *situation.last_id = named.max(*situation.last_id);
        let number = situation.fresh();
        (situation.emit)(Event::CompactionBegun {
            keyspace: KEYSPACE,
            compaction: number,
            groups: plan.groups.len(),
            reason: plan.reason.clone(),
        });
        let open: Vec<_> = plan.groups.into_iter().map(Arc::new).collect();
        let waiting = open.iter().cloned().collect();
        self.begun.push(Begun { number, reason: plan.reason, own, waiting, open });
    }

    fn running(&self) -> Running {
        let compactions = self.begun.iter().map(|c| Compaction {
            groups: c.open.iter().map(|g| Group::clone(g)).collect(),
            reason: c.reason.clone(),
        });
        Running { compactions: compactions.collect() }
    }

    /// A group's outputs have replaced its inputs; answers whether its compaction has ended.
    pub(crate) fn installed(
        &mut self,
        number: u64,
        group: &Arc<Group>,
        (before, after): (&Shape, &Shape),
        outputs: &[TableInfo],
    ) -> bool {
        self.unplanned = true;
        let Some(at) = self.begun.iter().position(|c| c.number == number) else { return false };
        let Some(compaction) = self.begun.get_mut(at) else { return false };
        compaction.open.retain(|open| !Arc::ptr_eq(open, group));
        let ends = compaction.open.is_empty();
        let next = if compaction.own {
            self.policy.apply(&self.state, &Installed { before, group, outputs, ends })
        } else {
            self.policy.adopt(after)
        };
        if next.len() <= MAX_STATE {
            self.state = next;
        }
        if ends {
            self.begun.remove(at);
        }
        ends
    }
}
