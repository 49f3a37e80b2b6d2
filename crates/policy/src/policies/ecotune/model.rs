//! The merges of a round that cost least, by dynamic programming.
//!
//! Runs of one unit arrive on a stack, and each arrival may be merged with all runs down to some older one. Each run
//! costs `run` from one arrival to the next, since reads look into it. A merge costs `unit` for each unit that it
//! writes; an arrival that is not merged is moved. Costs are sums over runs, so the best merges above a run that is
//! left alone do not depend on the runs below it:
//!
//! 1. **V(n)** is the least cost of n arrivals above runs that are left alone. The first is a run for all n. **W(m)**
//!    is the least cost of the runs above it until the m-th arrival is merged with all of them and it, which writes m:
//!    ```text
//!    W(1) = 0;  W(m) = m * unit + min over k < m of W(k) + V(m-k-1)
//!    V(0) = 0;  V(n) = n * run + min over k <= n of W(k) + V(n-k)
//!    ```
//!    Computing all of them up to n takes `n^2` steps.
//! 2. **An existing stack** has two such tables for each of its runs, from the newest down: one for merging the run
//!    with the next arrival, and one for leaving it alone until the m-th arrival, or for good. The merge with the m-th
//!    arrival writes the run, all newer runs and m units.
//! 3. **The decision** compares the two, from the oldest run up. The first run for which merging now is cheaper is
//!    merged with all newer ones. A run that is left alone until the m-th arrival leaves m - 1 arrivals to those above.
//! 4. **A round** of R arrivals ends with a merge of all R units into the D of the last level. It costs
//!    `V(R-1) + (R + D) * unit`; the best R costs least for each arrival.

/// Costs, in any unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// A run, from one arrival to the next.
    pub run: f64,
    /// A unit that is merged.
    pub unit: f64,
}

/// Least costs of rounds, for each number of arrivals up to a maximum.
#[derive(Clone, Debug)]
pub struct Rounds {
    costs: Costs,
    /// V, by number of arrivals.
    above: Vec<f64>,
}

/// The comparison that decides about a run of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Place of the run, the oldest at 0.
    pub run: usize,
    /// Number of arrivals that the costs cover, including this one.
    pub arrivals: usize,
    /// Least cost of these in thousandths, if it is merged with this arrival and all newer runs.
    pub now: u64,
    /// Least cost in thousandths, if it is left alone.
    pub later: u64,
}

/// Costs of a run of a stack, by numbers of arrivals.
struct Table {
    /// Least cost if it is merged with the next arrival.
    now: Vec<f64>,
    /// Least cost if it is not.
    later: Vec<f64>,
    /// The lesser of the two.
    least: Vec<f64>,
    /// The arrival with which it is first merged, if it is not the next; 0 if it never is.
    first: Vec<usize>,
}

impl Rounds {
    /// Computes the costs of up to `arrivals` arrivals (step 1).
    #[must_use]
    pub fn new(costs: Costs, arrivals: usize) -> Self {
        let (mut above, mut merged) = (vec![0.0], vec![f64::INFINITY]);
        for n in 1..=arrivals {
            let before = least(&merged, &above, n - 1, f64::INFINITY).0;
            merged.push(if n == 1 { 0.0 } else { n as f64 * costs.unit + before });
            let after = least(&merged, &above, n, f64::INFINITY).0;
            above.push(n as f64 * costs.run + after);
        }
        Rounds { costs, above }
    }

    /// Returns the number of arrivals, at most `most`, of the cheapest round above `last` units (step 4).
    #[must_use]
    pub fn best(&self, most: usize, last: f64) -> usize {
        let cost = |arrivals: usize| {
            let merge = (arrivals as f64 + last) * self.costs.unit;
            (at(&self.above, arrivals - 1) + merge) / arrivals as f64
        };
        let most = most.clamp(1, self.above.len());
        (1..=most).fold(1, |best, other| if cost(other) < cost(best) { other } else { best })
    }

    /// Returns the least cost of `arrivals` arrivals on a stack of runs, whose sizes are in units, oldest first.
    #[must_use]
    pub fn cost(&self, stack: &[f64], arrivals: usize) -> f64 {
        let tables = self.tables(stack, arrivals);
        at(tables.first().map_or(&self.above, |table| &table.least), arrivals)
    }

    /// Returns the comparisons that decide about the first of `arrivals` arrivals (step 3). If merging is cheaper in
    /// the last comparison, its run is merged with the arrival and all newer runs. Otherwise the arrival becomes a run.
    #[must_use]
    pub fn choices(&self, stack: &[f64], arrivals: usize) -> Vec<Choice> {
        let tables = self.tables(stack, arrivals);
        let (mut choices, mut left) = (Vec::new(), arrivals);
        for (run, table) in tables.iter().enumerate() {
            let [now, later] = [&table.now, &table.later].map(|costs| thousandths(at(costs, left)));
            choices.push(Choice { run, arrivals: left, now, later });
            if now < later {
                break;
            }
            left = match table.first.get(left) {
                None | Some(0) => left,
                Some(first) => first - 1,
            };
        }
        choices
    }

    /// Returns the tables of a stack, the oldest run's first (step 2).
    fn tables(&self, stack: &[f64], arrivals: usize) -> Vec<Table> {
        let arrivals = arrivals.min(self.above.len() - 1);
        let mut tables: Vec<Table> = Vec::new();
        let mut size = 0.0;
        for run in stack.iter().rev() {
            size += run;
            let newer = tables.last().map_or(&self.above, |newer| &newer.least);
            tables.push(self.table(size, arrivals, newer));
        }
        tables.reverse();
        tables
    }

    /// Returns the table of a run that has `size` units with all newer runs, which alone cost `newer`.
    fn table(&self, size: f64, arrivals: usize, newer: &[f64]) -> Table {
        let (Costs { run, unit }, never) = (self.costs, f64::INFINITY);
        // Least costs until the m-th arrival is merged with it, if its first merge is now, or later.
        let (mut starts_now, mut starts_later) = (vec![never], vec![never]);
        let mut firsts = vec![0];
        let nothing = at(newer, 0);
        let mut table = Table {
            now: vec![nothing],
            later: vec![nothing],
            least: vec![nothing],
            first: vec![0],
        };
        for n in 1..=arrivals {
            let (written, all) = ((size + n as f64) * unit, n as f64 * run);
            let until = |from: &[f64], alone| least(from, &self.above, n - 1, alone);
            let (now, _) = until(&starts_now, if n == 1 { 0.0 } else { never });
            let (later, at_first) =
                until(&starts_later, if n == 1 { never } else { at(newer, n - 1) });
            starts_now.push(written + now);
            starts_later.push(written + later);
            firsts.push(if at_first == 0 { n } else { at_index(&firsts, at_first) });
            let since = |from: &[f64], alone| least(from, &self.above, n, alone);
            let now = all + since(&starts_now, never).0;
            let (later, at_first) = since(&starts_later, at(newer, n));
            table.now.push(now);
            table.later.push(all + later);
            table.least.push(now.min(all + later));
            table.first.push(at_index(&firsts, at_first));
        }
        table
    }
}

/// Returns the least of `from[k] + above[arrivals - k]` for k from 1 on, and its k, or `alone` and 0 if none is less.
fn least(from: &[f64], above: &[f64], arrivals: usize, alone: f64) -> (f64, usize) {
    let mut best = (alone, 0);
    for k in 1..=arrivals {
        let cost = at(from, k) + at(above, arrivals - k);
        if cost < best.0 {
            best = (cost, k);
        }
    }
    best
}

/// Returns a cost in thousandths, as exact as a comparison needs, at most `u64::MAX`.
fn thousandths(cost: f64) -> u64 {
    (cost * 1000.0) as u64
}

fn at(list: &[f64], index: usize) -> f64 {
    list.get(index).copied().unwrap_or(f64::INFINITY)
}

fn at_index(list: &[usize], index: usize) -> usize {
    list.get(index).copied().unwrap_or(0)
}
