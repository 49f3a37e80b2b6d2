//! Filters by run: Monkey's optimum, and what plans and flushes say of it.

use super::*;
use crate::toolkit::monkey::{filtered, monkey};
use std::f64::consts::LN_2;

/// The store's bits.
const BITS: FilterBits = FilterBits::whole(10);

/// The rate of false positives of a filter.
fn rate(bits: f64) -> f64 {
    (-bits * LN_2 * LN_2).exp()
}

fn reads(bits: &[f64]) -> f64 {
    bits.iter().map(|bits| rate(*bits)).sum()
}

/// Bits of all filters together.
fn memory(keys: &[f64], bits: &[f64]) -> f64 {
    keys.iter().zip(bits).map(|(keys, bits)| keys * bits).sum()
}

/// Five levels, each ten times as large as the one above, at ten bits per key.
#[test]
fn monkey_reads_least_for_the_memory_of_uniform_filters() {
    let keys: Vec<f64> = (0..5).map(|level| 10f64.powi(level)).collect();
    let bits = monkey(&keys, 10.0);
    let uniform = vec![10.0; 5];
    assert!((memory(&keys, &bits) / memory(&keys, &uniform) - 1.0).abs() < 1e-9);
    assert!((reads(&bits) - 0.0118).abs() < 0.00005, "{}", reads(&bits));
    assert!((reads(&uniform) - 0.0410).abs() < 0.00005, "{}", reads(&uniform));
    assert!((bits[0] - 28.6).abs() < 0.05 && (bits[4] - 9.5).abs() < 0.05, "{bits:?}");
    // No memory is better spent in another run.
    for from in 0..5 {
        for to in 0..5 {
            let mut other = bits.clone();
            other[from] -= 0.01 / keys[from];
            other[to] += 0.01 / keys[to];
            assert!(reads(&other) >= reads(&bits) - 1e-12, "from {from} to {to}");
        }
    }
}

#[test]
fn with_little_memory_the_largest_runs_have_no_filter() {
    let keys = [1.0, 10.0, 1000.0];
    let bits = monkey(&keys, 0.1);
    assert_eq!(bits[2], 0.0);
    assert!(bits[0] > bits[1] && bits[1] > 0.0, "{bits:?}");
    assert!((memory(&keys, &bits) - 0.1 * 1011.0).abs() < 1e-6);
    // A filter of the largest would cost others more than it spares.
    let mut other = bits.clone();
    other[2] += 0.001;
    other[1] -= 0.1;
    assert!(reads(&other) > reads(&bits));
}

#[test]
fn runs_without_keys_take_no_memory() {
    assert_eq!(monkey(&[0.0, 5.0], 10.0)[0], 0.0);
    assert_eq!(monkey(&[0.0, 0.0], 10.0), [0.0, 0.0]);
    assert_eq!(monkey(&[], 10.0), [0.0; 0]);
}

/// The bits that the next plan gives to its merges.
fn planned(filters: Filters, model: &Model) -> Vec<Option<f64>> {
    let options = PolicyOptions::LeveledFull(LeveledFull {
        size_ratio: 8,
        filters,
        ..LeveledFull::default()
    });
    let built = options.sized(1 << 10, 1 << 20).build().unwrap();
    let plan = propose(&*built, &model.shape, &[], &Running::default(), RunId(99));
    let Some(Plan::Compact(plan)) = plan else { panic!("{plan:?}") };
    let bits = plan.groups.iter().map(|group| match &group.action {
        Action::Merge { filter_bits, .. } => filter_bits.map(FilterBits::bits),
        Action::Move => None,
    });
    bits.collect()
}

/// 1200 keys wait above 2000 and 60000.
fn three_runs() -> Model {
    let mut model = Model::default();
    model.write(2, 1, 0..60_000);
    model.write(1, 2, 0..2000);
    model.write(0, 3, 0..1200);
    model
}

#[test]
fn a_merge_gets_its_runs_bits_among_those_the_plan_leaves() {
    let model = three_runs();
    assert_eq!(planned(Filters::Uniform, &model), [None]);
    let bits = BITS.bits();
    let [Some(own)] = planned(Filters::Monkey, &model)[..] else { panic!("one merge") };
    assert!((own - monkey(&[3200.0, 60_000.0], bits)[0]).abs() < 0.001, "{own}");
    // Level 0 comes to hold half as much, on average, while the run lives.
    let [Some(expected)] = planned(Filters::Dynamic, &model)[..] else { panic!("one merge") };
    assert!((expected - monkey(&[600.0, 3200.0, 60_000.0], bits)[1]).abs() < 0.001, "{expected}");
    assert!(own > bits);
}

#[test]
fn a_flush_gets_the_bits_of_a_small_run() {
    let options: PolicyOptions = r#"{"policy": "tiered", "filters": "monkey"}"#.parse().unwrap();
    let policy = options.build().unwrap();
    assert!(policy.plans_flushes());
    let model = three_runs();
    let (running, observed) = (Running::default(), Observed::default());
    let context = PlanContext {
        shape: &model.shape,
        state: &[],
        running: &running,
        observed: &observed,
        filter_bits: BITS,
        workers: 1,
        l0_stop_trigger: 8,
        oldest_snapshot: u64::MAX,
        fresh: RunId(99),
    };
    let sealed = KeySample { entries: 1000, ..KeySample::default() };
    let bits = policy.flush(&context, &sealed).filter_bits.unwrap().bits();
    let expected = monkey(&[1200.0, 2000.0, 60_000.0, 1000.0], BITS.bits())[3];
    assert!((bits - expected).abs() < 0.001, "{bits}, expected {expected}");
}

#[test]
fn declared_data_with_filters_beyond_memory_are_refused_by_name() {
    let check = |json: &str, present, bits, memory| {
        let options: PolicyOptions = json.parse().unwrap();
        options.check_filters(present, FilterBits::whole(bits), memory).map_err(|e| e.to_string())
    };
    let declared = |filters: &str, bytes: u64| {
        format!(r#"{{"policy": "vertiorizon", "data-bytes": {bytes}, "filters": "{filters}"}}"#)
    };
    // 7 entries of 100 bytes with 10 bits each: 1 MB of filters for 80 MB of data.
    let (present, most) = ((7, 700), 80_000_000);
    for filters in ["monkey", "dynamic"] {
        assert_eq!(check(&declared(filters, most), present, 10, 1_000_000), Ok(()));
        let refused = check(&declared(filters, most + 1), present, 10, 1_000_000).unwrap_err();
        let expected = format!(
            "vertiorizon: `data-bytes` is 80000001, expected at most 80000000, whose {filters} filters \
             take the memory of 1000000 bytes"
        );
        assert_eq!(refused, expected);
        // Twice the bits take twice the memory; without filters, or of unknown entries, they take none.
        assert!(check(&declared(filters, most), present, 20, 1_000_000).is_err());
        assert_eq!(check(&declared(filters, 2 * most), present, 10, 2_000_000), Ok(()));
        assert_eq!(check(&declared(filters, most + 1), present, 0, 1_000_000), Ok(()));
        assert_eq!(check(&declared(filters, most + 1), (0, 0), 10, 1_000_000), Ok(()));
    }
    // Uniform filters take what the cache has for them.
    assert_eq!(check(&declared("uniform", 1 << 50), present, 10, 1_000_000), Ok(()));
    let undeclared = r#"{"policy": "leveled", "filters": "monkey"}"#;
    assert_eq!(check(undeclared, present, 10, 1), Ok(()));
}

/// A policy that says of everything what no default says.
struct Tells;

impl Policy for Tells {
    fn name(&self) -> &'static str {
        "tells"
    }

    fn plan(&self, _: &PlanContext) -> Option<Plan> {
        None
    }

    fn reads_histograms(&self) -> bool {
        true
    }

    fn watches_reads(&self) -> bool {
        true
    }

    fn apply(&self, state: &[u8], _: &Installed) -> Vec<u8> {
        [state, &[5]].concat()
    }

    fn adopt(&self, _: &Shape) -> Vec<u8> {
        vec![6, 7]
    }

    fn readopt(&self, state: &[u8], _: &Shape) -> Vec<u8> {
        [state, &[8]].concat()
    }

    fn status(&self, _: &Shape, _: &[u8]) -> PolicyStatus {
        PolicyStatus { capacities: vec![Capacity::default()], facts: Vec::new() }
    }

    fn decisions(&self, _: &[u8], _: &Installed) -> Vec<Decision> {
        let reason = Reason::new("a test".to_owned(), Vec::new());
        vec![Decision { name: "told", reason, facts: Vec::new() }]
    }
}

#[test]
fn a_policy_with_filters_by_size_keeps_its_reports_and_state() {
    let shape = Shape::default();
    let group = merge(&[TableId(1)], 1, 1);
    let step = Step::Group { group: &group, outputs: &[], ends: true };
    let installed = unobserved(&shape, step);
    for filters in [Filters::Uniform, Filters::Monkey, Filters::Dynamic] {
        let policy = filtered(Box::new(Tells), filters);
        assert_eq!(policy.name(), "tells");
        assert!(policy.reads_histograms() && policy.watches_reads());
        assert_eq!(policy.apply(&[1], &installed), [1, 5]);
        assert_eq!(policy.adopt(&shape), [6, 7]);
        assert_eq!(policy.readopt(&[1], &shape), [1, 8]);
        assert_eq!(policy.status(&shape, &[]).capacities.len(), 1);
        assert_eq!(policy.decisions(&[], &installed), Tells.decisions(&[], &installed));
        assert_eq!(policy.plans_flushes(), filters != Filters::Uniform);
    }
}

#[test]
fn policies_with_filters_by_size_set_flush_bits_and_keep_needs() {
    for preset in presets() {
        let build = |filters: &str| {
            let options = format!(r#"{{"policy": "{}", "filters": "{filters}"}}"#, preset.name);
            options.parse::<PolicyOptions>().unwrap().build().unwrap()
        };
        let (uniform, monkey) = (build("uniform"), build("monkey"));
        assert_eq!((uniform.name(), monkey.name()), (preset.name, preset.name));
        assert_eq!(monkey.reads_histograms(), uniform.reads_histograms(), "{}", preset.name);
        assert_eq!(monkey.watches_reads(), uniform.watches_reads(), "{}", preset.name);
        assert!(monkey.plans_flushes(), "{}", preset.name);
        let shape = Shape::default();
        let context = PlanContext {
            shape: &shape,
            state: &monkey.adopt(&shape),
            running: &Running::default(),
            observed: &Observed::default(),
            filter_bits: BITS,
            workers: 1,
            l0_stop_trigger: LEVEL0_RUNS_MAX,
            oldest_snapshot: u64::MAX,
            fresh: RunId(1),
        };
        let keys = vec![1u16.bytes(), 2u16.bytes()];
        let sealed = KeySample { entries: 2, bytes: 2, keys };
        // The only run has all memory there is.
        assert_eq!(monkey.flush(&context, &sealed).filter_bits, Some(BITS), "{}", preset.name);
    }
}
