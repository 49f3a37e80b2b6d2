//! Level 0 of the leveled policy: merges that workers share, and a second run of level 1.

use super::policies::configured::LEVELED;
use super::*;
use crate::toolkit::shared_merge::shared;

fn next(policy: &dyn Policy, model: &Model, running: &Running) -> Option<Compaction> {
    let plan = propose(policy, &model.shape, &[], running, model.fresh(running))?;
    validate_plan(&model.shape, running, &plan).unwrap();
    let Plan::Compact(compaction) = plan else { panic!("{plan:?}") };
    Some(compaction)
}

#[test]
fn a_merge_of_level_0_is_shared_in_even_parts_from_a_table_on() {
    let mut model = Model::default();
    model.write(1, 1, 0..100);
    for run in 2..5 {
        model.write(0, run, 0..100);
    }
    let parts = |max_subcompactions, target_file_bytes| {
        let policy = Leveled { level_base_bytes: 150, ..LEVELED };
        let policy = shared(Box::new(policy), max_subcompactions, target_file_bytes);
        assert_eq!(policy.reads_histograms(), max_subcompactions > 1);
        let compaction = next(&*policy, &model, &Running::default()).unwrap();
        let [group] = &compaction.groups[..] else { panic!("{compaction:?}") };
        group.parts.clone()
    };
    let after = |keys: &[u16]| -> Vec<_> {
        keys.iter().map(|key| [&key.bytes()[..], &[0]].concat()).collect()
    };
    assert!(parts(1, 6).is_empty());
    // All tables have as many bytes up to each key: a part ends at the first point at its share.
    assert_eq!(parts(2, 6), after(&[49]));
    assert_eq!(parts(4, 6), after(&[24, 49, 74]));
    assert_eq!(parts(256, 4).len(), 99, "as fine as is known: these histograms have every key");
    assert_eq!(parts(256, 200), after(&[49]), "400 bytes are two tables");
}

#[test]
fn only_merges_of_level_0_into_the_next_level_are_shared() {
    let mut model = Model::default();
    model.write(2, 1, 0..100);
    model.write(1, 2, 0..100);
    let fixed = Leveled { dynamic_level_bytes: false, ..LEVELED };
    let down = next(&*shared(Box::new(fixed), 4, 6), &model, &Running::default()).unwrap();
    assert_eq!(down.groups[0].destination.level, 2);
    assert!(down.groups[0].parts.is_empty());
    let mut light = Model::default();
    for run in 1..=16 {
        light.write(0, run, 0..10);
    }
    let policy = shared(Box::new(Leveled { level_base_bytes: 10_000, ..LEVELED }), 4, 6);
    let within = next(&*policy, &light, &Running::default()).unwrap();
    assert_eq!(within.groups[0].destination.level, 0);
    assert!(within.groups[0].parts.is_empty());
    assert!(!policy.plans_flushes(), "flushes are as they were");
}

#[test]
fn pipelined_level_0_fills_a_second_run_while_one_goes_down() {
    let mut model = Model::default();
    let below = model.write(2, 1, 0..25);
    let goes = model.write(1, 2, 0..30);
    let stays = model.write(1, 2, 30..60);
    let level0: Vec<_> = (3..6).map(|run| model.write(0, run, 0..60)).collect();
    let running = Running { compactions: vec![plan(vec![merge(&[goes, below], 2, 1)])] };
    let waits = next(&LEVELED, &model, &running);
    assert!(waits.is_none_or(|plan| plan.groups[0].destination.level != 1), "of one run it waits");
    let policy = Leveled { pipelined: true, ..LEVELED };
    let second = next(&policy, &model, &running).unwrap();
    let [group] = &second.groups[..] else { panic!("{second:?}") };
    let inputs: BTreeSet<_> = group.inputs.iter().copied().collect();
    assert_eq!(inputs, level0.into_iter().collect());
    assert_eq!((group.destination.level, group.destination.run > RunId(2)), (1, true));
    let mut model = model.commit(group, false).unwrap();
    assert_eq!(model.shape.levels()[1].runs.len(), 2);
    // The rest of the first run follows, and level 0 goes into the second.
    let older = next(&policy, &model, &running).unwrap_or_else(|| panic!("{stays:?} goes down"));
    assert_eq!(older.groups[0].inputs[0], stays);
    let Term { left, right, .. } = older.reason.terms[0];
    assert_eq!((left, right.value), (Quantity::level("runs", 1, 2), 1));
    for run in 10..13 {
        model.write(0, run, 0..60);
    }
    let newer = next(&policy, &model, &running).unwrap();
    assert_eq!(newer.groups[0].destination, group.destination);
    assert!(!newer.groups[0].inputs.contains(&stays));
    // Beside that.
    let both = Running { compactions: running.compactions.into_iter().chain([newer]).collect() };
    assert_eq!(next(&policy, &model, &both).unwrap().groups, older.groups);
}

#[test]
fn pipelined_level_0_waits_while_tables_move_into_the_newer_run() {
    let mut model = Model::default();
    let moves = model.write(1, 1, 40..60);
    model.write(1, 2, 0..30);
    for run in 3..6 {
        model.write(0, run, 0..60);
    }
    let destination = Destination { level: 1, run: RunId(2) };
    let unites = Group::new(vec![moves], destination, Action::Move);
    let running = Running { compactions: vec![plan(vec![unites])] };
    let policy = Leveled { pipelined: true, ..LEVELED };
    let waits = next(&policy, &model, &running);
    assert!(waits.is_none_or(|plan| plan.groups[0].destination.level != 1));
}

#[test]
fn the_options_of_level_0_are_refused_by_name() {
    let why = |max_subcompactions| {
        let options = PolicyOptions::Leveled(Leveled { max_subcompactions, ..Leveled::default() });
        options.build().err().map(|bad| bad.to_string())
    };
    assert_eq!(why(0).unwrap(), "leveled: `max-subcompactions` is 0, expected 1 to 256");
    assert_eq!(why(257).unwrap(), "leveled: `max-subcompactions` is 257, expected 1 to 256");
    assert_eq!(why(256), None);
    let kind = r#"{"policy": "leveled", "pipelined": 1}"#.parse::<PolicyOptions>().unwrap_err();
    assert!(kind.to_string().contains("pipelined"), "{kind}");
}

#[test]
fn levels_below_go_on_while_the_older_run_of_level_1_goes_down() {
    let next = |level2: u16, level3: u16| {
        let mut model = Model::default();
        model.write(3, 1, 0..level3);
        for key in 0..level2 {
            model.write(2, 2, [key]);
        }
        let older = model.write(1, 3, 400..406);
        // More than level 1 may have, but the older run goes first.
        model.write(1, 4, 406..450);
        let running = Running { compactions: vec![plan(vec![move_to(&[older], 2, 2)])] };
        let policy = Leveled { pipelined: true, dynamic_level_bytes: true, ..LEVELED };
        propose(&policy, &model.shape, &[], &running, model.fresh(&running))
    };
    // Level 3 has 324 bytes at its capacity, and level 2 a third of what level 3 has.
    assert_eq!(next(107, 323), None);
    let Some(Plan::Reshape(grows)) = next(107, 324) else { panic!("level 3 is full") };
    assert_eq!(grows.change, LevelChange::Add(3));
    let Some(Plan::Compact(down)) = next(108, 323) else { panic!("level 2 is over its capacity") };
    assert_eq!(down.groups[0].destination.level, 3);
}

#[test]
fn pipelining_changes_nothing_while_no_table_of_level_1_moves() {
    let mut model = Model::default();
    model.write(3, 1, 0..6);
    model.write(2, 2, 0..400);
    model.write(1, 3, 0..6);
    for run in 4..7 {
        model.write(0, run, 0..6);
    }
    let next = |pipelined| {
        let policy = Leveled { pipelined, dynamic_level_bytes: false, ..LEVELED };
        next(&policy, &model, &Running::default()).unwrap()
    };
    assert_eq!(next(true), next(false));
    assert_eq!(next(true).groups[0].destination.level, 3, "the furthest over its capacity");
}

#[test]
fn a_policy_is_built_with_its_subcompactions() {
    for (max_subcompactions, is_shared) in [(1, false), (2, true)] {
        let options = PolicyOptions::Leveled(Leveled { max_subcompactions, ..Leveled::default() });
        assert_eq!(options.build().unwrap().reads_histograms(), is_shared);
    }
}
