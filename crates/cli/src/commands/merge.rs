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
  terrane merge db /home --keyspace views --add 1
  terrane merge db 17 --keyspace stock --add=-3 --if-exists    exits with 1 if the key does not exist
  terrane merge db slowest-ms --keyspace views --max 170";

/// Add to a number, or keep the lesser or the greater, without reading it
///
/// A store that does not exist is created. The value is a decimal integer of 64 bits, such as 41 or -3. A key without
/// a value counts as 0 for --add, and gets the number otherwise. Any other value, such as 041, text, or 41 with the
/// line feed of `echo 41 | terrane put DIR KEY -`, counts as none and is replaced. A sum stays at the least or greatest
/// integer.
///
/// The first merge into a keyspace rules out values that expire (`put --ttl`) there for good, and the reverse. Deleting
/// does not undo it, and the keyspace `default` cannot be dropped, so use a --keyspace of its own for merges.
/// `terrane keyspaces` shows the values of each.
///
/// The merge is durable when the command ends.
#[derive(Args)]
pub struct MergeArgs {
    /// Change the value of this key
    pub key: OsString,
    #[command(flatten)]
    pub operand: OperandArgs,
    /// Read the key as hexadecimal digits
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
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_hyphen_values = true)]
    pub add: Option<i64>,
    /// Keep the lesser of the value and this number
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_hyphen_values = true)]
    pub min: Option<i64>,
    /// Keep the greater of the value and this number
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_hyphen_values = true)]
    pub max: Option<i64>,
}

impl OperandArgs {
    fn operand(&self) -> Operand<'static> {
        let (min, max) = (self.min.map(Operand::Min), self.max.map(Operand::Max));
        // One is given.
        min.or(max).unwrap_or(Operand::Add(self.add.unwrap_or_default()))
    }
}

fn number(given: &str) -> Result<i64, String> {
    let expected = "expected an integer of 64 bits, from -9223372036854775808 to \
                    9223372036854775807, for example 41 or -3";
    given.parse().map_err(|_| expected.to_owned())
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
