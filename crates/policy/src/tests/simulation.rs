//! Writes and space of the policies, on trees of a few hundred flushes. Only orders are asserted:
//! the figures that models give are asymptotic.

use super::*;
use crate::toolkit::pick::mix;
use std::collections::{HashMap, HashSet};

/// B, in entries of one byte.
const FLUSH: u64 = 64;

/// Keys, each with its newest sequence number.
type Entries = BTreeMap<u32, u64>;

/// A tree without snapshots: a merge keeps the newest version of a key.
#[derive(Default)]
struct Simulation {
    shape: Shape,
    entries: HashMap<TableId, Entries>,
    state: Vec<u8>,
    last: u64,
    flushed: u64,
    /// Entries that compactions wrote.
    written: u64,
    /// The most entries that a group wrote.
    largest: u64,
    /// Bytes that left level 0, plan by plan.
    admissions: Vec<u64>,
    /// Distinct keys written.
    keys: HashSet<u32>,
    /// The peak space, including inputs and outputs of a group, per byte of distinct keys, since it
    /// was last reset.
    peak: f64,
}

impl Simulation {
    fn table(&mut self, entries: Entries) -> Arc<TableInfo> {
        self.last += 1;
        let id = TableId(self.last);
        let key = |k: Option<(&u32, _)>| k.unwrap().0.to_be_bytes().to_vec();
        let info = TableInfo {
            id,
            bytes: entries.len() as u64,
            entries: entries.len() as u64,
            tombstones: 0,
            smallest: key(entries.first_key_value()),
            largest: key(entries.last_key_value()),
            first_seq: entries.values().copied().min().unwrap(),
            last_seq: entries.values().copied().max().unwrap(),
            filter_bits: FilterBits::whole(10),
            filter_bytes: 0,
            kept: Some(Kept::default()),
            cleared: 0,
            expires_by: 0,
            salt: 0,
            histogram: histogram(entries.keys().map(|k| (*k, 1))),
            prefixes: Prefixes::default(),
        };
        self.entries.insert(id, entries);
        Arc::new(info)
    }

    fn flush(&mut self, keys: impl IntoIterator<Item = u32>) {
        let seq = self.last;
        let entries: Entries = keys.into_iter().map(|key| (key, seq)).collect();
        self.flushed += entries.len() as u64;
        self.keys.extend(entries.keys());
        let table = self.table(entries);
        let edit = ShapeEdit { added: vec![(0, RunId(self.last), table)], dropped: vec![] };
        self.shape = apply(&self.shape, &edit).unwrap();
    }

    fn rest(&mut self, policy: &dyn Policy) {
        let running = Running::default();
        loop {
            self.last += 1;
            let plan = propose(policy, &self.shape, &self.state, &running, RunId(self.last));
            let plan = match plan {
                None => return,
                Some(Plan::Compact(plan)) => plan,
                Some(Plan::Reshape(plan)) => {
                    self.reshape(policy, plan.change);
                    continue;
                }
            };
            let waiting = |shape: &Shape| shape.levels().first().map_or(0, Level::bytes);
            let before = waiting(&self.shape);
            for (at, group) in plan.groups.iter().enumerate() {
                self.commit(policy, group, at + 1 == plan.groups.len());
            }
            if plan.groups.iter().any(|g| g.destination.level > 0) {
                self.admissions.extend(Some(before - waiting(&self.shape)).filter(|b| *b > 0));
            }
        }
    }

    fn reshape(&mut self, policy: &dyn Policy, change: LevelChange) {
        let step = Step::Reshape(change);
        self.state = policy.apply(&self.state, &unobserved(&self.shape, step));
        self.shape = reshape(&self.shape, change).unwrap();
    }

    fn commit(&mut self, policy: &dyn Policy, group: &Group, ends: bool) {
        let before = self.shape.clone();
        let inputs: Vec<_> =
            before.tables().filter(|(_, _, t)| group.inputs.contains(&t.id)).collect();
        let outputs: Vec<_> = match group.action {
            Action::Move => inputs.iter().map(|(_, _, t)| Arc::clone(t)).collect(),
            Action::Merge { .. } => {
                let mut merged = Entries::new();
                for (key, seq) in
                    inputs.iter().flat_map(|(_, _, t)| self.entries.remove(&t.id).unwrap())
                {
                    let newest = merged.entry(key).or_insert(seq);
                    *newest = seq.max(*newest);
                }
                self.written += merged.len() as u64;
                self.largest = self.largest.max(merged.len() as u64);
                let merged: Vec<_> = merged.into_iter().collect();
                let parts = split(&group.action, &merged).into_iter();
                parts.map(|part| self.table(part.iter().copied().collect())).collect()
            }
        };
        if group.action != Action::Move {
            let new: u64 = outputs.iter().map(|t| t.bytes).sum();
            self.peak = self.peak.max((before.bytes() + new) as f64 / self.keys.len() as f64);
        }
        let Destination { level, run } = group.destination;
        let added = outputs.iter().map(|t| (level, run, Arc::clone(t))).collect();
        let edit = ShapeEdit { added, dropped: group.inputs.clone() };
        self.shape = apply(&before, &edit).unwrap();
        let outputs: Vec<_> = outputs.iter().map(|t| TableInfo::clone(t)).collect();
        let step = Step::Group { group, outputs: &outputs, ends };
        let installed = unobserved(&before, step);
        self.state = policy.apply(&self.state, &installed);
    }

    fn write_amplification(&self) -> f64 {
        self.written as f64 / self.flushed as f64
    }
}

/// Flushes of keys drawn evenly from `keys`.
fn uniform(policy: &dyn Policy, flushes: u64, keys: u64) -> Simulation {
    let mut tree = Simulation::default();
    for flush in 0..flushes {
        tree.flush((0..FLUSH).map(|k| (mix(flush * FLUSH + k) % keys) as u32));
        tree.rest(policy);
    }
    tree
}

const LEVELED: Leveled = Leveled {
    size_ratio: 5,
    level_base_bytes: FLUSH,
    target_file_bytes: FLUSH / 2,
    l0_compaction_trigger: 1,
    dynamic_level_bytes: true,
    pick: Pick::LeastOverlap,
    seed: 1,
    filters: Filters::Uniform,
    max_subcompactions: 1,
    pipelined: false,
    merge_waiting: true,
    partitioning: Partitioning::DEFAULT,
};

const LEVELED_FULL: LeveledFull = LeveledFull {
    size_ratio: 5,
    level_base_bytes: FLUSH,
    target_file_bytes: FLUSH / 2,
    l0_compaction_trigger: 1,
    dynamic_level_bytes: true,
    preemptive: true,
    filters: Filters::Uniform,
};

const LAZY: LazyLeveled = LazyLeveled {
    size_ratio: 5,
    level_base_bytes: FLUSH,
    target_file_bytes: FLUSH / 2,
    l0_compaction_trigger: 1,
    dynamic_level_bytes: true,
    leveled_levels: 1,
    filters: Filters::Uniform,
};

const TIERED: Tiered = Tiered {
    size_ratio: 5,
    level_base_bytes: FLUSH,
    target_file_bytes: FLUSH / 2,
    filters: Filters::Uniform,
    partitioning: Partitioning::DEFAULT,
};

const TIERED_FULL: TieredFull = TieredFull {
    size_ratio: 5,
    level_base_bytes: FLUSH,
    target_file_bytes: FLUSH / 2,
    l0_compaction_trigger: 1,
    filters: Filters::Uniform,
};

const UNIVERSAL: Universal = Universal {
    run_trigger: 4,
    size_ratio_percent: 1,
    min_merge_width: 2,
    max_merge_width: 64,
    space_percent: 200,
    target_file_bytes: FLUSH / 2,
    filters: Filters::Uniform,
    partitioning: Partitioning::DEFAULT,
};

#[test]
fn policies_rank_by_writes_as_the_literature_says() {
    for keys in [1 << 32, 8000] {
        let [partial, full, lazy, tiered, tiered_full] =
            [&LEVELED as &dyn Policy, &LEVELED_FULL, &LAZY, &TIERED, &TIERED_FULL]
                .map(|policy| uniform(policy, 500, keys).write_amplification());
        assert!(full < partial, "{keys} keys: full {full}, partial {partial}");
        assert!(lazy < full, "{keys} keys: lazy {lazy}, full {full}");
        assert!(tiered < lazy && tiered_full < lazy, "{keys} keys: {tiered} {tiered_full} {lazy}");
    }
}

#[cfg(feature = "all")]
#[test]
fn partial_tiering_writes_like_tiering_in_small_merges() {
    let policy = TieredPartial {
        size_ratio: 5,
        level_base_bytes: FLUSH,
        target_file_bytes: FLUSH / 2,
        filters: Filters::Uniform,
    };
    for keys in [1 << 32, 8000] {
        let [partial, full] =
            [&policy as &dyn Policy, &TIERED].map(|policy| uniform(policy, 500, keys));
        let leveled = uniform(&LEVELED, 500, keys).write_amplification();
        assert!(partial.largest < full.largest, "{} {}", partial.largest, full.largest);
        assert!(partial.write_amplification() < leveled, "{keys} keys");
    }
}

#[test]
fn leveling_without_preemption_writes_more_than_with() {
    for keys in [1 << 32, 8000] {
        let policy = LeveledFull { preemptive: false, ..LEVELED_FULL };
        let level_by_level = uniform(&policy, 500, keys).write_amplification();
        let preemptive = uniform(&LEVELED_FULL, 500, keys).write_amplification();
        assert!(
            preemptive < level_by_level,
            "{keys} keys: {level_by_level}, {preemptive} with preemption"
        );
    }
}

#[test]
fn picking_least_overlap_writes_less_than_oldest_or_random() {
    let [least, oldest, random] = [Pick::LeastOverlap, Pick::Oldest, Pick::Random]
        .map(|pick| uniform(&Leveled { pick, ..LEVELED }, 300, 1 << 32).write_amplification());
    assert!(least < oldest && least < random, "{least} {oldest} {random}");
}

#[test]
fn dynamic_capacities_bound_the_levels_above_the_last() {
    let above = |policy: &dyn Policy| {
        let shape = uniform(policy, 500, 1 << 32).shape;
        let deepest = shape.levels().last().map_or(0, Level::bytes);
        (shape.bytes() - deepest) as f64 / deepest as f64
    };
    // 1 / (T-1), as level upon level adds up.
    for policy in [&LEVELED as &dyn Policy, &LEVELED_FULL, &LAZY] {
        assert!(above(policy) <= 0.25, "{}", policy.name());
    }
    assert!(above(&Leveled { dynamic_level_bytes: false, ..LEVELED }) > 0.25);
}

#[test]
fn tiny_flushes_gather_to_the_base_size_and_cost_little_more() {
    for policy in [&LEVELED as &dyn Policy, &LEVELED_FULL, &LAZY, &TIERED, &TIERED_FULL] {
        let mut tree = Simulation::default();
        for key in 0..100 * FLUSH {
            tree.flush([mix(key) as u32]);
            tree.rest(policy);
        }
        assert!(tree.admissions.len() > 10, "{}", policy.name());
        assert!(tree.admissions.iter().all(|bytes| *bytes >= FLUSH), "{}", policy.name());
        // Gathering 64 runs into one by factors writes each entry fewer times than doublings would.
        let whole = uniform(policy, 100, 1 << 32).write_amplification();
        let extra = tree.write_amplification() - whole;
        assert!(extra < 7.0, "{}: {extra} more than {whole}", policy.name());
    }
}

#[test]
fn a_stack_merges_tiny_flushes_with_their_like() {
    let mut tree = Simulation::default();
    for key in 0..100 * FLUSH {
        tree.flush([mix(key) as u32]);
        tree.rest(&UNIVERSAL);
    }
    let whole = uniform(&UNIVERSAL, 100, 1 << 32).write_amplification();
    let extra = tree.write_amplification() - whole;
    assert!(extra < 7.0, "{extra} more than {whole}");
}

const SPOOKY: Spooky = Spooky {
    size_ratio: 5,
    level_base_bytes: FLUSH,
    target_file_bytes: u64::MAX,
    l0_compaction_trigger: 1,
    levels_below: 2,
    leveled_levels: 64,
    trivial_moves: true,
    filters: Filters::Uniform,
};

/// The paper's order: full merges write least, Spooky about one time more, small merges most; and
/// of the room at the peak Spooky takes far less than full merges, the less the further X lies
/// above L.
#[test]
fn spooky_writes_little_more_than_full_merges_in_less_space() {
    let measure = |policy: &dyn Policy| {
        let load = uniform(policy, 500, 1 << 32).write_amplification();
        let mut updates = uniform(policy, 300, 12_000);
        updates.peak = 0.0;
        for flush in 300..700 {
            updates.flush((0..FLUSH).map(|k| (mix(flush * FLUSH + k) % 12_000) as u32));
            updates.rest(policy);
        }
        (load, updates.peak)
    };
    let [full, two, three] =
        [0, 1, 2].map(|levels_below| measure(&Spooky { levels_below, ..SPOOKY }));
    let partial = measure(&LEVELED);
    println!("full {full:?}, X = L-1 {two:?}, X = L-2 {three:?}, partial {partial:?}");
    for spooky in [two, three] {
        assert!(full.0 < spooky.0 && spooky.0 < full.0 + 2.0, "{full:?} {spooky:?}");
        assert!(spooky.0 < partial.0, "{spooky:?} {partial:?}");
    }
    assert!(three.1 < two.1 && two.1 < full.1, "{full:?} {two:?} {three:?}");
    // 1 + 1/T^(L-X) + 1/(T-1), and a flush.
    for (spooky, below) in [(two, 1), (three, 2)] {
        let model = 1.0 + 0.2f64.powi(below) + 0.25;
        assert!(spooky.1 < model + 0.1, "{spooky:?} of {model}");
    }
}

#[test]
fn spooky_has_as_few_files_as_its_boundaries_ask_for() {
    for (levels_below, keys) in [(1, 12_000), (2, 12_000), (2, 1 << 32)] {
        let policy = Spooky { levels_below, ..SPOOKY };
        let mut tree = Simulation::default();
        for flush in 0..300 {
            tree.flush((0..FLUSH).map(|k| (mix(flush * FLUSH + k) % keys) as u32));
            tree.rest(&policy);
            let last = tree.shape.deepest();
            let below = last.min(levels_below as usize + 1) - 1;
            // Two for each C_X of each level from X on, one for each level above, and level 0. A file
            // has at most the C_X of before its merge, by which L grows by 1 / (T-1) at most.
            let most = (below + 1) * 2 * 5usize.pow(below as u32) * 5 / 4 + last - below + 1;
            let files = tree.shape.tables().count();
            assert!(files <= most, "{files} files of {most} after {flush} flushes: {levels_below}");
        }
    }
}
