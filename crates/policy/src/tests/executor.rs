//! An executor of plans whose order is drawn, and which checks each of them.

use super::*;

const KEYS: u16 = 300;

/// Plans and commits in an order that the dice choose.
pub(super) struct Executor<'a, 'd> {
    pub(super) model: Model,
    pub(super) running: Running,
    pub(super) state: Vec<u8>,
    pub(super) dice: &'a mut Dice<'d>,
}

impl<'a, 'd> Executor<'a, 'd> {
    pub(super) fn new(model: Model, dice: &'a mut Dice<'d>) -> Self {
        Executor { model, running: Running::default(), state: Vec::new(), dice }
    }

    /// Starts what the policy proposes; false when it proposes nothing.
    pub(super) fn begin(&mut self, policy: &dyn Policy) -> bool {
        let fresh = self.model.fresh(&self.running);
        let before = &self.model.shape;
        let Some(plan) = propose(policy, before, &self.state, &self.running, fresh) else {
            return false;
        };
        if let Err(refusal) = validate_plan(before, &self.running, &plan) {
            panic!("{refusal}\n{plan:?}\nbeside {:?}\nin {before:?}", self.running);
        }
        let (Plan::Compact(Compaction { reason, .. }) | Plan::Reshape(Reshape { reason, .. })) =
            &plan;
        assert!(!reason.text.is_empty());
        assert!(!reason.terms.is_empty(), "{}", reason.text);
        let told = policy.status(before, &self.state).capacities;
        for Term { right, .. } in reason.terms.iter().filter(|t| t.right.name == "capacity") {
            let Of::Levels(level, _) = right.of else { panic!("{right:?}") };
            assert_eq!(told[level].bytes, Some(right.value), "{reason:?}");
        }
        match plan {
            Plan::Compact(plan) => self.running.compactions.push(plan),
            Plan::Reshape(Reshape { change, .. }) => {
                let step = Step::Reshape(change);
                self.state = policy.apply(&self.state, &unobserved(before, step));
                self.model = self.model.reshape(change);
            }
        }
        true
    }

    /// Commits a running group; false when there is none.
    pub(super) fn commit(&mut self, policy: &dyn Policy) -> bool {
        let count = self.running.compactions.len();
        let Some(plan) = self.running.compactions.get_mut(self.dice.below(count.max(1))) else {
            return false;
        };
        let at = match plan.order {
            Order::Parallel | Order::AtMost(_) => self.dice.below(plan.groups.len()),
            Order::Sequential => 0,
        };
        let group = next_of(plan, at);
        plan.groups.retain(|other| *other != group);
        let ends = plan.groups.is_empty();
        self.running.compactions.retain(|c| !c.groups.is_empty());
        let next = self.model.commit(&group, false).unwrap();
        let before: BTreeSet<_> = self.model.shape.tables().map(|(_, _, t)| t.id).collect();
        let is_output = |t: &TableInfo| !before.contains(&t.id) || group.inputs.contains(&t.id);
        let tables = next.shape.tables().map(|(_, _, t)| TableInfo::clone(t));
        let outputs: Vec<_> = tables.filter(is_output).collect();
        let step = Step::Group { group: &group, outputs: &outputs, ends };
        let installed = unobserved(&self.model.shape, step);
        self.state = policy.apply(&self.state, &installed);
        assert!(self.state.len() <= MAX_STATE);
        self.model = next;
        true
    }

    pub(super) fn step(&mut self, policy: &dyn Policy) -> bool {
        let commits_first = self.dice.below(2) == 0;
        commits_first && self.commit(policy) || self.begin(policy) || self.commit(policy)
    }

    /// Drives the tree until nothing is left to do.
    pub(super) fn rest(&mut self, policy: &dyn Policy) {
        let bound = 200 + 20 * self.model.shape.tables().count();
        for _ in 0..bound {
            if !self.step(policy) {
                assert!(self.model.is_sound());
                return;
            }
        }
        panic!("{} does not become idle: {:?}", policy.name(), self.model.shape);
    }

    pub(super) fn flush(&mut self) {
        let run = self.model.fresh(&self.running).0;
        let from = self.dice.below(256) as u16;
        let step = 1 + self.dice.below(12) as u16;
        let keys = 1 + self.dice.below(12) as u16;
        self.model.write(0, run, (0..keys).map(|k| (from + k * step) % KEYS));
    }
}
