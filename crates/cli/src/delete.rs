//! `delete`: one key.

use crate::args::{self, DeleteArgs};
use crate::exit::Failure;
use crate::store;
use terrane::Durability;

/// Removes the key, if it is there; that it is gone is on the medium then.
pub fn run(args: &DeleteArgs) -> Result<(), Failure> {
    let key = args::bytes(&args.key, args.hex)?;
    let (db, keyspace) = store::change(&args.at)?;
    keyspace.delete(&key, Durability::Sync)?;
    Ok(db.close()?)
}
