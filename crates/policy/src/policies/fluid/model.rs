//! Costs of a fluid tree, and the tree that costs least for a mix of operations.
//!
//! N bytes of distinct keys are overwritten uniformly, B bytes at a time; D = N/B, and an arrival of level i is
//! `A_i = T_1 * ... * T_(i-1)` buffers. A run of level i takes `r_i = T_i / K_i` arrivals.
//!
//! 1. **Writes.** The j-th arrival of a run rewrites those before it, so that merges into level i write each entry
//!    `(r_i + 1) / 2` times. The first arrival is not written, but moved, if the level above has one run:
//!    `1 / r_i` less. Level 0 has one.
//! 2. **The largest level** holds all data. With Z = 1 each arrival rewrites it: `D / A_L` times. Otherwise Z - 1 runs
//!    of `r_L` arrivals gather beside it before all are merged: `(r_L + 1) / 2 + D / ((Z - 1) * r_L * A_L)`.
//! 3. **Runs.** A level above it has `(K_i + 1) / 2 - 1 / r_i` on average: it is emptied by the arrival that fills it.
//!    The largest has 1, or `1 + Z / 2 - 1 / r_L`.
//! 4. **Blocks of an operation.** A merged page counts by its price. A read fetches a block of each run whose filter
//!    errs, and one more if the key is there; a short scan fetches one of each run.
//! 5. **Tuning.** All of this is `w * writes + q * runs` and a constant, with one w and one q. For these, the best
//!    level of ratio T has `K = sqrt(T * w / q)` runs or so, and costs about `sqrt(T)`: a convex function of ln T, so
//!    that levels of equal ratio and runs are best where their product is given. So all that is compared are numbers of
//!    equal levels above a largest one, with `r` and K from a list, and some Z.

use super::RATIO_MAX;
use crate::toolkit::parameter::LIST_MAX;

/// Ratios and runs of levels, from level 1 on; the last of each repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// T_i.
    pub size_ratios: Vec<u64>,
    /// K_i of levels above the largest.
    pub runs: Vec<u64>,
    /// Z.
    pub largest_runs: u64,
}

/// Shares of operations, of any sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    /// Reads of keys that are there.
    pub reads: f64,
    /// Reads of keys that are not there.
    pub missing_reads: f64,
    /// Short scans.
    pub scans: f64,
    /// Writes.
    pub writes: f64,
}

/// The store that a tree is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Store {
    /// D: distinct data over B.
    pub buffers: f64,
    /// Entries of a page.
    pub entries_of_a_page: f64,
    /// Filter bits of a key.
    pub filter_bits: f64,
    /// Cost of a page that is merged over that of a block that is read at random.
    pub page: f64,
}

/// Costs of a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Number of times that merges write an entry.
    pub writes: f64,
    /// Sorted runs, on average.
    pub runs: f64,
}

impl Tree {
    /// Returns lazy leveling: T runs of every level but the largest.
    #[must_use]
    pub fn lazy_leveling(size_ratio: u64) -> Self {
        Tree { size_ratios: vec![size_ratio], runs: vec![size_ratio], largest_runs: 1 }
    }

    /// Returns a bush of this number of buffers: the two largest levels have the ratio T, those above `T^2`, `T^4` and
    /// so on, each as many runs as its ratio, but the largest one. The smallest level is cut to the data.
    #[must_use]
    pub fn bush(size_ratio: u64, buffers: u64) -> Self {
        let (mut size_ratios, mut next) = (vec![size_ratio], size_ratio);
        let mut held = size_ratio;
        while held < buffers && size_ratios.len() < LIST_MAX {
            let ratio = next.min(buffers.div_ceil(held)).clamp(2, RATIO_MAX);
            size_ratios.push(ratio);
            held = held.saturating_mul(ratio);
            next = next.saturating_mul(next);
        }
        size_ratios.reverse();
        Tree { runs: size_ratios.clone(), size_ratios, largest_runs: 1 }
    }

    /// T of a level.
    #[must_use]
    pub fn ratio(&self, level: usize) -> u64 {
        of(&self.size_ratios, level).max(2)
    }

    /// K of a level, if it is not the largest.
    #[must_use]
    pub fn runs(&self, level: usize) -> u64 {
        of(&self.runs, level).max(1)
    }

    /// The largest level of a tree of this number of buffers, and the buffers that arrive there at once.
    #[must_use]
    pub fn largest(&self, buffers: f64) -> (usize, f64) {
        let mut arrival = 1.0;
        for level in 1..64 {
            let ratio = self.ratio(level) as f64;
            if buffers <= arrival * (ratio - 0.5) {
                return (level, arrival);
            }
            arrival *= ratio;
        }
        (64, arrival)
    }

    /// Returns its costs with this number of buffers (steps 1 to 3).
    #[must_use]
    pub fn costs(&self, buffers: f64) -> Costs {
        let (last, arrival) = self.largest(buffers);
        let (mut costs, mut above) = (Costs { writes: 0.0, runs: 0.0 }, 1);
        for level in 1..last {
            let runs = self.runs(level);
            costs = costs.and(upper(self.ratio(level) as f64 / runs as f64, runs, above));
            above = runs;
        }
        let share = self.ratio(last) as f64 / self.largest_runs.max(1) as f64;
        costs.and(largest(buffers / arrival, share, self.largest_runs, above))
    }
}

/// A number of a list whose last repeats, of a level from 1 on.
fn of(list: &[u64], level: usize) -> u64 {
    list.get(level.saturating_sub(1)).or(list.last()).copied().unwrap_or(0)
}

/// Steps 1 and 3: a level whose runs take `arrivals`, below one of `above` runs.
fn upper(arrivals: f64, runs: u64, above: u64) -> Costs {
    let arrivals = arrivals.max(1.0);
    let moved = if above == 1 { 1.0 / arrivals } else { 0.0 };
    Costs {
        writes: (arrivals + 1.0) / 2.0 - moved,
        runs: (runs as f64 + 1.0) / 2.0 - 1.0 / arrivals,
    }
}

/// Steps 2 and 3: a largest level that holds `held` arrivals, and whose other runs take `share` of them.
fn largest(held: f64, share: f64, runs: u64, above: u64) -> Costs {
    if runs <= 1 {
        return Costs { writes: held, runs: 1.0 };
    }
    let beside = upper(share, runs - 1, above);
    let arrivals = share.max(1.0) * (runs - 1) as f64;
    Costs { writes: beside.writes + held / arrivals, runs: 1.0 + beside.runs }
}

impl Costs {
    fn and(self, other: Costs) -> Costs {
        Costs { writes: self.writes + other.writes, runs: self.runs + other.runs }
    }

    /// Returns the blocks of an operation (step 4).
    #[must_use]
    pub fn blocks(self, mix: &Mix, store: &Store) -> f64 {
        let Mix { reads, missing_reads, scans, writes } = *mix;
        let sum = (reads + missing_reads + scans + writes).max(f64::MIN_POSITIVE);
        let (write, run) = prices(mix, store);
        (write * self.writes + run * self.runs + reads) / sum
    }
}

/// Blocks for an entry that is written once, and for a run, over all shares.
fn prices(mix: &Mix, store: &Store) -> (f64, f64) {
    let errors = (-store.filter_bits * std::f64::consts::LN_2 * std::f64::consts::LN_2).exp();
    let write = mix.writes * store.page / store.entries_of_a_page.max(f64::MIN_POSITIVE);
    (write, (mix.reads + mix.missing_reads) * errors + mix.scans)
}

/// The arrivals of a run, and the runs of a level, that are compared.
const COMPARED: [u64; 8] = [1, 2, 3, 4, 6, 8, 12, 16];

/// Returns the tree that costs least for a mix (step 5): of equals the one with fewer levels, then of fewer runs.
#[must_use]
pub fn tune(mix: &Mix, store: &Store) -> Tree {
    let (write, run) = prices(mix, store);
    let buffers = store.buffers.max(1.0);
    let mut best = (f64::INFINITY, 0, 2, 1, 1);
    let mut consider = |equal: u64, runs: u64, ratio: u64, upper: Costs| {
        let held = buffers / (ratio as f64).powi(i32::try_from(equal).unwrap_or(i32::MAX));
        let last = last_ratio(held);
        if equal > 0 && last < 2 || last > RATIO_MAX {
            return;
        }
        let above = if equal == 0 { 1 } else { runs };
        for z in COMPARED.into_iter().filter(|z| *z <= last) {
            let costs = upper.and(largest(held, last as f64 / z as f64, z, above));
            let cost = write * costs.writes + run * costs.runs;
            if cost < best.0 {
                best = (cost, equal, ratio, runs, z);
            }
        }
    };
    consider(0, 1, 2, Costs { writes: 0.0, runs: 0.0 });
    for runs in COMPARED {
        for arrivals in COMPARED.into_iter().filter(|arrivals| arrivals * runs > 1) {
            let ratio = arrivals * runs;
            let [first, other] = [1, runs].map(|above| upper(arrivals as f64, runs, above));
            let mut costs = first;
            for equal in 1..LIST_MAX as u64 {
                if buffers < 1.5 * (ratio as f64).powi(equal as i32) {
                    break;
                }
                consider(equal, runs, ratio, costs);
                costs = costs.and(other);
            }
        }
    }
    let (_, equal, ratio, runs, largest_runs) = best;
    let held = buffers / (ratio as f64).powi(equal as i32);
    let mut size_ratios = vec![ratio; equal as usize];
    let last = last_ratio(held).clamp(2, RATIO_MAX);
    size_ratios.push(last);
    // The largest level is one of the others once the tree has grown.
    let mut all_runs = vec![runs; equal as usize];
    all_runs.push(runs.min(last));
    Tree { size_ratios, runs: all_runs, largest_runs }
}

/// The ratio of a largest level that holds this number of arrivals, and stays below half an arrival of its capacity.
fn last_ratio(held: f64) -> u64 {
    (held + 0.5).ceil().max(1.0) as u64
}
