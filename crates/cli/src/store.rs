//! Opening stores and their keyspaces.

use crate::args::At;
use crate::exit::{Exit, Failure};
use std::path::Path;
use terrane::{Db, Keyspace, Options};
use terrane_policy::PolicyOptions;

/// The store at `place`, a directory or a volume's file, which must be there.
pub fn existing(place: &Path) -> Result<Db, Failure> {
    open(place, Options { create: false, ..Options::default() })
}

/// The store at `place`, a directory or a volume's file.
pub fn open(place: &Path, options: Options) -> Result<Db, Failure> {
    let db = if place.is_file() { Db::open_file(place, options) } else { Db::open(place, options) };
    Ok(db?)
}

/// A keyspace to read, which must be there, with its store.
pub fn read(at: &At) -> Result<(Db, Keyspace), Failure> {
    let db = existing(&at.dir)?;
    let keyspace = keyspace(&db, at)?;
    Ok((db, keyspace))
}

/// A keyspace of `db` that must be there.
pub fn keyspace(db: &Db, at: &At) -> Result<Keyspace, Failure> {
    if db.keyspaces().contains(&at.keyspace) {
        return Ok(db.keyspace(&at.keyspace)?);
    }
    Err(no_keyspace(db, &at.dir, &at.keyspace))
}

/// What is said where `db` has no keyspace `name`.
pub fn no_keyspace(db: &Db, place: &Path, name: &str) -> Failure {
    let (place, names) = (place.display(), db.keyspaces().join("\", \""));
    let sentence = format!("{place} has no keyspace \"{name}\", but \"{names}\"");
    Failure::new(Exit::NoStore, sentence)
}

/// A keyspace to write into; it and its store are made if they are not there. A policy that is
/// given is the keyspace's from then on.
pub fn write(at: &At, policy: Option<&PolicyOptions>) -> Result<(Db, Keyspace), Failure> {
    let db = open(&at.dir, Options::default())?;
    let keyspace = db.keyspace(&at.keyspace)?;
    if let Some(policy) = policy {
        choose(&keyspace, policy)?;
    }
    Ok((db, keyspace))
}

/// Gives a keyspace a policy, unless it has it.
pub fn choose(keyspace: &Keyspace, policy: &PolicyOptions) -> Result<(), Failure> {
    if keyspace.policy()? != *policy {
        keyspace.set_policy(policy)?;
    }
    Ok(())
}
