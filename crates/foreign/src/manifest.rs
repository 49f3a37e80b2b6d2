//! All edits of a MANIFEST, and the column families in it.

use crate::Error;
use crate::edit::{Dialect, Edit, FamilyChange};
use crate::log::Records;
use std::collections::BTreeMap;
use std::fmt;

/// Comparator that orders keys by their bytes, by its name in every engine.
const BYTEWISE: &str = "leveldb.BytewiseComparator";
/// Name of the column family of a store that has no others.
const DEFAULT: &str = "default";

/// The engine that wrote a MANIFEST.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// RocksDB, or one that writes its column families.
    RocksDb,
    /// Pebble.
    Pebble,
    /// One that writes nothing that LevelDB does not.
    LevelDb,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Engine::RocksDb => "RocksDB",
            Engine::Pebble => "Pebble",
            Engine::LevelDb => "LevelDB",
        })
    }
}

/// A column family: a tree with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// Number in the file.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Whether it was dropped.
    pub is_dropped: bool,
    /// Number of edits that added or removed tables of it.
    pub edits: usize,
}

impl Family {
    /// Returns the family with a name; without one the first whose tree has changed, or else the first.
    #[must_use]
    pub fn pick<'a>(families: &'a [Family], name: Option<&str>) -> Option<&'a Family> {
        match name {
            Some(name) => families.iter().find(|family| family.name == name),
            None => families.iter().find(|family| family.edits > 0).or(families.first()),
        }
    }
}

/// The edits of a MANIFEST.
#[derive(Clone, Debug)]
pub struct Manifest {
    pub(crate) engine: Engine,
    /// The edits in the order of their records.
    pub(crate) edits: Vec<Edit>,
    problem: Option<Error>,
}

/// Whether bytes start as a MANIFEST does: with a record that names a comparator, or a store of RocksDB.
#[must_use]
pub fn is_manifest(bytes: &[u8]) -> bool {
    let Ok(Some(record)) = Records::new(bytes).next() else { return false };
    let is_first = |dialect| {
        Edit::decode(&record, dialect)
            .is_ok_and(|edit| edit.comparator.is_some() || edit.is_rocksdb)
    };
    is_first(Dialect::RocksDb) || is_first(Dialect::Pebble)
}

impl Manifest {
    /// Reads a file, as far as it is readable.
    ///
    /// # Errors
    /// A file whose first record is no edit.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let rocksdb = Manifest::by(bytes, Dialect::RocksDb);
        let is_whole = rocksdb.problem.is_none() && rocksdb.engine == Engine::RocksDb;
        let pebble = (!is_whole).then(|| Manifest::by(bytes, Dialect::Pebble));
        let further = |pebble: &Manifest| {
            let (pebbles, others) = (pebble.edits.len(), rocksdb.edits.len());
            pebbles > others || pebbles == others && pebble.engine == Engine::Pebble
        };
        let read = pebble.filter(further).unwrap_or(rocksdb);
        let nothing = Error::Chunk { at: 0, expected: "a record", found: "none" };
        match read.edits.is_empty() {
            true => Err(read.problem.unwrap_or(nothing)),
            false => Ok(read),
        }
    }

    /// Reads a file in the dialect of one engine.
    fn by(bytes: &[u8], dialect: Dialect) -> Self {
        let mut records = Records::new(bytes);
        let mut read = Manifest { engine: Engine::LevelDb, edits: Vec::new(), problem: None };
        let mut is_of_dialect = false;
        loop {
            let record = match records.next() {
                Ok(Some(record)) => record,
                Ok(None) => break,
                Err(error) => {
                    read.problem = Some(error);
                    break;
                }
            };
            match Edit::decode(&record, dialect) {
                Ok(edit) => {
                    is_of_dialect |= edit.is_rocksdb || edit.is_pebble;
                    read.edits.push(edit);
                }
                Err((expected, found)) => {
                    let record = read.edits.len() + 1;
                    read.problem = Some(Error::Edit { record, expected, found });
                    break;
                }
            }
        }
        if is_of_dialect {
            read.engine = match dialect {
                Dialect::RocksDb => Engine::RocksDb,
                Dialect::Pebble => Engine::Pebble,
            };
        }
        read
    }

    /// The engine that wrote it.
    #[must_use]
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The reason why it is read only up to a place before its end, if it is.
    #[must_use]
    pub fn problem(&self) -> Option<&Error> {
        self.problem.as_ref()
    }

    /// The name of a comparator that orders keys otherwise than by their bytes, if one is named.
    #[must_use]
    pub fn comparator(&self) -> Option<&str> {
        let mut named = self.edits.iter().filter_map(|edit| edit.comparator.as_deref());
        named.find(|name| *name != BYTEWISE)
    }

    /// The column families, in the order of their numbers.
    #[must_use]
    pub fn families(&self) -> Vec<Family> {
        let default = |id| Family { id, name: DEFAULT.to_owned(), is_dropped: false, edits: 0 };
        let mut families = BTreeMap::from([(0, default(0))]);
        for edit in &self.edits {
            let family = families.entry(edit.family).or_insert_with(|| {
                let name = edit.family.to_string();
                Family { name, ..default(edit.family) }
            });
            match &edit.change {
                Some(FamilyChange::Added(name)) => family.name.clone_from(name),
                Some(FamilyChange::Dropped) => family.is_dropped = true,
                None => {}
            }
            family.edits += usize::from(edit.added.len() + edit.removed.len() > 0);
        }
        families.into_values().collect()
    }
}
