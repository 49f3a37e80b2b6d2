//! `stats`: shows what a store holds and how much space it takes.

use crate::args::InStore;
use crate::background;
use crate::escape::{printable, shown};
use crate::exit::Failure;
use crate::message::counted;
use crate::output::Output;
use crate::store;
use clap::Args;
use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::Path;
use terrane::stats::{KeyspaceStats, LevelStats, Space};
use terrane::{Db, Seq, Stats};
use terrane_policy::{Fact, Of, Unit};

/// Shown bytes of a key.
const KEY_BYTES: usize = 16;

/// Show what a store holds and how much space it takes
#[derive(Args)]
pub struct StatsArgs {
    /// Print a JSON object
    #[arg(long)]
    pub json: bool,
}

/// Opens the store and prints its statistics.
pub fn run(InStore { dir, args }: &InStore<StatsArgs>) -> Result<(), Failure> {
    let db = store::reading(dir)?;
    stats(dir, &db, args)?;
    Ok(db.close()?)
}

/// Prints the statistics of an open store.
pub fn stats(place: &Path, db: &Db, args: &StatsArgs) -> Result<(), Failure> {
    let stats = db.stats()?;
    let mut out = Output::new();
    match args.json {
        true => out.json(&as_json(&stats))?,
        false => out.lines(&report(place, &stats))?,
    }
    out.finish()
}

/// The state of the store, which lasts when the process ends.
#[derive(Serialize)]
struct Lasting<'a> {
    keyspaces: &'a [KeyspaceStats],
    last_sequence: Seq,
    space: Space,
    wal_files: usize,
    quarantine_bytes: u64,
}

/// The state of the store and, under `since_open`, what was counted since this process opened it:
/// for a command little more than what opening did.
fn as_json(stats: &Stats) -> Map<String, Value> {
    // By name, so that a field which is renamed does not compile here.
    let &Stats { ref keyspaces, last_sequence, space, wal_files, quarantine_bytes, .. } = stats;
    let mut lasting =
        fields(&Lasting { keyspaces, last_sequence, space, wal_files, quarantine_bytes });
    let mut since_open = fields(stats);
    since_open.retain(|name, _| !lasting.contains_key(name));
    let mut totals = fields(&totals(stats));
    totals.remove("capacity");
    lasting.insert("totals".into(), totals.into());
    lasting.insert("since_open".into(), since_open.into());
    lasting
}

fn fields(of: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(of) {
        Ok(Value::Object(fields)) => fields,
        // These are structs, whose maps have string keys: they always serialize.
        _ => Map::new(),
    }
}

/// The sum of the levels of all keyspaces.
fn totals(stats: &Stats) -> LevelStats {
    let levels = stats.keyspaces.iter().flat_map(|keyspace| &keyspace.levels);
    levels.fold(LevelStats::default(), |mut all, level| {
        add(&mut all, level);
        all
    })
}

fn add(all: &mut LevelStats, level: &LevelStats) {
    all.runs += level.runs;
    all.tables += level.tables;
    all.bytes += level.bytes;
    all.entries += level.entries;
    all.tombstones += level.tombstones;
    all.filter_bytes += level.filter_bytes;
    all.filter_lookups += level.filter_lookups;
    all.filter_positives += level.filter_positives;
    all.filter_false_positives += level.filter_false_positives;
}

fn report(place: &Path, stats: &Stats) -> Vec<String> {
    let mut lines = vec![
        format!("store          {}", place.display()),
        format!(
            "space          {} taken, {} of it live",
            HumanBytes(stats.space.taken),
            HumanBytes(stats.space.live)
        ),
        format!("WAL files      {}", stats.wal_files),
        format!("last sequence  {}", HumanCount(stats.last_sequence)),
        format!(
            "quarantine     {}; {} discarded at open",
            HumanBytes(stats.quarantine_bytes),
            HumanBytes(stats.discarded_bytes)
        ),
    ];
    lines.extend(background::lines(stats));
    for keyspace in &stats.keyspaces {
        lines.push(String::new());
        lines.extend(keyspace_lines(keyspace));
    }
    lines
}

fn keyspace_lines(keyspace: &KeyspaceStats) -> Vec<String> {
    let row = |level: &str, l: &LevelStats| {
        let bytes = HumanBytes(l.bytes).to_string();
        let (entries, tombstones) = (HumanCount(l.entries), HumanCount(l.tombstones));
        let (entries, tombstones) = (entries.to_string(), tombstones.to_string());
        let filters = HumanBytes(l.filter_bytes).to_string();
        let LevelStats { runs, tables, capacity, .. } = l;
        let of = |most: Option<String>| most.map_or_else(String::new, |most| format!("/{most}"));
        let (most_runs, most_bytes) = (
            of(capacity.runs.map(|n| n.to_string())),
            of(capacity.bytes.map(|n| HumanBytes(n).to_string())),
        );
        format!(
            "  {level:>5} {runs:>6}{most_runs:<4} {tables:>8} {bytes:>12}{most_bytes:<13} {entries:>15} \
             {tombstones:>12} {filters:>12}"
        )
    };
    let mut lines = vec![
        format!(
            "keyspace {} ({}; values: {})",
            printable(&keyspace.name),
            keyspace.policy,
            keyspace.values
        ),
        format!(
            "  {:>5} {:>6}{:<4} {:>8} {:>12}{:<13} {:>15} {:>12} {:>12}",
            "level",
            "runs",
            "/max",
            "tables",
            "bytes",
            "/capacity",
            "entries",
            "tombstones",
            "filters"
        ),
    ];
    let mut all = LevelStats::default();
    for (n, level) in keyspace.levels.iter().enumerate() {
        lines.push(row(&n.to_string(), level));
        add(&mut all, level);
    }
    lines.push(row("all", &all));
    lines.extend(keyspace.policy_facts.iter().map(|fact| format!("  {}", shown_fact(fact))));
    lines.push(format!("  {}", memtables(keyspace)));
    lines
}

/// Formats a fact that the policy remembers: "cursor of level 1: k00042".
fn shown_fact(fact: &Fact) -> String {
    let (name, of, value) = match fact {
        Fact::Number { name, of, value, unit: Unit::Bytes } => {
            (name, of, HumanBytes(*value).to_string())
        }
        Fact::Number { name, of, value, unit: Unit::Thousandths } => {
            (name, of, format!("{}.{:03}", value / 1000, value % 1000))
        }
        Fact::Number { name, of, value, .. } => (name, of, HumanCount(*value).to_string()),
        Fact::Key { name, of, key } => (name, of, shown(key, KEY_BYTES)),
    };
    let of = match of {
        Of::Tree => String::new(),
        Of::Levels(first, last) if first == last => format!(" of level {first}"),
        Of::Levels(first, last) => format!(" of levels {first} to {last}"),
        Of::Item(index) => format!(" {index}"),
    };
    format!("{name}{of}: {value}")
}

/// Formats the content of a keyspace's memtables.
pub fn memtables(keyspace: &KeyspaceStats) -> String {
    format!(
        "memtables: {}, {}; {} waiting for a flush",
        counted(keyspace.memtable_entries, "entry", "entries"),
        HumanBytes(keyspace.memtable_bytes),
        keyspace.memtables_sealed
    )
}
