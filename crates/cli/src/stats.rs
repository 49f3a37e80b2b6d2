//! `stats`: a picture of a store.

use crate::args::ReportArgs;
use crate::escape::printable;
use crate::exit::Failure;
use crate::output::{Output, counted};
use crate::store;
use indicatif::{HumanBytes, HumanCount};
use serde_json::{Map, Value};
use std::path::Path;
use terrane::Stats;
use terrane::db::{KeyspaceStats, LevelStats};

/// Prints the store's figures.
pub fn run(args: &ReportArgs) -> Result<(), Failure> {
    let db = store::reading(&args.dir)?;
    let stats = db.stats()?;
    db.close()?;
    let mut out = Output::new();
    match args.json {
        true => out.json(&json(&stats))?,
        false => out.lines(&picture(&args.dir, &stats))?,
    }
    out.finish()
}

/// What holds of the store at any time, and apart from it what was counted since it was opened: by
/// this command, so that it is little more than what opening did.
fn json(stats: &Stats) -> Map<String, Value> {
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

/// The levels of all keyspaces in one.
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

fn picture(dir: &Path, stats: &Stats) -> Vec<String> {
    let mut lines = vec![
        format!("store          {}", dir.display()),
        format!(
            "space          {} taken, {} of it live",
            HumanBytes(stats.space.taken),
            HumanBytes(stats.space.live)
        ),
        format!("log files      {}", stats.logs),
        format!("last sequence  {}", HumanCount(stats.last_sequence)),
        format!(
            "cut short      {} left out at this opening, {} set aside",
            HumanBytes(stats.discarded_bytes),
            HumanBytes(stats.set_aside_bytes)
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

/// What a keyspace has in its memtables, and in its log alone.
pub fn memtables(keyspace: &KeyspaceStats) -> String {
    format!(
        "memtables: {}, {}; {} to be flushed",
        counted(keyspace.memtable_entries, "entry", "entries"),
        HumanBytes(keyspace.memtable_bytes),
        keyspace.memtables_sealed
    )
}
