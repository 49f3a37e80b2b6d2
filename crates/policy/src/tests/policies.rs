//! The policies from any shape, and under load: every plan is legal, they become idle, and then
//! their invariants hold.

use super::*;
#[cfg(feature = "all")]
use crate::toolkit::partition::partitioned;
use proptest::prelude::*;

pub(super) const LEVELED: Leveled = Leveled {
    size_ratio: 3,
    level_base_bytes: 12,
    target_file_bytes: 6,
    l0_compaction_trigger: 3,
    dynamic_level_bytes: true,
    pick: Pick::LeastOverlap,
    seed: 7,
    filters: Filters::Uniform,
    max_subcompactions: 1,
    pipelined: false,
    merge_waiting: true,
    partitioning: Partitioning::DEFAULT,
};
const LEVELED_FULL: LeveledFull = LeveledFull {
    size_ratio: 3,
    level_base_bytes: 12,
    target_file_bytes: 6,
    l0_compaction_trigger: 1,
    dynamic_level_bytes: true,
    preemptive: true,
    filters: Filters::Uniform,
};
pub(super) const TIERED: Tiered = Tiered {
    size_ratio: 3,
    level_base_bytes: 12,
    target_file_bytes: 6,
    filters: Filters::Uniform,
    partitioning: Partitioning::DEFAULT,
};
const TIERED_FULL: TieredFull = TieredFull {
    size_ratio: 3,
    level_base_bytes: 12,
    target_file_bytes: 6,
    l0_compaction_trigger: 1,
    filters: Filters::Uniform,
};
const LAZY: LazyLeveled = LazyLeveled {
    size_ratio: 3,
    level_base_bytes: 12,
    target_file_bytes: 6,
    l0_compaction_trigger: 3,
    dynamic_level_bytes: true,
    leveled_levels: 1,
    filters: Filters::Uniform,
};
const UNIVERSAL: Universal = Universal {
    run_trigger: 4,
    size_ratio_percent: 1,
    min_merge_width: 2,
    max_merge_width: 64,
    space_percent: 200,
    target_file_bytes: 6,
    filters: Filters::Uniform,
    partitioning: Partitioning::DEFAULT,
};
const SPOOKY: Spooky = Spooky {
    size_ratio: 3,
    level_base_bytes: 12,
    target_file_bytes: u64::MAX,
    l0_compaction_trigger: 1,
    levels_below: 1,
    leveled_levels: ALL as u64,
    trivial_moves: true,
    filters: Filters::Uniform,
};
#[cfg(feature = "all")]
pub(super) mod growing {
    use super::*;

    const B: (u64, u64) = (12, 6);
    pub(super) const TIERED_PARTIAL: TieredPartial = TieredPartial {
        size_ratio: 3,
        level_base_bytes: B.0,
        target_file_bytes: B.1,
        filters: Filters::Uniform,
    };
    pub(super) const LEVELING: HorizontalLeveling = HorizontalLeveling {
        levels: 3,
        level_base_bytes: B.0,
        target_file_bytes: B.1,
        filters: Filters::Uniform,
        partitioning: Partitioning::DEFAULT,
    };
    pub(super) const TIERING: HorizontalTiering = HorizontalTiering {
        levels: 3,
        data_bytes: 0,
        level_base_bytes: B.0,
        target_file_bytes: B.1,
        filters: Filters::Uniform,
        partitioning: Partitioning::DEFAULT,
    };
    pub(super) const VERTIORIZON: Vertiorizon = Vertiorizon {
        size_ratio: 3,
        buffers: 0,
        data_bytes: 0,
        levels: 0,
        merge_policy: MergeChoice::Tuned,
        vertical_merge_policy: MergeChoice::Leveling,
        window: 1024,
        skew: false,
        backbone: false,
        level_base_bytes: B.0,
        target_file_bytes: B.1,
        filters: Filters::Uniform,
    };
    pub(super) const BINOMIAL: Binomial = Binomial {
        components: 3,
        level_base_bytes: B.0,
        target_file_bytes: B.1,
        filters: Filters::Uniform,
        partitioning: Partitioning::DEFAULT,
    };
    pub(super) const BUCKET: BucketLsm = BucketLsm {
        size_ratio: 3,
        level_base_bytes: B.0,
        target_file_bytes: B.1,
        filters: Filters::Uniform,
        l0_compaction_trigger: 3,
        dynamic_level_bytes: true,
        buckets: 4,
        follow_workers: true,
        window: 3,
        split_percent: 200,
        join_percent: 50,
        min_buckets: 1,
        join_hot: false,
        count_present: false,
        only_empty: true,
        merge_waiting: false,
        level_one_waits: true,
        eager: false,
        overlap_percent: 0,
    };
    /// As the authors' code has it.
    pub(super) const BUCKET_CODE: BucketLsm = BucketLsm {
        split_percent: 150,
        join_hot: true,
        count_present: true,
        only_empty: false,
        merge_waiting: true,
        level_one_waits: true,
        eager: true,
        overlap_percent: 50,
        ..BUCKET
    };
    pub(super) const PTIER: PTier = PTier {
        size_ratio: 3,
        level_base_bytes: B.0,
        target_file_bytes: B.1,
        split_bytes: 2,
        filters: Filters::Uniform,
        l0_compaction_trigger: 3,
        prefix_length: 1,
        prefix_delimiter: Vec::new(),
        read_limit: 5,
    };
    /// Levels of these ratios and runs.
    pub(super) fn fluid(size_ratios: &[u64], runs: &[u64], largest_runs: u64) -> Fluid {
        Fluid {
            size_ratios: size_ratios.to_vec(),
            runs: runs.to_vec(),
            largest_runs,
            level_base_bytes: B.0,
            target_file_bytes: B.1,
            ..Fluid::default()
        }
    }
    /// Rounds of up to four admissions, or of a third of the last level.
    pub(crate) const ECOTUNE: EcoTune = EcoTune {
        size_ratio: 3,
        window: 1 << 10,
        page_percent: 100,
        level_base_bytes: B.0,
        target_file_bytes: B.1,
        filters: Filters::Uniform,
    };
    pub(super) const MIN_LATENCY: MinLatency = MinLatency {
        components: 3,
        level_base_bytes: B.0,
        target_file_bytes: B.1,
        filters: Filters::Uniform,
        partitioning: Partitioning::DEFAULT,
    };
}
const KEYS: u16 = 300;

/// Plans and commits in an order that the dice choose.
struct Executor<'a, 'd> {
    model: Model,
    running: Running,
    state: Vec<u8>,
    dice: &'a mut Dice<'d>,
}

impl<'a, 'd> Executor<'a, 'd> {
    fn new(model: Model, dice: &'a mut Dice<'d>) -> Self {
        Executor { model, running: Running::default(), state: Vec::new(), dice }
    }

    /// Starts what the policy proposes; false when it proposes nothing.
    fn begin(&mut self, policy: &dyn Policy) -> bool {
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
    fn commit(&mut self, policy: &dyn Policy) -> bool {
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

    fn step(&mut self, policy: &dyn Policy) -> bool {
        let commits_first = self.dice.below(2) == 0;
        commits_first && self.commit(policy) || self.begin(policy) || self.commit(policy)
    }

    /// Drives the tree until nothing is left to do.
    fn rest(&mut self, policy: &dyn Policy) {
        let bound = 200 + 20 * self.model.shape.tables().count();
        for _ in 0..bound {
            if !self.step(policy) {
                assert!(self.model.is_sound());
                return;
            }
        }
        panic!("{} does not become idle: {:?}", policy.name(), self.model.shape);
    }

    fn flush(&mut self) {
        let run = self.model.fresh(&self.running).0;
        let from = self.dice.below(256) as u16;
        let step = 1 + self.dice.below(12) as u16;
        let keys = 1 + self.dice.below(12) as u16;
        self.model.write(0, run, (0..keys).map(|k| (from + k * step) % KEYS));
    }
}

/// Levels of capacities by T = 3 and B = 12: within them, and each of the last `leveled` one run.
fn check_vertical(shape: &Shape, leveled: usize, dynamic_level_bytes: bool) {
    let bytes: Vec<_> = shape.levels().iter().map(Level::bytes).collect();
    let Some((&last_bytes, above)) = bytes.split_last() else { return };
    let last = above.len();
    assert!(shape.levels()[0].runs.len() < 4, "{shape:?}");
    for (depth, level) in shape.levels().iter().enumerate().skip(1) {
        let most = if depth + leveled > last { 1 } else { 2 };
        assert!(level.runs.len() <= most, "level {depth}: {shape:?}");
        let capacity = match (last - depth) as u32 {
            above if dynamic_level_bytes && above > 0 => 12.max(last_bytes / 3u64.pow(above)),
            _ => 12 * 3u64.pow(depth as u32),
        };
        assert!(level.bytes() <= capacity, "level {depth}: {shape:?}");
    }
}

fn check_tiered(shape: &Shape) {
    let last = shape.levels().len().saturating_sub(1);
    for (depth, level) in shape.levels().iter().enumerate() {
        assert!(level.runs.len() < if depth == 0 { 4 } else { 3 }, "{shape:?}");
        let oldest = level.runs.last().map_or(0, Run::bytes);
        let bytes = if depth > 0 && depth == last { oldest } else { level.bytes() };
        assert!(bytes < 12 * 3u64.pow(depth as u32 + 1), "{shape:?}");
    }
}

fn check_tiered_full(shape: &Shape) {
    for (depth, level) in shape.levels().iter().enumerate() {
        assert!(level.runs.len() <= 3, "{shape:?}");
        assert!(depth == 0 || level.bytes() <= 12 * 3u64.pow(depth as u32), "{shape:?}");
    }
}

fn check_universal(shape: &Shape) {
    let runs: Vec<_> = shape.levels().iter().flat_map(|l| &l.runs).map(Run::bytes).collect();
    assert!(runs.len() <= 4, "{shape:?}");
    if let [first, second, third, oldest] = runs[..] {
        assert!(first + second + third < 2 * oldest, "{shape:?}");
        assert!(first < second && second < third && third < oldest, "{shape:?}");
    }
}

/// Levels of T = 3 and B = 12: at most C_i above L, less than C_X at X and than C_L at L, the last
/// `leveled` of one run.
fn check_spooky(shape: &Shape, below: usize, leveled: usize) {
    let last = shape.deepest();
    let divided = last.saturating_sub(below).max(1);
    assert!(shape.levels().first().is_none_or(|l| l.runs.len() < 4), "{shape:?}");
    for (depth, level) in shape.levels().iter().enumerate().skip(1) {
        let most = if depth + leveled > last { 1 } else { 3 };
        assert!(level.runs.len() <= most, "level {depth}: {shape:?}");
        let capacity = match (last - depth) as u32 {
            0 => 12 * 3u64.pow(last as u32),
            above => 12.max(shape.levels()[last].bytes() / 3u64.pow(above)),
        };
        let is_full = level.bytes() >= capacity;
        let may_be = depth < divided || depth < last && depth > divided;
        assert!(!is_full || may_be && level.bytes() == capacity, "level {depth}: {shape:?}");
    }
    let clear = shape.levels().iter().take(last).skip(divided.min(last.max(1) - 1));
    let rises = last > 1 && clear.into_iter().all(|l| l.runs.is_empty());
    assert!(!rises || shape.bytes() >= 12 * 3u64.pow(last as u32 - 1), "{shape:?}");
}

/// Less than an admission waits in level 0, in few runs.
fn check_admitting(shape: &Shape) {
    let Some(level0) = shape.levels().first() else { return };
    assert!(level0.runs.len() < 4 && level0.bytes() < 9, "{shape:?}");
}

fn check_tiered_partial(shape: &Shape) {
    for (depth, level) in shape.levels().iter().enumerate().skip(1) {
        assert!(level.bytes() < 12 * 3u64.pow(depth as u32 + 1), "level {depth}: {shape:?}");
        assert!(level.runs.len() <= 3, "level {depth}: {shape:?}");
    }
    assert!(shape.levels().first().is_none_or(|level| level.runs.len() < 4), "{shape:?}");
}

/// Levels of T = 3 and B = 12 below a level 0 in which no key is in as many tables as the trigger.
fn check_bucket(shape: &Shape) {
    let level0: Vec<_> = shape.tables().filter(|(level, ..)| *level == 0).collect();
    for (_, _, table) in &level0 {
        let over = level0.iter().filter(|(_, _, t)| t.spans(&table.smallest)).count();
        assert!(over < 3, "{shape:?}");
    }
    let mut below = shape.levels().iter().map(Level::bytes);
    below.next();
    let bytes: Vec<_> = below.collect();
    let Some((&last_bytes, above)) = bytes.split_last() else { return };
    assert!(shape.levels().iter().skip(1).all(|level| level.runs.len() < 2), "{shape:?}");
    for (depth, bytes) in above.iter().enumerate() {
        let capacity = 12.max(last_bytes / 3u64.pow((above.len() - depth) as u32));
        assert!(*bytes <= capacity, "level {}: {shape:?}", depth + 1);
    }
    assert!(last_bytes <= 12 * 3u64.pow(bytes.len() as u32), "{shape:?}");
}

/// Levels of T = 3 and B = 12, of any number of runs, below a level 0 of less than the trigger.
fn check_ptier(shape: &Shape) {
    for (depth, level) in shape.levels().iter().enumerate() {
        match depth {
            0 => assert!(level.runs.len() < 3, "{shape:?}"),
            _ => assert!(level.bytes() <= 12 * 3u64.pow(depth as u32 - 1), "{shape:?}"),
        }
    }
}

/// Levels above the largest have less than their capacities, in as many runs as they may.
#[cfg(feature = "all")]
fn check_fluid(shape: &Shape, size_ratios: &[u64], runs: &[u64], largest_runs: usize) {
    let Some((level0, below)) = shape.levels().split_first() else { return };
    assert!(level0.runs.len() < 4 && level0.bytes() < 12, "{shape:?}");
    let of = |list: &[u64], at: usize| *list.get(at).or(list.last()).unwrap();
    let mut capacity = 12;
    for (at, level) in below.iter().enumerate() {
        capacity *= of(size_ratios, at);
        let is_last = at + 1 == below.len();
        let most = if is_last { largest_runs } else { of(runs, at) as usize };
        let bytes = if is_last { level.runs.last().unwrap().bytes() } else { level.bytes() };
        assert!(level.runs.len() <= most && bytes < capacity, "level {}: {shape:?}", at + 1);
    }
}

/// The last level is one run, and the runs above it have not ended a round.
#[cfg(feature = "all")]
fn check_ecotune(shape: &Shape) {
    check_admitting(shape);
    let last = shape.deepest().max(2);
    assert!(shape.levels().get(last).is_none_or(|level| level.runs.len() <= 1), "{shape:?}");
    let status = growing::ECOTUNE.status(shape, &[]);
    let fact = |wanted| {
        let find = |fact: &Fact| match fact {
            Fact::Number { name, value, .. } if *name == wanted => Some(*value),
            _ => None,
        };
        status.facts.iter().find_map(find).unwrap()
    };
    let main: u64 = shape.levels().iter().take(last).skip(1).map(Level::bytes).sum();
    let runs: usize = shape.levels().iter().take(last).skip(1).map(|level| level.runs.len()).sum();
    assert!(main < fact("round-admissions") * fact("admission-bytes"), "{shape:?}");
    assert!((runs as u64) < 2 * fact("round-admissions"), "{shape:?}");
}

fn check_stack(shape: &Shape) {
    check_admitting(shape);
    assert!(shape.runs().iter().filter(|(place, _)| place.level > 0).count() <= 3, "{shape:?}");
}

fn check_horizontal(shape: &Shape) {
    check_stack(shape);
    assert!(shape.deepest() <= 3, "{shape:?}");
    assert!(shape.levels().iter().skip(1).all(|level| level.runs.len() < 2), "{shape:?}");
}

/// The greatest number of levels.
const ALL: usize = 64;

type Case = (Box<dyn Policy>, fn(&Shape));

/// Every policy in several configurations, and the invariants of its idle trees.
pub(super) fn policies() -> Vec<Case> {
    let policies: Vec<Case> = vec![
        (Box::new(LEVELED), |shape| check_vertical(shape, ALL, true)),
        (Box::new(Leveled { dynamic_level_bytes: false, ..LEVELED }), |shape| {
            check_vertical(shape, ALL, false)
        }),
        (Box::new(Leveled { pick: Pick::Oldest, ..LEVELED }), |shape| {
            check_vertical(shape, ALL, true)
        }),
        (Box::new(Leveled { pick: Pick::RoundRobin, ..LEVELED }), |shape| {
            check_vertical(shape, ALL, true);
        }),
        (Box::new(Leveled { pick: Pick::Random, ..LEVELED }), |shape| {
            check_vertical(shape, ALL, true)
        }),
        (Box::new(LEVELED_FULL), |shape| check_vertical(shape, ALL, true)),
        (Box::new(LeveledFull { dynamic_level_bytes: false, ..LEVELED_FULL }), |shape| {
            check_vertical(shape, ALL, false);
        }),
        (Box::new(LeveledFull { preemptive: false, ..LEVELED_FULL }), |shape| {
            check_vertical(shape, ALL, true)
        }),
        (Box::new(LAZY), |shape| check_vertical(shape, 1, true)),
        (Box::new(LazyLeveled { leveled_levels: 2, ..LAZY }), |shape| {
            check_vertical(shape, 2, true)
        }),
        (Box::new(LazyLeveled { dynamic_level_bytes: false, ..LAZY }), |shape| {
            check_vertical(shape, 1, false)
        }),
        (Box::new(TIERED), check_tiered),
        (Box::new(TIERED_FULL), check_tiered_full),
        (Box::new(UNIVERSAL), check_universal),
        (Box::new(SPOOKY), |shape| check_spooky(shape, 1, ALL)),
        (Box::new(Spooky { levels_below: 0, ..SPOOKY }), |shape| check_spooky(shape, 0, ALL)),
        (Box::new(Spooky { levels_below: 2, ..SPOOKY }), |shape| check_spooky(shape, 2, ALL)),
        (Box::new(Spooky { levels_below: 2, trivial_moves: false, ..SPOOKY }), |shape| {
            check_spooky(shape, 2, ALL)
        }),
        (Box::new(Spooky { levels_below: 3, target_file_bytes: 10, ..SPOOKY }), |shape| {
            check_spooky(shape, 3, ALL);
        }),
        (Box::new(Spooky { leveled_levels: 1, ..SPOOKY }), |shape| check_spooky(shape, 1, 1)),
        (Box::new(Spooky { leveled_levels: 0, levels_below: 2, ..SPOOKY }), |shape| {
            check_spooky(shape, 2, 0);
        }),
    ];
    policies.into_iter().chain(added()).collect()
}

#[cfg(not(feature = "all"))]
fn added() -> Vec<Case> {
    Vec::new()
}

/// Those that only the build with all policies has.
#[cfg(feature = "all")]
fn added() -> Vec<Case> {
    let mut policies: Vec<Case> = vec![
        (Box::new(Leveled { pipelined: true, ..LEVELED }), |shape| {
            check_vertical(shape, ALL, true)
        }),
        (Box::new(growing::TIERED_PARTIAL), check_tiered_partial),
        (Box::new(growing::LEVELING), check_horizontal),
        (Box::new(HorizontalLeveling { levels: 1, ..growing::LEVELING }), check_horizontal),
        (Box::new(growing::TIERING), check_admitting),
        (Box::new(HorizontalTiering { data_bytes: 2000, ..growing::TIERING }), check_admitting),
        (Box::new(growing::VERTIORIZON), check_admitting),
        (Box::new(Vertiorizon { levels: 2, skew: true, ..growing::VERTIORIZON }), check_admitting),
        (
            Box::new(Vertiorizon {
                merge_policy: MergeChoice::Tiering,
                vertical_merge_policy: MergeChoice::Tiering,
                ..growing::VERTIORIZON
            }),
            check_admitting,
        ),
        (Box::new(Vertiorizon { backbone: true, ..growing::VERTIORIZON }), check_admitting),
        (
            Box::new(Vertiorizon {
                vertical_merge_policy: MergeChoice::Tuned,
                ..growing::VERTIORIZON
            }),
            check_admitting,
        ),
        (Box::new(growing::BINOMIAL), check_stack),
        (Box::new(growing::MIN_LATENCY), check_stack),
        (Box::new(growing::BUCKET), check_bucket),
        (Box::new(growing::BUCKET_CODE), check_bucket),
        (Box::new(Leveled { merge_waiting: false, ..LEVELED }), |shape| {
            check_vertical(shape, ALL, true);
        }),
        (Box::new(growing::PTIER), check_ptier),
        (Box::new(growing::fluid(&[3], &[1], 1)), |shape| check_fluid(shape, &[3], &[1], 1)),
        (Box::new(growing::fluid(&[3], &[3], 1)), |shape| check_fluid(shape, &[3], &[3], 1)),
        (Box::new(growing::fluid(&[9, 3, 3], &[9, 3, 2], 1)), |shape| {
            check_fluid(shape, &[9, 3, 3], &[9, 3, 2], 1);
        }),
        (Box::new(growing::fluid(&[4, 6], &[2, 3], 3)), |shape| {
            check_fluid(shape, &[4, 6], &[2, 3], 3);
        }),
    ];
    policies.push((Box::new(growing::ECOTUNE), check_ecotune));
    policies.extend(partitioned_policies());
    policies
}

/// Policies under each partitioner.
#[cfg(feature = "all")]
fn partitioned_policies() -> Vec<Case> {
    let mut policies = Vec::new();
    for (partitioner, join_percent, subcompactions) in [
        (Partitioner::None, 0, 0),
        (Partitioner::Size, 0, 1),
        (Partitioner::Size, 100, 0),
        (Partitioner::LocalRange, 0, 2),
        (Partitioner::LocalRangeByGroup, 50, 0),
        (Partitioner::GlobalRange, 0, 3),
    ] {
        let options =
            Partitioning { partitioner, join_percent, subcompactions, ..Partitioning::DEFAULT };
        let each: [Case; 7] = [
            (Box::new(LEVELED), |shape| check_vertical(shape, ALL, true)),
            (Box::new(TIERED), check_tiered),
            (Box::new(UNIVERSAL), check_universal),
            (Box::new(growing::LEVELING), check_horizontal),
            (Box::new(growing::TIERING), check_admitting),
            (Box::new(growing::BINOMIAL), check_stack),
            (Box::new(growing::MIN_LATENCY), check_stack),
        ];
        for (policy, check) in each {
            policies.push((partitioned(policy, Some(&options), 6), check));
        }
    }
    policies
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn every_policy_becomes_idle_from_any_shape(
        bytes in proptest::collection::vec(any::<u8>(), 2000),
        order in proptest::collection::vec(0..policies().len(), 3),
    ) {
        let mut dice = Dice(bytes.iter());
        let model = dice.tree(5, 5, 120, true);
        let mut executor = Executor::new(model, &mut dice);
        let policies = policies();
        for (policy, check) in order.into_iter().map(|i| &policies[i]) {
            executor.state = policy.adopt(&executor.model.shape);
            executor.rest(&**policy);
            check(&executor.model.shape);
        }
    }

    #[test]
    fn plans_stay_legal_under_load_and_bounds_hold_when_idle(
        bytes in proptest::collection::vec(any::<u8>(), 2000),
        which in 0..policies().len(),
    ) {
        let (policy, check) = policies().swap_remove(which);
        let policy = &*policy;
        let mut dice = Dice(bytes.iter());
        let mut executor = Executor::new(Model::default(), &mut dice);
        for _ in 0..60 {
            executor.flush();
            for _ in 0..executor.dice.below(6) {
                executor.step(policy);
            }
        }
        executor.rest(policy);
        check(&executor.model.shape);
    }

    #[test]
    fn the_fallback_is_legal_beside_any_plan_and_ends_in_one_run(
        bytes in proptest::collection::vec(any::<u8>(), 400),
    ) {
        let mut dice = Dice(bytes.iter());
        let model = dice.tree(3, 4, 10, true);
        let adversarial = dice.compaction(&model);
        let mut executor = Executor::new(model, &mut dice);
        if validate(&executor.model.shape, &executor.running, &adversarial).is_ok() {
            executor.running.compactions.push(adversarial);
        }
        loop {
            let fresh = executor.model.fresh(&executor.running);
            match fallback(&executor.model.shape, &executor.running, fresh) {
                Some(Plan::Reshape(plan)) => panic!("{plan:?}"),
                Some(Plan::Compact(plan)) => {
                    let mut groups: Vec<_> = executor.running.groups().cloned().collect();
                    groups.extend(plan.groups.clone());
                    prop_assert!(executor.model.all_sound(&groups));
                    let runs = |shape: &Shape| shape.levels().iter().map(|l| l.runs.len()).sum::<usize>();
                    let before = runs(&executor.model.shape);
                    executor.model = executor.model.commit(&plan.groups[0], true).unwrap();
                    prop_assert!(runs(&executor.model.shape) < before);
                }
                None if executor.commit(&LEVELED) => {}
                None => break,
            }
        }
        let runs = executor.model.shape.levels().iter().map(|l| l.runs.len()).sum::<usize>();
        prop_assert!(runs <= 1);
    }
}

/// Loads flushes of `flush` keys each, until the tree is idle after each one.
fn load(policy: &dyn Policy, flushes: u16, keys_of: impl Fn(u16) -> Vec<u16>) -> (Model, u64) {
    let mut model = Model::default();
    let mut written = 0;
    for flush in 0..flushes {
        let run = model.fresh(&Running::default()).0;
        model.write(0, run, keys_of(flush));
        loop {
            let running = Running::default();
            let fresh = model.fresh(&running);
            let Some(plan) = propose(policy, &model.shape, &[], &running, fresh) else { break };
            let before = model.last_table;
            model = model.follow(&plan);
            let new = model.data.iter().filter(|(id, _)| id.0 > before);
            written += new.map(|(_, v)| v.len() as u64).sum::<u64>();
        }
    }
    (model, written)
}

/// The kinds of Spooky's compactions.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    WithinLevel0,
    Full,
    Dividing,
    Partitioned,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn spooky_runs_one_merge_of_each_kind_at_a_time(
        bytes in proptest::collection::vec(any::<u8>(), 2000),
        levels_below in 1..3u64,
    ) {
        let policy = Spooky { levels_below, ..SPOOKY };
        let mut dice = Dice(bytes.iter());
        let mut executor = Executor::new(Model::default(), &mut dice);
        // The first input names a compaction's group; the kinds of those that run, by group.
        let mut kinds: BTreeMap<TableId, Kind> = BTreeMap::new();
        for _ in 0..80 {
            executor.flush();
            for _ in 0..executor.dice.below(6) {
                let last = executor.model.shape.deepest().max(1);
                let divided = last.saturating_sub(levels_below as usize).max(1);
                executor.step(&policy);
                let going: BTreeSet<_> = executor.running.groups().map(|g| g.inputs[0]).collect();
                kinds.retain(|input, _| going.contains(input));
                let mut running = Vec::new();
                for compaction in &executor.running.compactions {
                    let kind = |g: &Group| match g.destination.level {
                        _ if compaction.order == Order::Sequential => Kind::Partitioned,
                        0 => Kind::WithinLevel0,
                        level if level < divided => Kind::Full,
                        _ => Kind::Dividing,
                    };
                    let of = |g: &Group| *kinds.entry(g.inputs[0]).or_insert(kind(g));
                    let of: Vec<_> = compaction.groups.iter().map(of).collect();
                    prop_assert!(of.iter().all(|kind| *kind == of[0]));
                    running.push(of[0]);
                }
                let count = |kinds: &[Kind]| running.iter().filter(|k| kinds.contains(k)).count();
                prop_assert!(count(&[Kind::WithinLevel0]) <= 1, "{running:?}");
                prop_assert!(count(&[Kind::Full, Kind::Dividing]) <= 1, "{running:?}");
                prop_assert!(count(&[Kind::Partitioned, Kind::Dividing]) <= 1, "{running:?}");
            }
        }
    }
}

#[test]
fn keys_in_order_are_moved_and_never_rewritten_by_leveling() {
    let (model, written) = load(&LEVELED, 100, |f| (f * 6..f * 6 + 6).collect());
    assert_eq!(written, 0);
    assert!(model.shape.deepest() > 1);
    check_vertical(&model.shape, ALL, true);
}

#[test]
fn tiering_writes_an_entry_about_once_a_level_leveling_more() {
    let scattered =
        |f: u16| (0..12).map(|k| (u32::from(f * 12 + k) * 3203 % 8009) as u16).collect();
    let (model, tiered) = load(&TIERED, 200, scattered);
    let levels = model.shape.deepest() as u64;
    assert!(tiered <= 2400 * levels, "{tiered} in {levels} levels");
    let (_, leveled) = load(&LEVELED, 200, scattered);
    assert!(leveled > tiered, "{leveled} {tiered}");
}

#[test]
fn overwriting_the_same_keys_adds_no_level_to_either_tree() {
    for (policy, check) in policies() {
        let (model, _) = load(&*policy, 200, |f| (0..12).map(|k| f % 4 * 12 + k).collect());
        // Horizontal growth has all its levels at once, Vertiorizon two more.
        let most = match policy.name() {
            "horizontal-leveling" | "horizontal-tiering" => 3,
            "vertiorizon" => 4,
            // What it holds twice in the deepest level stays there until it is read: 2400 bytes here,
            // which fit into level 6.
            "ptier" => 6,
            _ => 2,
        };
        assert!(model.shape.deepest() <= most, "{}: {:?}", policy.name(), model.shape);
        check(&model.shape);
    }
}

#[test]
fn full_merges_add_a_level_even_while_level_0_has_runs() {
    for policy in [&LEVELED_FULL as &dyn Policy, &TIERED_FULL] {
        let mut model = Model::default();
        model.write(1, 1, 0..36);
        model.write(0, 2, 0..12);
        let running = Running::default();
        let plan = propose(policy, &model.shape, &[], &running, model.fresh(&running));
        assert!(matches!(plan, Some(Plan::Reshape(_))), "{}: {plan:?}", policy.name());
    }
}

#[test]
fn leveling_sends_down_the_table_that_overlaps_least() {
    let mut model = Model::default();
    for key in (0..60).step_by(6) {
        model.write(2, 1, key..key + 6);
    }
    model.write(1, 2, (0..33).step_by(3));
    let narrow = model.write(1, 2, 33..39);
    model.write(1, 2, (40..60).step_by(3));
    let Some(Plan::Compact(plan)) =
        propose(&LEVELED, &model.shape, &[], &Running::default(), RunId(9))
    else {
        panic!("level 1 is not over its capacity");
    };
    assert_eq!(plan.groups[0].inputs[0], narrow);
    assert_eq!(plan.groups[0].inputs.len(), 3);
}

#[test]
fn a_tombstone_rich_table_is_rewritten_at_the_bottom() {
    let mut model = Model::default();
    for run in 1..=3 {
        model.write(0, run, [0, 50]);
    }
    let mut level0 = model.shape.levels()[0].clone();
    for run in &mut level0.runs {
        let id = run.id.0 as u8;
        let mut table = TableInfo::clone(run.tables().first().unwrap());
        (table.smallest, table.largest) = (vec![id], vec![id]);
        table.bytes = 6;
        table.tombstones = u64::from(id == 2);
        *run = Run::new(run.id, vec![Arc::new(table)]);
    }
    let shape = Shape::from(vec![level0]);
    let Some(Plan::Compact(plan)) = propose(&LEVELED, &shape, &[], &Running::default(), RunId(9))
    else {
        panic!("level 0 is not full");
    };
    let merged: Vec<_> =
        plan.groups.iter().filter(|g| g.action != Action::Move).map(|g| &g.inputs).collect();
    assert_eq!(merged, [&[TableId(2)]]);
}

#[test]
fn plans_into_an_empty_level_share_its_run() {
    let mut model = Model::default();
    for key in (0..54).step_by(6) {
        model.write(1, 1, key..key + 6);
    }
    model.write(3, 2, 200..206);
    let mut running = Running::default();
    for fresh in [8, 9] {
        let Some(Plan::Compact(plan)) =
            propose(&LEVELED, &model.shape, &[], &running, RunId(fresh))
        else {
            panic!("level 1 is not over its capacity");
        };
        assert_eq!(plan.groups[0].destination, Destination { level: 2, run: RunId(8) });
        running.compactions.push(plan);
    }
}

#[test]
fn what_a_waiting_level_needs_is_not_taken_meanwhile() {
    let mut model = Model::default();
    model.write(2, 1, 200..206);
    let going = model.write(1, 2, 0..6);
    for key in [10, 20, 30] {
        model.write(1, 2, key..key + 6);
    }
    let busy = Running { compactions: vec![plan(vec![move_to(&[going], 2, 1)])] };
    let next = |model: &Model| propose(&LEVELED, &model.shape, &[], &busy, model.fresh(&busy));
    assert!(next(&model).is_some(), "level 1 alone sends another table down");
    // No neighbours are of similar size, so level 0 merges none of them.
    for run in 3..9 {
        model.write(0, run, 3..if run % 2 == 0 { 4 } else { 9 });
    }
    assert_eq!(next(&model), None, "level 0 presses more, and waits for a table of level 1");
}

#[test]
fn the_deepest_tiered_level_waits_for_its_runs() {
    let mut model = Model::default();
    model.write(1, 1, 0..100);
    model.write(1, 2, 0..50);
    let at_rest = |model: &Model| {
        propose(&TIERED, &model.shape, &[], &Running::default(), RunId(9)).is_none()
    };
    assert!(at_rest(&model));
    model.write(1, 3, 0..10);
    assert!(!at_rest(&model));
}

/// Returns the sizes of runs, by level, after the plan for a tree of these levels.
fn tiered_after(model: &Model, running: &Running) -> Option<Vec<Vec<u64>>> {
    let plan = propose(&TIERED, &model.shape, &[], running, model.fresh(running))?;
    let levels = model.follow(&plan).shape.levels().to_vec();
    Some(levels.iter().map(|l| l.runs.iter().map(Run::bytes).collect()).collect())
}

#[test]
fn the_oldest_deepest_tiered_run_goes_down_alone_when_full() {
    let mut model = Model::default();
    model.write(1, 1, 0..108);
    model.write(1, 2, 0..50);
    model.write(1, 3, 0..10);
    let idle = Running::default();
    assert_eq!(tiered_after(&model, &idle), Some(vec![vec![], vec![10, 50], vec![108]]));
    let mut smaller = Model::default();
    smaller.write(1, 1, 0..107);
    smaller.write(1, 2, 0..50);
    smaller.write(1, 3, 0..10);
    assert_eq!(tiered_after(&smaller, &idle), Some(vec![vec![], vec![107]]));
}

#[test]
fn a_tiered_level_waits_while_the_next_has_all_its_runs() {
    let mut model = Model::default();
    for run in 1..=3 {
        model.write(2, run, 0..20);
    }
    let mut tables = Vec::new();
    for run in 4..=6 {
        tables.push(model.write(1, run, 0..12));
    }
    for run in 7..=9 {
        model.write(0, run, 0..12);
    }
    let merged = |levels: [&[u64]; 3]| Some(levels.map(<[u64]>::to_vec).to_vec());
    let idle = Running::default();
    let below = merged([&[12, 12, 12], &[12, 12, 12], &[20]]);
    assert_eq!(tiered_after(&model, &idle), below, "levels 0 and 1 wait for level 2");
    let inputs = model.shape.levels()[2].runs.iter().flat_map(Run::tables).map(|t| t.id);
    let merge =
        Group::new(inputs.collect(), Destination { level: 2, run: RunId(3) }, Action::merge(6));
    let busy = Running { compactions: vec![plan(vec![merge])] };
    let above = merged([&[12, 12, 12], &[], &[12, 20, 20, 20]]);
    assert_eq!(tiered_after(&model, &busy), above, "level 1 goes down beside that merge");
}

#[test]
fn the_fallback_waits_for_a_plan_that_writes_into_its_block() {
    let mut model = Model::default();
    let rising = model.write(1, 1, 4..6);
    model.write(0, 10, 0..2);
    model.write(0, 20, 8..10);
    let busy = Running { compactions: vec![plan(vec![move_to(&[rising], 0, 20)])] };
    assert_eq!(fallback(&model.shape, &busy, RunId(30)), None);
    assert!(fallback(&model.shape, &Running::default(), RunId(30)).is_some());
}
