//! Compaction debt: the bytes of a tree that wait to be compacted, as its policy's capacities have it.
//!
//! Whoever installs a tree, or sets its policy, estimates it before writers find the tree, if it may come near the
//! limit: no write asks a policy. In a browser nothing is limited by it, and it stays 0.

use crate::options::Options;
use crate::version::Tree;
use terrane_platform::BROWSER;
use terrane_policy::{Policy, pending_compaction_bytes};

impl Tree {
    /// Estimates the debt, as a policy that remembers this has it.
    pub(crate) fn estimate_debt(&self, options: &Options, policy: &dyn Policy, remembered: &[u8]) {
        if BROWSER {
            return;
        }
        let (shape, room) = (self.shape(), options.hard_pending_compaction_bytes);
        // No more than all goes down from a level, with all of the next: mostly far from the limit.
        let most = shape.bytes().saturating_mul(2 * shape.levels().len() as u64);
        let pending =
            || pending_compaction_bytes(shape, &policy.status(shape, remembered).capacities);
        self.set_pending_bytes(if room == 0 || most < room / 2 { 0 } else { pending() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::SliceExecutor;
    use crate::jobs::Progress;
    use crate::schedule;
    use crate::schedule::JobFilter;
    use crate::storage::{Directory, vfs::MemoryVfs};
    use crate::{Db, Durability};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use terrane_policy::{
        Action, Capacity, Compaction, Destination, Group, Plan, PlanContext, PolicyStatus, RunId,
        Shape,
    };

    /// Counts the calls for its capacities, by which no level may hold anything.
    #[derive(Default)]
    struct CountsCalls(AtomicUsize);

    impl Policy for CountsCalls {
        fn name(&self) -> &'static str {
            "counts-calls"
        }

        fn plan(&self, _: &PlanContext) -> Option<Plan> {
            None
        }

        fn status(&self, _: &Shape, _: &[u8]) -> PolicyStatus {
            self.0.fetch_add(1, Ordering::Relaxed);
            let capacities = vec![Capacity { bytes: Some(0), runs: None }; 3];
            PolicyStatus { capacities, ..PolicyStatus::default() }
        }
    }

    /// The tree of a store with a table in level 0 and one in level 2.
    fn of_three_levels() -> Arc<Tree> {
        let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
        let policy = |_: &str| Some(Box::new(CountsCalls::default()) as Box<dyn Policy>);
        let options = Options { custom_policy: Some(Arc::new(policy)), ..Options::small() };
        let db = Db::open_storage(storage, options, Arc::new(SliceExecutor::default())).unwrap();
        let (engine, rows) = (db.engine(), db.default_keyspace());
        let tree = || engine.keyspaces.load().get(&rows.id()).unwrap().tree();
        for key in 0..2 {
            rows.put([key], "value", Durability::Buffered).unwrap();
            db.flush().unwrap();
            if key == 0 {
                let inputs = tree().shape().tables().map(|(.., table)| table.id).collect();
                let destination = Destination { level: 2, run: RunId(engine.ids.next()) };
                let plan = Compaction::parallel(
                    vec![Group::new(inputs, destination, Action::Move)],
                    "a test",
                );
                schedule::begin(
                    engine,
                    &mut engine.state.lock(),
                    rows.id(),
                    plan,
                    None,
                    Default::default(),
                );
                let mut job = schedule::next_job(engine, JobFilter::Other).unwrap();
                while job.run_for(u64::MAX).unwrap() == Progress::More {}
            }
        }
        tree()
    }

    #[test]
    fn debt_is_computed_only_where_it_may_reach_half_of_the_limit() {
        let tree = of_three_levels();
        let levels: Vec<_> = tree.shape().levels().iter().map(|level| level.runs.len()).collect();
        assert_eq!(levels, [1, 0, 1]);
        // At most, every level goes down as a whole, with all of the next.
        let near = 2 * 2 * 3 * tree.shape().bytes();
        let pending = pending_compaction_bytes(
            tree.shape(),
            &CountsCalls::default().status(tree.shape(), &[]).capacities,
        );
        assert!(pending > 0);
        for (limit, asks) in
            [(0, false), (1, true), (near - 2, true), (near, true), (near + 2, false)]
        {
            let options = Options { hard_pending_compaction_bytes: limit, ..Options::small() };
            let policy = CountsCalls::default();
            tree.estimate_debt(&options, &policy, &[]);
            assert_eq!(policy.0.into_inner(), usize::from(asks), "{limit} of {near}");
            assert_eq!(tree.pending_bytes(), if asks { pending } else { 0 });
        }
    }
}
