//! `stats`: shows what a store holds and how much space it takes.

use crate::args::InStore;
use crate::escape::printable;
use crate::exit::Failure;
use crate::output::{Output, counted};
use crate::store;
use clap::Args;
use indicatif::{HumanBytes, HumanCount};
use serde_json::Map;
use std::path::Path;
use terrane::stats::{KeyspaceStats, LevelStats};
use terrane::{Db, Stats};

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

/// The state of the store and, under `since_open`, what was counted since this process opened it:
/// for a command little more than what opening did.
fn as_json(stats: &Stats) -> Map<String, serde_json::Value> {
    let mut since_open = serde_json::to_value(stats).unwrap_or_default();
    let mut lasting = Map::new();
    if let Some(since_open) = since_open.as_object_mut() {
        let names = ["keyspaces", "last_sequence", "space", "logs", "set_aside_bytes"];
        lasting.extend(names.iter().filter_map(|name| since_open.remove_entry(*name)));
    }
    lasting.insert("totals".into(), serde_json::to_value(totals(stats)).unwrap_or_default());
    lasting.insert("since_open".into(), since_open);
    lasting
}

/// The sum of the levels of all keyspaces.
fn totals(stats: &Stats) -> LevelStats {
    let levels = stats.keyspaces.iter().flat_map(|keyspace| &keyspace.levels);
    levels.fold(NOTHING, |mut all, level| {
        add(&mut all, level);
        all
    })
}

const NOTHING: LevelStats = LevelStats { runs: 0, tables: 0, bytes: 0, entries: 0, tombstones: 0 };

fn add(all: &mut LevelStats, level: &LevelStats) {
    all.runs += level.runs;
    all.tables += level.tables;
    all.bytes += level.bytes;
    all.entries += level.entries;
    all.tombstones += level.tombstones;
}

fn report(place: &Path, stats: &Stats) -> Vec<String> {
    let mut lines = vec![
        format!("store          {}", place.display()),
        format!(
            "space          {} taken, {} of it live",
            HumanBytes(stats.space.taken),
            HumanBytes(stats.space.live)
        ),
        format!("log files      {}", stats.logs),
        format!("last sequence  {}", HumanCount(stats.last_sequence)),
        format!(
            "quarantine     {}; {} left out by this opening",
            HumanBytes(stats.quarantine_bytes),
            HumanBytes(stats.discarded_bytes)
        ),
    ];
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
        let LevelStats { runs, tables, .. } = l;
        format!("  {level:>5} {runs:>6} {tables:>8} {bytes:>12} {entries:>15} {tombstones:>12}")
    };
    let mut lines = vec![
        format!("keyspace {} ({})", printable(&keyspace.name), keyspace.policy),
        format!(
            "  {:>5} {:>6} {:>8} {:>12} {:>15} {:>12}",
            "level", "runs", "tables", "bytes", "entries", "tombstones"
        ),
    ];
    let mut all = NOTHING;
    for (n, level) in keyspace.levels.iter().enumerate() {
        lines.push(row(&n.to_string(), level));
        add(&mut all, level);
    }
    lines.push(row("all", &all));
    lines.push(format!("  {}", memtables(keyspace)));
    lines
}

/// What a keyspace has in its memtables alone.
pub fn memtables(keyspace: &KeyspaceStats) -> String {
    format!(
        "memtables: {}, {}; {} to be flushed",
        counted(keyspace.memtable_entries, "entry", "entries"),
        HumanBytes(keyspace.memtable_bytes),
        keyspace.memtables_sealed
    )
}
