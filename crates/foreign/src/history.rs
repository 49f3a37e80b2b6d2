//! The edits of a column family as the events of a trace.
//!
//! 1. The state that a file starts with is a `shape`. Tables that are added to level 0 alone are a flush. Tables that
//!    are removed, with or without others in their place, are a compaction; those that keep their number were moved.
//! 2. An edit is the end of a flush or a compaction. Its start is not recorded: a merge is drawn from the edit before.
//! 3. Times are those at which files were created, which have whole seconds: the edits of a second are spread over it.
//!    Without times an edit takes a tenth of a second.
//! 4. A flush has at most as many entries as sequence numbers, and of other tables the entries are estimated by their
//!    bytes. Deletes and filters are not recorded.
//! 5. Each file of level 0 is a run, unless those of one flush do not overlap; every other level is one run.

use crate::Error;
use crate::edit::{Added, Edit};
use crate::manifest::{Engine, Family, Manifest};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use terrane_policy::event::Event;
use terrane_policy::{
    Capacity, Fact, FilterBits, MAX_LEVELS, Observed, Order, PolicyOptions, RunId, TableId,
    TableInfo,
};
use terrane_types::KeyspaceId;

/// Microseconds of an edit where no file has a time.
const EDIT_MICROS: u64 = 100_000;
const SECOND: u64 = 1_000_000;
/// Bytes of an entry before the first flush shows them.
const ENTRY_BYTES: u64 = 128;
/// Greatest number of seconds between the first edit and the last that is taken for a time: a century.
const SECONDS_MAX: u64 = 100 * 366 * 86_400;

/// First line of a trace.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename = "header")]
pub struct Header {
    micros: u64,
    release: &'static str,
    keyspace: String,
    /// Engine that wrote the store.
    engine: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<PolicyOptions>,
    simulation: Option<()>,
}

/// A run.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    id: RunId,
    tables: Vec<TableInfo>,
}

/// A level.
#[derive(Clone, Debug, Default, Serialize)]
struct Level {
    runs: Vec<Run>,
}

/// The tree that a file starts with.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename = "shape")]
pub struct Shape {
    micros: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<PolicyOptions>,
    levels: Vec<Level>,
    capacities: Vec<Capacity>,
    facts: Vec<Fact>,
}

/// A line of a trace.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant)] // Nearly all are events.
pub enum Line {
    /// The first.
    Header(Header),
    /// The tree at the start.
    Shape(Shape),
    /// A change.
    Event {
        /// Microseconds since the start.
        micros: u64,
        /// The event.
        #[serde(flatten)]
        event: Event,
    },
}

/// The trace of a column family.
#[derive(Clone, Debug)]
pub struct History {
    /// Its lines.
    pub lines: Vec<Line>,
    /// The reason why it ends before the file does, if it does.
    pub problem: Option<Error>,
    /// Whether files have times.
    pub is_timed: bool,
}

impl Manifest {
    /// Returns the history of a column family, under `policy` if that is known.
    #[must_use]
    pub fn history(&self, family: &Family, policy: Option<&PolicyOptions>) -> History {
        let own = |(_, edit): &(usize, &Edit)| {
            edit.family == family.id && edit.added.len() + edit.removed.len() > 0
        };
        let edits: Vec<_> = self.edits.iter().enumerate().filter(own).collect();
        let (times, is_timed) = times(edits.iter().map(|(_, edit)| *edit));
        let mut tree = Tree::new(self.engine, policy);
        tree.lines.push(Line::Header(Header {
            micros: 0,
            release: env!("CARGO_PKG_VERSION"),
            keyspace: family.name.clone(),
            engine: self.engine.to_string(),
            policy: policy.cloned(),
            simulation: None,
        }));
        let mut problem = self.problem().cloned();
        for ((at, edit), micros) in edits.into_iter().zip(times) {
            if let Err((expected, found)) = tree.apply(edit, micros) {
                problem = Some(Error::Edit { record: at + 1, expected, found });
                break;
            }
        }
        History { lines: tree.lines, problem, is_timed }
    }
}

/// Returns the time of each edit in microseconds, and whether any file has one.
fn times<'a>(edits: impl Iterator<Item = &'a Edit>) -> (Vec<u64>, bool) {
    let created = |edit: &Edit| edit.added.iter().filter_map(|added| added.created).max();
    let edits: Vec<Option<u64>> = edits.map(created).collect();
    let Some(first) = edits.iter().flatten().next().copied() else {
        let each = (0..edits.len() as u64).map(|at| at * EDIT_MICROS);
        return (each.collect(), false);
    };
    // An edit without a time, or with an earlier one, is in the second of the edit before.
    let mut second = 0;
    let seconds = edits.iter().map(|created| {
        let since = created.map_or(0, |created| created.saturating_sub(first));
        second = second.max(if since > SECONDS_MAX { 0 } else { since });
        second
    });
    let seconds: Vec<u64> = seconds.collect();
    let together = seconds.chunk_by(|a, b| a == b);
    let spread = together.flat_map(|edits| {
        let each = SECOND / (edits.len() as u64).max(1);
        edits.iter().enumerate().map(move |(at, second)| second * SECOND + at as u64 * each)
    });
    (spread.collect(), true)
}

/// Place of a table.
#[derive(Clone, Copy)]
struct Placed {
    level: usize,
    run: RunId,
}

/// A tree as it changes, and the lines of its changes.
struct Tree<'a> {
    engine: Engine,
    policy: Option<&'a PolicyOptions>,
    lines: Vec<Line>,
    tables: HashMap<u64, Placed>,
    /// The run of each level below level 0, once there is one.
    level_runs: HashMap<usize, RunId>,
    runs: u64,
    compactions: u64,
    /// Time of the edit before.
    before: u64,
    /// Bytes and entries of all flushes, and the entries since the last compaction.
    flushed: (u64, u64),
    updates: u64,
}

type Bad = (&'static str, String);

/// A part of a compaction: tables that go into one level.
#[derive(Default)]
struct Group {
    inputs: Vec<(TableId, Placed)>,
    outputs: Vec<TableInfo>,
    is_moved: bool,
}

impl<'a> Tree<'a> {
    fn new(engine: Engine, policy: Option<&'a PolicyOptions>) -> Self {
        Tree {
            engine,
            policy,
            lines: Vec::new(),
            tables: HashMap::new(),
            level_runs: HashMap::new(),
            runs: 0,
            compactions: 0,
            before: 0,
            flushed: (0, 0),
            updates: 0,
        }
    }

    /// Applies an edit at a time.
    fn apply(&mut self, edit: &Edit, micros: u64) -> Result<(), Bad> {
        let is_first = self.lines.len() == 1;
        let removed = self.remove(&edit.removed)?;
        let mut numbers: Vec<u64> = edit.added.iter().map(|added| added.number).collect();
        numbers.sort_unstable();
        let twice = numbers.windows(2).find(|pair| pair.first() == pair.last());
        let there = numbers.iter().find(|number| self.tables.contains_key(number));
        if let Some(number) = there.or_else(|| twice.and_then(<[u64]>::first)) {
            return Err(("tables that are new", format!("table {number}, which is there already")));
        }
        if is_first && edit.is_state() {
            self.start(&edit.added);
        } else if removed.is_empty() && edit.added.iter().all(|added| added.level == 0) {
            self.flush(&edit.added, micros);
        } else {
            self.compact(&removed, &edit.added, micros);
        }
        self.before = micros;
        Ok(())
    }

    fn remove(&mut self, removed: &[(usize, u64)]) -> Result<Vec<(TableId, Placed)>, Bad> {
        let mut inputs = Vec::with_capacity(removed.len());
        for (level, number) in removed {
            let placed = self.tables.remove(number).filter(|placed| placed.level == *level);
            let placed = placed.ok_or_else(|| {
                ("a table of the tree", format!("table {number} of level {level}"))
            })?;
            inputs.push((TableId(*number), placed));
        }
        // Newest first.
        inputs.sort_by_key(|(id, placed)| (placed.level, u64::MAX - placed.run.0, *id));
        Ok(inputs)
    }

    fn new_run(&mut self) -> RunId {
        self.runs += 1;
        RunId(self.runs)
    }

    /// The run of a level below level 0.
    fn run_of(&mut self, level: usize) -> RunId {
        if let Some(run) = self.level_runs.get(&level) {
            return *run;
        }
        let run = self.new_run();
        self.level_runs.insert(level, run);
        run
    }

    fn info(&self, added: &Added, entries: u64) -> TableInfo {
        TableInfo {
            id: TableId(added.number),
            bytes: added.bytes,
            entries,
            tombstones: 0,
            smallest: added.smallest.clone(),
            largest: added.largest.clone(),
            first_seq: added.first_seq,
            last_seq: added.last_seq,
            filter_bits: FilterBits::NONE,
            filter_bytes: 0,
            kept: None,
            cleared: 0,
            expires_by: 0,
            salt: 0,
            histogram: Default::default(),
            prefixes: Default::default(),
        }
    }

    /// Estimates the entries of a table by those of flushes.
    fn estimate(&self, bytes: u64) -> u64 {
        let (flushed, entries) = self.flushed;
        let entries = match flushed {
            0 => bytes / ENTRY_BYTES,
            _ => (u128::from(bytes) * u128::from(entries) / u128::from(flushed)) as u64,
        };
        entries.max(1)
    }

    /// Places tables of level 0: in one run if they are disjoint, or else each in its own, newest last.
    fn level0(&mut self, mut tables: Vec<TableInfo>) -> Vec<Run> {
        tables.sort_by(|a, b| a.smallest.cmp(&b.smallest));
        let is_disjoint = tables.windows(2).all(|pair| match pair {
            [a, b] => a.largest < b.smallest,
            _ => true,
        });
        let runs = match is_disjoint {
            true => vec![tables],
            false => {
                tables.sort_by_key(|table| (table.last_seq, table.id));
                tables.into_iter().map(|table| vec![table]).collect()
            }
        };
        let placed: Vec<Run> =
            runs.into_iter().map(|tables| Run { id: self.new_run(), tables }).collect();
        for Run { id, tables } in &placed {
            self.place(0, *id, tables);
        }
        placed
    }

    fn place(&mut self, level: usize, run: RunId, tables: &[TableInfo]) {
        self.tables.extend(tables.iter().map(|table| (table.id.0, Placed { level, run })));
    }

    /// The tree that the file starts with.
    fn start(&mut self, added: &[Added]) {
        let depth = added.iter().map(|added| added.level + 1).max().unwrap_or_default();
        let mut levels = vec![Level::default(); depth.min(MAX_LEVELS)];
        for (level, place) in levels.iter_mut().enumerate() {
            let own = added.iter().filter(|added| added.level == level);
            let tables: Vec<_> =
                own.map(|added| self.info(added, self.estimate(added.bytes))).collect();
            if tables.is_empty() {
                continue;
            }
            if level == 0 {
                // Each in its own run: whether they are of one flush is not known.
                let mut tables = tables;
                tables.sort_by_key(|table| (table.last_seq, table.id));
                for table in tables {
                    let id = self.new_run();
                    let tables = vec![table];
                    self.place(0, id, &tables);
                    place.runs.push(Run { id, tables });
                }
                place.runs.reverse();
                continue;
            }
            let id = self.run_of(level);
            self.place(level, id, &tables);
            place.runs.push(Run { id, tables });
        }
        let policy = self.policy.cloned();
        let (capacities, facts) = (Vec::new(), Vec::new());
        self.lines.push(Line::Shape(Shape { micros: 0, policy, levels, capacities, facts }));
    }

    fn flush(&mut self, added: &[Added], micros: u64) {
        let bytes = added.iter().fold(0, |sum: u64, added| sum.saturating_add(added.bytes));
        let first = added.iter().map(|added| added.first_seq).min().unwrap_or_default();
        let through = added.iter().map(|added| added.last_seq).max().unwrap_or_default();
        // No entry is smaller than a key's trailer.
        let entries = (through.saturating_sub(first) + 1).min(bytes / 8 + 1);
        self.flushed =
            (self.flushed.0.saturating_add(bytes), self.flushed.1.saturating_add(entries));
        self.updates = self.updates.saturating_add(entries);
        let keyspace = KeyspaceId(0);
        self.event(self.before, Event::MemtableSealed { keyspace, bytes, through });
        let share =
            |of: u64| (u128::from(entries) * u128::from(of) / u128::from(bytes.max(1))) as u64;
        let tables =
            added.iter().map(|added| self.info(added, share(added.bytes).max(1))).collect();
        for Run { id, tables } in self.level0(tables) {
            let (reason, terms) = (String::new(), Vec::new());
            let flushed = Event::Flushed { keyspace, run: id, tables, reason, terms, through };
            self.event(micros, flushed);
        }
    }

    /// A compaction, or tables that were added in another way.
    fn compact(&mut self, removed: &[(TableId, Placed)], added: &[Added], micros: u64) {
        let groups = self.groups(removed, added);
        self.compactions += 1;
        let compaction = self.compactions;
        let reason = self.reason(&groups);
        let begun = Event::CompactionBegun {
            keyspace: KeyspaceId(0),
            compaction,
            groups: groups.len(),
            order: Order::Parallel,
            reason,
            terms: Vec::new(),
            observed: Observed {
                updates: std::mem::take(&mut self.updates),
                ..Observed::default()
            },
        };
        self.event(self.before, begun);
        let mut installed = Vec::with_capacity(groups.len());
        for (level, Group { inputs, outputs, is_moved: moved }) in groups {
            let newest = inputs.iter().map(|(_, placed)| placed.run).max();
            // A merge within level 0 is as new as the newest of what it merged.
            let run = match (level, newest) {
                (0, Some(newest)) => newest,
                (0, None) => self.new_run(),
                _ => self.run_of(level),
            };
            self.place(level, run, &outputs);
            let keyspace = KeyspaceId(0);
            let inputs: Vec<TableId> = inputs.into_iter().map(|(id, _)| id).collect();
            let (cuts, of) = (Vec::new(), inputs.clone());
            let begun =
                Event::GroupBegun { keyspace, compaction, inputs: of, level, run, cuts, moved };
            self.event(self.before, begun);
            installed.push(Event::GroupInstalled {
                keyspace,
                compaction,
                inputs,
                level,
                run,
                outputs,
                moved,
            });
        }
        for event in installed {
            self.event(micros, event);
        }
        self.event(micros, Event::CompactionEnded { compaction });
    }

    /// Divides a compaction by the level of its outputs, and into what was moved and what was written.
    fn groups(&self, removed: &[(TableId, Placed)], added: &[Added]) -> Vec<(usize, Group)> {
        let by_id: HashMap<TableId, Placed> = removed.iter().copied().collect();
        let mut groups: BTreeMap<(bool, usize), Group> = BTreeMap::new();
        for added in added {
            let id = TableId(added.number);
            let from = by_id.get(&id);
            let is_moved = from.is_some() || added.is_virtual;
            let group = groups.entry((is_moved, added.level)).or_default();
            group.is_moved = is_moved;
            group.outputs.push(self.info(added, self.estimate(added.bytes)));
            group.inputs.extend(from.map(|placed| (id, *placed)));
        }
        let kept: HashSet<u64> = added.iter().map(|added| added.number).collect();
        let is_gone = |(id, _): &&(TableId, Placed)| !kept.contains(&id.0);
        let gone: Vec<_> = removed.iter().filter(is_gone).copied().collect();
        if !gone.is_empty() {
            // What was read went into the deepest level that was written, if any was.
            let written = groups.keys().rev().find(|(is_moved, _)| !is_moved).copied();
            let parts = groups.keys().rev().find(|(is_moved, _)| *is_moved).copied();
            let deepest = gone.iter().map(|(_, placed)| placed.level).max().unwrap_or_default();
            let at = written.or(parts).unwrap_or((true, deepest));
            let group = groups.entry(at).or_default();
            group.is_moved = at.0;
            group.inputs.extend(gone);
        }
        groups.into_iter().map(|((_, level), group)| (level, group)).collect()
    }

    /// The changes in words.
    fn reason(&self, groups: &[(usize, Group)]) -> String {
        let tables = |count: usize| format!("{count} table{}", if count == 1 { "" } else { "s" });
        let engine = self.engine;
        let sentences = groups.iter().map(|(level, Group { inputs, outputs, is_moved })| {
            let (read, written) = (tables(inputs.len()), tables(outputs.len()));
            match (is_moved, inputs.is_empty(), outputs.is_empty()) {
                (_, true, _) => format!("{engine} added {written} to level {level}."),
                (_, _, true) => format!("{engine} removed {read}."),
                (true, ..) => format!("{engine} moved {written} to level {level}, as they are."),
                (false, ..) => format!("{engine} merged {read} into level {level}."),
            }
        });
        sentences.collect::<Vec<_>>().join(" ")
    }

    fn event(&mut self, micros: u64, event: Event) {
        self.lines.push(Line::Event { micros, event });
    }
}
