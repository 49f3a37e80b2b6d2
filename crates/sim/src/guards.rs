//! PebblesDB's guards: a level of several runs, cut at keys, whose merges leave the next level as it is.
//!
//! 1. **Guards.** One of `keys` keys, by its hash, is a guard of level 1 and of all deeper ones; each level has
//!    `ratio` times the guards of the one above. Every key that is written is looked at.
//! 2. **Level 0**, at its trigger, is merged and cut at the guards of level 1.
//! 3. **A guard** of a level with more tables than it may have sends them down: they are merged, cut at the guards of
//!    the next level, and put above what is there. What spans several guards, since these are younger, takes
//!    their tables along.
//! 4. **In the last level** they are merged in place.
//!
//! The level goes first that has most for what it may have: level 0 by its runs, another by the tables of a guard.
//!
//! What PebblesDB has beyond that is left out: merges in the last level but one that stay there, merges that
//! seeks cause, and seeks by several threads.

use serde::{Deserialize, Serialize};
use std::sync::Arc;
use terrane_policy::{
    Action, Compaction, Destination, Group, Plan, PlanContext, Policy, Run, RunId, Shape,
    TableInfo, key_range,
};
use terrane_workload::mix;

/// The guards of a store, in place of its policy. The defaults are PebblesDB's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    rename_all = "kebab-case",
    expecting = "an object with parameters of guards, or {}"
)]
pub struct Guards {
    /// One of this number of keys is a guard of level 1.
    pub keys: u64,
    /// Guards of a level over those of the one above.
    pub ratio: u64,
    /// Tables that a guard may have.
    pub tables: usize,
    /// Runs at which level 0 is merged.
    pub l0_compaction_trigger: usize,
    /// The last level.
    pub last_level: usize,
}

impl Default for Guards {
    fn default() -> Self {
        Guards { keys: 1 << 27, ratio: 4, tables: 2, l0_compaction_trigger: 4, last_level: 6 }
    }
}

/// The bytes of a guard in the state: its key, and the first level that it is one of.
const RECORD: usize = 9;

/// The guards in a state, in key order.
fn records(state: &[u8]) -> impl Iterator<Item = (&[u8; 8], usize)> {
    let (records, _) = state.as_chunks::<RECORD>();
    records.iter().filter_map(|record| {
        let (level, key) = record.split_last()?;
        Some((key.try_into().ok()?, usize::from(*level)))
    })
}

/// Tables of a level that go down together.
type Set<'a> = Vec<&'a Arc<TableInfo>>;

/// Work due in a level: at a score of 1 or more.
struct Due<'a> {
    level: usize,
    score: f64,
    sets: Vec<Set<'a>>,
}

impl Guards {
    /// Step 1: the state with those of these keys, in order, that are guards.
    pub(crate) fn learn(&self, state: &[u8], keys: impl Iterator<Item = u64>) -> Vec<u8> {
        let mut all: Vec<_> = records(state).map(|(key, level)| (*key, level)).collect();
        let known = all.len();
        for key in keys {
            let Some(level) = self.first_level(key) else { continue };
            let key = key.to_be_bytes();
            if all.get(..known).is_some_and(|all| all.binary_search_by_key(&key, |g| g.0).is_err())
            {
                all.push((key, level));
            }
        }
        all.sort_unstable();
        let bytes = |(key, level): ([u8; 8], usize)| key.into_iter().chain([level as u8]);
        all.into_iter().flat_map(bytes).collect()
    }

    /// The first level that a key is a guard of.
    fn first_level(&self, key: u64) -> Option<usize> {
        let hash = mix(key);
        let mut bound = u64::MAX / self.keys.max(1);
        (1..=self.last_level).find(|_| {
            let below = hash < bound;
            bound = bound.saturating_mul(self.ratio);
            below
        })
    }

    /// The guards of a level.
    pub(crate) fn of_level(state: &[u8], level: usize) -> Vec<&[u8]> {
        records(state).filter(|(_, first)| *first <= level).map(|(key, _)| &key[..]).collect()
    }

    /// Step 2.
    fn level0<'a>(&self, runs: &'a [Run]) -> Due<'a> {
        let score = runs.len() as f64 / self.l0_compaction_trigger.max(1) as f64;
        let sets = vec![runs.iter().flat_map(|run| run.tables().iter()).collect()];
        Due { level: 0, score, sets }
    }

    /// Steps 3 and 4: the tables of guards that have too many, in sets that share no key.
    fn crowded<'a>(&self, level: usize, runs: &'a [Run], guards: &[&[u8]]) -> Due<'a> {
        let mut tables: Vec<_> = runs.iter().flat_map(|run| run.tables().iter()).collect();
        tables.sort_unstable_by(|a, b| a.smallest.cmp(&b.smallest));
        // Guard 0 is what lies below the first key.
        let at = |key: &[u8]| guards.partition_point(|guard| *guard <= key);
        let mut counts = vec![0_usize; guards.len() + 1];
        for table in &tables {
            for count in
                counts.get_mut(at(&table.smallest)..=at(&table.largest)).into_iter().flatten()
            {
                *count += 1;
            }
        }
        let is_crowded = |table: &TableInfo| {
            let counts = counts.get(at(&table.smallest)..=at(&table.largest)).unwrap_or_default();
            counts.iter().any(|count| *count > self.tables)
        };
        // Tables that overlap, or that share a guard with too many, are one set.
        let mut sets: Vec<(Set<'a>, bool)> = Vec::new();
        let mut end: &[u8] = &[];
        for table in tables {
            let crowded = is_crowded(table);
            let joins = |(_, is_due): &&mut (Set<'a>, bool)| {
                let shares = crowded && *is_due && at(end) == at(&table.smallest);
                shares || table.smallest.as_slice() <= end
            };
            match sets.last_mut().filter(joins) {
                Some((set, is_due)) => {
                    set.push(table);
                    *is_due |= crowded;
                }
                None => sets.push((vec![table], crowded)),
            }
            end = end.max(&table.largest);
        }
        let most = counts.iter().copied().max().unwrap_or(0);
        let score = most as f64 / (self.tables + 1) as f64;
        let sets = sets.into_iter().filter(|(_, is_due)| *is_due).map(|(set, _)| set).collect();
        Due { level, score, sets }
    }
}

/// The lowest run of a level into which tables between two keys may go: it and those above it have none there.
fn place(runs: &[Run], fresh: RunId, smallest: &[u8], largest: &[u8]) -> RunId {
    let free = |run: &&Run| run.overlapping(smallest, largest).next().is_none();
    runs.iter().take_while(free).last().map_or(fresh, |run| run.id)
}

impl Policy for Guards {
    fn name(&self) -> &'static str {
        "guards"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        let PlanContext { shape, running, fresh, state, .. } = *context;
        let runs = |level: usize| shape.levels().get(level).map_or(&[][..], |level| &level.runs);
        let held = running.held();
        let is_busy = |level: usize| {
            let mut into = running.groups().map(|group| group.destination.level);
            let mut tables = runs(level).iter().flat_map(|run| run.tables().iter());
            into.any(|into| into == level || into == self.next(level))
                || tables.any(|table| held.contains(&table.id))
        };
        let mut first: Option<Due> = None;
        for level in (0..=self.last_level).filter(|level| !is_busy(*level)) {
            let due = match level {
                0 => self.level0(runs(0)),
                _ => self.crowded(level, runs(level), &Guards::of_level(state, level)),
            };
            // Of those that are due alike the upper one.
            if due.score >= first.as_ref().map_or(1.0, |first| first.score.next_up()) {
                first = Some(due);
            }
        }
        let Due { level, sets, .. } = first?;
        let (own, next) = (runs(level), self.next(level));
        let guards = Guards::of_level(state, next);
        let groups = sets.into_iter().map(|tables| {
            let (smallest, largest) = key_range(&tables);
            let run = match next == level {
                true => own.last().map_or(fresh, |oldest| oldest.id),
                false => place(runs(next), fresh, smallest, largest),
            };
            let cuts = guards.iter().filter(|guard| smallest < **guard && **guard <= largest);
            let action = Action::Merge {
                cuts: cuts.map(|guard| guard.to_vec()).collect(),
                target_file_bytes: u64::MAX,
                filter_bits: None,
                split: None,
            };
            let inputs = tables.iter().map(|table| table.id).collect();
            Group::new(inputs, Destination { level: next, run }, action)
        });
        let groups: Vec<_> = groups.collect();
        let reason = format!("level {level}: tables of {} go to level {next}", groups.len());
        Some(Compaction::parallel(groups, reason.as_str()).into())
    }

    /// The guards of a tree that another policy left are learned again, as keys are written.
    fn readopt(&self, state: &[u8], _: &Shape) -> Vec<u8> {
        state.to_vec()
    }
}

impl Guards {
    /// The level that tables go to.
    fn next(&self, level: usize) -> usize {
        (level + 1).min(self.last_level)
    }
}
