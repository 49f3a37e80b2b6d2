//! Bytes of objects: a claim, a manifest, a base, a log. FORMAT.md describes them.
//!
//! Whatever bytes are decoded, what decodes is consistent in itself, and nothing else is assumed of it.

use crate::error::{Error, Result};
use terrane::coding::{Decoder, checksum, put_bytes, put_varint};
use terrane::entry::{MAX_SEQ, Millis, Seq};

/// The version of all objects.
pub(crate) const VERSION: u32 = 1;

const MANIFEST_MAGIC: &[u8; 8] = b"TRNBAK\r\n";
const BASE_MAGIC: &[u8; 8] = b"TRNBAS\r\n";
const LOG_MAGIC: &[u8; 8] = b"TRNBLG\r\n";
const CLAIM_MAGIC: &[u8; 8] = b"TRNBCL\r\n";
/// Bytes of an object before its body: magic, version, lineage.
const HEAD_BYTES: usize = 8 + 4 + 8;

/// A writer's claim of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Number of the claim, which is the next one of the place: the writer's epoch.
    pub number: u64,
    /// The lineage of the store when its writer started.
    pub lineage: u64,
    /// A random number by which the store knows its own claim.
    pub mark: u64,
    /// Time at which the writer started, by its clock.
    pub time: Millis,
}

/// A state of the backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The lineage of its sequence numbers.
    pub lineage: u64,
    /// Number of the manifest, which is the next one of the lineage.
    pub number: u64,
    /// Epoch of its writer: the number of the writer's claim.
    pub epoch: u64,
    /// The time at which it was made, by its writer's clock; it never decreases within a lineage.
    pub time: Millis,
    /// The lineage by which the backup continues, or 0.
    pub successor: u64,
    /// The tables and batches that can be restored, unless no base is complete yet.
    pub content: Option<Content>,
}

/// Tables of a moment, and the batches after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Tables and keyspaces.
    pub base: BaseInfo,
    /// Edit with the keyspaces and kinds of entries that were added since, as the engine encodes it.
    pub additions: Vec<u8>,
    /// Logs in their order, without a gap. The first starts at or before [`BaseInfo::start`].
    pub logs: Vec<LogInfo>,
}

/// A base, as manifests name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseInfo {
    /// Number of the first manifest with this base.
    pub since: u64,
    /// Sequence number of the first batch that the tables may lack.
    pub start: Seq,
    /// Sequence number of the last batch that the tables may have.
    pub last: Seq,
    /// Time of its moment.
    pub time: Millis,
    /// Length of the object.
    pub bytes: u64,
    /// Checksum of the object.
    pub checksum: u64,
}

/// A log, as manifests name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogInfo {
    /// Sequence number of its first batch.
    pub first: Seq,
    /// Sequence number of its last batch.
    pub last: Seq,
    /// Time at which it was read.
    pub time: Millis,
    /// Length of the object.
    pub bytes: u64,
    /// Checksum of the object.
    pub checksum: u64,
}

/// Tables and keyspaces of a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// The tables.
    pub tables: Vec<TableRef>,
    /// Edit that makes the version set, as the engine encodes it.
    pub version_set: Vec<u8>,
}

/// A table that a base names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TableRef {
    /// Number of the table.
    pub number: u64,
    /// Length of the file.
    pub bytes: u64,
    /// Checksum of the file.
    pub checksum: u64,
}

impl Content {
    /// Returns the sequence number of the last batch that can be restored.
    #[must_use]
    pub fn through(&self) -> Seq {
        self.logs.last().map_or(self.base.start - 1, |log| log.last)
    }
}

/// Reads the head of an object of a lineage. Returns its body.
fn body<'a>(bytes: &'a [u8], object: &str, magic: &[u8; 8], lineage: u64) -> Result<Decoder<'a>> {
    let (of, body) = any_body(bytes, object, magic)?;
    if of != lineage {
        let [lineage, of] = [lineage, of].map(|lineage| format!("lineage {lineage:016x}"));
        return Err(Error::damaged(object, lineage, of));
    }
    Ok(body)
}

/// Reads the head of an object. Returns its lineage, and its body.
fn any_body<'a>(bytes: &'a [u8], object: &str, magic: &[u8; 8]) -> Result<(u64, Decoder<'a>)> {
    let mut d = Decoder::new(bytes);
    if d.take(8) != Some(magic) {
        let expected =
            format_args!("an object that starts with {:?}", String::from_utf8_lossy(magic));
        return Err(Error::damaged(object, expected, format_args!("{} other bytes", bytes.len())));
    }
    let found = d.u32().ok_or_else(|| short(object))?;
    if found != VERSION {
        return Err(Error::Newer { object: object.to_owned(), found, known: VERSION });
    }
    let lineage = d.u64().ok_or_else(|| short(object))?;
    Ok((lineage, d))
}

fn head(magic: &[u8; 8], lineage: u64) -> Vec<u8> {
    let mut out = magic.to_vec();
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&lineage.to_le_bytes());
    out
}

fn short(object: &str) -> Error {
    Error::damaged(object, "a whole object", "one that ends early")
}

fn malformed(object: &str) -> Error {
    Error::damaged(object, "a well-formed object", "another")
}

/// Returns the seed of a manifest's checksum.
fn seed(lineage: u64, number: u64) -> u64 {
    lineage ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Manifest {
    /// Returns the manifest as bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = head(MANIFEST_MAGIC, self.lineage);
        put_varint(&mut out, self.number);
        out.extend_from_slice(&self.epoch.to_le_bytes());
        put_varint(&mut out, self.time);
        out.extend_from_slice(&self.successor.to_le_bytes());
        out.push(u8::from(self.content.is_some()));
        if let Some(Content { base, additions, logs }) = &self.content {
            for n in [base.since, base.start, base.last, base.time, base.bytes] {
                put_varint(&mut out, n);
            }
            out.extend_from_slice(&base.checksum.to_le_bytes());
            put_bytes(&mut out, additions);
            put_varint(&mut out, logs.len() as u64);
            let (mut next, mut time) = (logs.first().map_or(0, |log| log.first), 0);
            put_varint(&mut out, next);
            for log in logs {
                for n in [log.last - next, log.time.saturating_sub(time), log.bytes] {
                    put_varint(&mut out, n);
                }
                out.extend_from_slice(&log.checksum.to_le_bytes());
                (next, time) = (log.last + 1, log.time);
            }
        }
        let sum = checksum(&out, seed(self.lineage, self.number));
        out.extend_from_slice(&sum.to_le_bytes());
        out
    }

    /// Reads manifest `number` of a lineage.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Newer`].
    pub fn decode(bytes: &[u8], object: &str, lineage: u64, number: u64) -> Result<Self> {
        body(bytes, object, MANIFEST_MAGIC, lineage)?;
        let (covered, sum) = bytes.split_last_chunk::<8>().ok_or_else(|| short(object))?;
        if checksum(covered, seed(lineage, number)) != u64::from_le_bytes(*sum) {
            return Err(Error::damaged(object, "a valid checksum", "another"));
        }
        let mut d = Decoder::new(covered.get(HEAD_BYTES..).unwrap_or_default());
        let manifest = decode_manifest(&mut d, lineage).filter(|_| d.is_empty());
        let manifest = manifest.filter(|manifest| manifest.number == number);
        manifest.ok_or_else(|| malformed(object))
    }
}

impl Claim {
    /// Returns the claim as bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = head(CLAIM_MAGIC, self.lineage);
        put_varint(&mut out, self.number);
        out.extend_from_slice(&self.mark.to_le_bytes());
        put_varint(&mut out, self.time);
        let sum = checksum(&out, seed(0, self.number));
        out.extend_from_slice(&sum.to_le_bytes());
        out
    }

    /// Reads claim `number`.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Newer`].
    pub fn decode(bytes: &[u8], object: &str, number: u64) -> Result<Self> {
        let (lineage, mut d) = any_body(bytes, object, CLAIM_MAGIC)?;
        let (covered, sum) = bytes.split_last_chunk::<8>().ok_or_else(|| short(object))?;
        if checksum(covered, seed(0, number)) != u64::from_le_bytes(*sum) {
            return Err(Error::damaged(object, "a valid checksum", "another"));
        }
        let mut decode = || {
            let claim = Claim { lineage, number: d.varint()?, mark: d.u64()?, time: d.varint()? };
            d.u64()?;
            (d.is_empty() && claim.number == number).then_some(claim)
        };
        decode().ok_or_else(|| malformed(object))
    }
}

fn decode_manifest(d: &mut Decoder<'_>, lineage: u64) -> Option<Manifest> {
    let (number, epoch, time, successor) = (d.varint()?, d.u64()?, d.varint()?, d.u64()?);
    let content = match d.u8()? {
        0 => None,
        1 => Some(decode_content(d)?),
        _ => return None,
    };
    Some(Manifest { lineage, number, epoch, time, successor, content })
}

fn decode_content(d: &mut Decoder<'_>) -> Option<Content> {
    let base = BaseInfo {
        since: d.varint()?,
        start: d.varint()?,
        last: d.varint()?,
        time: d.varint()?,
        bytes: d.varint()?,
        checksum: d.u64()?,
    };
    let additions = d.bytes()?.to_vec();
    let count = d.varint()?;
    let (mut next, mut time) = (d.varint()?, 0u64);
    let mut logs = Vec::new();
    for _ in 0..count {
        let last = next.checked_add(d.varint()?).filter(|last| *last <= MAX_SEQ)?;
        time = time.checked_add(d.varint()?)?;
        logs.push(LogInfo { first: next, last, time, bytes: d.varint()?, checksum: d.u64()? });
        next = last + 1;
    }
    let first = logs.first().map_or(base.start, |log: &LogInfo| log.first);
    let is_sound = base.start > 0 && base.start <= MAX_SEQ && first > 0 && first <= base.start;
    let content = Content { base, additions, logs };
    let through = if is_sound { content.through() } else { return None };
    (through >= base.last && through + 1 >= base.start).then_some(content)
}

impl Base {
    /// Returns the base as bytes.
    #[must_use]
    pub fn encode(&self, lineage: u64) -> Vec<u8> {
        let mut out = head(BASE_MAGIC, lineage);
        put_varint(&mut out, self.tables.len() as u64);
        for table in &self.tables {
            put_varint(&mut out, table.number);
            put_varint(&mut out, table.bytes);
            out.extend_from_slice(&table.checksum.to_le_bytes());
        }
        put_bytes(&mut out, &self.version_set);
        out
    }

    /// Reads a base of a lineage, whose checksum was verified.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Newer`].
    pub fn decode(bytes: &[u8], object: &str, lineage: u64) -> Result<Self> {
        let mut d = body(bytes, object, BASE_MAGIC, lineage)?;
        let mut decode = || {
            let mut tables = Vec::new();
            for _ in 0..d.varint()? {
                let (number, bytes) = (d.varint()?, d.varint()?);
                tables.push(TableRef { number, bytes, checksum: d.u64()? });
            }
            let version_set = d.bytes()?.to_vec();
            d.is_empty().then_some(Base { tables, version_set })
        };
        decode().ok_or_else(|| malformed(object))
    }
}

/// A log that is being built.
pub(crate) struct LogBuilder {
    out: Vec<u8>,
    first: Seq,
    next: Seq,
}

impl LogBuilder {
    /// Starts a log of a lineage with batch `first`.
    pub fn new(lineage: u64, first: Seq) -> Self {
        let mut out = head(LOG_MAGIC, lineage);
        put_varint(&mut out, first);
        LogBuilder { out, first, next: first }
    }

    /// Appends the next batch.
    pub fn push(&mut self, batch: &[u8]) {
        put_bytes(&mut self.out, batch);
        self.next += 1;
    }

    pub fn bytes(&self) -> usize {
        self.out.len()
    }

    /// Returns the log as manifests name it and as bytes, unless it has no batch.
    pub fn finish(self, time: Millis) -> Option<(LogInfo, Vec<u8>)> {
        let LogBuilder { out, first, next } = self;
        let (bytes, checksum) = (out.len() as u64, checksum(&out, 0));
        (next > first).then_some((LogInfo { first, last: next - 1, time, bytes, checksum }, out))
    }
}

/// Reads a log of a lineage. Returns the number of its first batch, and the batches.
///
/// # Errors
/// [`Error::Damaged`], [`Error::Newer`].
pub fn decode_log<'a>(bytes: &'a [u8], object: &str, lineage: u64) -> Result<(Seq, Vec<&'a [u8]>)> {
    let mut d = body(bytes, object, LOG_MAGIC, lineage)?;
    let first = d.varint().ok_or_else(|| short(object))?;
    let mut batches = Vec::new();
    while !d.is_empty() {
        batches.push(d.bytes().filter(|batch| !batch.is_empty()).ok_or_else(|| malformed(object))?);
    }
    let last = first.checked_add(batches.len() as u64);
    if first == 0 || last.is_none_or(|last| last > MAX_SEQ) {
        return Err(malformed(object));
    }
    Ok((first, batches))
}

/// Reads bytes as each kind of object, a manifest also with its checksum corrected; for fuzz targets.
///
/// # Panics
/// If an object that was read is not consistent, or changes when it is written and read again.
#[doc(hidden)]
pub fn fuzz(bytes: &[u8]) {
    const LINEAGE: u64 = 5;
    const NUMBER: u64 = 17;
    let sealed = |magic, seed| {
        let mut sealed = [&head(magic, LINEAGE)[..], bytes].concat();
        let sum = checksum(&sealed, seed);
        sealed.extend_from_slice(&sum.to_le_bytes());
        sealed
    };
    for claim in [bytes, &sealed(CLAIM_MAGIC, seed(0, NUMBER))] {
        if let Ok(claim) = Claim::decode(claim, "claim", NUMBER) {
            let again = Claim::decode(&claim.encode(), "claim", NUMBER);
            assert_eq!(again.ok(), Some(claim));
        }
    }
    for manifest in [bytes, &sealed(MANIFEST_MAGIC, seed(LINEAGE, NUMBER))] {
        let Ok(manifest) = Manifest::decode(manifest, "manifest", LINEAGE, NUMBER) else {
            continue;
        };
        let again = Manifest::decode(&manifest.encode(), "manifest", LINEAGE, NUMBER);
        assert_eq!(again.ok().as_ref(), Some(&manifest));
        let Some(content) = &manifest.content else { continue };
        let first = content.logs.first().map_or(content.base.start, |log| log.first);
        assert!(first <= content.base.start && content.through() >= content.base.last);
        assert!(content.logs.iter().all(|log| log.first <= log.last));
    }
    for magic in [BASE_MAGIC, LOG_MAGIC] {
        let object = [&head(magic, LINEAGE)[..], bytes].concat();
        if let Ok(base) = Base::decode(&object, "base", LINEAGE) {
            let again = Base::decode(&base.encode(LINEAGE), "base", LINEAGE);
            assert_eq!(again.ok(), Some(base));
        }
        if let Ok((first, batches)) = decode_log(&object, "log", LINEAGE) {
            assert!(first > 0 && batches.iter().all(|batch| !batch.is_empty()));
        }
    }
}

#[cfg(test)]
mod tests;
