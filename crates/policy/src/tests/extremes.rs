//! Sizes and parameters at the ends of their ranges: plans are legal, and no sum overflows.

use super::*;

/// A table over keys `from` to `to`, in which every number is `size`.
fn table(id: u64, size: u64, from: u8, to: u8) -> Arc<TableInfo> {
    let points = [from, to].map(|key| HistogramPoint { key: vec![key], bytes: size });
    Arc::new(TableInfo {
        id: TableId(id),
        bytes: size,
        entries: size,
        tombstones: size,
        smallest: vec![from],
        largest: vec![to],
        first_seq: size,
        last_seq: size,
        filter_bits: FilterBits::NONE,
        filter_bytes: 0,
        kept: Some(Kept::default()),
        cleared: 0,
        expires_by: 0,
        salt: 0,
        histogram: points.to_vec().into(),
        prefixes: Prefixes::default(),
    })
}

/// Levels of this many runs each, of two tables with `size` bytes each.
fn tree(runs: &[u64], size: u64) -> Shape {
    let mut edit = ShapeEdit::default();
    let mut id = 1000;
    for (level, runs) in runs.iter().enumerate() {
        for _ in 0..*runs {
            // Deeper is older, and has smaller ids.
            id -= 10;
            edit.added.push((level, RunId(id), table(id, size, 0, 100)));
            edit.added.push((level, RunId(id), table(id + 1, size, 110, 200)));
        }
    }
    apply(&Shape::default(), &edit).unwrap()
}

/// The policy with every number at an end of its range, and with each one at the other end.
fn ends(mut options: PolicyOptions) -> Vec<PolicyOptions> {
    let count = options.tuning().len();
    let mut all = Vec::new();
    for other in 0..=count {
        for highest in [false, true] {
            for (at, tuned) in options.tuning().into_iter().enumerate() {
                if let crate::toolkit::parameter::ValueRef::Number { least, most, value } =
                    tuned.slot
                {
                    *value = if highest == (at != other) { most } else { least };
                }
            }
            all.push(options.clone());
        }
    }
    all
}

#[test]
fn every_policy_plans_at_the_ends_of_every_range() {
    let mut plans = 0;
    let trees = [&[10][..], &[4, 1, 1, 1, 1, 1], &[0, 9], &[70, 3, 3, 3], &[1, 0, 0, 0, 0, 0, 1]];
    for options in crate::options::presets::defaults().into_iter().flat_map(ends) {
        // Two ends that exclude each other are refused.
        let Ok(policy) = options.build() else { continue };
        for size in [0, 1, u64::MAX / 2, u64::MAX] {
            for runs in trees {
                let (shape, mut running) = (tree(runs, size), Running::default());
                for fresh in 2000..2010 {
                    let fresh = RunId(fresh);
                    match propose(&*policy, &shape, &[], &running, fresh) {
                        Some(plan) => {
                            validate_plan(&shape, &running, &plan).unwrap();
                            plans += 1;
                            let Plan::Compact(plan) = plan else { break };
                            running.compactions.push(plan);
                        }
                        None => break,
                    }
                }
            }
        }
    }
    assert!(plans > 1000, "{plans} plans");
}
