//! `policy`: shows the compaction policy of a keyspace, or changes it.

use super::policies::describe;
use crate::args::{InKeyspace, POLICY, policy as parse};
use crate::background::Background;
use crate::exit::Failure;
use crate::output::Output;
use crate::store::{self, Opened};
use clap::Args;
use terrane_policy::PolicyOptions;

pub const EXAMPLES: &str = "\
Examples:
  terrane policy db
  terrane policy db tiered
  terrane policy db '{\"policy\":\"leveled\",\"size-ratio\":4}'";

/// Show the compaction policy of a keyspace, or change it
///
/// Changing it rewrites nothing: the compactions that follow move the tree toward the new policy.
#[derive(Args)]
pub struct PolicyArgs {
    /// Change to this policy: a preset or JSON (see `terrane policies`)
    #[arg(value_name = POLICY, value_parser = parse, conflicts_with = "json")]
    pub policy: Option<PolicyOptions>,
    /// Print the policy as JSON, which --policy accepts
    #[arg(long)]
    pub json: bool,
}

/// Opens the store and shows or changes the policy.
pub fn run(InKeyspace { at, args }: &InKeyspace<PolicyArgs>) -> Result<(), Failure> {
    match &args.policy {
        Some(_) => store::change(at, &Background::default(), |opened| policy(opened, args)),
        None => store::read(at, |opened| policy(opened, args)),
    }
}

/// Shows or changes the policy of an open keyspace.
pub fn policy(opened: &Opened, args: &PolicyArgs) -> Result<(), Failure> {
    if let Some(policy) = &args.policy {
        return Ok(opened.keyspace.set_policy(policy)?);
    }
    let policy = opened.keyspace.policy()?;
    let mut out = Output::new();
    match args.json {
        true => out.json_line(&policy)?,
        false => {
            let parameters = policy.parameters();
            out.lines(&describe(policy.name(), policy.summary(), &parameters, "value"))?;
        }
    }
    out.finish()
}
