//! A store and its workload, as far as a trace or the store itself has recorded them.
//!
//! 1. The trace of a simulation has its configuration.
//! 2. Of another trace the sizes are those of flushed tables and sealed memtables, the mix is the operations that
//!    policies observed, the workers are the most merges that ran at once, and the keys are the entries of the
//!    largest run, which has each key once.
//! 3. A store has its tables and its policy. It does not record which operations they came from.
//! 4. The MANIFEST of another engine becomes a trace, in which reads are not recorded.

use super::AdviseArgs;
use crate::exit::{Exit, Failure};
use crate::foreign::Foreign;
use crate::store::Opened;
use serde::Deserialize;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use terrane::Options;
use terrane_policy::{Leveled, PolicyOptions, Shape};
use terrane_sim::{Clients, Config, Mix, Phase, Workload};

/// A recorded store: its policy, sizes and workload as a configuration, and the assumptions in it.
pub struct Recorded {
    pub config: Config,
    pub assumed: Vec<&'static str>,
}

const UNIFORM: &str = "all keys are updated and read alike, at random";
const HALF: &str = "half of the operations are updates, half are gets; --mix names others";
const DEVICE: &str = "the device is the default of `simulate`; --device names another";
const UNHURRIED: &str = "operations run as fast as they can; --rate limits them";

const DEFAULTS: &str = "the policy is RocksDB's default, as no OPTIONS file names another";

/// A line of a trace, as far as it counts here.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Line {
    Header {
        policy: Option<PolicyOptions>,
        simulation: Option<Box<Config>>,
        /// The engine, if it is another.
        engine: Option<String>,
    },
    Shape {
        policy: Option<PolicyOptions>,
        levels: Vec<Level>,
    },
    PolicyChanged {
        policy: PolicyOptions,
    },
    MemtableSealed {
        micros: u64,
        bytes: u64,
    },
    Flushed {
        run: u64,
        tables: Vec<Table>,
    },
    CompactionBegun {
        observed: Operations,
    },
    LevelChanged {
        observed: Operations,
    },
    GroupBegun {
        compaction: u64,
        inputs: Vec<u64>,
        moved: bool,
    },
    GroupInstalled {
        compaction: u64,
        inputs: Vec<u64>,
        run: u64,
        outputs: Vec<Table>,
    },
    GroupAbandoned {
        compaction: u64,
        group: u64,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Level {
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    id: u64,
    tables: Vec<Table>,
}

#[derive(Deserialize)]
struct Table {
    id: u64,
    bytes: u64,
    entries: u64,
    tombstones: u64,
    smallest: Vec<u8>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Operations {
    updates: u64,
    point_reads: u64,
    range_reads: u64,
}

/// Sums over tables.
#[derive(Default)]
struct Sums {
    tables: u64,
    bytes: u64,
    entries: u64,
    tombstones: u64,
    /// Bytes of the least keys of all tables.
    key_bytes: u64,
}

impl Sums {
    fn add(&mut self, bytes: u64, entries: u64, tombstones: u64, smallest: &[u8]) {
        self.tables += 1;
        self.bytes += bytes;
        self.entries += entries;
        self.tombstones += tombstones;
        self.key_bytes += smallest.len() as u64;
    }

    /// Mean bytes of a key, and of a value.
    fn sizes(&self) -> (u64, u64) {
        let key = (self.key_bytes / self.tables.max(1)).max(1);
        (key, (self.bytes / self.entries.max(1)).saturating_sub(key))
    }
}

/// Sums over the lines of a trace.
#[derive(Default)]
struct Sum {
    policy: Option<PolicyOptions>,
    simulation: Option<Box<Config>>,
    /// Whether another engine's history is recorded, which has no reads.
    is_foreign: bool,
    flushed: Sums,
    memtables: u64,
    memtable_bytes: u64,
    /// Time of the first and the last sealed memtable.
    span: Option<(u64, u64)>,
    operations: Operations,
    /// Merges that run, by their compaction and first input, and the most at once.
    running: HashSet<(u64, u64)>,
    workers: usize,
    /// Each table's run and entries.
    tables: HashMap<u64, (u64, u64)>,
}

impl Sum {
    fn take(&mut self, line: Line) {
        match line {
            Line::Header { policy, simulation, engine } => {
                self.policy = policy;
                self.simulation = simulation;
                self.is_foreign = engine.is_some();
            }
            Line::Shape { policy, levels } => {
                self.policy = policy.or(self.policy.take());
                for run in levels.into_iter().flat_map(|level| level.runs) {
                    self.add(run.id, &run.tables);
                }
            }
            Line::PolicyChanged { policy } => self.policy = Some(policy),
            Line::MemtableSealed { micros, bytes } => {
                self.memtables += 1;
                self.memtable_bytes += bytes;
                self.span = Some((self.span.map_or(micros, |(first, _)| first), micros));
            }
            Line::Flushed { run, tables } => {
                for Table { bytes, entries, tombstones, smallest, .. } in &tables {
                    self.flushed.add(*bytes, *entries, *tombstones, smallest);
                }
                self.add(run, &tables);
            }
            Line::CompactionBegun { observed } | Line::LevelChanged { observed } => {
                let Operations { updates, point_reads, range_reads } = &mut self.operations;
                *updates += observed.updates;
                *point_reads += observed.point_reads;
                *range_reads += observed.range_reads;
            }
            Line::GroupBegun { compaction, inputs, moved } => {
                if !moved {
                    self.running.insert((compaction, inputs.first().copied().unwrap_or(0)));
                    self.workers = self.workers.max(self.running.len());
                }
            }
            Line::GroupInstalled { compaction, inputs, run, outputs } => {
                self.running.remove(&(compaction, inputs.first().copied().unwrap_or(0)));
                for input in inputs {
                    self.tables.remove(&input);
                }
                self.add(run, &outputs);
            }
            Line::GroupAbandoned { compaction, group } => {
                self.running.remove(&(compaction, group));
            }
            Line::Other => {}
        }
    }

    fn add(&mut self, run: u64, tables: &[Table]) {
        self.tables.extend(tables.iter().map(|table| (table.id, (run, table.entries))));
    }

    /// Entries of the largest run.
    fn keys(&self) -> u64 {
        let mut runs: HashMap<u64, u64> = HashMap::new();
        for (run, entries) in self.tables.values() {
            *runs.entry(*run).or_default() += entries;
        }
        runs.into_values().max().unwrap_or(0)
    }

    fn mix(&self) -> Mix {
        let Operations { updates, point_reads, range_reads } = self.operations;
        let deleted = self.flushed.tombstones as f64 / self.flushed.entries.max(1) as f64;
        Mix {
            update: updates as f64 * (1.0 - deleted),
            delete: updates as f64 * deleted,
            read: point_reads as f64,
            scan: range_reads as f64,
            ..Mix::default()
        }
    }

    /// Operations a second, by the time from the first memtable to the last and the updates in all but the first.
    fn rate(&self) -> f64 {
        let Some((first, last)) = self.span.filter(|(first, last)| last > first) else {
            return 0.0;
        };
        let later = self.flushed.entries as f64 * (1.0 - 1.0 / self.memtables.max(1) as f64);
        let Operations { updates, point_reads, range_reads } = self.operations;
        let each = (updates + point_reads + range_reads) as f64 / updates.max(1) as f64;
        later / ((last - first) as f64 / 1e6) * each.max(1.0)
    }

    fn recorded(self) -> Option<Recorded> {
        let policy = self.policy.clone()?;
        if let Some(simulation) = self.simulation {
            return Some(Recorded {
                config: Config { policy, ..*simulation },
                assumed: Vec::new(),
            });
        }
        let (key_bytes, value_bytes) = self.flushed.sizes();
        let config = Config {
            policy,
            buffer_bytes: self.memtable_bytes.checked_div(self.memtables)?.max(1),
            key_bytes,
            value_bytes,
            workers: self.workers.max(1),
            workload: match self.is_foreign {
                true => workload(self.keys(), half(), 2.0 * self.rate()),
                false => workload(self.keys(), self.mix(), self.rate()),
            },
            ..Config::default()
        };
        let assumed = if self.is_foreign { vec![HALF] } else { Vec::new() };
        Some(Recorded { config, assumed: [assumed, vec![UNIFORM, DEVICE]].concat() })
    }
}

/// Reads a trace.
pub fn trace(path: &Path) -> Result<Recorded, Failure> {
    let shown = path.display();
    let unread = |e: &std::io::Error| Failure::io(&format!("read {shown}"), e);
    let mut sum = Sum::default();
    for (number, line) in
        BufReader::new(File::open(path).map_err(|e| unread(&e))?).lines().enumerate()
    {
        let line = line.map_err(|e| unread(&e))?;
        if line.trim().is_empty() {
            continue;
        }
        let malformed = |e: serde_json::Error| {
            let sentence = format!("{shown}: expected an event on line {}: {e}", number + 1);
            Failure::new(Exit::Input, sentence)
        };
        sum.take(serde_json::from_str(&line).map_err(malformed)?);
    }
    sum.recorded().ok_or_else(|| {
        let expected = "expected a trace with a policy and at least one sealed memtable";
        let sentence =
            format!("{shown}: {expected}; `terrane simulate --trace` writes such traces");
        Failure::new(Exit::Input, sentence)
    })
}

/// Reads the MANIFEST of another engine's store.
pub fn manifest(path: &Path, family: Option<&str>) -> Result<Recorded, Failure> {
    let foreign = Foreign::open(path, family)?;
    let policy = foreign.policy.clone().unwrap_or_else(|| {
        let (level_base_bytes, target_file_bytes) = (256 << 20, 64 << 20);
        Leveled { level_base_bytes, target_file_bytes, ..Leveled::default() }.into()
    });
    let history = foreign.history(Some(&policy));
    let mut sum = Sum::default();
    for line in &history.lines {
        // As the lines of a trace are read, which these are.
        let line = serde_json::to_string(line).and_then(|text| serde_json::from_str(&text));
        sum.take(line.unwrap_or(Line::Other));
    }
    let mut recorded = sum.recorded().ok_or_else(|| {
        let expected = "expected a MANIFEST with a flush after its start";
        Failure::new(Exit::Input, format!("{}: {expected}", path.display()))
    })?;
    if !history.is_timed {
        let clients = recorded.config.workload.phases.iter_mut().flat_map(|one| &mut one.clients);
        clients.for_each(|clients| clients.rate = 0.0);
        recorded.assumed.push(UNHURRIED);
    }
    if foreign.policy.is_none() {
        recorded.assumed.push(DEFAULTS);
    }
    Ok(recorded)
}

/// Reads the tables of a store.
pub fn store(opened: &Opened) -> Result<Recorded, Failure> {
    let shape: &Shape = &*opened.keyspace.shape()?;
    let mut sums = Sums::default();
    let mut keys = 0;
    for run in shape.levels().iter().flat_map(|level| &level.runs) {
        keys = keys.max(run.tables().iter().map(|table| table.entries).sum());
        for table in run.tables() {
            sums.add(table.bytes, table.entries, table.tombstones, &table.smallest);
        }
    }
    if keys == 0 {
        let place = opened.at.dir.display();
        let sentence = format!(
            "expected a store with tables, found none in {place}: its data is in memtables"
        );
        return Err(Failure::new(Exit::Input, sentence));
    }
    let (key_bytes, value_bytes) = sums.sizes();
    let options = Options::default();
    let config = Config {
        policy: opened.keyspace.policy()?,
        buffer_bytes: options.memtable_bytes,
        key_bytes,
        value_bytes,
        workers: options.workers.max(1),
        workload: workload(keys, half(), 0.0),
        ..Config::default()
    };
    Ok(Recorded { config, assumed: vec![HALF, UNHURRIED, UNIFORM, DEVICE] })
}

/// Updates and gets alike.
fn half() -> Mix {
    Mix { update: 1.0, read: 1.0, ..Mix::default() }
}

fn workload(keys: u64, mix: Mix, rate: f64) -> Workload {
    Workload::then(keys, keys, Clients { mix, rate, ..Clients::default() })
}

impl Recorded {
    /// Replaces what was recorded or assumed by the options of the command line.
    pub fn with(mut self, args: &AdviseArgs) -> Recorded {
        let Recorded { config, assumed } = &mut self;
        let mut says = |assumption| assumed.retain(|one| *one != assumption);
        if args.mix.is_some() {
            says(HALF);
        }
        if let Some(device) = &args.device {
            says(DEVICE);
            config.device = device.clone();
        }
        if args.rate.is_some() {
            says(UNHURRIED);
        }
        if config.workload.phases.is_empty() {
            let update = Mix { update: 1.0, ..Mix::default() };
            let clients =
                Clients { mix: update, rate: config.workload.load_rate, ..Clients::default() };
            config.workload.phases = vec![Phase { clients: vec![clients], ..Phase::default() }];
        }
        let phases = &mut config.workload.phases;
        for clients in phases.iter_mut().flat_map(|phase| &mut phase.clients) {
            clients.mix = args.mix.clone().unwrap_or_else(|| clients.mix.clone());
            clients.rate = args.rate.unwrap_or(clients.rate);
        }
        for phase in phases.iter_mut() {
            phase.operations = args.operations;
        }
        // What the load leaves over is no cost of the operations.
        if let Some(first) = phases.first_mut() {
            first.wait_until_idle = true;
        }
        self
    }
}
