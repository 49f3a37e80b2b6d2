//! Scheduling: the only module that knows the interface of policies.
//!
//! It schedules in the same order as the engine:
//! 1. Groups of compactions that have started are handed out first.
//! 2. Then the policy is asked for a plan, once per change of the tree ([`propose`]), unless as many compactions run
//!    as the options allow.

use crate::config::Config;
use crate::entry::Entry;
use crate::guards::Guards;
use crate::seeks::Seeks;
use crate::trace::KEYSPACE;
use std::collections::VecDeque;
use std::sync::Arc;
use terrane_policy::event::{Event, report_policy};
use terrane_policy::{
    Action, BadOption, Compaction, Decision, FilterBits, FlushPlan, Group, Hidden, Installed,
    KeySample, LevelChange, MAX_STATE, Observed, Order, Plan, PlanContext, Policy, PolicyOptions,
    PolicyStatus, Proposal, READS_BETWEEN, Reason, Reshape, RunId, Running, Shape, Step, TableId,
    TableInfo, TombstoneRule, level0_waiting, pending_compaction_bytes, propose, refined,
    validate_flush,
};

/// The size of the key sample of a memtable that a flush planner receives.
const SAMPLE_KEYS: usize = 256;

/// A compaction that has started.
struct Begun {
    number: u64,
    order: Order,
    reason: String,
    /// Whether the policy made the plan, not the fallback.
    own: bool,
    /// Groups that have not started.
    waiting: VecDeque<Arc<Group>>,
    /// Observations given to the policy, until the first group is installed.
    unreported: Observed,
    /// Groups that are not installed, including those that have not started.
    open: Vec<Arc<Group>>,
}

impl Begun {
    /// The next group, unless another must finish first.
    fn next_group(&mut self) -> Option<Arc<Group>> {
        let (waiting, open) = (self.waiting.iter(), self.open.iter());
        let next = self.order.next_group(waiting.map(Arc::as_ref), open.map(Arc::as_ref))?;
        self.waiting.remove(next)
    }
}

/// The next task.
pub(crate) enum Next {
    /// Merge or move a group.
    Group(Task),
    /// Add or drop a level.
    Reshape(Reshape, Observed),
}

/// A group to merge or move.
pub(crate) struct Task {
    pub(crate) compaction: u64,
    pub(crate) group: Arc<Group>,
}

/// A policy, with the compactions that seeks cause.
fn seeking(policy: Box<dyn Policy>, seeks: Option<&Seeks>) -> Box<dyn Policy> {
    match seeks.cloned() {
        Some(seeks) => refined(policy, seeks),
        None => policy,
    }
}

/// The parts of the store that planning uses.
pub(crate) struct Situation<'a> {
    pub(crate) shape: &'a Shape,
    /// The last id assigned to a table, a run or a compaction.
    pub(crate) last_id: &'a mut u64,
    pub(crate) emit: &'a mut dyn FnMut(Event),
}

impl Situation<'_> {
    fn refuse(&mut self, why: String) {
        (self.emit)(Event::PlanRefused { keyspace: KEYSPACE, why });
    }
}

/// The outcome of asking the policy.
enum Planned {
    /// Nothing to do.
    Nothing,
    /// A compaction has started, or was refused.
    Again,
    /// A level is added or dropped.
    Reshape(Reshape, Observed),
}

/// A policy with its state and its running compactions.
pub(crate) struct Scheduler {
    policy: Box<dyn Policy>,
    state: Vec<u8>,
    /// The guards, if they are the policy.
    guards: Option<Guards>,
    /// Compactions that seeks cause, if the policy has them beside its own.
    seeks: Option<Seeks>,
    l0_stop_trigger: usize,
    filter_bits: FilterBits,
    workers: usize,
    /// The most compactions that run at once; 0 for no limit.
    max_compactions: usize,
    begun: Vec<Begun>,
    /// Whether the tree has changed since the policy last had no plan.
    unplanned: bool,
    /// Plans refused in a row.
    refused: u32,
    /// The operations observed since the last plan started.
    observed: Observed,
    /// Decisions of the policy at the last step, until they are reported.
    decisions: Vec<Decision>,
    /// The length of a state that was too long, until that is reported.
    refused_state: Option<usize>,
    /// The policy's status that was reported last.
    status_reported: PolicyStatus,
}

impl Scheduler {
    pub(crate) fn new(config: &Config) -> Result<Self, BadOption> {
        let policy = match &config.guards {
            Some(guards) => Box::new(guards.clone()),
            None => seeking(config.policy.build()?, config.seeks.as_ref()),
        };
        let state = policy.adopt(&Shape::default());
        Ok(Scheduler {
            policy,
            state,
            guards: config.guards.clone(),
            seeks: config.seeks.clone(),
            l0_stop_trigger: config.l0_stop_trigger,
            filter_bits: config.filter_bits(),
            workers: config.workers,
            max_compactions: config.max_compactions,
            begun: Vec::new(),
            unplanned: false,
            refused: 0,
            observed: config.costs(),
            decisions: Vec::new(),
            refused_state: None,
            status_reported: PolicyStatus::default(),
        })
    }

    /// Gives the store another policy, which takes the tree as it is. Compactions that have started continue
    /// to their ends, as what it did not plan.
    pub(crate) fn set_policy(
        &mut self,
        options: &PolicyOptions,
        shape: &Shape,
    ) -> Result<(), BadOption> {
        let policy = seeking(options.build()?, self.seeks.as_ref());
        self.keep(policy.adopt(shape));
        (self.policy, self.guards) = (policy, None);
        self.begun.iter_mut().for_each(|compaction| compaction.own = false);
        self.decisions.clear();
        (self.unplanned, self.refused) = (true, 0);
        Ok(())
    }

    /// Puts another policy around the present one.
    #[cfg(test)]
    pub(crate) fn wrap(&mut self, wrap: impl FnOnce(Box<dyn Policy>) -> Box<dyn Policy>) {
        struct Absent;
        impl Policy for Absent {
            fn name(&self) -> &'static str {
                "absent"
            }

            fn plan(&self, _: &PlanContext) -> Option<Plan> {
                None
            }
        }
        self.policy = wrap(std::mem::replace(&mut self.policy, Box::new(Absent)));
    }

    /// Counts entries of a sealed memtable.
    pub(crate) fn updated(&mut self, entries: u64) {
        self.observed.updates += entries;
    }

    /// Counts a point read and the tables whose filters passed its key; returns whether to ask the
    /// policy.
    pub(crate) fn looked_up(&mut self, tables: impl IntoIterator<Item = TableId>) -> bool {
        self.observed.point_reads += 1;
        self.read(tables, self.observed.point_reads)
    }

    /// Charges a table that a point read went on past, if seeks cause compactions; returns whether to ask the policy.
    pub(crate) fn went_past(&mut self, table: &TableInfo) -> bool {
        let Some(seeks) = &self.seeks else { return false };
        let charged = self.observed.table_reads.update(table.id, |charged| {
            *charged += 1;
            *charged
        });
        let is_due = charged == seeks.allowed(table);
        self.unplanned |= is_due;
        is_due
    }

    /// Counts a range read and the tables that it came to, each once; returns whether to ask the policy.
    pub(crate) fn scanned(&mut self, tables: Vec<TableId>) -> bool {
        self.observed.range_reads += 1;
        self.read(tables, self.observed.range_reads)
    }

    /// Counts the tables that a read of some kind came to, the last of `reads`.
    fn read(&mut self, tables: impl IntoIterator<Item = TableId>, reads: u64) -> bool {
        if !self.policy.watches_reads() || self.seeks.is_some() {
            return false;
        }
        for table in tables {
            self.observed.table_reads.update(table, |reads| *reads += 1);
        }
        let is_due = reads.is_multiple_of(READS_BETWEEN);
        self.unplanned |= is_due;
        is_due
    }

    /// Finds the guards among the keys of a memtable, which are in order.
    pub(crate) fn learn(&mut self, written: &[Entry]) {
        if let Some(guards) = &self.guards {
            self.state = guards.learn(&self.state, written.iter().map(|entry| entry.key()));
        }
    }

    /// The guards of a level.
    #[cfg(test)]
    pub(crate) fn guards_of(&self, level: usize) -> Vec<Vec<u8>> {
        Guards::of_level(&self.state, level).into_iter().map(<[u8]>::to_vec).collect()
    }

    /// The name of the policy.
    pub(crate) fn policy(&self) -> &'static str {
        self.policy.name()
    }

    /// Cuts a memtable of this many entries and bytes into the tables of its run; `written` are the
    /// entries that remain, in order.
    pub(crate) fn flush(
        &self,
        mut situation: Situation,
        (entries, bytes): (u64, u64),
        written: &[Entry],
    ) -> FlushPlan {
        if !self.policy.plans_flushes() {
            return FlushPlan::default();
        }
        let stride = written.len().div_ceil(SAMPLE_KEYS).max(1);
        let sampled = written.iter().step_by(stride).chain(written.last());
        let mut keys: Vec<_> = sampled.map(|e| e.key().to_be_bytes().to_vec()).collect();
        keys.dedup();
        let sealed = KeySample { entries, bytes, keys };
        let running = self.running();
        let context = self.context(&situation, &running);
        let plan = self.policy.flush(&context, &sealed);
        match validate_flush(&plan) {
            Ok(()) => plan,
            Err(refusal) => {
                situation.refuse(refusal.to_string());
                FlushPlan::default()
            }
        }
    }

    fn context<'a>(
        &'a self,
        situation: &'a Situation<'_>,
        running: &'a Running,
    ) -> PlanContext<'a> {
        PlanContext {
            shape: situation.shape,
            state: &self.state,
            running,
            observed: &self.observed,
            filter_bits: self.filter_bits,
            workers: self.workers,
            l0_stop_trigger: self.l0_stop_trigger,
            oldest_snapshot: u64::MAX,
            fresh: RunId(*situation.last_id + 1),
        }
    }

    /// The next task, if any; it may be the first of a new compaction.
    pub(crate) fn next(&mut self, mut situation: Situation) -> Option<Next> {
        loop {
            let waiting =
                self.begun.iter_mut().find_map(|c| c.next_group().map(|group| (c.number, group)));
            if let Some((compaction, group)) = waiting {
                return Some(Next::Group(Task { compaction, group }));
            }
            if !self.unplanned || self.is_full() {
                return None;
            }
            match self.plan(&mut situation) {
                Planned::Nothing => self.unplanned = false,
                Planned::Again => {}
                Planned::Reshape(reshape, observed) => {
                    return Some(Next::Reshape(reshape, observed));
                }
            }
        }
    }

    /// Whether as many compactions run as may.
    fn is_full(&self) -> bool {
        self.max_compactions > 0 && self.begun.len() >= self.max_compactions
    }

    /// Asks the policy once.
    fn plan(&mut self, situation: &mut Situation) -> Planned {
        let (running, mut refused) = (self.running(), self.refused);
        let context = self.context(situation, &running);
        let proposal = propose(&*self.policy, &context, &Hidden::default(), &mut refused);
        self.refused = refused;
        let (plan, own) = match proposal {
            Proposal::Nothing => return Planned::Nothing,
            Proposal::Refused(refusal) => {
                situation.refuse(refusal.to_string());
                return Planned::Again;
            }
            Proposal::Plan { plan, own } => (plan, own),
        };
        let observed = if own { self.take_observed() } else { Observed::default() };
        match plan {
            Plan::Compact(compaction) => {
                self.begin(situation, compaction, own, observed);
                Planned::Again
            }
            Plan::Reshape(reshape) => Planned::Reshape(reshape, observed),
        }
    }

    /// Takes what the policy's plan was made of; reads of tables continue to count.
    fn take_observed(&mut self) -> Observed {
        let table_reads = self.observed.table_reads.clone();
        let Observed { block_nanos, page_nanos, .. } = self.observed;
        let next = Observed { table_reads, block_nanos, page_nanos, ..Observed::default() };
        std::mem::replace(&mut self.observed, next)
    }

    fn begin(
        &mut self,
        situation: &mut Situation,
        plan: Compaction,
        own: bool,
        observed: Observed,
    ) {
        // Runs that the plan creates have ids from the next one up.
        let named = plan.groups.iter().map(|g| g.destination.run.0).max().unwrap_or(0);
        *situation.last_id = named.max(*situation.last_id);
        *situation.last_id += 1;
        let number = *situation.last_id;
        let Compaction { groups, order, reason: Reason { text: reason, terms } } = plan;
        (situation.emit)(Event::CompactionBegun {
            keyspace: KEYSPACE,
            compaction: number,
            groups: groups.len(),
            order,
            reason: reason.clone(),
            terms,
            observed: observed.clone(),
        });
        let open: Vec<_> = groups.into_iter().map(Arc::new).collect();
        let waiting = open.iter().cloned().collect();
        self.begun.push(Begun { number, order, reason, own, waiting, unreported: observed, open });
    }

    fn running(&self) -> Running {
        let compactions = self.begun.iter().map(|c| Compaction {
            groups: c.open.iter().map(|g| Group::clone(g)).collect(),
            order: c.order,
            reason: c.reason.as_str().into(),
        });
        Running { compactions: compactions.collect() }
    }

    /// The tombstone rule for a group that starts.
    pub(crate) fn tombstones(&self, shape: &Shape, group: &Group) -> TombstoneRule {
        TombstoneRule::new(shape, &self.running(), group)
    }

    /// Updates the policy's state after a step of one of its own plans.
    fn remember(&mut self, before: &Shape, observed: &Observed, step: Step) {
        let installed = Installed { before, observed, step };
        self.decisions = self.policy.decisions(&self.state, &installed);
        self.keep(self.policy.apply(&self.state, &installed));
        self.unplanned = true;
    }

    /// Returns the level-0 count that stalls writes.
    pub(crate) fn level0_waiting(&self, shape: &Shape) -> usize {
        level0_waiting(&*self.policy, shape)
    }

    /// About how many bytes wait to be compacted.
    pub(crate) fn pending_bytes(&self, shape: &Shape) -> u64 {
        let status = self.policy.status(shape, &self.state);
        pending_compaction_bytes(shape, &status.capacities)
    }

    /// Reports what the policy decided at the last step, and its status if that has changed.
    pub(crate) fn report_policy(&mut self, shape: &Shape, emit: &mut dyn FnMut(Event)) {
        if let Some(bytes) = self.refused_state.take() {
            emit(Event::PolicyStateRefused { keyspace: KEYSPACE, bytes });
        }
        let decisions = std::mem::take(&mut self.decisions);
        let status = self.policy.status(shape, &self.state);
        report_policy(KEYSPACE, decisions, status, &mut self.status_reported, emit);
    }

    fn keep(&mut self, state: Vec<u8>) {
        if state.len() <= MAX_STATE {
            self.state = state;
        } else {
            self.refused_state = Some(state.len());
        }
    }

    /// A memtable has become a run.
    pub(crate) fn flushed(&mut self, before: &Shape, plan: &FlushPlan, tables: &[TableInfo]) {
        self.remember(before, &Observed::default(), Step::Flush { plan, tables });
    }

    /// The levels have changed.
    pub(crate) fn reshaped(&mut self, before: &Shape, observed: &Observed, change: LevelChange) {
        self.remember(before, observed, Step::Reshape(change));
    }

    /// A group's outputs have replaced its inputs; returns whether its compaction has ended.
    pub(crate) fn installed(
        &mut self,
        number: u64,
        group: &Arc<Group>,
        (before, after): (&Shape, &Shape),
        outputs: &[TableInfo],
    ) -> bool {
        let Some(at) = self.begun.iter().position(|c| c.number == number) else { return false };
        let Some(compaction) = self.begun.get_mut(at) else { return false };
        compaction.open.retain(|open| !Arc::ptr_eq(open, group));
        let ends = compaction.open.is_empty();
        if group.action != Action::Move || self.seeks.is_some() {
            for table in &group.inputs {
                self.observed.table_reads.remove(table);
            }
        }
        if compaction.own {
            let observed = std::mem::take(&mut compaction.unreported);
            self.remember(before, &observed, Step::Group { group, outputs, ends });
        } else {
            self.keep(self.policy.readopt(&self.state, after));
            self.unplanned = true;
        }
        if ends {
            self.begun.remove(at);
        }
        ends
    }
}
