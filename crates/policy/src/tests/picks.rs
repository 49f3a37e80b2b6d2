//! Choice of the table that goes down, and the state of round robin.

use super::*;
use crate::toolkit::pick::{Candidates, Cursors, mix, pick};
use proptest::prelude::*;

const LEVELED: Leveled = Leveled {
    size_ratio: 3,
    level_base_bytes: 6,
    target_file_bytes: 6,
    l0_compaction_trigger: 3,
    dynamic_level_bytes: true,
    pick: Pick::RoundRobin,
    seed: 0,
    filters: Filters::Uniform,
    max_subcompactions: 1,
    pipelined: false,
    merge_waiting: true,
    partitioning: Partitioning::DEFAULT,
};

/// Six tables in level 1, of which one may stay, above as many keys in level 2.
fn tree() -> Model {
    let mut model = Model::default();
    model.write(2, 1, 60..66);
    for key in (0..36).step_by(6) {
        model.write(1, 2, key..key + 6);
    }
    model
}

/// The first keys of the tables that go down one after another, until the tree is idle.
fn order(policy: &Leveled, model: &mut Model, state: &mut Vec<u8>) -> Vec<u8> {
    let running = Running::default();
    let mut order = Vec::new();
    while let Some(Plan::Compact(plan)) =
        propose(policy, &model.shape, state, &running, model.fresh(&running))
    {
        let [group] = plan.groups.as_slice() else { panic!("{plan:?}") };
        let sent = model.shape.tables().find(|(_, _, t)| t.id == group.inputs[0]).unwrap().2;
        order.push(sent.smallest[1]);
        let step = Step::Group { group, outputs: &[], ends: true };
        let installed = unobserved(&model.shape, step);
        *state = policy.apply(state, &installed);
        *model = model.commit(group, false).unwrap();
    }
    order
}

#[test]
fn round_robin_resumes_after_the_last_table_and_wraps() {
    let (mut model, mut state) = (tree(), Vec::new());
    assert_eq!(order(&LEVELED, &mut model, &mut state), [0, 6, 12, 18, 24]);
    for key in [0, 6, 12] {
        model.write(1, 2, key..key + 6);
    }
    assert_eq!(order(&LEVELED, &mut model, &mut state), [30, 0]);
    model.write(1, 2, 54..60);
    assert_eq!(order(&LEVELED, &mut model, &mut state), [6]);
}

#[test]
fn least_overlap_is_that_for_each_byte_that_goes_down() {
    let mut model = Model::default();
    for (level, run, keys) in [(1, 1, 0..2), (2, 2, 0..2), (2, 2, 100..105)] {
        model.write(level, run, keys);
    }
    // 5 bytes below 10, and 2 below 2.
    let large = model.write(1, 1, 100..110);
    let [above, below] = [1, 2].map(|level| &model.shape.levels()[level].runs[0]);
    let picked = pick(Pick::LeastOverlap, Candidates::new(above, Some(below), &|_| false), 0, None);
    assert_eq!(picked.map(|table| table.id), Some(large));
}

#[test]
fn least_overlap_stops_at_a_table_that_overlaps_nothing() {
    let mut model = Model::default();
    for key in (0..40).step_by(2) {
        model.write(1, 1, key..key + 2);
    }
    model.write(2, 2, 0..2);
    let [above, below] = [1, 2].map(|level| &model.shape.levels()[level].runs[0]);
    let tested = std::cell::RefCell::new(Vec::new());
    let is_held = |table: &TableInfo| {
        tested.borrow_mut().push(table.smallest[1]);
        false
    };
    let candidates = Candidates::new(above, Some(below), &is_held);
    let picked = pick(Pick::LeastOverlap, candidates, 0, None).unwrap();
    assert_eq!(picked.smallest[1], 2);
    assert_eq!(*tested.borrow(), [0, 0, 2], "the first table, what it overlaps, the second");
}

#[test]
fn numbers_are_mixed_as_splitmix64_does() {
    // The first numbers from seed 1234567, by Rosetta Code.
    let published = [6457827717110365317, 3203168211198807973, 9817491932198370423];
    for (n, number) in (0u64..).zip(published) {
        let state = n.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1_234_567);
        assert_eq!(mix(state), number);
    }
}

#[test]
fn round_robin_reports_the_key_after_which_it_resumes() {
    let (mut model, mut state) = (tree(), Vec::new());
    order(&LEVELED, &mut model, &mut state);
    let sent =
        Fact::Key { name: "cursor", of: Of::Levels(1, 1), key: 29u16.to_be_bytes().to_vec() };
    assert_eq!(LEVELED.status(&model.shape, &state).facts, [sent]);
}

#[test]
fn only_round_robin_remembers_and_only_below_level_0() {
    let mut model = tree();
    let flushed = model.write(0, 3, 40..46);
    let sent = model.shape.levels()[1].tables().next().unwrap().id;
    let remembered = |pick, table, into| {
        let policy = Leveled { pick, ..LEVELED };
        let group = &merge(&[table], into, 1);
        let step = Step::Group { group, outputs: &[], ends: true };
        let state = policy.apply(&[], &unobserved(&model.shape, step));
        policy.status(&model.shape, &state).facts.len()
    };
    assert_eq!(remembered(Pick::RoundRobin, sent, 2), 1);
    assert_eq!(remembered(Pick::LeastOverlap, sent, 2), 0);
    assert_eq!(remembered(Pick::RoundRobin, flushed, 1), 0);
}

#[test]
fn a_state_that_cannot_be_read_is_as_good_as_none() {
    for state in [&[1][..], &[1, 255, 255, 7], &[1, 1, 0, 7, 9], b"no state of this policy"] {
        assert_eq!(Cursors::read(state), Cursors::default());
        let picked = order(&LEVELED, &mut tree(), &mut state.to_vec());
        assert_eq!(picked.first(), Some(&0));
    }
}

#[test]
fn cursors_of_all_levels_with_the_longest_keys_fit_a_state() {
    let mut cursors = Cursors::default();
    for level in 0..64 {
        cursors.advance(level, &vec![level as u8; 1 << 20]);
    }
    let state = cursors.state();
    assert!(state.len() <= MAX_STATE, "{}", state.len());
    assert!(state.len() + 64 > MAX_STATE, "a byte more of each key would not fit");
    assert_eq!(Cursors::read(&state), cursors);
}

#[test]
fn the_oldest_table_has_the_smallest_sequence_number() {
    let mut model = Model::default();
    model.write(2, 1, 60..66);
    for key in [18, 0, 24, 6, 12] {
        model.write(1, 2, key..key + 6);
    }
    let policy = Leveled { pick: Pick::Oldest, ..LEVELED };
    assert_eq!(order(&policy, &mut model, &mut Vec::new())[..3], [18, 0, 24]);
}

#[test]
fn a_random_order_depends_on_the_seed_and_on_nothing_else() {
    let drawn = |seed| {
        let policy = Leveled { pick: Pick::Random, seed, ..LEVELED };
        order(&policy, &mut tree(), &mut Vec::new())
    };
    let orders: BTreeSet<_> = (0..20).map(drawn).collect();
    assert!(orders.len() > 5, "{orders:?}");
    assert_eq!(drawn(3), drawn(3));
}

proptest! {
    #[test]
    fn a_sweep_finds_the_same_overlaps_as_binary_searches(
        bytes in proptest::collection::vec(any::<u8>(), 120)
    ) {
        let mut dice = Dice(bytes.iter());
        let shape = dice.tree(2, 1, 60, false).shape;
        let runs: Vec<&Run> = shape.levels().iter().flat_map(|level| &level.runs).collect();
        let held = dice.below(8) as u64;
        let is_held = |table: &TableInfo| table.id.0 % 8 == held;
        for (above, below) in runs.iter().flat_map(|a| runs.iter().map(move |b| (a, b))) {
            let mut searched = Vec::new();
            for table in above.tables().iter().filter(|t| !is_held(t)) {
                let overlaps = below.overlapping(&table.smallest, &table.largest);
                if !overlaps.clone().any(|t| is_held(t)) {
                    searched.push((table.id, overlaps.map(|t| t.bytes).sum::<u64>()));
                }
            }
            let swept = Candidates::new(above, Some(*below), &is_held);
            let swept: Vec<_> = swept.map(|c| (c.table.id, c.bytes)).collect();
            prop_assert_eq!(swept, searched);
        }
    }
}
