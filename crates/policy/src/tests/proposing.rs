//! Asking a policy, and the plan that is made in its place.

use super::*;

/// A policy that always says the same.
struct Says(Option<Plan>, bool);

impl Policy for Says {
    fn name(&self) -> &'static str {
        "says"
    }

    fn plan(&self, _: &PlanContext) -> Option<Plan> {
        self.0.clone()
    }

    fn stalls_by_depth(&self) -> bool {
        self.1
    }
}

/// A merge of these tables into a run of level 0.
fn merging(inputs: &[TableId], run: u64) -> Compaction {
    let destination = Destination { level: 0, run: RunId(run) };
    let group = Group::new(inputs.to_vec(), destination, Action::merge(1));
    Compaction::parallel(vec![group], "a test".to_owned())
}

/// Level 0 with runs 1 to `count` of a table each, which has the id of its run.
fn level0(count: u64) -> Model {
    let mut model = Model::default();
    for run in 1..=count {
        assert_eq!(model.write(0, run, 0..9), TableId(run));
    }
    model
}

fn ask(
    policy: &Says,
    model: &Model,
    running: &Running,
    stop: usize,
    refused: &mut u32,
) -> Proposal {
    let context = PlanContext {
        shape: &model.shape,
        state: &[],
        running,
        observed: &Observed::default(),
        filter_bits: FilterBits::whole(10),
        workers: 1,
        l0_stop_trigger: stop,
        oldest_snapshot: u64::MAX,
        fresh: model.fresh(running),
    };
    crate::propose::propose(policy, &context, &Hidden::default(), refused)
}

/// The inputs and the destination of the fallback's only group.
fn falls_back(model: &Model, running: &Running) -> Option<(Vec<u64>, usize, u64)> {
    match fallback(&model.shape, running, model.fresh(running))? {
        Plan::Compact(Compaction { groups, .. }) => {
            let [Group { inputs, destination, .. }] = &groups[..] else { panic!("{groups:?}") };
            let ids = inputs.iter().map(|id| id.0).collect();
            Some((ids, destination.level, destination.run.0))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_legal_plan_is_the_policys_own_and_clears_refusals() {
    let model = level0(3);
    let plan = Plan::from(merging(&[TableId(3), TableId(2)], 3));
    let policy = Says(Some(plan.clone()), false);
    let mut refused = 1;
    let proposal = ask(&policy, &model, &Running::default(), 9, &mut refused);
    assert_eq!((proposal, refused), (Proposal::Plan { plan, own: true }, 0));
}

#[test]
fn after_two_refusals_the_fallback_is_used_once() {
    let model = level0(2);
    let policy = Says(Some(merging(&[TableId(99)], 1).into()), false);
    let mut refused = 0;
    for round in 0..2 {
        for expected in [1, 2] {
            let proposal = ask(&policy, &model, &Running::default(), 9, &mut refused);
            assert!(matches!(proposal, Proposal::Refused(_)), "{round}: {proposal:?}");
            assert_eq!(refused, expected);
        }
        let proposal = ask(&policy, &model, &Running::default(), 9, &mut refused);
        assert!(matches!(proposal, Proposal::Plan { own: false, .. }), "{proposal:?}");
        assert_eq!(refused, 0);
    }
}

#[test]
fn without_a_plan_the_fallback_ends_a_stall() {
    let model = level0(3);
    let idle = Running::default();
    let busy = Running { compactions: vec![merging(&[TableId(1)], 9)] };
    let mut refused = 0;
    for (running, stop, falls_back) in [
        (&idle, 4, false),
        (&idle, 3, true),
        (&idle, 2, true),
        (&busy, 3, false),
        (&busy, 4, false),
    ] {
        let found = ask(&Says(None, false), &model, running, stop, &mut refused);
        assert_eq!(matches!(found, Proposal::Plan { own: false, .. }), falls_back, "{stop}");
        assert_eq!((found == Proposal::Nothing, refused), (!falls_back, 0));
    }
}

#[test]
fn space_is_reclaimed_where_the_policy_has_no_plan() {
    let mut model = level0(3);
    let placed = model.shape.table(TableId(2)).unwrap();
    let kept = Some(Kept { entries: 9, bytes: 9, until: 1 });
    let table = Arc::new(TableInfo { kept, ..TableInfo::clone(placed.table) });
    let edit = ShapeEdit { added: vec![(0, RunId(2), table)], dropped: vec![TableId(2)] };
    model.shape = apply(&model.shape, &edit).unwrap();
    let idle = Running::default();
    let mut refused = 0;
    let inputs = |proposal: Proposal| match proposal {
        Proposal::Plan { plan: Plan::Compact(plan), own } => (plan.groups[0].inputs.clone(), own),
        other => panic!("{other:?}"),
    };
    let says = Says(None, false);
    let reclaimed = (vec![TableId(2)], false);
    assert_eq!(inputs(ask(&says, &model, &idle, 4, &mut refused)), reclaimed);
    // The end of a stall goes first, and so does the policy.
    assert_eq!(inputs(ask(&says, &model, &idle, 3, &mut refused)).0.len(), 3);
    let own = Says(Some(merging(&[TableId(3)], 3).into()), false);
    assert_eq!(inputs(ask(&own, &model, &idle, 4, &mut refused)), (vec![TableId(3)], true));
}

#[test]
fn the_fallback_merges_the_oldest_free_neighbours_of_level_0() {
    let model = level0(5);
    let holding = |table: u64| Running { compactions: vec![merging(&[TableId(table)], table)] };
    let all = vec![5, 4, 3, 2, 1];
    assert_eq!(falls_back(&model, &Running::default()), Some((all, 0, 5)));
    assert_eq!(falls_back(&model, &holding(3)), Some((vec![2, 1], 0, 2)));
    assert_eq!(falls_back(&model, &holding(2)), Some((vec![5, 4, 3], 0, 5)));
    assert_eq!(falls_back(&model, &holding(1)), Some((vec![5, 4, 3, 2], 0, 5)));
    let ends = Running { compactions: vec![merging(&[TableId(2), TableId(1)], 9)] };
    assert_eq!(falls_back(&level0(3), &ends), None, "one run is no merge");
}

#[test]
fn the_fallback_merges_the_whole_tree_if_level_0_has_one_run() {
    let mut model = Model::default();
    assert_eq!(falls_back(&model, &Running::default()), None);
    model.write(2, 1, 0..9);
    assert_eq!(falls_back(&model, &Running::default()), None, "one run");
    model.write(1, 2, 0..9);
    model.write(0, 3, 0..9);
    assert_eq!(falls_back(&model, &Running::default()), Some((vec![3, 2, 1], 2, 4)));
    let busy = Running { compactions: vec![merging(&[TableId(1)], 9)] };
    assert_eq!(falls_back(&model, &busy), None, "no table may be left out");
}

#[test]
fn a_policy_that_says_no_more_has_no_state_and_needs_nothing() {
    let (policy, model) = (Says(None, false), level0(1));
    assert!(!policy.plans_flushes() && !policy.reads_histograms() && !policy.watches_reads());
    assert!(policy.adopt(&model.shape).is_empty());
    assert_eq!(policy.status(&model.shape, &[1]), PolicyStatus::default());
}

#[test]
fn the_size_of_tables_is_that_of_the_parameter_if_there_is_one() {
    for options in PolicyOptions::all() {
        let of_parameter =
            options.parameters().into_iter().find_map(|parameter| match parameter.value {
                Value::Number { value, .. } if parameter.name == "target-file-bytes" => Some(value),
                _ => None,
            });
        assert_eq!(
            options.target_file_bytes(),
            of_parameter.unwrap_or(u64::MAX),
            "{}",
            options.name()
        );
        assert!(options.summary().len() > 20 && options.summary().contains(' '));
    }
}

/// A tree with something in several levels.
fn some_tree() -> Model {
    let mut model = Model::default();
    for (level, run) in [(3, 1), (2, 2), (1, 3), (0, 4)] {
        model.write(level, run, (0..90).map(|key| key * 9));
    }
    model
}

#[test]
fn a_policy_plans_the_same_after_a_step_that_it_did_not_plan() {
    let shape = some_tree().shape;
    let mut some = false;
    for options in PolicyOptions::all() {
        let policy = options.build().unwrap();
        let adopted = policy.adopt(&shape);
        some |= !adopted.is_empty();
        assert_eq!(policy.readopt(&adopted, &shape), adopted, "{}", policy.name());
    }
    assert!(some || !ALL, "no policy remembers anything of a tree");
}

#[test]
fn a_policy_that_cuts_flushes_says_so() {
    let shape = Shape::default();
    for options in PolicyOptions::all() {
        let policy = options.build().unwrap();
        let context = PlanContext {
            shape: &shape,
            state: &policy.adopt(&shape),
            running: &Running::default(),
            observed: &Observed::default(),
            filter_bits: FilterBits::whole(10),
            workers: 1,
            l0_stop_trigger: LEVEL0_RUNS_MAX,
            oldest_snapshot: u64::MAX,
            fresh: RunId(1),
        };
        let keys = (0..100u16).map(Key::bytes).collect();
        let sealed = KeySample { entries: 100, bytes: 100, keys };
        if policy.flush(&context, &sealed) != FlushPlan::default() {
            assert!(policy.plans_flushes(), "{}", policy.name());
        }
    }
}

#[test]
fn a_policy_says_what_it_looks_at_and_by_what_writes_wait() {
    let saying = |says: fn(&dyn Policy) -> bool| {
        let policies = PolicyOptions::all().into_iter().map(|options| options.build().unwrap());
        let named = policies.filter(|policy| says(&**policy)).map(|policy| policy.name());
        named.filter(|name| *name != "adversarial").collect::<Vec<_>>()
    };
    let of_all = |names: &[&'static str]| match ALL {
        true => names.to_vec(),
        false => Vec::new(),
    };
    assert_eq!(saying(|p| p.reads_histograms()), [vec!["spooky"], of_all(&["bucket"])].concat());
    assert_eq!(saying(|p| p.reads_prefixes()), of_all(&["ptier"]));
    assert_eq!(saying(|p| p.watches_reads()), of_all(&["ptier"]));
    assert_eq!(saying(|p| p.stalls_by_depth()), of_all(&["bucket"]));
}

#[test]
fn decisions_are_reported_and_a_status_when_it_has_changed() {
    use crate::event::{Event, report_policy};
    use terrane_types::KeyspaceId;
    let decision = || Decision {
        name: "tuned",
        reason: Reason::new("a test".to_owned(), Vec::new()),
        facts: Vec::new(),
    };
    let status = |runs| PolicyStatus {
        capacities: vec![Capacity { bytes: None, runs: Some(runs) }],
        facts: Vec::new(),
    };
    let mut told = PolicyStatus::default();
    let mut events = |decisions, status| {
        let mut kinds = Vec::new();
        report_policy(KeyspaceId(7), decisions, status, &mut told, &mut |event| {
            kinds.push(match event {
                Event::Decided { keyspace: KeyspaceId(7), decision, .. } => decision.to_owned(),
                Event::PolicyStatus { keyspace: KeyspaceId(7), capacities, .. } => {
                    format!("{:?}", capacities[0].runs)
                }
                other => panic!("{other:?}"),
            });
        });
        kinds
    };
    assert_eq!(events(vec![decision(), decision()], status(3)), ["tuned", "tuned", "Some(3)"]);
    assert_eq!(events(vec![decision()], status(3)), ["tuned"]);
    assert_eq!(events(Vec::new(), status(4)), ["Some(4)"]);
    assert_eq!(events(Vec::new(), status(4)), [""; 0]);
}

#[test]
fn the_fallback_relieves_waits_by_tables_over_one_key() {
    let mut disjoint = Model::default();
    for run in 1..=3 {
        disjoint.write(0, run, run as u16 * 10..run as u16 * 10 + 5);
    }
    for (model, by_depth, relieved) in
        [(&disjoint, true, false), (&disjoint, false, true), (&level0(3), true, true)]
    {
        let proposal = ask(&Says(None, by_depth), model, &Running::default(), 3, &mut 0);
        assert_eq!(matches!(proposal, Proposal::Plan { own: false, .. }), relieved, "{by_depth}");
    }
}
