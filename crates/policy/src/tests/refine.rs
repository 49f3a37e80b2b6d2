//! Plans that a refinement leaves unchanged, and details that a policy may omit.

use super::*;
#[cfg(feature = "all")]
use crate::toolkit::monkey::filtered;

/// A policy that says only what it must.
struct Idle;

impl Policy for Idle {
    fn name(&self) -> &'static str {
        "idle"
    }

    fn plan(&self, _: &PlanContext) -> Option<Plan> {
        None
    }
}

#[test]
fn a_policy_that_does_not_declare_state_changes_keeps_its_state() {
    let step = Step::Reshape(LevelChange::Add(1));
    for state in [&b""[..], b"state"] {
        assert_eq!(Idle.apply(state, &unobserved(&Shape::default(), step)), state);
    }
}

#[cfg(feature = "all")]
#[test]
fn a_refined_policy_needs_and_awaits_the_same_as_its_base() {
    let mut met: [BTreeSet<bool>; 5] = Default::default();
    let policies = || super::policies::policies().into_iter().map(|(policy, _)| policy);
    for (policy, other) in policies().zip(policies()) {
        let refined = filtered(other, Filters::Monkey);
        assert_eq!(refined.name(), policy.name());
        let says = |policy: &dyn Policy| {
            [
                policy.stalls_by_depth(),
                policy.reads_histograms(),
                policy.reads_prefixes(),
                policy.watches_reads(),
                policy.weighs_costs(),
            ]
        };
        assert_eq!(says(&*refined), says(&*policy), "{}", policy.name());
        for (met, says) in met.iter_mut().zip(says(&*policy)) {
            met.insert(says);
        }
    }
    assert!(met.iter().all(|met| met.len() == 2), "{met:?}");
}
