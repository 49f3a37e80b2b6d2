//! `levels`: draws a keyspace's tree.
//!
//! 1. Each run is a line: its counts, a bar of its bytes, and its tables along the keys.
//! 2. The keys at which tables start or end are spread evenly over the columns, so that tables above
//!    one another hold the same keys, and a table is as wide as the number of limits within it.
//! 3. A column that belongs to one table has the table's shade, which alternates from table to
//!    table; one that several share has a third shade.

use crate::args::InKeyspace;
use crate::commands::stats::memtables;
use crate::escape::{printable, shown};
use crate::exit::Failure;
use crate::output::Output;
use crate::store::{self, Opened};
use clap::Args;
use indicatif::{HumanBytes, HumanCount};
use terrane_policy::{Run, Shape};

/// Columns of the bar of bytes.
const BAR: usize = 8;
/// Shown bytes of a key.
const KEY_BYTES: usize = 16;

/// Draw the LSM tree of a keyspace: levels, runs and the key ranges of tables
#[derive(Args)]
pub struct LevelsArgs {
    /// Print the tree as a JSON object, in which keys are arrays of bytes
    #[arg(long)]
    pub json: bool,
    /// Draw in this many columns
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(70..=1000))]
    pub width: u16,
}

/// Opens the store and prints the tree.
pub fn run(InKeyspace { at, args }: &InKeyspace<LevelsArgs>) -> Result<(), Failure> {
    store::read(at, |opened| levels(opened, args))
}

/// Prints the tree of an open keyspace.
pub fn levels(opened: &Opened, args: &LevelsArgs) -> Result<(), Failure> {
    let (shape, stats) = (opened.keyspace.shape()?, opened.db.stats()?);
    let mut out = Output::new();
    if args.json {
        out.json(&*shape)?;
        return out.finish();
    }
    if let Some(stats) = stats.keyspaces.iter().find(|k| k.name == opened.keyspace.name()) {
        out.line(&format!("keyspace {} ({})", printable(&stats.name), stats.policy))?;
        out.line(&memtables(stats))?;
    }
    out.lines(&picture(&shape, args.width.into()))?;
    out.finish()
}

/// The tree in lines of about `width` columns.
fn picture(shape: &Shape, width: usize) -> Vec<String> {
    let limits = limits(shape);
    let (Some(first), Some(last)) = (limits.first(), limits.last()) else {
        return vec!["no tables".into()];
    };
    let head = format!("{:8} {:>6} {:>10} {:>13} {:BAR$} ", "", "tables", "bytes", "entries", "");
    let columns = width.saturating_sub(head.chars().count() + 2).max(1);
    let keys = format!("keys from {} to {}", shown(first, KEY_BYTES), shown(last, KEY_BYTES));
    let mut lines = vec![keys, head.trim_end().to_owned()];
    let largest = shape.levels().iter().flat_map(|l| &l.runs).map(Run::bytes).max().unwrap_or(0);
    for (depth, level) in shape.levels().iter().enumerate() {
        for (n, run) in level.runs.iter().enumerate() {
            let name = if n == 0 { format!("level {depth}") } else { String::new() };
            let entries = HumanCount(run.totals().entries()).to_string();
            let (tables, bytes) = (run.tables().len(), HumanBytes(run.bytes()).to_string());
            let bar = bar(run.bytes(), largest);
            let map = map(run, &limits, columns);
            lines
                .push(format!("{name:8} {tables:>6} {bytes:>10} {entries:>13} {bar:BAR$} │{map}│"));
        }
        if level.runs.is_empty() {
            lines.push(format!("level {depth:<2} {:>6}", 0));
        }
    }
    let tombstones = HumanCount(shape.totals().tombstones());
    let (tables, bytes) = (shape.totals().tables, HumanBytes(shape.bytes()).to_string());
    let entries = HumanCount(shape.totals().entries()).to_string();
    lines
        .push(format!("{:8} {tables:>6} {bytes:>10} {entries:>13} {tombstones} tombstones", "all"));
    lines.push("Each line is a run: █ and ▓ alternate by table, ▒ is more than one table.".into());
    lines
}

/// The keys at which tables start or end.
fn limits(shape: &Shape) -> Vec<&[u8]> {
    let mut limits: Vec<_> =
        shape.tables().flat_map(|(_, _, t)| [t.smallest.as_slice(), &t.largest]).collect();
    limits.sort_unstable();
    limits.dedup();
    limits
}

/// `bytes` as a share of `largest`, in eighths of a column: at least one, unless there are no bytes.
fn bar(bytes: u64, largest: u64) -> String {
    let eighths = (BAR * 8) as u128 * u128::from(bytes) / u128::from(largest.max(1));
    let eighths = usize::try_from(eighths).unwrap_or(0).max(usize::from(bytes > 0));
    let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"].get(eighths % 8).copied().unwrap_or("");
    "█".repeat(eighths / 8) + part
}

/// A run's tables along the keys.
fn map(run: &Run, limits: &[&[u8]], columns: usize) -> String {
    let mut cells = vec![' '; columns];
    // The first column of a limit, of which each has its share.
    let column = |limit: usize| limit * columns / limits.len().max(1);
    let place = |key: &[u8]| limits.partition_point(|limit| *limit < key);
    for (n, table) in run.tables().iter().enumerate() {
        let from = column(place(&table.smallest));
        let to = column(place(&table.largest) + 1).max(from + 1);
        let shade = if n % 2 == 0 { '█' } else { '▓' };
        for cell in cells.iter_mut().take(to).skip(from) {
            *cell = if *cell == ' ' { shade } else { '▒' };
        }
    }
    cells.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use terrane_policy::{FilterBits, Histogram, Kept, Level, Prefixes, RunId, TableId, TableInfo};

    fn table((smallest, largest): (&str, &str)) -> Arc<TableInfo> {
        Arc::new(TableInfo {
            id: TableId(1),
            bytes: 1000,
            entries: 10,
            tombstones: 1,
            smallest: smallest.into(),
            largest: largest.into(),
            first_seq: 1,
            last_seq: 9,
            filter_bits: FilterBits::NONE,
            filter_bytes: 0,
            kept: Some(Kept::default()),
            cleared: 0,
            expires_by: 0,
            salt: 0,
            histogram: Histogram::default(),
            prefixes: Prefixes::default(),
        })
    }

    fn shape(levels: &[&[&[(&str, &str)]]]) -> Shape {
        let run = |tables: &&[(&str, &str)]| {
            Run::new(RunId(1), tables.iter().map(|t| table(*t)).collect())
        };
        let level = |runs: &&[&[(&str, &str)]]| Level { runs: runs.iter().map(run).collect() };
        Shape::from(levels.iter().map(level).collect::<Vec<_>>())
    }

    #[test]
    fn tables_above_one_another_hold_the_same_keys() {
        let shape =
            shape(&[&[&[("c", "f")]], &[&[("a", "b"), ("c", "d"), ("e", "f"), ("g", "h")]]]);
        let limits = limits(&shape);
        let drawn = |level: usize| map(&shape.levels()[level].runs[0], &limits, 16);
        assert_eq!(drawn(0), "    ████████    ");
        assert_eq!(drawn(1), "████▓▓▓▓████▓▓▓▓");
    }

    #[test]
    fn tables_that_share_a_column_are_marked() {
        let names: Vec<_> = (0..100).map(|n| format!("{n:03}")).collect();
        let tables: Vec<_> = names.iter().map(|n| (n.as_str(), n.as_str())).collect();
        let shape = shape(&[&[&tables[..99]], &[&[tables[99]]]]);
        let limits = limits(&shape);
        assert_eq!(map(&shape.levels()[0].runs[0], &limits, 10), "▒".repeat(10));
        assert_eq!(map(&shape.levels()[1].runs[0], &limits, 10), format!("{}█", " ".repeat(9)));
    }

    #[test]
    fn a_picture_has_its_width_and_every_level() {
        let shape = shape(&[&[&[("a", "z")], &[("b", "c")]], &[], &[&[("a", "k"), ("l", "z")]]]);
        for width in [70, 100, 200] {
            let lines = picture(&shape, width);
            let runs: Vec<_> = lines.iter().filter(|l| l.contains('│')).collect();
            assert_eq!(runs.len(), 3);
            assert!(runs.iter().all(|line| line.chars().count() == width), "{lines:?}");
        }
        let all = picture(&shape, 80).join("\n");
        assert!(["level 0", "level 1", "level 2"].iter().all(|l| all.contains(l)), "{all}");
        assert_eq!(picture(&Shape::default(), 80), ["no tables"]);
    }

    #[test]
    fn a_bar_is_full_for_the_largest_and_never_empty() {
        assert_eq!(bar(7, 7), "█".repeat(BAR));
        assert_eq!(bar(1, u64::MAX), "▏");
        assert_eq!(bar(0, 7), "");
    }
}
