//! Table properties: counts, ranges, and a small histogram of the keys.
//!
//! Stored as fields, each a number (varint) and a byte string (varint length, bytes). Readers ignore
//! unknown numbers; what they must not ignore comes with a required feature of the footer.

use super::Malformed;
use crate::coding::{Decoder, escaped, put_bytes, put_varint};
use crate::entry::{Kind, Millis, Seq, Tag, value_of};
use terrane_types::{
    FilterBits, Histogram, HistogramPoint, Kept, PrefixRule, PrefixSet, Prefixes, TableInfo,
};

/// The most points a histogram has.
pub const MAX_HISTOGRAM_POINTS: usize = 64;

/// A table's counts and ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    /// Entries of all kinds and versions.
    pub entries: u64,
    /// Tombstones among them.
    pub tombstones: u64,
    /// The smallest sequence number.
    pub first_seq: Seq,
    /// The greatest sequence number.
    pub last_seq: Seq,
    /// The smallest user key.
    pub smallest: Vec<u8>,
    /// The greatest user key.
    pub largest: Vec<u8>,
    /// Bytes of all user keys, before compression.
    pub key_bytes: u64,
    /// Bytes of all values, before compression.
    pub value_bytes: u64,
    /// Data blocks.
    pub blocks: u64,
    /// The distribution of stored bytes over the keys, ascending; the last point is the table's end.
    pub histogram: Histogram,
    /// The prefixes of all keys, if it was written for a rule that gives it few.
    pub prefixes: Prefixes,
    /// Filter bits of each key.
    pub filter_bits: FilterBits,
    /// Memory that all filters take, in bytes.
    pub filter_bytes: u64,
    /// Entries that only snapshots kept, if recorded.
    pub kept: Option<Kept>,
    /// The time by which all its values have expired: 0 without values, the greatest if one never expires.
    pub expires_by: Millis,
    /// The id of the keyspace that the table was written for, if recorded.
    pub keyspace_id: Option<u32>,
    /// The name of that keyspace.
    pub keyspace_name: Option<String>,
}

impl Properties {
    /// About how many stored bytes of data are at or below `key`.
    #[must_use]
    pub fn bytes_through(&self, key: &[u8]) -> u64 {
        self.histogram.bytes_through(key)
    }

    /// The time by which all its values have expired; `None` without values, or if one never expires.
    #[must_use]
    pub fn expiry(&self) -> Option<Millis> {
        Some(self.expires_by).filter(|at| (1..Millis::MAX).contains(at))
    }

    /// Counts one entry.
    #[inline]
    pub(super) fn count(&mut self, key: &[u8], tag: Tag, value: &[u8]) {
        if self.entries == 0 {
            (self.first_seq, self.last_seq) = (tag.seq(), tag.seq());
        }
        self.entries += 1;
        self.tombstones += u64::from(tag.kind() == Some(Kind::Delete));
        if tag.kind() != Some(Kind::Delete) {
            let (_, expires_at) = value_of(tag, value);
            self.expires_by = self.expires_by.max(expires_at.unwrap_or(Millis::MAX));
        }
        self.first_seq = self.first_seq.min(tag.seq());
        self.last_seq = self.last_seq.max(tag.seq());
        self.key_bytes += key.len() as u64;
        self.value_bytes += value.len() as u64;
    }

    /// Scales the bytes of entries that only snapshots kept, from their plain size to their share of
    /// `data_bytes`.
    pub(super) fn scale_kept(&mut self, data_bytes: u64) {
        if let Some(kept) = &mut self.kept {
            let plain = u128::from(self.key_bytes + self.value_bytes).max(1);
            let share = u128::from(kept.bytes) * u128::from(data_bytes) / plain;
            kept.bytes = u64::try_from(share).unwrap_or(data_bytes).min(data_bytes);
        }
    }

    /// Appends the encoded properties.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_number(out, 1, self.entries);
        put_number(out, 2, self.tombstones);
        put_number(out, 3, self.first_seq);
        put_number(out, 4, self.last_seq);
        put(out, 5, &self.smallest);
        put(out, 6, &self.largest);
        put_number(out, 7, self.key_bytes);
        put_number(out, 8, self.value_bytes);
        put_number(out, 9, self.blocks);
        let mut histogram = Vec::new();
        for point in self.histogram.iter() {
            put_bytes(&mut histogram, &point.key);
            put_varint(&mut histogram, point.bytes);
        }
        put(out, 10, &histogram);
        if let Some(id) = self.keyspace_id {
            put_number(out, 11, id.into());
        }
        if let Some(name) = &self.keyspace_name {
            put(out, 12, name.as_bytes());
        }
        if let Some(set) = self.prefixes.set() {
            put(out, 13, &encode_prefixes(set));
        }
        if !self.filter_bits.is_none() {
            put_number(out, 14, self.filter_bits.thousandths().into());
        }
        if self.filter_bytes > 0 {
            put_number(out, 15, self.filter_bytes);
        }
        if let Some(kept) = self.kept {
            put(out, 16, &encode_kept(kept));
        }
        if let Some(expires_by) = self.expiry() {
            put_number(out, 17, expires_by);
        }
    }

    /// Decodes properties.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut d = Decoder::new(bytes);
        let mut properties = Properties::default();
        let mut seen = 0u64;
        while !d.is_empty() {
            let at = bytes.len() - d.rest().len();
            let malformed = || Malformed::new(at, "a field", "bytes that are not one");
            let number = d.varint().ok_or_else(malformed)?;
            let field = d.bytes().ok_or_else(malformed)?;
            properties.set(number, field).ok_or_else(|| {
                Malformed::new(at, format!("field {number}"), "bytes that are not its value")
            })?;
            seen |= 1 << number.min(63);
        }
        let missing = (1..=10).find(|number| seen & 1 << number == 0);
        match missing {
            None => Ok(properties),
            Some(number) => Err(Malformed::new(bytes.len(), format!("field {number}"), "the end")),
        }
    }

    fn set(&mut self, number: u64, field: &[u8]) -> Option<()> {
        let integer = match number {
            1 => &mut self.entries,
            2 => &mut self.tombstones,
            3 => &mut self.first_seq,
            4 => &mut self.last_seq,
            5 | 6 => {
                let end = if number == 5 { &mut self.smallest } else { &mut self.largest };
                *end = field.to_vec();
                return Some(());
            }
            7 => &mut self.key_bytes,
            8 => &mut self.value_bytes,
            9 => &mut self.blocks,
            15 => &mut self.filter_bytes,
            17 => &mut self.expires_by,
            10 => {
                self.histogram = decode_histogram(field)?;
                return Some(());
            }
            11 => {
                self.keyspace_id = Some(u32::try_from(decode_integer(field)?).ok()?);
                return Some(());
            }
            12 => {
                self.keyspace_name = Some(String::from_utf8(field.to_vec()).ok()?);
                return Some(());
            }
            13 if PrefixRule::KNOWN => {
                self.prefixes = Some(decode_prefixes(field)?).into();
                return Some(());
            }
            14 => {
                let thousandths = u32::try_from(decode_integer(field)?).ok()?;
                self.filter_bits = FilterBits::from_thousandths(thousandths);
                return (self.filter_bits.thousandths() == thousandths).then_some(());
            }
            16 => {
                self.kept = Some(decode_kept(field)?);
                return Some(());
            }
            _ => return Some(()),
        };
        *integer = decode_integer(field)?;
        Some(())
    }

    /// The first difference from `info`, as (expected, found).
    pub(super) fn differs_from(&self, info: &TableInfo) -> Option<(String, String)> {
        let pairs = [
            ("entries", info.entries, self.entries),
            ("tombstones", info.tombstones, self.tombstones),
            ("as smallest sequence number", info.first_seq, self.first_seq),
            ("as greatest sequence number", info.last_seq, self.last_seq),
            (
                "thousandths of a filter bit",
                info.filter_bits.thousandths().into(),
                self.filter_bits.thousandths().into(),
            ),
            ("bytes of filters", info.filter_bytes, self.filter_bytes),
            ("as last expiry", info.expires_by, self.expiry().unwrap_or(0)),
        ];
        if let Some((what, expected, found)) = pairs.iter().find(|(_, a, b)| a != b) {
            return Some((format!("{expected} {what}"), found.to_string()));
        }
        // A manifest that an earlier release has rewritten lacks it.
        if let (Some(expected), Some(found)) = (info.kept, self.kept)
            && expected != found
        {
            let name = |kept: Kept| {
                let Kept { entries, bytes, until } = kept;
                format!("{entries} entries, {bytes} bytes, kept for snapshots below {until}")
            };
            return Some((name(expected), name(found)));
        }
        let ranges = [
            ("smallest", &info.smallest, &self.smallest),
            ("largest", &info.largest, &self.largest),
        ];
        let (what, expected, found) = ranges.iter().find(|(_, a, b)| a != b)?;
        Some((format!("{} as {what} key", escaped(expected)), escaped(found)))
    }
}

/// Encodes the count of entries that only snapshots kept, for properties and for the manifest.
#[must_use]
pub fn encode_kept(kept: Kept) -> Vec<u8> {
    let mut bytes = Vec::new();
    [kept.entries, kept.bytes, kept.until].into_iter().for_each(|n| put_varint(&mut bytes, n));
    bytes
}

/// Reads what [`encode_kept`] writes; `None` from other bytes.
#[must_use]
pub fn decode_kept(bytes: &[u8]) -> Option<Kept> {
    let mut d = Decoder::new(bytes);
    let kept = Kept { entries: d.varint()?, bytes: d.varint()?, until: d.varint()? };
    d.is_empty().then_some(kept)
}

fn decode_integer(bytes: &[u8]) -> Option<u64> {
    let mut d = Decoder::new(bytes);
    d.varint().filter(|_| d.is_empty())
}

/// A property: its number, and its bytes.
fn put(out: &mut Vec<u8>, number: u64, bytes: &[u8]) {
    put_varint(out, number);
    put_bytes(out, bytes);
}

fn put_number(out: &mut Vec<u8>, number: u64, value: u64) {
    let mut bytes = Vec::new();
    put_varint(&mut bytes, value);
    put(out, number, &bytes);
}

// Without rules there is no set.
#[allow(unreachable_code)]
fn encode_prefixes(set: &PrefixSet) -> Vec<u8> {
    let (kind, value) = set.rule().to_stored();
    let mut bytes = vec![kind];
    put_varint(&mut bytes, value.into());
    set.prefixes().iter().for_each(|prefix| put_bytes(&mut bytes, prefix));
    bytes
}

fn decode_prefixes(bytes: &[u8]) -> Option<PrefixSet> {
    let mut d = Decoder::new(bytes);
    let rule = PrefixRule::from_stored(d.u8()?, d.varint()?)?;
    let mut prefixes = Vec::new();
    while !d.is_empty() {
        prefixes.push(d.bytes()?.to_vec());
    }
    PrefixSet::new(rule, prefixes)
}

fn decode_histogram(bytes: &[u8]) -> Option<Histogram> {
    let mut d = Decoder::new(bytes);
    let mut points = Vec::new();
    while !d.is_empty() {
        points.push(HistogramPoint { key: d.bytes()?.to_vec(), bytes: d.varint()? });
    }
    (points.len() <= MAX_HISTOGRAM_POINTS).then(|| points.into())
}

/// Collects the end of every `stride`-th block; doubles the stride when it has all points.
#[derive(Debug)]
pub(super) struct HistogramBuilder {
    points: Vec<HistogramPoint>,
    stride: u64,
    blocks: u64,
}

impl HistogramBuilder {
    pub fn new() -> Self {
        HistogramBuilder { points: Vec::new(), stride: 1, blocks: 0 }
    }

    /// A block ends with `key`; the data so far is `bytes` long.
    pub fn block(&mut self, key: &[u8], bytes: u64) {
        self.blocks += 1;
        if !self.blocks.is_multiple_of(self.stride) {
            return;
        }
        self.points.push(HistogramPoint { key: key.to_vec(), bytes });
        if self.points.len() == MAX_HISTOGRAM_POINTS {
            let mut index = 0u32;
            self.points.retain(|_| {
                index += 1;
                index.is_multiple_of(2)
            });
            self.stride *= 2;
        }
    }

    /// The histogram, whose last point is the table's end: `key` and `bytes`.
    pub fn finish(mut self, key: &[u8], bytes: u64) -> Histogram {
        if self.points.last().is_none_or(|point| point.bytes != bytes) {
            self.points.push(HistogramPoint { key: key.to_vec(), bytes });
        }
        self.points.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::expiring;

    fn sample() -> Properties {
        Properties {
            entries: 300,
            tombstones: 2,
            first_seq: 5,
            last_seq: 1 << 50,
            smallest: Vec::new(),
            largest: b"z".to_vec(),
            key_bytes: 1000,
            value_bytes: 0,
            blocks: 3,
            histogram: vec![HistogramPoint { key: b"z".to_vec(), bytes: 77 }].into(),
            prefixes: PrefixSet::new(
                PrefixRule::Delimiter(b'/'),
                vec![b"a/".to_vec(), b"z".to_vec()],
            )
            .into(),
            filter_bits: FilterBits::from_thousandths(9500),
            filter_bytes: 128,
            kept: Some(Kept { entries: 200, bytes: 50, until: 1 << 40 }),
            expires_by: 1 << 41,
            keyspace_id: Some(300),
            keyspace_name: Some("rows".to_owned()),
        }
    }

    #[test]
    fn unknown_fields_are_ignored_and_missing_ones_are_named() {
        let mut stored = Vec::new();
        sample().encode(&mut stored);
        assert_eq!(Properties::decode(&stored).unwrap(), sample());
        for later in [18, 1 << 40] {
            put_varint(&mut stored, later);
            put_bytes(&mut stored, b"from the future");
            assert_eq!(Properties::decode(&stored).unwrap(), sample());
        }
        assert!(Properties::decode(&stored[..stored.len() - 1]).is_err());
        assert_eq!(Properties::decode(&stored[4..]).unwrap_err().0.expected, "field 1");
    }

    #[test]
    fn counts_are_of_all_entries_and_of_their_bytes() {
        let mut properties = Properties::default();
        properties.count(b"a", Tag::new(7, Kind::Put), b"four");
        properties.count(b"bc", Tag::new(5, Kind::Delete), b"");
        properties.count(b"def", Tag::new(9, Kind::Put), b"seven77");
        let expected = Properties {
            entries: 3,
            tombstones: 1,
            first_seq: 5,
            last_seq: 9,
            key_bytes: 6,
            value_bytes: 11,
            expires_by: Millis::MAX,
            ..Properties::default()
        };
        assert_eq!(properties, expected);
    }

    #[test]
    fn a_table_expires_by_its_latest_time_if_all_its_values_expire() {
        let mut properties = Properties::default();
        let mut count = |kind, value: &[u8]| {
            properties.count(b"k", Tag::new(7, kind), value);
            properties.expiry()
        };
        assert_eq!(count(Kind::Delete, b""), None);
        assert_eq!(count(Kind::PutExpiring, &expiring(5, b"v")), Some(5));
        assert_eq!(count(Kind::PutExpiring, &expiring(3, b"v")), Some(5));
        assert_eq!(count(Kind::PutExpiring, &expiring(9, b"v")), Some(9));
        assert_eq!(count(Kind::Put, b"v"), None);
        assert_eq!(count(Kind::PutExpiring, &expiring(11, b"v")), None);
    }

    #[test]
    fn bytes_through_a_key_are_those_of_the_histogram() {
        assert_eq!((sample().bytes_through(b"y"), sample().bytes_through(b"z")), (0, 77));
    }

    #[test]
    fn a_field_that_is_not_its_value_is_reported_at_its_start() {
        let mut stored = Vec::new();
        put_varint(&mut stored, 1);
        put_bytes(&mut stored, &[7]);
        put_varint(&mut stored, 2);
        put_bytes(&mut stored, &[7, 7]);
        let malformed = Properties::decode(&stored).unwrap_err().0;
        assert_eq!((malformed.at, &*malformed.expected), (3, "field 2"));
    }

    #[test]
    fn fields_that_follow_the_histogram_are_optional() {
        let silent = Properties {
            keyspace_id: None,
            keyspace_name: None,
            prefixes: Prefixes::default(),
            filter_bits: FilterBits::NONE,
            filter_bytes: 0,
            kept: None,
            expires_by: 0,
            ..sample()
        };
        let (mut stored, mut all) = (Vec::new(), Vec::new());
        silent.encode(&mut stored);
        assert_eq!(Properties::decode(&stored).unwrap(), silent);
        sample().encode(&mut all);
        assert!(all.starts_with(&stored), "they follow the others, or are left out");
    }

    #[test]
    fn prefixes_of_either_rule_are_read_back_and_others_are_refused() {
        let read = |rule, prefixes: &[&[u8]]| {
            let prefixes = prefixes.iter().map(|prefix| prefix.to_vec()).collect();
            let set = PrefixSet::new(rule, prefixes).unwrap();
            let bytes = encode_prefixes(&set);
            assert_eq!(decode_prefixes(&bytes), Some(set));
            bytes
        };
        read(PrefixRule::Delimiter(255), &[b"", b"a\xff"]);
        let mut bytes = read(PrefixRule::Length(3), &[b"abc"]);
        put_bytes(&mut bytes, b"abb");
        assert_eq!(decode_prefixes(&bytes), None, "they descend");
        for stored in [&[][..], &[0], &[2, 1], &[1, 0x80, 2], &[0, 1, 2, 0]] {
            assert_eq!(decode_prefixes(stored), None, "{stored:?}");
        }
    }

    #[test]
    fn a_histogram_keeps_few_points_and_ends_with_the_table() {
        for blocks in [1u64, 2, 63, 64, 65, 127, 128, 1000, 4097] {
            let mut builder = HistogramBuilder::new();
            let key = |i: u64| format!("{i:06}").into_bytes();
            for i in 1..=blocks {
                builder.block(&key(i), 10 * i);
            }
            let points = builder.finish(&key(blocks), 10 * blocks);
            assert!(points.len() <= MAX_HISTOGRAM_POINTS);
            assert!(points.len() as u64 >= blocks.min(MAX_HISTOGRAM_POINTS as u64 / 2));
            let last = points.last().unwrap();
            assert_eq!((&last.key, last.bytes), (&key(blocks), 10 * blocks));
            assert!(points.iter().all(|p| p.key == key(p.bytes / 10)));
            // Every point at the stride, and the end.
            let stride = (0..).map(|n| 1 << n).find(|stride| blocks / stride < 64).unwrap();
            let mut expected: Vec<u64> = (1..=blocks / stride).map(|n| 10 * n * stride).collect();
            expected.extend((!blocks.is_multiple_of(stride)).then_some(10 * blocks));
            assert_eq!(points.iter().map(|p| p.bytes).collect::<Vec<_>>(), expected);
        }
    }
}
