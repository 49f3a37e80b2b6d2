//! Opening stores and their keyspaces.
//!
//! A command that only reads opens the store read-only: it writes not a byte, so it needs no room and
//! no permission to write, and shares the store with others that only read. It takes a lock all the
//! same, and is refused where another process writes: files could vanish while they are read.

use crate::args::At;
use crate::escape::printable;
use crate::exit::{Exit, Failure};
use crate::output::{self, counted};
use std::cmp::Reverse;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use terrane::{Db, Keyspace, Options};
use terrane_policy::PolicyOptions;

/// How many keyspaces are named in place of one that is not there.
const NEAREST: usize = 3;

/// The store at `place`, a directory or a volume's file, to be read. It must be there.
pub fn reading(place: &Path) -> Result<Db, Failure> {
    open(place, Options { create: false, read_only: true, ..Options::default() })
}

/// The store at `place`, a directory or a volume's file, to be changed. It must be there.
pub fn existing(place: &Path) -> Result<Db, Failure> {
    open(place, Options { create: false, ..Options::default() })
}

/// The store at `place`, a directory or a volume's file.
pub fn open(place: &Path, options: Options) -> Result<Db, Failure> {
    if !options.create {
        present(place)?;
    }
    let db =
        if place.is_file() { Db::open_file(place, options) } else { Db::open(place, options) }?;
    let discarded = db.engine().discarded_bytes();
    if discarded > 0 {
        let (place, left_out) = (place.display(), counted(discarded, "byte", "bytes"));
        output::say(&format!("{place}: left out {left_out} of writes that a crash cut short"));
    }
    Ok(db)
}

/// Refuses a place where there is nothing.
pub fn present(place: &Path) -> Result<(), Failure> {
    match fs::metadata(place) {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let place = place.display();
            let sentence =
                format!("{place} holds no Terrane store: there is no such directory or file");
            Err(Failure::new(Exit::NoStore, sentence))
        }
        _ => Ok(()),
    }
}

/// A keyspace to read, which must be there, with its store.
pub fn read(at: &At) -> Result<(Db, Keyspace), Failure> {
    with_keyspace(reading(&at.dir)?, at)
}

/// A keyspace to change, which must be there, with its store.
pub fn change(at: &At) -> Result<(Db, Keyspace), Failure> {
    with_keyspace(existing(&at.dir)?, at)
}

fn with_keyspace(db: Db, at: &At) -> Result<(Db, Keyspace), Failure> {
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

/// What is said where `db` has no keyspace `name`: which of those there are have the names nearest.
pub fn no_keyspace(db: &Db, place: &Path, name: &str) -> Failure {
    let (place, mut names) = (place.display(), db.keyspaces());
    let likeness = |other: &str| (1e6 * strsim::jaro_winkler(name, other)) as u32;
    names.sort_by_cached_key(|other| Reverse(likeness(other)));
    let others = names.len().saturating_sub(NEAREST);
    let nearest: Vec<_> = names.iter().take(NEAREST).map(|name| printable(name)).collect();
    let (name, nearest) = (printable(name), nearest.join("\", \""));
    let mut sentence = format!("{place} has no keyspace \"{name}\", but \"{nearest}\"");
    if others > 0 {
        sentence += &format!(" and {others} more, which `terrane keyspaces {place}` lists");
    }
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
