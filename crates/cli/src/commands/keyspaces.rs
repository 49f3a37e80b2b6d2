//! `keyspaces`: lists keyspaces with their sizes, or drops one.

use crate::args::InStore;
use crate::background;
use crate::escape::printable;
use crate::exit::Failure;
use crate::output::Output;
use crate::store;
use clap::Args;
use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;
use std::path::Path;
use terrane::Db;
use terrane::stats::{KeyspaceStats, ValueKind};

pub const EXAMPLES: &str = "\
Examples:
  terrane keyspaces db
  terrane keyspaces db --drop sessions";

/// List the keyspaces of a store with their sizes, or drop one
#[derive(Args)]
pub struct KeyspacesArgs {
    /// Drop this keyspace with everything in it
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    pub drop: Option<String>,
    /// Print a JSON array
    #[arg(long)]
    pub json: bool,
}

/// A keyspace in the list.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    values: ValueKind,
    policy: &'a str,
    /// Stored policy options that this release does not use.
    policy_problems: &'a [String],
    levels: usize,
    tables: usize,
    /// Bytes of tables and memtables.
    bytes: u64,
    /// Entries in them, counting every version and tombstone.
    entries: u64,
}

/// Opens the store and lists its keyspaces, or drops one.
pub fn run(InStore { dir, args }: &InStore<KeyspacesArgs>) -> Result<(), Failure> {
    let db = if args.drop.is_some() { store::writing(dir)? } else { store::reading(dir)? };
    keyspaces(dir, &db, args)?;
    Ok(db.close()?)
}

/// Lists the keyspaces of an open store, or drops one.
pub fn keyspaces(place: &Path, db: &Db, args: &KeyspacesArgs) -> Result<(), Failure> {
    if let Some(name) = &args.drop {
        if !db.drop_keyspace(name)? {
            return Err(store::no_keyspace(db, place, name));
        }
        // Its files go now, not when the store is opened next.
        return background::wait_until_idle(db);
    }
    let stats = db.stats()?;
    let rows: Vec<_> = stats.keyspaces.iter().map(row).collect();
    let mut out = Output::new();
    if args.json {
        out.json(&rows)?;
        return out.finish();
    }
    let names: Vec<_> = rows.iter().map(|row| printable(row.name)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(8);
    let head = ["keyspace", "levels", "tables", "bytes", "entries", "values", "policy"];
    let [name, levels, tables, bytes, entries, values, policy] = head;
    out.line(&format!(
        "{name:width$} {levels:>6} {tables:>8} {bytes:>12} {entries:>15}  {values:14}  {policy}"
    ))?;
    for (row, name) in rows.into_iter().zip(names) {
        let Row { values, policy, policy_problems, levels, tables, bytes, entries, .. } = row;
        let (bytes, entries) = (HumanBytes(bytes).to_string(), HumanCount(entries).to_string());
        let figures = format!("{levels:>6} {tables:>8} {bytes:>12} {entries:>15}");
        out.line(&format!("{name:width$} {figures}  {values:14}  {policy}"))?;
        for problem in policy_problems {
            out.line(&format!("{:width$} policy at its default: {problem}", ""))?;
        }
    }
    out.finish()
}

fn row(stats: &KeyspaceStats) -> Row<'_> {
    let levels = &stats.levels;
    Row {
        name: &stats.name,
        values: stats.values,
        policy: &stats.policy,
        policy_problems: &stats.policy_problems,
        levels: levels.len(),
        tables: levels.iter().map(|level| level.tables).sum(),
        bytes: levels.iter().map(|level| level.bytes).sum::<u64>() + stats.memtable_bytes,
        entries: levels.iter().map(|level| level.entries).sum::<u64>() + stats.memtable_entries,
    }
}
