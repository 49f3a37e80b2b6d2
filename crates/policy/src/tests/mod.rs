//! The slow model that the planners are tested against: a tree with its actual keys and versions.

mod adversarial;
#[cfg(feature = "all")]
mod bucket;
mod debt;
#[cfg(feature = "all")]
mod ecotune;
mod examples;
mod extremes;
#[cfg(feature = "all")]
mod filters;
#[cfg(feature = "all")]
mod fluid;
#[cfg(feature = "all")]
mod growth;
#[cfg(feature = "all")]
mod level0;
mod options;
#[cfg(feature = "all")]
mod partition;
mod picks;
mod policies;
mod proposing;
#[cfg(feature = "all")]
mod ptier;
mod reclaim;
mod refine;
mod refusals;
#[cfg(feature = "all")]
mod scripts;
mod simulation;
mod slices;
mod spooky;
mod stops;
mod tiered;
#[cfg(feature = "all")]
mod tiered_partial;
mod tombstones;
mod universal;
mod validator;
mod vertical;
#[cfg(feature = "all")]
mod vertiorizon;

use crate::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

/// Contents of a table: the versions of each key.
type Versions = BTreeMap<u16, BTreeSet<u64>>;

/// A tree and the contents of its tables, which copies of it share.
#[derive(Clone, Debug, Default)]
struct Model {
    shape: Shape,
    data: BTreeMap<TableId, Arc<Versions>>,
    last_table: u64,
    last_seq: u64,
}

impl Model {
    fn held(&self, id: TableId) -> &Versions {
        &self.data[&id]
    }

    /// A table of these contents: a version takes one byte.
    fn table(&mut self, versions: Versions) -> Arc<TableInfo> {
        self.last_table += 1;
        let id = TableId(self.last_table);
        let seqs = || versions.values().flatten().copied();
        let key = |k: Option<(&u16, _)>| k.unwrap().0.to_be_bytes().to_vec();
        let info = TableInfo {
            id,
            bytes: seqs().count() as u64,
            entries: seqs().count() as u64,
            tombstones: 0,
            smallest: key(versions.first_key_value()),
            largest: key(versions.last_key_value()),
            first_seq: seqs().min().unwrap(),
            last_seq: seqs().max().unwrap(),
            filter_bits: FilterBits::whole(10),
            filter_bytes: 0,
            kept: Some(Kept::default()),
            cleared: 0,
            expires_by: 0,
            salt: 0,
            histogram: histogram(versions.iter().map(|(k, s)| (*k, s.len() as u64))),
            prefixes: Prefixes::default(),
        };
        self.data.insert(id, Arc::new(versions));
        Arc::new(info)
    }

    /// Adds a table that holds one new version of each key.
    fn write(&mut self, level: usize, run: u64, keys: impl IntoIterator<Item = u16>) -> TableId {
        self.last_seq += 1;
        let versions = keys.into_iter().map(|k| (k, BTreeSet::from([self.last_seq]))).collect();
        let table = self.table(versions);
        let id = table.id;
        let edit = ShapeEdit { added: vec![(level, RunId(run), table)], dropped: vec![] };
        self.shape = apply(&self.shape, &edit).unwrap();
        id
    }

    /// The tree after a group has committed. With `all_versions` a merge writes one table that
    /// holds everything; else the newest versions, cut at the group's table size.
    fn commit(&self, group: &Group, all_versions: bool) -> Result<Model, EditError> {
        let mut next = self.clone();
        let inputs = || self.shape.tables().filter(|(_, _, t)| group.inputs.contains(&t.id));
        let outputs: Vec<_> = match group.action {
            Action::Move => inputs().map(|(_, _, t)| Arc::clone(t)).collect(),
            Action::Merge { .. } => {
                let mut merged = Versions::new();
                for (key, seqs) in inputs().flat_map(|(_, _, t)| self.held(t.id)) {
                    merged.entry(*key).or_default().extend(seqs);
                }
                let mut parts = vec![merged];
                if !all_versions {
                    let merged: Vec<_> = std::mem::take(&mut parts[0]).into_iter().collect();
                    let newest = |(k, s): &(u16, BTreeSet<u64>)| {
                        (*k, s.last().copied().into_iter().collect())
                    };
                    parts = split(&group.action, &merged)
                        .into_iter()
                        .map(|c| c.iter().map(newest).collect())
                        .collect();
                }
                parts.into_iter().map(|part| next.table(part)).collect()
            }
        };
        let Destination { level, run } = group.destination;
        let added = outputs.into_iter().map(|t| (level, run, t)).collect();
        next.shape = apply(&self.shape, &ShapeEdit { added, dropped: group.inputs.clone() })?;
        Ok(next)
    }

    /// The tree after a change of its levels.
    fn reshape(&self, change: LevelChange) -> Model {
        Model { shape: reshape(&self.shape, change).unwrap(), ..self.clone() }
    }

    /// The tree after all of a plan has committed.
    fn follow(&self, plan: &Plan) -> Model {
        match plan {
            Plan::Reshape(plan) => self.reshape(plan.change),
            Plan::Compact(plan) => plan
                .groups
                .iter()
                .fold(self.clone(), |model, group| model.commit(group, false).unwrap()),
        }
    }

    /// Every version of a key, place by place, newest place first.
    fn versions(&self, key: u16) -> Vec<(TableId, &BTreeSet<u64>)> {
        let tables = self.shape.tables().map(|(_, _, t)| t.id);
        tables.filter_map(|id| Some((id, self.held(id).get(&key)?))).collect()
    }

    /// Whether every read, at any snapshot, returns the version it should: going down the places,
    /// the versions of each key only get older.
    fn is_sound(&self) -> bool {
        let keys: BTreeSet<_> = self.data.values().flat_map(|v| v.keys()).copied().collect();
        keys.into_iter().all(|key| {
            self.versions(key)
                .into_iter()
                .flat_map(|(_, s)| s.iter().rev())
                .is_sorted_by(|a, b| a > b)
        })
    }

    /// Every state in which some of the groups have committed, and those that they follow, with their
    /// numbers.
    fn states(&self, groups: &[Group]) -> Vec<(Vec<usize>, Result<Model, EditError>)> {
        (0..1usize << groups.len())
            .map(|set| (0..groups.len()).filter(|i| set >> i & 1 == 1).collect::<Vec<_>>())
            .filter(|done| {
                let followed = |i: &usize| groups.iter().position(|g| groups[*i].is_after(g));
                done.iter().filter_map(followed).all(|before| done.contains(&before))
            })
            .map(|done| {
                let state = (done.iter())
                    .try_fold(self.clone(), |model, i| model.commit(&groups[*i], true));
                (done, state)
            })
            .collect()
    }

    fn all_sound(&self, groups: &[Group]) -> bool {
        self.states(groups).iter().all(|(_, s)| s.as_ref().is_ok_and(Model::is_sound))
    }

    /// An unused run id.
    fn fresh(&self, running: &Running) -> RunId {
        let there = self.shape.levels().iter().flat_map(|l| &l.runs).map(|r| r.id.0);
        RunId(there.chain(running.groups().map(|g| g.destination.run.0)).max().unwrap_or(0) + 1)
    }
}

/// Returns the shape with `tombstones` tombstones in each table.
fn with_tombstones(shape: &Shape, tombstones: u64) -> Shape {
    let known = |table: &Arc<TableInfo>| Arc::new(TableInfo { tombstones, ..(**table).clone() });
    let run = |run: &Run| Run::new(run.id, run.tables().iter().map(known).collect());
    let level = |level: &Level| Level { runs: level.runs.iter().map(run).collect() };
    Shape::from(shape.levels().iter().map(level).collect::<Vec<_>>())
}

/// A key as the policies see it.
trait Key: Copy {
    fn bytes(self) -> Vec<u8>;
}

impl Key for u16 {
    fn bytes(self) -> Vec<u8> {
        self.to_be_bytes().to_vec()
    }
}

impl Key for u32 {
    fn bytes(self) -> Vec<u8> {
        self.to_be_bytes().to_vec()
    }
}

/// A point for each key, with the bytes of its entries.
fn histogram<K: Key>(entries: impl Iterator<Item = (K, u64)>) -> Histogram {
    let mut bytes = 0;
    let mut point = |(key, more): (K, u64)| {
        bytes += more;
        HistogramPoint { key: key.bytes(), bytes }
    };
    entries.map(&mut point).collect::<Vec<_>>().into()
}

/// The tables that a merge makes of these entries, of a byte each.
fn split<'e, K: Key, V>(action: &Action, entries: &'e [(K, V)]) -> Vec<&'e [(K, V)]> {
    let Action::Merge { cuts, target_file_bytes, .. } = action else {
        panic!("a move cuts nothing")
    };
    let part = |(key, _): &(K, V)| cuts.partition_point(|cut| *cut <= key.bytes());
    let size = usize::try_from(*target_file_bytes).unwrap();
    entries.chunk_by(|a, b| part(a) == part(b)).flat_map(|entries| entries.chunks(size)).collect()
}

/// Choices drawn from a string of bytes, so that what proptest shrinks is the string.
struct Dice<'a>(std::slice::Iter<'a, u8>);

impl Dice<'_> {
    /// A number below `n`; 0 once the bytes have run out.
    fn below(&mut self, n: usize) -> usize {
        self.0.next().map_or(0, |byte| usize::from(*byte) % n)
    }

    /// A tree of up to `levels` levels of up to `runs` runs over `keys` keys. In a dense tree each
    /// table holds every key of its range, so that ranges overlap if and only if contents do.
    fn tree(&mut self, levels: usize, runs: usize, keys: u16, dense: bool) -> Model {
        let mut model = Model::default();
        let mut run = 0;
        for level in (0..1 + self.below(levels)).rev() {
            for _ in 0..self.below(runs + 1) {
                run += 10;
                let mut key = self.below(usize::from(keys) / 2) as u16;
                while key < keys {
                    let end = (key + self.below(usize::from(keys) / 3) as u16).min(keys - 1);
                    let held: Vec<_> = (key..=end)
                        .filter(|k| dense || *k == key || *k == end || self.below(2) == 0)
                        .collect();
                    model.write(level, run, held);
                    key = end + 1 + self.below(usize::from(keys) / 2) as u16;
                }
            }
        }
        model
    }

    /// Groups that may be sensible or not.
    fn compaction(&mut self, model: &Model) -> Compaction {
        let tables: Vec<_> = model.shape.tables().collect();
        let mut groups = Vec::new();
        for _ in 0..1 + self.below(3) {
            let Some((_, _, seed)) = tables.get(self.below(tables.len().max(1))) else { break };
            let with_overlap = self.below(2) == 0;
            let inputs: Vec<_> = (tables.iter())
                .filter(|(_, _, t)| {
                    t.id == seed.id || self.below(6) == 0 || with_overlap && t.overlaps(seed)
                })
                .map(|(_, _, t)| t.id)
                .collect();
            let destination = match self.below(3) {
                0 => {
                    let (level, run, _) = tables[self.below(tables.len())];
                    Destination { level, run }
                }
                _ => {
                    let level = self.below(model.shape.levels().len() + 1);
                    Destination { level, run: RunId(self.below(10) as u64 * 10 + 5) }
                }
            };
            let action = match self.below(3) {
                0 => Action::Move,
                _ => Action::merge(u64::MAX),
            };
            let follows = groups.last().filter(|_| self.below(3) == 0);
            let follows = follows.map(|group: &Group| group.inputs[0]);
            groups.push(Group { follows, ..Group::new(inputs, destination, action) });
        }
        plan(groups)
    }
}

/// The group at this index, or the first of those that it follows.
fn next_of(compaction: &Compaction, at: usize) -> Group {
    let group = |at: usize| &compaction.groups[at];
    let followed = |at: &usize| compaction.groups.iter().position(|g| group(*at).is_after(g));
    group(std::iter::successors(Some(at), followed).last().unwrap()).clone()
}

/// Runs in level 0 at which writes stall.
const LEVEL0_RUNS_MAX: usize = 8;

/// A step of a plan for which nothing was observed.
fn unobserved<'a>(before: &'a Shape, step: Step<'a>) -> Installed<'a> {
    static NOTHING: LazyLock<Observed> = LazyLock::new(Observed::default);
    Installed { before, observed: &NOTHING, step }
}

/// The proposal of a policy that observed no operations.
fn propose(
    policy: &(impl Policy + ?Sized),
    shape: &Shape,
    state: &[u8],
    running: &Running,
    fresh: RunId,
) -> Option<Plan> {
    let observed = &Observed::default();
    let l0_stop_trigger = LEVEL0_RUNS_MAX;
    policy.plan(&PlanContext {
        shape,
        state,
        running,
        observed,
        filter_bits: FilterBits::whole(10),
        workers: 1,
        l0_stop_trigger,
        oldest_snapshot: u64::MAX,
        fresh,
    })
}

fn merge(inputs: &[TableId], level: usize, run: u64) -> Group {
    let action = Action::merge(u64::MAX);
    Group::new(inputs.to_vec(), Destination { level, run: RunId(run) }, action)
}

fn move_to(inputs: &[TableId], level: usize, run: u64) -> Group {
    Group { action: Action::Move, ..merge(inputs, level, run) }
}

fn plan(groups: Vec<Group>) -> Compaction {
    Compaction::parallel(groups, String::new())
}
