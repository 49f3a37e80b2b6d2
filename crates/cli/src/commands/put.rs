//! `put`: writes a key and its value.

use crate::args::{self, InKeyspace, POLICY, policy};
use crate::background::Background;
use crate::condition::ConditionArgs;
use crate::exit::{Exit, Failure};
use crate::expiry::ExpiryArgs;
use crate::store::{self, Opened};
use clap::Args;
use std::ffi::OsString;
use std::io::{self, Read};
use terrane::WriteBatch;
use terrane::entry::MAX_VALUE_BYTES;
use terrane_policy::PolicyOptions;

pub const EXAMPLES: &str = "\
Examples:
  terrane put db user:17 'Ada Lovelace'
  terrane put db photo - < photo.jpg
  terrane put db --hex 00ff 2a
  terrane put db session:17 token --ttl 30m
  terrane put db lock me --ttl 10s --if-absent        exits with 1 if the key exists";

/// Write a key and its value, creating the store if there is none
///
/// The write is durable when the command ends.
#[derive(Args)]
pub struct PutArgs {
    /// Write this key
    pub key: OsString,
    /// Set this value; `-` reads it from standard input, as it is
    pub value: OsString,
    /// Read the key and the value as hexadecimal digits
    #[arg(long)]
    pub hex: bool,
    #[command(flatten)]
    pub expiry: ExpiryArgs,
    #[command(flatten)]
    pub condition: ConditionArgs,
    /// Set the keyspace's compaction policy: a preset or JSON (see `terrane policies`)
    #[arg(long, value_name = POLICY, value_parser = policy)]
    pub policy: Option<PolicyOptions>,
}

/// Opens or creates the store and writes.
pub fn run(InKeyspace { at, args }: &InKeyspace<PutArgs>) -> Result<(), Failure> {
    let key = args::bytes(&args.key, args.hex)?;
    let value =
        if args.value == "-" { standard_input()? } else { args::bytes(&args.value, args.hex)? };
    // Before the store is opened, so that a value over its limit creates none.
    args.expiry.check(&key, &value)?;
    args.condition.parse(args.hex)?;
    let opened = store::create(at, args.policy.as_ref(), &Background::default())?;
    write(&opened, args, &key, &value)?;
    opened.close()
}

/// Writes into an open store, whose shell has standard input for itself.
pub fn put(opened: &Opened, args: &PutArgs) -> Result<(), Failure> {
    let key = args::bytes(&args.key, args.hex)?;
    if args.value == "-" {
        let sentence = "expected a value, found `-`: the shell reads its commands from standard \
                        input; for example: put --hex KEY 2d";
        return Err(Failure::new(Exit::Usage, sentence));
    }
    let value = args::bytes(&args.value, args.hex)?;
    if let Some(policy) = &args.policy {
        store::choose(&opened.keyspace, policy)?;
    }
    write(opened, args, &key, &value)
}

fn write(opened: &Opened, args: &PutArgs, key: &[u8], value: &[u8]) -> Result<(), Failure> {
    let mut batch = WriteBatch::new();
    match args.expiry.time(opened)? {
        None => batch.put(&opened.keyspace, key, value)?,
        Some(at) => batch.put_expiring_at(&opened.keyspace, key, value, at)?,
    }
    args.condition.write(opened, key, args.hex, batch)
}

fn standard_input() -> Result<Vec<u8>, Failure> {
    let mut value = Vec::new();
    let mut input = io::stdin().lock().take(MAX_VALUE_BYTES as u64 + 1);
    input.read_to_end(&mut value).map_err(|e| Failure::io("read standard input", &e))?;
    if value.len() > MAX_VALUE_BYTES {
        let sentence = format!("value: expected at most {MAX_VALUE_BYTES} bytes, found more");
        return Err(Failure::new(Exit::Input, sentence));
    }
    Ok(value)
}
