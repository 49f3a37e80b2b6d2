//! `get`: the value of one key.

use crate::args::{self, GetArgs};
use crate::escape::{shown, to_hex};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::store;
use std::io::{self, IsTerminal};

/// Prints the value; no such key is a failure.
pub fn run(args: &GetArgs) -> Result<(), Failure> {
    let key = args::bytes(&args.key, args.hex)?;
    let (db, keyspace) = store::read(&args.at)?;
    let value = keyspace.get(&key)?;
    db.close()?;
    let Some(value) = value else {
        let sentence = format!("{} has no key {}", args.at.dir.display(), shown(&key, 200));
        return Err(Failure::new(Exit::NotFound, sentence));
    };
    let mut out = Output::new();
    match args.hex {
        true => out.line(&to_hex(&value))?,
        false => out.bytes(&value)?,
    }
    // A terminal's next prompt begins a line; a file or pipe gets the value's bytes alone.
    if !args.hex && io::stdout().is_terminal() {
        out.line("")?;
    }
    out.finish()
}
