//! Opens stores and their keyspaces, or creates them.
//!
//! A command that only reads opens the store read-only: it writes no byte, so it needs neither free
//! space nor permission to write, and shares the store with other readers. It still takes a lock, and
//! fails while another process may write: files could vanish while they are read.

use crate::args::At;
use crate::background::Background;
use crate::escape::printable;
use crate::exit::{Exit, Failure};
use crate::message::{self, counted};
use std::cmp::Reverse;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use terrane::{Db, Error, ErrorKind, Event, InvalidArgument, Keyspace, Options};
use terrane_policy::PolicyOptions;

/// The option that a store with merges of an application's operator needs, as errors name it.
const MERGE_OPERATOR: &str = "Options::merge_operator";
/// Number of keyspaces that an error about an unknown one suggests.
const NEAREST: usize = 3;

/// An open store, and the keyspace that a command is about.
pub struct Opened {
    pub at: At,
    pub db: Db,
    pub keyspace: Keyspace,
    pub merge: Arc<MergeProgress>,
}

/// Progress of the latest merge, in bytes.
#[derive(Default)]
pub struct MergeProgress {
    pub read_bytes: AtomicU64,
    pub total_bytes: AtomicU64,
}

/// Runs a command that reads a keyspace, which must exist.
pub fn read(at: &At, command: impl FnOnce(&Opened) -> Result<(), Failure>) -> Result<(), Failure> {
    let options = Options::default().create(false).read_only(true);
    run(existing_keyspace(at, options)?, command)
}

/// Runs a command that changes a keyspace, which must exist.
pub fn change(
    at: &At,
    background: &Background,
    command: impl FnOnce(&Opened) -> Result<(), Failure>,
) -> Result<(), Failure> {
    run(existing(at, false, background)?, command)
}

fn run(
    opened: Opened,
    command: impl FnOnce(&Opened) -> Result<(), Failure>,
) -> Result<(), Failure> {
    command(&opened)?;
    opened.close()
}

fn existing_keyspace(at: &At, options: Options) -> Result<Opened, Failure> {
    Opened::new(at, options, |db| keyspace(db, at))
}

/// A keyspace to read, or to change, which must exist.
pub fn existing(at: &At, read_only: bool, background: &Background) -> Result<Opened, Failure> {
    let options = Options::default().create(false).read_only(read_only);
    existing_keyspace(at, background.of(options))
}

/// A keyspace to write to; it and its store are created if they do not exist. A policy that is
/// given is the keyspace's from then on.
pub fn create(
    at: &At,
    policy: Option<&PolicyOptions>,
    background: &Background,
) -> Result<Opened, Failure> {
    let options = background.of(Options::default());
    let opened = Opened::new(at, options, |db| Ok(db.create_keyspace(&at.keyspace)?))?;
    if let Some(policy) = policy {
        choose(&opened.keyspace, policy)?;
    }
    Ok(opened)
}

impl Opened {
    fn new(
        at: &At,
        options: Options,
        keyspace: impl FnOnce(&Db) -> Result<Keyspace, Failure>,
    ) -> Result<Self, Failure> {
        let merge = Arc::new(MergeProgress::default());
        let listener = merge.clone().listener();
        let db = open(&at.dir, options.listener(listener))?;
        let keyspace = keyspace(&db)?;
        Ok(Opened { at: at.clone(), db, keyspace, merge })
    }

    /// Closes the store, which makes all writes durable.
    pub fn close(self) -> Result<(), Failure> {
        Ok(self.db.close()?)
    }
}

impl MergeProgress {
    /// Follows the merges.
    pub fn listener(self: Arc<Self>) -> terrane::event::Listener {
        Arc::new(move |_, event| {
            if let Event::MergeProgress { read_bytes, total_bytes, .. } = event {
                self.read_bytes.store(*read_bytes, Ordering::Relaxed);
                self.total_bytes.store(*total_bytes, Ordering::Relaxed);
            }
        })
    }
}

/// The store at `place`, to be read. It must exist.
pub fn reading(place: &Path) -> Result<Db, Failure> {
    open(place, Options::default().create(false).read_only(true))
}

/// The store at `place`, to be changed. It must exist.
pub fn writing(place: &Path) -> Result<Db, Failure> {
    open(place, Options::default().create(false))
}

/// The store at `place`, a directory or a single file.
pub fn open(place: &Path, options: Options) -> Result<Db, Failure> {
    if !options.create {
        present(place)?;
    }
    let read_only = options.read_only;
    let opened =
        if place.is_file() { Db::open_file(place, options) } else { Db::open(place, options) };
    let db = opened.map_err(|error| match error.kind() {
        ErrorKind::InvalidArgument(InvalidArgument { what: MERGE_OPERATOR, .. }) => {
            needs_operator(place)
        }
        _ if read_only => error.into(),
        _ => unwritable(error),
    })?;
    let discarded = db.stats()?.discarded_bytes;
    if discarded > 0 {
        let (place, left_out) = (place.display(), counted(discarded, "byte", "bytes"));
        message::note(&format!("{place}: left out {left_out} of writes that a crash cut short"));
    }
    Ok(db)
}

/// Returns the failure to open a store whose merges only its application can evaluate.
fn needs_operator(place: &Path) -> Failure {
    let place = place.display();
    let sentence = format!(
        "{place}: expected a store without merges of an application's own operator, found some; only \
         a program that sets {MERGE_OPERATOR} can open it, and of this one's commands only `check` \
         and `repair` read it"
    );
    Failure::new(Exit::Input, sentence)
}

/// The failure of an open for writing; on a read-only file system, with what is possible there.
fn unwritable(error: Error) -> Failure {
    if error.io_kind() != Some(io::ErrorKind::ReadOnlyFilesystem) {
        return error.into();
    }
    let help = "commands that only read work there, as does `terrane shell --read-only`";
    Failure::new(Exit::Io, format!("{error}; {help}"))
}

/// Fails where there is nothing at `place`.
pub fn present(place: &Path) -> Result<(), Failure> {
    match fs::metadata(place) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let place = place.display();
            let sentence = format!(
                "{place} holds no Terrane store: no such directory or file; for example, \
                 `terrane put {place} KEY VALUE` creates one"
            );
            Err(Failure::new(Exit::NoStore, sentence))
        }
        _ => Ok(()),
    }
}

/// A keyspace of `db`, which must exist.
pub fn keyspace(db: &Db, at: &At) -> Result<Keyspace, Failure> {
    db.open_keyspace(&at.keyspace)?.ok_or_else(|| no_keyspace(db, &at.dir, &at.keyspace))
}

/// The error for a keyspace that `db` does not have; it suggests those with similar names.
pub fn no_keyspace(db: &Db, place: &Path, name: &str) -> Failure {
    let (place, mut names) = (place.display(), db.keyspaces());
    let likeness = |other: &str| (1e6 * strsim::jaro_winkler(name, other)) as u32;
    names.sort_by_cached_key(|other| Reverse(likeness(other)));
    let others = names.len().saturating_sub(NEAREST);
    let nearest: Vec<_> = names.iter().take(NEAREST).map(|name| printable(name)).collect();
    let (name, nearest) = (printable(name), nearest.join("\", \""));
    let mut sentence = format!("{place} has no keyspace \"{name}\"; it has \"{nearest}\"");
    if others > 0 {
        sentence += &format!(" and {others} more: `terrane keyspaces {place}` lists them");
    }
    Failure::new(Exit::NoStore, sentence)
}

/// Gives a keyspace a policy, unless it has it.
pub fn choose(keyspace: &Keyspace, policy: &PolicyOptions) -> Result<(), Failure> {
    if keyspace.policy()? != *policy {
        keyspace.set_policy(policy)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_only_file_system_is_no_dead_end() {
        let failed = |kind: io::ErrorKind| {
            format!("{:?}", unwritable(Error::io("open", "LOCK", 0, kind.into())))
        };
        assert!(failed(io::ErrorKind::ReadOnlyFilesystem).contains("--read-only"));
        assert!(!failed(io::ErrorKind::PermissionDenied).contains("--read-only"));
    }
}
