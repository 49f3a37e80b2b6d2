//! An edit: a record of a MANIFEST, by which tables were added and removed.
//!
//! A record is a sequence of fields, each a tag and what follows it. RocksDB and Pebble have added to the tags of
//! LevelDB, and some numbers mean one thing to one and another to the other, so that a file is read by the rules of
//! either ([`Dialect`]).

use terrane_policy::MAX_LEVELS;

/// Bytes of an internal key after the user's key: a sequence number and a kind.
const TRAILER: usize = 8;
/// Fields with this bit in their tag have a length, and may be skipped (RocksDB).
const IGNORABLE: u64 = 1 << 13;
/// A field of a table with this bit in its tag changes what the table is.
const ESSENTIAL: u64 = 1 << 6;
/// Greatest number in the JSON of a trace, which JavaScript reads: 2^53 - 1.
const NUMBER_MAX: u64 = (1 << 53) - 1;

/// The engine by whose rules a record is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    RocksDb,
    Pebble,
}

/// A table that was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Added {
    pub level: usize,
    pub number: u64,
    pub bytes: u64,
    /// The user's keys.
    pub smallest: Vec<u8>,
    pub largest: Vec<u8>,
    pub first_seq: u64,
    pub last_seq: u64,
    /// Seconds since 1970 at which its file was created.
    pub created: Option<u64>,
    /// Whether it is a part of another file.
    pub is_virtual: bool,
}

/// Change of a column family's existence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FamilyChange {
    Added(String),
    Dropped,
}

/// A record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Edit {
    pub family: u32,
    pub change: Option<FamilyChange>,
    pub comparator: Option<String>,
    pub added: Vec<Added>,
    /// Levels and numbers.
    pub removed: Vec<(usize, u64)>,
    /// Whether it names the next file, as every change of a tree does and the state at the start of a file does not.
    pub has_next_file: bool,
    /// Whether it has a field that RocksDB alone, or Pebble alone, writes.
    pub is_rocksdb: bool,
    pub is_pebble: bool,
}

/// The expected part of a record, and what was found.
pub(crate) type Bad = (&'static str, String);

/// Bytes of a record that are not read yet.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Result<u8, Bad> {
        let (byte, rest) = self.0.split_first().ok_or(("a byte", "the end".to_owned()))?;
        self.0 = rest;
        Ok(*byte)
    }

    fn number(&mut self) -> Result<u64, Bad> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte().map_err(|(_, found)| ("a number", found))?;
            let part = u64::from(byte & 0x7f);
            if part << shift >> shift != part {
                break;
            }
            value |= part << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(("a number of 64 bits", "a longer one".to_owned()))
    }

    fn bytes(&mut self) -> Result<&'a [u8], Bad> {
        let length = self.number()?;
        let split = usize::try_from(length).ok().and_then(|at| self.0.split_at_checked(at));
        let (bytes, rest) =
            split.ok_or_else(|| ("bytes of a length", format!("{length}, past the end")))?;
        self.0 = rest;
        Ok(bytes)
    }

    fn text(&mut self) -> Result<String, Bad> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    /// The user's part of an internal key.
    fn key(&mut self) -> Result<Vec<u8>, Bad> {
        let bytes = self.bytes()?;
        let user = bytes.len().checked_sub(TRAILER).and_then(|length| bytes.get(..length));
        let found = || ("a key with a sequence number", format!("{} bytes", bytes.len()));
        user.map(<[u8]>::to_vec).ok_or_else(found)
    }

    fn level(&mut self) -> Result<usize, Bad> {
        let level = self.number()?;
        let known = usize::try_from(level).ok().filter(|level| *level < MAX_LEVELS);
        known.ok_or_else(|| ("a level below 64", level.to_string()))
    }

    fn skip_numbers(&mut self, count: usize) -> Result<(), Bad> {
        (0..count).try_for_each(|_| self.number().map(drop))
    }
}

impl Edit {
    /// Whether it is the state of a tree at the start of the file, not a change of it.
    pub(crate) fn is_state(&self) -> bool {
        self.comparator.is_some() || !self.has_next_file
    }

    /// Decodes a record.
    pub(crate) fn decode(record: &[u8], dialect: Dialect) -> Result<Self, Bad> {
        let mut edit = Edit::default();
        let mut reader = Reader(record);
        while !reader.0.is_empty() {
            let tag = reader.number()?;
            match dialect {
                Dialect::RocksDb => edit.rocksdb_field(tag, &mut reader)?,
                Dialect::Pebble => edit.pebble_field(tag, &mut reader)?,
            }
        }
        Ok(edit)
    }

    /// Reads a field that only RocksDB has, or one of all.
    fn rocksdb_field(&mut self, tag: u64, reader: &mut Reader) -> Result<(), Bad> {
        self.is_rocksdb |= tag == 10 || tag >= 200;
        match tag {
            // The oldest log to keep.
            10 => reader.number().map(drop),
            200 => {
                let family = reader.number()?;
                self.family = u32::try_from(family)
                    .map_err(|_| ("a column family of 32 bits", family.to_string()))?;
                Ok(())
            }
            201 => {
                self.change = Some(FamilyChange::Added(reader.text()?));
                Ok(())
            }
            202 => {
                self.change = Some(FamilyChange::Dropped);
                Ok(())
            }
            // The greatest column family; records of an atomic group that follow.
            203 | 300 => reader.number().map(drop),
            // Blob files.
            400 => {
                reader.skip_numbers(3)?;
                reader.bytes()?;
                reader.bytes()?;
                skip_blob_fields(reader)
            }
            401 => {
                reader.skip_numbers(3)?;
                skip_blob_fields(reader)
            }
            _ if tag & IGNORABLE != 0 => reader.bytes().map(drop),
            _ => self.common_field(tag, reader, Dialect::RocksDb),
        }
    }

    /// Reads a field that only Pebble has, or one of all.
    fn pebble_field(&mut self, tag: u64, reader: &mut Reader) -> Result<(), Bad> {
        self.is_pebble |= matches!(tag, 10 | 11 | 104..=108);
        match tag {
            // Bounds within which all was removed.
            10 => {
                reader.bytes()?;
                reader.bytes()?;
                reader.skip_numbers(2)
            }
            // A table marked for compaction; a file that virtual tables lie in; a blob file that is obsolete.
            11 | 105 | 108 => reader.skip_numbers(2),
            106 => reader.number().map(drop),
            107 => reader.skip_numbers(5),
            _ => self.common_field(tag, reader, Dialect::Pebble),
        }
    }

    /// Reads a field that all these engines have.
    fn common_field(&mut self, tag: u64, reader: &mut Reader, dialect: Dialect) -> Result<(), Bad> {
        match tag {
            1 => self.comparator = Some(reader.text()?),
            3 => {
                self.has_next_file = true;
                reader.number()?;
            }
            // The log, the last sequence number, and the log before.
            2 | 4 | 9 => reader.number().map(drop)?,
            // The key to compact from, which is used no more.
            5 => {
                reader.level()?;
                reader.bytes()?;
            }
            6 => self.removed.push((reader.level()?, reader.number()?)),
            7 | 100 | 102 | 103 => self.add(table(tag, reader, dialect)?, dialect),
            104 if dialect == Dialect::Pebble => self.add(table(tag, reader, dialect)?, dialect),
            _ => return Err(("a tag that is known", tag.to_string())),
        }
        Ok(())
    }

    /// Adds a table. If only the engine of this dialect writes one like it, the engine is known.
    fn add(&mut self, (added, is_own): (Added, bool), dialect: Dialect) {
        self.added.push(added);
        match dialect {
            Dialect::RocksDb => self.is_rocksdb |= is_own,
            Dialect::Pebble => self.is_pebble |= is_own,
        }
    }
}

/// Skips the fields of a blob file, which end with tag 0.
fn skip_blob_fields(reader: &mut Reader) -> Result<(), Bad> {
    while reader.number()? != 0 {
        reader.bytes()?;
    }
    Ok(())
}

/// Reads a table: in LevelDB's form (7), or in one of RocksDB's (100, 102, 103) or Pebble's (103, 104). Returns whether
/// only the engine of this dialect writes it so: RocksDB with the time of the oldest ancestor, Pebble without.
fn table(tag: u64, reader: &mut Reader, dialect: Dialect) -> Result<(Added, bool), Bad> {
    let level = reader.level()?;
    let number = reader.number()?.min(NUMBER_MAX);
    if tag == 102 {
        // The path of the file.
        reader.number()?;
    }
    let bytes = reader.number()?.min(NUMBER_MAX);
    let (smallest, largest) = match tag {
        104 => bounds(reader)?,
        _ => (reader.key()?, reader.key()?),
    };
    let mut seq = || Ok(if tag == 7 { 0 } else { reader.number()?.min(NUMBER_MAX) });
    let (first_seq, last_seq) = (seq()?, seq()?);
    let mut added = Added {
        level,
        number,
        bytes,
        smallest,
        largest,
        first_seq,
        last_seq,
        created: None,
        is_virtual: false,
    };
    let mut has_ancestor = false;
    if tag >= 103 {
        while let Some(field) = custom_field(&mut added, reader, dialect)? {
            has_ancestor |= field == 5;
        }
    }
    let is_own = match dialect {
        Dialect::RocksDb => has_ancestor,
        Dialect::Pebble => added.created.is_some() && !has_ancestor,
    };
    Ok((added, is_own))
}

/// The bounds of a table that may have range keys: those of its points, if it has any, joined with theirs.
fn bounds(reader: &mut Reader) -> Result<(Vec<u8>, Vec<u8>), Bad> {
    const HAS_POINTS: u8 = 1;
    let marker = reader.byte()?;
    let points = match marker & HAS_POINTS {
        0 => None,
        _ => Some((reader.key()?, reader.key()?)),
    };
    let ranges = (reader.key()?, reader.key()?);
    Ok(match points {
        None => ranges,
        Some((first, last)) => (first.min(ranges.0), last.max(ranges.1)),
    })
}

/// Reads a further field of a table. Returns its tag, or `None` at their end.
fn custom_field(
    added: &mut Added,
    reader: &mut Reader,
    dialect: Dialect,
) -> Result<Option<u64>, Bad> {
    let tag = reader.number()?;
    match (tag, dialect) {
        (1, _) => return Ok(None),
        // Of RocksDB the time of its oldest ancestor (5) and of its file (6), of Pebble of its file (6).
        (5 | 6, _) => {
            let seconds = Reader(reader.bytes()?).number()?;
            if seconds > 0 && (tag == 6 || added.created.is_none()) {
                added.created = Some(seconds);
            }
        }
        // The path of the file.
        (65, Dialect::RocksDb) => drop(reader.bytes()?),
        (66, Dialect::Pebble) => {
            added.is_virtual = true;
            reader.number()?;
        }
        // A prefix or a suffix that replaces that of its keys.
        (67 | 68, Dialect::Pebble) => drop(reader.bytes()?),
        (69 | 70, Dialect::Pebble) => {
            reader.number()?;
            let each = if tag == 69 { 2 } else { 3 };
            for _ in 0..reader.number()? {
                reader.skip_numbers(each)?;
            }
        }
        _ if tag & ESSENTIAL != 0 => {
            return Err(("a field of a table that is known", tag.to_string()));
        }
        _ => drop(reader.bytes()?),
    }
    Ok(Some(tag))
}
