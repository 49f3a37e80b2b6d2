//! `put`: one key and its value.

use crate::args::{self, PutArgs};
use crate::exit::{Exit, Failure};
use crate::store;
use std::io::{self, Read};
use terrane::Durability;
use terrane::entry::{MAX_VALUE_BYTES, check_limits};

/// Writes the value; it is on the medium then.
pub fn run(args: &PutArgs) -> Result<(), Failure> {
    let key = args::bytes(&args.key, args.hex)?;
    let value =
        if args.value == "-" { standard_input()? } else { args::bytes(&args.value, args.hex)? };
    // Before the store is opened, so that a refused value creates none.
    check_limits(&key, &value)?;
    let (db, keyspace) = store::write(&args.at, args.policy.as_ref())?;
    keyspace.put(&key, &value, Durability::Sync)?;
    Ok(db.close()?)
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
