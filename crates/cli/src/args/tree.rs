//! Commands about keyspaces and their trees.

use super::{At, POLICY, Within, policy};
use crate::exit::TABLE;
use clap::Args;
use std::path::PathBuf;
use terrane_policy::PolicyOptions;

/// List the keyspaces of a store with their sizes, or drop one
#[derive(Args)]
#[command(after_long_help = TABLE)]
pub struct KeyspacesArgs {
    /// The store: a directory, or the file of a volume
    pub dir: PathBuf,
    /// Remove this keyspace and all it holds, instead
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    pub drop: Option<String>,
    /// Print a JSON array
    #[arg(long)]
    pub json: bool,
}

/// Draw the tree of a keyspace: its levels, their runs, and where the tables lie among the keys
#[derive(Args)]
#[command(after_long_help = TABLE)]
pub struct LevelsArgs {
    #[command(flatten)]
    pub at: At,
    /// Print the shape as a JSON object; keys are arrays of bytes
    #[arg(long)]
    pub json: bool,
    /// Columns of the picture
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(70..=1000))]
    pub width: u16,
}

/// List the compaction policies with their parameters, the ranges of these and their defaults
#[derive(Args)]
#[command(after_long_help = TABLE)]
pub struct PoliciesArgs {
    /// Print a JSON array
    #[arg(long)]
    pub json: bool,
}

/// Show the compaction policy of a keyspace, or give it another
///
/// Nothing is rewritten for a new policy: the compactions that follow move the tree toward it.
#[derive(Args)]
#[command(after_long_help = TABLE)]
pub struct PolicyArgs {
    #[command(flatten)]
    pub at: At,
    /// The new policy: a preset, or JSON, as `policies` shows them
    #[arg(value_name = POLICY, value_parser = policy, conflicts_with = "json")]
    pub policy: Option<PolicyOptions>,
    /// Print a JSON object, which --policy takes
    #[arg(long)]
    pub json: bool,
}

/// Merge a keyspace, or a range of it, into one run without anything that no reader can see
#[derive(Args)]
#[command(after_long_help = TABLE)]
pub struct CompactArgs {
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub within: Within,
}
