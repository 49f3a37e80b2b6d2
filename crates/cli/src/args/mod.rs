//! The command line.
//!
//! * `rows` - commands that write and read rows. * `tree` - those about keyspaces and their trees.
//! * `copy` - whole stores. * `bench` - measurements. * `simulate` - simulations.

mod bench;
mod copy;
mod rows;
mod simulate;
mod tree;

pub use bench::{BenchArgs, Benchmark, Policies};
pub use copy::{CheckpointArgs, ExportArgs, ImportArgs, RepairArgs, SetAsideArgs};
pub use rows::{DeleteArgs, Format, GetArgs, LoadArgs, PutArgs, ScanArgs, ScanFormat};
pub use simulate::{ChosenPolicy, ChosenWorkload, SimulateArgs};
pub use tree::{CompactArgs, KeyspacesArgs, LevelsArgs, PoliciesArgs, PolicyArgs};

use crate::escape::{from_hex, shown};
use crate::exit::{Exit, Failure, TABLE};
use clap::{Args, Parser, Subcommand};
use std::ffi::{OsStr, OsString};
use std::ops::Bound;
use std::path::PathBuf;
use terrane::Range;
use terrane::keyspace::DEFAULT_KEYSPACE;
use terrane_policy::{PolicyOptions, presets};

/// Loads, reads, checks, copies and measures Terrane stores: ordered key-value stores, each in a
/// directory or in a single file.
#[derive(Parser)]
#[command(name = "terrane", version, after_long_help = TABLE)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Load(LoadArgs),
    Get(GetArgs),
    Put(PutArgs),
    Delete(DeleteArgs),
    Scan(ScanArgs),
    /// Show what a store holds and what room it takes
    Stats(ReportArgs),
    Levels(LevelsArgs),
    /// Read everything in a store and name every damage
    ///
    /// The store is not opened for it, so that damage which keeps it from being opened is found, too.
    /// Nothing is changed or repaired.
    Check(ReportArgs),
    Keyspaces(KeyspacesArgs),
    Policies(PoliciesArgs),
    Policy(PolicyArgs),
    Compact(CompactArgs),
    Checkpoint(CheckpointArgs),
    Export(ExportArgs),
    Import(ImportArgs),
    Repair(RepairArgs),
    SetAside(SetAsideArgs),
    Bench(BenchArgs),
    Simulate(Box<SimulateArgs>),
}

// A keyspace of a store.
#[derive(Args)]
pub struct At {
    /// The store: a directory, or the file of a volume
    pub dir: PathBuf,
    /// The keyspace
    #[arg(long, value_name = "NAME", default_value = DEFAULT_KEYSPACE)]
    pub keyspace: String,
}

// Bounds of keys.
#[derive(Args)]
pub struct Within {
    /// The first key, itself included
    #[arg(long, value_name = "KEY")]
    pub from: Option<OsString>,
    /// Where to stop, this key not included
    #[arg(long, value_name = "KEY")]
    pub to: Option<OsString>,
    /// Only keys that begin so
    #[arg(long)]
    pub prefix: Option<OsString>,
    /// --from, --to and --prefix are given in hexadecimal digits
    #[arg(long)]
    pub hex: bool,
}

impl Within {
    /// What lies within all bounds given.
    pub fn range(&self) -> Result<Range, Failure> {
        let given =
            |argument: &Option<OsString>| argument.as_ref().map(|a| bytes(a, self.hex)).transpose();
        let mut range = given(&self.prefix)?.map_or_else(Range::default, |p| Range::prefix(&p));
        if let Some(from) = given(&self.from)? {
            match &range.from {
                Bound::Included(prefix) if *prefix >= from => {}
                _ => range.from = Bound::Included(from),
            }
        }
        if let Some(to) = given(&self.to)? {
            match &range.to {
                Bound::Excluded(end) if *end <= to => {}
                _ => range.to = Bound::Excluded(to),
            }
        }
        Ok(range)
    }
}

#[derive(Args)]
#[command(after_long_help = TABLE)]
pub struct ReportArgs {
    /// The store: a directory, or the file of a volume
    pub dir: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// How a policy is written.
const POLICY: &str = "NAME|JSON";

/// The policy that a preset's name or JSON stands for, its parameters in range. Sizes that are not
/// given are those of native programs.
fn policy(text: &str) -> Result<PolicyOptions, String> {
    policy_at(text, PolicyOptions::native)
}

/// The same, with the sizes that `scale` gives a preset.
fn policy_at(
    text: &str,
    scale: fn(PolicyOptions) -> PolicyOptions,
) -> Result<PolicyOptions, String> {
    let named = PolicyOptions::preset(text).map(|preset| Ok(scale(preset)));
    let options = named.unwrap_or_else(|| {
        if text.trim_start().starts_with('{') {
            // Its errors say where.
            serde_json::from_str::<PolicyOptions>(text).map_err(|e| e.to_string())?;
            return PolicyOptions::spelt(text, scale).map_err(|e| e.to_string());
        }
        let names: Vec<_> = presets().iter().map(|preset| preset.name).collect();
        let names = names.join(", ");
        Err(format!(r#"expected {names}, or JSON such as {{"policy":"leveled","size-ratio":4}}"#))
    })?;
    options.build().map_err(|e| e.to_string())?;
    Ok(options)
}

/// The bytes that an argument stands for.
pub fn bytes(argument: &OsStr, hex: bool) -> Result<Vec<u8>, Failure> {
    let text = argument.as_encoded_bytes();
    if !hex {
        return Ok(text.to_vec());
    }
    from_hex(text).ok_or_else(|| {
        let found = shown(text, 40);
        Failure::new(Exit::Usage, format!("expected pairs of hexadecimal digits, found {found}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(from: Option<&str>, to: Option<&str>, prefix: Option<&str>) -> Range {
        let given = |bound: Option<&str>| bound.map(OsString::from);
        let within = Within { from: given(from), to: given(to), prefix: given(prefix), hex: false };
        within.range().unwrap()
    }

    #[test]
    fn a_prefix_and_bounds_together_give_what_lies_in_both() {
        let range = |from: &str, to: &str| Range {
            from: Bound::Included(from.into()),
            to: Bound::Excluded(to.into()),
        };
        assert_eq!(bounds(None, None, Some("b")), range("b", "c"));
        assert_eq!(bounds(Some("a"), Some("d"), Some("b")), range("b", "c"));
        assert_eq!(bounds(Some("b5"), Some("b7"), Some("b")), range("b5", "b7"));
        assert_eq!(bounds(Some("d"), None, Some("b")), range("d", "c"));
        assert_eq!(bounds(None, None, None), Range::default());
    }

    #[test]
    fn a_policy_is_a_preset_or_json_and_a_mistake_is_named() {
        for preset in presets() {
            assert_eq!(policy(preset.name).unwrap().name(), preset.name);
        }
        let chosen = policy(r#"{"policy":"leveled","size-ratio":4}"#).unwrap();
        assert_ne!(chosen, PolicyOptions::default());
        let sizes = r#"{"policy":"leveled","table-bytes":4096}"#;
        assert_eq!(policy(sizes).unwrap().table_bytes(), 4096);
        assert_eq!(policy("leveled").unwrap(), terrane::Options::default().policy);
        assert_eq!(policy(r#"{"policy":"leveled"}"#).unwrap(), terrane::Options::default().policy);
        for (text, words) in [
            ("levelled", vec!["leveled", "tiered"]),
            (r#"{"policy":"levelled"}"#, vec!["`levelled`", "leveled, "]),
            (r#"{"policy":"leveled","ratio":4}"#, vec!["`ratio`", "size-ratio, "]),
            (r#"{"policy":"leveled","size-ratio":1}"#, vec!["size-ratio", "1", "2 to"]),
            (r#"{"policy":"leveled""#, vec!["EOF"]),
        ] {
            let said = policy(text).unwrap_err();
            assert!(words.iter().all(|word| said.contains(word)), "{said}");
        }
    }
}
