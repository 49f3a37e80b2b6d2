//! Filter bits by run: new tables get the bits that would divide the same memory best among the runs that
//! the plan leaves (Dayan, Athanassoulis and Idreos, "Monkey: Optimal Navigable Key-Value Store").
//!
//! 1. **Uniform.** Each run has the store's bits per key.
//! 2. **Monkey.** A lookup asks every run, so `sum p_r` is least, where p_r is a run's rate of false
//!    positives, for a sum of `n_r * ln(1/p_r)` of `M * ln(2)^2`: n_r keys a run, M bits in all. That is
//!    `p_r = mu * n_r` with `ln mu = -(M * ln(2)^2 + sum n_r * ln n_r) / sum n_r` over the runs that have a
//!    filter; a run whose rate would be 1 or more has none, and the rest is divided again. Sizes are those
//!    that the plan leaves.
//! 3. **Dynamic.** The same for the sizes expected while the run lives: what a plan takes out of a run will
//!    return, from nothing to as much, so that half of it counts. No filter is rebuilt for that.

use super::filters::Filters;
use super::refine::{Refine, refined};
use crate::context::{KeySample, PlanContext};
use crate::policy::Policy;
use std::f64::consts::LN_2;
use terrane_types::{Action, Compaction, Destination, FilterBits, FlushPlan, Shape};

/// Returns the bits per key of runs with these numbers of keys, if all have `bits` on average (step 2).
pub(crate) fn monkey(keys: &[f64], bits: f64) -> Vec<f64> {
    let memory = bits * LN_2 * LN_2 * keys.iter().sum::<f64>();
    let mut filtered: Vec<bool> = keys.iter().map(|n| *n > 0.0).collect();
    loop {
        let kept = || keys.iter().zip(&filtered).filter(|(_, kept)| **kept).map(|(n, _)| *n);
        let (sum, logs) = kept().fold((0.0, 0.0), |(sum, logs), n| (sum + n, logs + n * n.ln()));
        if sum <= 0.0 {
            return vec![0.0; keys.len()];
        }
        let ln_mu = -(memory + logs) / sum;
        let mut divides = false;
        for (n, kept) in keys.iter().zip(&mut filtered).filter(|(_, kept)| **kept) {
            if ln_mu + n.ln() >= 0.0 {
                (*kept, divides) = (false, true);
            }
        }
        if !divides {
            let of = |(n, kept): (&f64, &bool)| {
                if *kept { -(ln_mu + n.ln()) / (LN_2 * LN_2) } else { 0.0 }
            };
            return keys.iter().zip(&filtered).map(of).collect();
        }
    }
}

/// Runs have filters by their sizes.
struct Filtered {
    filters: Filters,
}

/// The policy with these filters.
pub(crate) fn filtered(policy: Box<dyn Policy>, filters: Filters) -> Box<dyn Policy> {
    match filters {
        Filters::Uniform => policy,
        Filters::Monkey | Filters::Dynamic => refined(policy, Filtered { filters }),
    }
}

/// The keys of each run.
fn keys(shape: &Shape) -> Vec<(Destination, f64)> {
    let each = shape.runs().into_iter();
    each.map(|(place, run)| (place, run.totals().entries() as f64)).collect()
}

fn bits_of(
    runs: &[(Destination, f64)],
    place: Destination,
    bits: FilterBits,
) -> Option<FilterBits> {
    let keys: Vec<_> = runs.iter().map(|(_, keys)| *keys).collect();
    let at = runs.iter().position(|(run, _)| *run == place)?;
    let own = monkey(&keys, bits.bits()).get(at).copied()?;
    // Not a clamp, which can print floats, with code that browsers would load.
    FilterBits::new(own.max(0.0).min(FilterBits::MAX.bits()))
}

impl Refine for Filtered {
    /// Sets the bits of a compaction's merges.
    fn compaction(&self, context: &PlanContext, plan: &mut Compaction) {
        let mut runs = keys(context.shape);
        let stays = if self.filters == Filters::Dynamic { 0.5 } else { 0.0 };
        for group in &plan.groups {
            let mut moved = 0.0;
            for placed in context.shape.find(group.inputs.clone()) {
                let entries = placed.table.entries as f64;
                moved += entries;
                let stays = if placed.place == group.destination { 0.0 } else { stays };
                let run = runs.iter_mut().find(|(place, _)| *place == placed.place);
                if let Some((_, keys)) = run {
                    *keys = (*keys - entries * (1.0 - stays)).max(0.0);
                }
            }
            match runs.iter_mut().find(|(place, _)| *place == group.destination) {
                Some((_, keys)) => *keys += moved,
                None => runs.push((group.destination, moved)),
            }
        }
        for group in &mut plan.groups {
            if let Action::Merge { filter_bits, .. } = &mut group.action
                && filter_bits.is_none()
            {
                *filter_bits = bits_of(&runs, group.destination, context.filter_bits);
            }
        }
    }

    fn refines_flushes(&self) -> bool {
        true
    }

    fn flush(&self, context: &PlanContext, sealed: &KeySample, plan: &mut FlushPlan) {
        let place = Destination { level: 0, run: context.fresh };
        let mut runs = keys(context.shape);
        runs.push((place, sealed.entries as f64));
        plan.filter_bits = plan.filter_bits.or(bits_of(&runs, place, context.filter_bits));
    }

    fn reads_histograms(&self) -> bool {
        false
    }
}
