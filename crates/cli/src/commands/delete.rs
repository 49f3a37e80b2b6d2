//! `delete`: deletes a key, or a range of keys.

use crate::args::{self, InKeyspace, RangeArgs};
use crate::background::Background;
use crate::condition::ConditionArgs;
use crate::exit::{Exit, Failure};
use crate::store::Opened;
use crate::{interrupt, store};
use clap::Args;
use std::ffi::OsString;
use std::ops::Bound;
use terrane::{Durability, KeyRange, WriteBatch};

pub const USAGE: &str = "\
terrane delete [OPTIONS] <DIR> <KEY>
       terrane delete [OPTIONS] <DIR> --from <KEY> | --to <KEY> | --range <FROM..TO> | --prefix <KEY>";

pub const EXAMPLES: &str = "\
Examples:
  terrane delete db user:17
  terrane delete db lock --if-value me    exits with 1 if the value is another one
  terrane delete db --prefix user:
  terrane delete db --from a --to m       keys from a up to, not including, m
  terrane delete db --range ..            every key of the keyspace";

/// Delete a key, or every key in a range
///
/// Deleting a key that does not exist succeeds. A range is deleted as a whole or not at all, by one write, however
/// many keys it has; `count` counts them before. Their space is freed in the background, or by `compact`.
#[derive(Args)]
pub struct DeleteArgs {
    /// Delete this key
    #[arg(required_unless_present_any = ["from", "to", "range", "prefix"],
          conflicts_with_all = ["from", "to", "range", "prefix"])]
    pub key: Option<OsString>,
    #[command(flatten)]
    pub range: RangeArgs,
    #[command(flatten)]
    pub condition: ConditionArgs,
    /// Read the key, or the bounds, as hexadecimal digits
    #[arg(long)]
    pub hex: bool,
}

impl DeleteArgs {
    /// The range to delete. An empty bound or prefix may be a variable that is not set: only `--range`
    /// takes every key.
    fn within(&self) -> Result<KeyRange, Failure> {
        if self.condition.is_given() {
            let sentence = "expected a key for a condition, found a range; for example: terrane delete db KEY \
                            --if-exists";
            return Err(Failure::new(Exit::Usage, sentence));
        }
        let range = self.range.parse(self.hex)?;
        let from_first = match &range.from {
            Bound::Included(key) => key.is_empty(),
            Bound::Excluded(_) => false,
            Bound::Unbounded => true,
        };
        if from_first && range.to == Bound::Unbounded && self.range.range.is_none() {
            let sentence = "expected a key or a prefix that is not empty, found one that is; for example: \
                            --range .. for every key";
            return Err(Failure::new(Exit::Usage, sentence));
        }
        Ok(range)
    }
}

/// Opens the store and deletes; the deletes are durable on success.
pub fn run(InKeyspace { at, args }: &InKeyspace<DeleteArgs>) -> Result<(), Failure> {
    args.key.as_ref().map(|key| args::bytes(key, args.hex)).transpose()?;
    args.condition.parse(args.hex)?;
    if args.key.is_none() {
        args.within()?;
    }
    interrupt::listen()?;
    store::change(at, &Background::default(), |opened| delete(opened, args))
}

/// Deletes the key or the range.
pub fn delete(opened: &Opened, args: &DeleteArgs) -> Result<(), Failure> {
    if let Some(key) = &args.key {
        let key = args::bytes(key, args.hex)?;
        let mut batch = WriteBatch::new();
        batch.delete(&opened.keyspace, &key)?;
        return args.condition.write(opened, &key, args.hex, batch);
    }
    opened.keyspace.delete_range(args.within()?, Durability::Sync)?;
    Ok(())
}
