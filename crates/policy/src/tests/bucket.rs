//! BucketLSM: limits of splits and joins, and which bucket is compacted. `bucket-temperatures.txt` has the rule.

mod merging;

use super::policies::configured;
use super::*;

/// Four buckets, whose temperatures follow from a window of one flush.
const BUCKET: BucketLsm = BucketLsm {
    size_ratio: 10,
    level_base_bytes: 1 << 20,
    target_file_bytes: 1 << 20,
    l0_compaction_trigger: 1,
    follow_workers: false,
    window: 1,
    ..configured::growing::BUCKET
};

/// A tree that a policy cuts flushes of and compacts.
struct Tree {
    policy: BucketLsm,
    model: Model,
    state: Vec<u8>,
    running: Running,
}

impl Tree {
    /// Buckets that start at 0, 1000, 2000 and 3000, with nothing in level 0.
    fn new(policy: BucketLsm) -> Self {
        let (model, running) = (Model::default(), Running::default());
        let mut tree = Tree { policy, model, state: Vec::new(), running };
        tree.flush((0..40).map(|n| n * 100));
        tree.settle();
        tree
    }

    /// Returns the level that the next group goes into, while one bucket is full and has to wait for a merge of its
    /// tables into level 1.
    fn begin_beside_waiting_bucket(&mut self) -> Option<usize> {
        for _ in 0..4 {
            self.flush(keys([1, 0, 0, 0]));
        }
        let held: Vec<_> = self.model.shape.levels()[0].tables().map(|t| t.id).collect();
        self.running.compactions.push(plan(vec![merge(&held, 1, 3)]));
        self.begin().map(|group| group.destination.level)
    }

    fn context(&self, observed: &Observed, look: impl FnOnce(&PlanContext) -> bool) -> bool {
        look(&PlanContext {
            shape: &self.model.shape,
            state: &self.state,
            running: &self.running,
            observed,
            filter_bits: FilterBits::whole(10),
            workers: 4,
            l0_stop_trigger: LEVEL0_RUNS_MAX,
            oldest_snapshot: u64::MAX,
            fresh: self.model.fresh(&self.running),
        })
    }

    /// Flushes these keys; returns where the flush was cut.
    fn flush(&mut self, keys: impl IntoIterator<Item = u16>) -> Vec<u16> {
        let keys: BTreeSet<_> = keys.into_iter().collect();
        let sealed = KeySample {
            entries: keys.len() as u64,
            bytes: keys.len() as u64,
            keys: keys.iter().map(|key| key.bytes()).collect(),
        };
        let mut plan = FlushPlan::default();
        self.context(&Observed::default(), |context| {
            plan = self.policy.flush(context, &sealed);
            true
        });
        validate_flush(&plan).unwrap();
        let before = self.model.shape.clone();
        let run = self.model.fresh(&self.running).0;
        let keys: Vec<_> = keys.into_iter().collect();
        let part = |key: &u16| plan.cuts.partition_point(|cut| *cut <= key.bytes());
        let ids: Vec<_> = (keys.chunk_by(|a, b| part(a) == part(b)))
            .map(|keys| self.model.write(0, run, keys.iter().copied()))
            .collect();
        let table = |id| TableInfo::clone(self.model.shape.table(id).unwrap().table);
        let tables: Vec<_> = ids.into_iter().map(table).collect();
        self.apply(&before, Step::Flush { plan: &plan, tables: &tables });
        plan.cuts
            .iter()
            .map(|cut| u16::from_be_bytes([cut[0], *cut.get(1).unwrap_or(&0)]))
            .collect()
    }

    fn apply(&mut self, before: &Shape, step: Step) -> Vec<Decision> {
        let installed = unobserved(before, step);
        let decisions = self.policy.decisions(&self.state, &installed);
        self.state = self.policy.apply(&self.state, &installed);
        assert!(self.state.len() <= MAX_STATE);
        decisions
    }

    /// Starts the next compaction; returns its group.
    fn begin(&mut self) -> Option<Group> {
        let mut plan = None;
        self.context(&Observed::default(), |context| {
            plan = self.policy.plan(context);
            true
        });
        let plan = plan?;
        validate_plan(&self.model.shape, &self.running, &plan).unwrap();
        let Plan::Compact(compaction) = plan else { panic!("{plan:?}") };
        let group = compaction.groups[0].clone();
        self.running.compactions.push(compaction);
        Some(group)
    }

    /// Installs a group that has started; returns what was decided then.
    fn install(&mut self, group: &Group) -> Vec<Decision> {
        self.running.compactions.retain(|compaction| compaction.groups[0] != *group);
        let next = self.model.commit(group, false).unwrap();
        let before = std::mem::replace(&mut self.model, next).shape;
        self.apply(&before, Step::Group { group, outputs: &[], ends: true })
    }

    /// Compacts until nothing is due; returns what was decided.
    fn settle(&mut self) -> Vec<&'static str> {
        let mut decided = Vec::new();
        while let Some(group) = self.begin() {
            decided.extend(self.install(&group).into_iter().map(|decision| decision.name));
        }
        assert!(self.model.is_sound());
        decided
    }

    /// A fact of each bucket.
    fn facts(&self, wanted: &str) -> Vec<u64> {
        let status = self.policy.status(&self.model.shape, &self.state);
        let value = |fact: Fact| match fact {
            Fact::Number { name, value, .. } if name == wanted => Some(value),
            _ => None,
        };
        status.facts.into_iter().filter_map(value).collect()
    }

    fn temperatures(&self) -> Vec<u64> {
        self.facts("bucket-temperature")
    }

    fn boundaries(&self) -> Vec<u16> {
        let status = self.policy.status(&self.model.shape, &self.state);
        let boundary = |fact: Fact| match fact {
            Fact::Key { name: "bucket-boundary", key, .. } if !key.is_empty() => {
                Some(u16::from_be_bytes([key[0], key[1]]))
            }
            _ => None,
        };
        status.facts.into_iter().filter_map(boundary).collect()
    }
}

/// Returns `counts` keys of each of the four buckets.
fn keys(counts: [u16; 4]) -> impl Iterator<Item = u16> {
    (0..).zip(counts).flat_map(|(bucket, count)| (0..count).map(move |n| bucket * 1000 + n * 10))
}

#[test]
fn the_first_large_flush_parts_keys_at_equal_counts_of_entries() {
    let mut tree = Tree::new(BUCKET);
    assert_eq!(tree.boundaries(), [1000, 2000, 3000]);
    assert_eq!(tree.flush(0..2500), [1000, 2000], "where it has keys");
    let too_few = Tree { state: Vec::new(), ..Tree::new(BUCKET) };
    let mut tree = too_few;
    assert!(tree.flush([7, 8, 9]).is_empty());
    assert_eq!(tree.flush([1, 2, 3, 4]), [2, 3, 4]);
    assert_eq!(tree.boundaries(), [2, 3, 4]);
    let workers = BucketLsm { follow_workers: true, buckets: 1, ..BUCKET };
    assert_eq!(Tree::new(workers).boundaries().len(), 3, "as many buckets as workers");
    assert!(Tree::new(BucketLsm { buckets: 1, ..BUCKET }).boundaries().is_empty());
}

#[test]
fn buckets_join_down_to_a_least_number_and_do_not_split_again() {
    let cold = [60, 1, 0, 60];
    let joined = |policy| {
        let mut tree = Tree::new(BucketLsm { join_percent: 50, split_percent: 1_000, ..policy });
        tree.flush(keys(cold));
        tree.settle();
        tree.boundaries()
    };
    assert_eq!(joined(BUCKET), [1000, 3000], "with the empty one");
    assert_eq!(joined(BucketLsm { min_buckets: 4, ..BUCKET }), [1000, 2000, 3000]);
    let hot = |join_hot| {
        let policy = BucketLsm { join_hot, split_percent: 190, ..BUCKET };
        let mut tree = Tree::new(policy);
        // Both neighbours have twice their share: only two of three may be joined.
        tree.flush(keys([0, 55, 10, 55]));
        let group = loop {
            let group = tree.begin().unwrap();
            if group.inputs.iter().any(|id| tree.model.held(*id).contains_key(&2000)) {
                break group;
            }
        };
        tree.install(&group);
        tree.boundaries().len()
    };
    assert_eq!((hot(false), hot(true)), (3, 2));
}

#[test]
fn nothing_is_decided_of_a_bucket_while_a_table_of_it_waits() {
    let mut tree = Tree::new(BUCKET);
    tree.flush(keys([60, 20, 15, 5]));
    let groups: Vec<_> = std::iter::from_fn(|| tree.begin()).collect();
    let group = groups.last().unwrap();
    assert!(tree.model.held(group.inputs[0]).contains_key(&0), "the hot one has most to merge");
    tree.flush(keys([60, 20, 15, 5]));
    assert!(tree.install(group).is_empty(), "a later flush has put a table into it");
    assert_eq!(tree.boundaries(), [1000, 2000, 3000]);
    for group in &groups[..3] {
        tree.install(group);
    }
    assert!(tree.settle().contains(&"bucket-split"));
}

#[test]
fn where_a_bucket_may_hold_tables_it_is_split_while_one_waits() {
    let mut tree = Tree::new(BucketLsm { only_empty: false, ..BUCKET });
    tree.flush(keys([60, 20, 15, 5]));
    let groups: Vec<_> = std::iter::from_fn(|| tree.begin()).collect();
    tree.flush(keys([60, 20, 15, 5]));
    let decisions = tree.install(groups.last().unwrap());
    let names: Vec<_> = decisions.iter().map(|decision| decision.name).collect();
    assert_eq!(names, ["bucket-split"]);
    assert_eq!(tree.boundaries().len(), 4);
    for group in &groups[..3] {
        tree.install(group);
    }
    // The table that waited spans both halves: they are merged together, and parted in level 1.
    tree.settle();
    assert_eq!(tree.model.shape.levels()[0].runs.len(), 0);
}

#[test]
fn the_bucket_with_most_tables_is_first_then_the_least_input() {
    let mut tree = Tree::new(BUCKET);
    tree.flush(keys([3, 9, 5, 7]));
    tree.flush(keys([0, 2, 0, 2]));
    let mut first_keys = Vec::new();
    while let Some(group) = tree.begin() {
        let least = group.inputs.iter().map(|id| *tree.model.held(*id).keys().next().unwrap());
        first_keys.push(least.min().unwrap() / 1000);
    }
    // Two tables each and 9 or 11 bytes with ten of level 1, then one table each, of 3 or 5 bytes. Each
    // starts beside the others: four workers.
    assert_eq!(first_keys, [3, 1, 0, 2]);
    assert_eq!(tree.running.compactions.len(), 4);
}

#[test]
fn the_next_merge_of_a_split_bucket_parts_its_table_of_level_1() {
    let mut tree = Tree::new(BucketLsm { join_percent: 0, ..BUCKET });
    tree.flush(keys([60, 20, 15, 5]));
    assert_eq!(tree.settle(), ["bucket-split"]);
    let spans = |tree: &Tree, key: u16| {
        let all: Vec<_> = tree.model.shape.tables().map(|(_, _, t)| Arc::clone(t)).collect();
        all.iter().any(|t| *t.smallest < *key.bytes() && t.spans(&key.bytes()))
    };
    assert!(spans(&tree, 290), "the split binds later flushes");
    assert_eq!(tree.flush(keys([60, 0, 0, 0])), [290]);
    let first = tree.begin().unwrap();
    assert_eq!(first.action.cuts(), [290u16.bytes()]);
    assert!(tree.begin().is_none(), "the other half waits for the table that ties them together");
    tree.install(&first);
    assert!(!spans(&tree, 290));
    tree.settle();
    tree.flush(keys([60, 0, 0, 0]));
    assert!(tree.begin().is_some() && tree.begin().is_some(), "from now on both go at once");
}

#[test]
fn parameters_that_do_not_go_together_are_refused() {
    let refused = |policy: BucketLsm| {
        PolicyOptions::BucketLsm(policy).build().err().map(|bad| bad.to_string())
    };
    assert_eq!(refused(BUCKET), None);
    let why = "bucket: `buckets` is 0, expected 1 to 256";
    assert_eq!(refused(BucketLsm { buckets: 0, ..BUCKET }).unwrap(), why);
    let why = "bucket: `buckets` is 257, expected 1 to 256";
    assert_eq!(refused(BucketLsm { buckets: 257, ..BUCKET }).unwrap(), why);
    let why = "bucket: `window-flushes` is 0, expected 1 to 64";
    assert_eq!(refused(BucketLsm { window: 0, ..BUCKET }).unwrap(), why);
    let why = "bucket: `split-percent` is 100, expected more than twice `join-percent`: 100";
    assert_eq!(refused(BucketLsm { split_percent: 100, ..BUCKET }).unwrap(), why);
    let why = "bucket: `min-buckets` is 9, expected at most `buckets`: 8";
    for follow_workers in [true, false] {
        let policy = BucketLsm { min_buckets: 9, buckets: 8, follow_workers, ..BUCKET };
        assert_eq!(refused(policy).unwrap(), why);
    }
    assert_eq!(refused(BucketLsm { min_buckets: 8, buckets: 8, ..BUCKET }), None);
    let why = "bucket: `window-flushes` is 64, expected fewer flushes for 256 buckets";
    assert_eq!(refused(BucketLsm { window: 64, buckets: 256, ..BUCKET }).unwrap(), why);
    assert_eq!(refused(BucketLsm { window: 10, buckets: 256, ..BUCKET }), None);
}

#[test]
fn a_state_of_all_buckets_and_long_keys_fits_and_is_read() {
    let policy = BucketLsm { buckets: 256, window: 10, ..BUCKET };
    let mut tree = Tree::new(policy.clone());
    for round in 0..3 {
        tree.flush((0..512).map(|n| n * 6 + round));
        tree.settle();
    }
    assert_eq!(tree.boundaries().len(), 255);
    assert!(tree.state.len() > 5_000, "{}", tree.state.len());
    for end in (0..tree.state.len()).step_by(97) {
        let cut = policy.status(&Shape::default(), &tree.state[..end]);
        assert!(cut.facts.is_empty(), "a state that is cut is none");
    }
}

/// Flushes that overlap nothing, as of ascending keys, are never several over one key.
#[test]
fn disjoint_flushes_move_down_before_reads_pass_too_many_runs() {
    let mut tree = Tree::new(BucketLsm { l0_compaction_trigger: 4, ..BUCKET });
    for round in 0..40u16 {
        tree.flush((0..10).map(|n| 5000 + round * 10 + n));
        tree.settle();
        let runs = tree.model.shape.levels()[0].runs.len();
        assert!(runs < LEVEL0_RUNS_MAX, "{runs} runs");
    }
    assert!(tree.model.shape.deepest() > 0);
}

#[test]
fn tables_that_begin_at_a_boundary_are_not_cut_there() {
    let mut tree = Tree::new(BUCKET);
    assert!(tree.flush((0..40).map(|n| 1000 + n)).is_empty());
    let group = tree.begin().unwrap();
    assert!(group.action != Action::Move && group.action.cuts().is_empty(), "{group:?}");
}

/// A tree with boundaries and no tables but this one of level 0, as recovery writes it: not cut.
fn alone(keys: impl IntoIterator<Item = u16>, tombstones: u64) -> Tree {
    let mut tree = Tree { model: Model::default(), ..Tree::new(BUCKET) };
    let id = tree.model.write(0, 1, keys);
    let table = TableInfo::clone(tree.model.shape.table(id).unwrap().table);
    let added = vec![(0, RunId(1), Arc::new(TableInfo { tombstones, ..table }))];
    tree.model.shape = apply(&tree.model.shape, &ShapeEdit { added, dropped: vec![id] }).unwrap();
    tree
}

#[test]
fn a_lone_table_moves_unless_it_is_cut_or_drops_tombstones() {
    let action = |mut tree: Tree| tree.begin().unwrap().action;
    assert_eq!(action(alone([1000, 1900], 0)), Action::Move);
    let cut = action(alone([500, 2500], 0));
    assert_eq!(cut.cuts(), [1000u16.bytes(), 2000u16.bytes()]);
    assert!(action(alone([1000, 1900], 2)) != Action::Move);
    let mut deeper = alone([1000, 1900], 2);
    deeper.model.write(2, 2, [5000]);
    assert_eq!(action(deeper), Action::Move, "the tombstones may hide something below");
}

#[test]
fn a_merge_within_level_0_says_nothing_of_a_bucket() {
    let mut tree = Tree::new(BucketLsm { join_percent: 0, ..BUCKET });
    tree.flush(keys([60, 20, 15, 5]));
    let before = tree.model.shape.clone();
    let inputs: Vec<_> = tables_of(&before.levels()[0].runs).map(|table| table.id).collect();
    let state = tree.state.clone();
    let group = merge(&inputs, 0, 99);
    let step = Step::Group { group: &group, outputs: &[], ends: true };
    assert!(tree.apply(&before, step).is_empty());
    assert_eq!(tree.state, state);
}

#[test]
fn a_bucket_at_a_limit_is_not_split_and_joins_up_to_it() {
    let mut tree = Tree::new(BucketLsm { join_percent: 0, ..BUCKET });
    tree.flush(keys([50, 20, 20, 10]));
    assert_eq!(tree.temperatures()[0], 2000, "the limit");
    assert!(tree.settle().is_empty());

    let mut tree = Tree::new(BUCKET);
    tree.flush(keys([5, 45, 5, 45]));
    let group = loop {
        let group = tree.begin().unwrap();
        if group.inputs.iter().any(|id| tree.model.held(*id).contains_key(&2000)) {
            break group;
        }
    };
    let decided: Vec<_> = tree.install(&group).iter().map(|decision| decision.name).collect();
    assert_eq!(decided, ["bucket-joined"]);
    assert_eq!(tree.temperatures(), [200, 2000, 1800]);
}

#[test]
fn there_are_at_most_four_times_the_first_number_of_buckets() {
    let policy = BucketLsm { buckets: 2, split_percent: 10, join_percent: 0, ..BUCKET };
    let mut tree = Tree::new(policy);
    for round in 0..16 {
        tree.flush((0..80).map(|n| n * 50 + round));
        tree.settle();
    }
    assert_eq!(tree.boundaries().len() + 1, 8);
}

#[test]
fn buckets_and_temperatures_survive_a_requested_compaction() {
    let mut tree = Tree::new(BUCKET);
    tree.flush(keys([60, 20, 15, 5]));
    tree.state = tree.policy.readopt(&tree.state, &tree.model.shape);
    assert_eq!(tree.boundaries(), [1000, 2000, 3000]);
    assert_eq!(tree.temperatures(), [2400, 800, 600, 200]);
}

#[test]
fn a_flush_reports_how_many_buckets_it_is_cut_for() {
    let tree = Tree::new(BUCKET);
    let sealed =
        KeySample { entries: 4, bytes: 4, keys: (0..4).map(|n| (n * 999u16).bytes()).collect() };
    let is_cut = tree.context(&Observed::default(), |context| {
        let plan = tree.policy.flush(context, &sealed);
        assert_eq!(plan.reason.terms[0].left.value, plan.cuts.len() as u64 + 1);
        plan.cuts.len() == 2
    });
    assert!(is_cut);
}

#[test]
fn windows_too_long_for_a_state_of_short_keys_are_refused() {
    for buckets in [1, 16, 64, 256] {
        for window in 1..=64 {
            let most = (buckets * 4).min(256);
            // A boundary and a median of each flush, of eight bytes, and a volume of each flush.
            let bytes = 12 + most * (10 * (1 + window) + 8 * window + 4);
            let policy = PolicyOptions::BucketLsm(BucketLsm { buckets, window, ..BUCKET });
            assert_eq!(policy.build().is_ok(), bytes <= MAX_STATE as u64, "{buckets} {window}");
        }
    }
}
