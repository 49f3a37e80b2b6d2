//! `keyspaces`: lists them with their sizes, or drops one.

use crate::args::KeyspacesArgs;
use crate::escape::printable;
use crate::exit::Failure;
use crate::output::Output;
use crate::store;
use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;
use terrane::db::KeyspaceStats;

/// One keyspace, as it is printed.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    policy: &'a str,
    /// What of its stored options was not used, in words.
    policy_problems: &'a [String],
    levels: usize,
    tables: usize,
    /// Bytes of tables and memtables.
    bytes: u64,
    /// Entries in these, all versions and tombstones counted.
    entries: u64,
}

/// Prints the keyspaces, or drops the one that is named.
pub fn run(args: &KeyspacesArgs) -> Result<(), Failure> {
    if let Some(name) = &args.drop {
        let db = store::existing(&args.dir)?;
        if !db.drop_keyspace(name)? {
            return Err(store::no_keyspace(&db, &args.dir, name));
        }
        // Its files go now, not when the store is opened next.
        db.settle()?;
        return Ok(db.close()?);
    }
    let db = store::reading(&args.dir)?;
    let stats = db.stats()?;
    db.close()?;
    let rows: Vec<_> = stats.keyspaces.iter().map(row).collect();
    let mut out = Output::new();
    if args.json {
        out.json(&rows)?;
        return out.finish();
    }
    let names: Vec<_> = rows.iter().map(|row| printable(row.name)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(8);
    let head = ["keyspace", "levels", "tables", "bytes", "entries", "policy"];
    let [name, levels, tables, bytes, entries, policy] = head;
    out.line(&format!(
        "{name:width$} {levels:>6} {tables:>8} {bytes:>12} {entries:>15}  {policy}"
    ))?;
    for (row, name) in rows.into_iter().zip(names) {
        let Row { policy, policy_problems, levels, tables, bytes, entries, .. } = row;
        let (bytes, entries) = (HumanBytes(bytes).to_string(), HumanCount(entries).to_string());
        let figures = format!("{levels:>6} {tables:>8} {bytes:>12} {entries:>15}");
        out.line(&format!("{name:width$} {figures}  {policy}"))?;
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
        policy: &stats.policy,
        policy_problems: &stats.policy_problems,
        levels: levels.len(),
        tables: levels.iter().map(|level| level.tables).sum(),
        bytes: levels.iter().map(|level| level.bytes).sum::<u64>() + stats.memtable_bytes,
        entries: levels.iter().map(|level| level.entries).sum::<u64>() + stats.memtable_entries,
    }
}
