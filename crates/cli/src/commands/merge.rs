//! `merge`: changes a value by an operand, without reading it.

use crate::args::{self, InKeyspace};
use crate::background::Background;
use crate::condition::ConditionArgs;
use crate::exit::Failure;
use crate::store::{self, Opened};
use clap::Args;
use std::ffi::OsString;
use terrane::entry::check_limits;
use terrane::{Operand, WriteBatch};

pub const EXAMPLES: &str = "\
Examples:
  terrane merge db views:/home --add 1
  terrane merge db stock:17 --add=-3 --if-exists    exits with 1 if the key does not exist
  terrane merge db slowest-ms --max 170";

/// Add to a number, or keep the lesser or the greater
///
/// A store that does not exist is created. The value is a decimal integer of 64 bits with its sign, and is not read
/// for it. A key without one counts as 0 for --add, and gets the number otherwise. A sum stays at the least or greatest
/// integer. A keyspace has merges or values that expire, whichever came first. The merge is durable when the command
/// ends.
#[derive(Args)]
pub struct MergeArgs {
    /// The key
    pub key: OsString,
    #[command(flatten)]
    pub operand: OperandArgs,
    /// The key is given as hexadecimal digits
    #[arg(long)]
    pub hex: bool,
    #[command(flatten)]
    pub condition: ConditionArgs,
}

/// The operand.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct OperandArgs {
    /// Add this number, which may be negative
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    pub add: Option<i64>,
    /// Keep the lesser of the value and this number
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    pub min: Option<i64>,
    /// Keep the greater of the value and this number
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    pub max: Option<i64>,
}

impl OperandArgs {
    fn operand(&self) -> Operand<'static> {
        let (min, max) = (self.min.map(Operand::Min), self.max.map(Operand::Max));
        // One is given.
        min.or(max).unwrap_or(Operand::Add(self.add.unwrap_or_default()))
    }
}

/// Opens or creates the store and merges.
pub fn run(InKeyspace { at, args }: &InKeyspace<MergeArgs>) -> Result<(), Failure> {
    check_limits(&args::bytes(&args.key, args.hex)?, &[])?;
    args.condition.parse(args.hex)?;
    let opened = store::create(at, None, &Background::default())?;
    merge(&opened, args)?;
    opened.close()
}

/// Merges into an open store.
pub fn merge(opened: &Opened, args: &MergeArgs) -> Result<(), Failure> {
    let key = args::bytes(&args.key, args.hex)?;
    let mut batch = WriteBatch::new();
    batch.merge(&opened.keyspace, &key, args.operand.operand())?;
    args.condition.write(opened, &key, args.hex, batch)
}
