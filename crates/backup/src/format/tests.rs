//! Objects are read as they are written, and nothing else is.

use super::*;
use proptest::prelude::*;

fn manifest() -> Manifest {
    let log = |first, last| LogInfo { first, last, time: 90 + last, bytes: 40, checksum: last };
    Manifest {
        lineage: 5,
        number: 17,
        epoch: 6,
        time: 300,
        successor: 0,
        content: Some(Content {
            base: BaseInfo { since: 9, start: 4, last: 11, time: 100, bytes: 50, checksum: 8 },
            additions: b"edit".to_vec(),
            logs: vec![log(3, 3), log(4, 10), log(11, 12)],
        }),
    }
}

fn decode(bytes: &[u8]) -> Result<Manifest> {
    Manifest::decode(bytes, "manifest/17", 5, 17)
}

/// Returns a manifest's bytes with a valid checksum after `change`.
fn changed(change: impl FnOnce(&mut Content)) -> Vec<u8> {
    let mut manifest = manifest();
    manifest.content.as_mut().map(change).unwrap();
    manifest.encode()
}

#[test]
fn a_manifest_is_read_as_it_is_written() {
    let full = manifest();
    let empty = Manifest { content: None, successor: 3, ..manifest() };
    for manifest in [full, empty] {
        assert_eq!(decode(&manifest.encode()).unwrap(), manifest);
    }
}

#[test]
fn every_flipped_bit_of_a_manifest_is_found() {
    let sound = manifest().encode();
    for bit in 0..sound.len() * 8 {
        let mut bytes = sound.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(decode(&bytes).is_err(), "bit {bit}");
    }
    for len in 0..sound.len() {
        assert!(decode(&sound[..len]).is_err(), "{len} bytes");
    }
}

#[test]
fn a_manifest_under_another_name_is_refused() {
    let bytes = manifest().encode();
    assert!(Manifest::decode(&bytes, "manifest/18", 5, 18).is_err());
    let other = Manifest::decode(&bytes, "manifest/17", 6, 17).unwrap_err().to_string();
    assert!(other.contains("expected lineage 0000000000000006, found lineage 0000000000000005"));
}

#[test]
fn a_manifest_that_lacks_batches_is_refused() {
    assert!(decode(&changed(|content| content.logs.truncate(2))).is_err());
    assert!(decode(&changed(|content| content.base.start = 2)).is_err());
    assert!(decode(&changed(|content| content.base.last = 13)).is_err());
    assert!(decode(&changed(|content| content.base.last = 12)).is_ok());
}

#[test]
fn an_object_of_a_later_release_is_refused_by_name() {
    let mut bytes = manifest().encode();
    bytes[8] = 2;
    let refused = decode(&bytes).unwrap_err();
    assert!(matches!(refused, Error::Newer { found: 2, known: 1, .. }), "{refused}");
    assert!(refused.to_string().starts_with("manifest/17 is of format 2"), "{refused}");
}

#[test]
fn a_base_and_a_log_are_read_as_they_are_written() {
    let tables = vec![TableRef { number: 3, bytes: 4, checksum: 5 }];
    let base = Base { tables, version_set: b"version set".to_vec() };
    assert_eq!(Base::decode(&base.encode(7), "base", 7).unwrap(), base);
    let mut log = LogBuilder::new(7, 20);
    log.push(b"a");
    log.push(b"bc");
    let (info, bytes) = log.finish(100).unwrap();
    assert_eq!((info.first, info.last, info.bytes), (20, 21, bytes.len() as u64));
    assert_eq!(decode_log(&bytes, "log", 7).unwrap(), (20, vec![&b"a"[..], b"bc"]));
    assert!(LogBuilder::new(7, 20).finish(1).is_none());
    assert!(decode_log(&bytes, "log", 8).is_err() && Base::decode(&bytes, "base", 7).is_err());
}

proptest! {
    #[test]
    fn what_decodes_is_consistent(
        noise in proptest::collection::vec(any::<u8>(), 0..80),
        at in 0usize..120,
        with in any::<u8>(),
    ) {
        let sound = manifest().encode();
        let mut body = sound[HEAD_BYTES..sound.len() - 8].to_vec();
        let at = at % body.len();
        fuzz(&noise);
        fuzz(&[&body[..at], &noise].concat());
        body[at] = with;
        fuzz(&body);
    }
}
