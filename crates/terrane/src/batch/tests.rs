//! Batches come back as they were made, and other bytes are refused.

use super::*;
use crate::entry::split_expiring;
use crate::error::Closed;
use crate::error::ErrorKind;
use crate::operand::MAX_OPERAND_BYTES;
use proptest::prelude::*;

fn operation() -> impl Strategy<Value = (u8, u32, Vec<u8>, Vec<u8>)> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..200);
    (0u8..6, any::<u32>(), bytes(), bytes())
}

proptest! {
    #[test]
    fn entries_come_back_in_order(
        operations in prop::collection::vec(operation(), 0..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut batch = WriteBatch::new();
        for (kind, id, key, value) in &operations {
            match kind {
                0 => batch.put(KeyspaceId(*id), key, value).unwrap(),
                1 => batch.delete(KeyspaceId(*id), key).unwrap(),
                3 => batch.merge(KeyspaceId(*id), key, Operand::Custom(value)).unwrap(),
                4 => {
                    let n = value.first().map_or(0, |byte| i64::from(*byte));
                    batch.merge(KeyspaceId(*id), key, Operand::Add(n)).unwrap();
                }
                2 => {
                    let (at, value) = split_expiring(value).unwrap_or((0, b""));
                    batch.put_expiring_at(KeyspaceId(*id), key, value, at).unwrap();
                }
                _ if value.is_empty() => batch.delete_range(KeyspaceId(*id), key..).unwrap(),
                _ => batch.delete_range(KeyspaceId(*id), key..value).unwrap(),
            }
        }
        let at_once = expiring(0, b"");
        let operands: Vec<Vec<u8>> = operations
            .iter()
            .map(|(kind, _, _, value)| match kind {
                3 => Operand::Custom(value).encode(),
                _ => Operand::Add(value.first().map_or(0, |byte| i64::from(*byte))).encode(),
            })
            .collect();
        let written: Vec<Entry<'_>> = operations
            .iter()
            .zip(&operands)
            .map(|((kind, id, key, value), operand)| {
                let operation = match kind {
                    0 => Operation::Put(key, value),
                    1 => Operation::Delete(key),
                    3 | 4 => Operation::Merge(key, operand),
                    2 if value.len() < EXPIRY_BYTES => Operation::PutExpiring(key, &at_once),
                    2 => Operation::PutExpiring(key, value),
                    _ => Operation::DeleteRange(key, (!value.is_empty()).then_some(value)),
                };
                (KeyspaceId(*id), operation)
            })
            .filter(|(_, operation)| {
                !matches!(operation, Operation::DeleteRange(from, Some(to)) if to <= from)
            })
            .collect();
        let read: Vec<Entry<'_>> = batch.iter().map(Result::unwrap).collect();
        prop_assert_eq!(&read, &written);
        prop_assert_eq!(batch.len(), written.len());
        let deletes_range = |(_, operation): &Entry<'_>| matches!(operation, Operation::DeleteRange(..));
        prop_assert_eq!(batch.deletes_range(), written.iter().any(deletes_range));
        let all = written.iter().fold(0, |all, (_, operation)| all | operation.features());
        prop_assert_eq!(batch.features(), all);

        // Cut anywhere, what returns is a prefix, then at most one damage.
        let short = &batch.bytes()[..cut.index(batch.bytes().len() + 1)];
        let read: Vec<_> = decode(short).collect();
        let whole = read.iter().take_while(|entry| entry.is_ok()).count();
        prop_assert!(read.len() - whole <= 1);
        for (entry, written) in read.iter().zip(&written).take(whole) {
            prop_assert_eq!(entry.as_ref().unwrap(), written);
        }
    }

    #[test]
    fn any_bytes_decode_within_the_limits_or_are_damage(
        bytes in prop::collection::vec(prop_oneof![0u8..7, any::<u8>()], 0..64),
    ) {
        let entries: Vec<_> = decode(&bytes).collect();
        prop_assert!(entries.iter().rev().skip(1).all(Result::is_ok));
    }
}

#[test]
fn an_entry_over_its_limit_is_refused_and_leaves_the_batch() {
    let mut batch = WriteBatch::new();
    batch.put(KeyspaceId(1), b"k", b"v").unwrap();
    let before = batch.clone();
    let long_key = vec![0; MAX_KEY_BYTES + 1];
    assert!(batch.put(KeyspaceId(1), &long_key, b"").is_err());
    assert!(batch.delete(KeyspaceId(1), &long_key).is_err());
    assert!(batch.put(KeyspaceId(1), b"", &vec![0; MAX_VALUE_BYTES + 1]).is_err());
    let long_operand = vec![0; MAX_OPERAND_BYTES + 1];
    assert!(batch.merge(KeyspaceId(1), b"", Operand::Custom(&long_operand)).is_err());
    assert!(batch.clone().merge(KeyspaceId(1), b"", Operand::Custom(&long_operand[1..])).is_ok());
    assert_eq!(batch, before);

    // Damage that no batch could hold is refused on the way back.
    let mut bytes = vec![Kind::Delete as u8, 1];
    put_bytes(&mut bytes, &long_key);
    assert!(decode(&bytes).next().unwrap().is_err());
}

#[test]
fn the_removal_of_a_keyspace_is_read_from_logs_alone() {
    let mut batch = WriteBatch::new();
    batch.push(KeyspaceId(300), Operation::DropKeyspace(b"users")).unwrap();
    batch.put(KeyspaceId(1), b"k", b"v").unwrap();
    let expected = [
        (KeyspaceId(300), Operation::DropKeyspace(b"users")),
        (KeyspaceId(1), Operation::Put(b"k", b"v")),
    ];
    assert_eq!(batch.iter().map(Result::unwrap).collect::<Vec<_>>(), expected);
    assert_eq!(batch.bytes()[..9], [6, 0xac, 2, 5, b'u', b's', b'e', b'r', b's']);
    // Only the keyspaces that it writes to need be there.
    assert_eq!(batch.keyspaces().collect::<Vec<_>>(), [KeyspaceId(1)]);
    let refused = WriteBatch::from_encoded(batch.bytes().to_vec()).unwrap_err().to_string();
    assert!(refused.contains("the removal of a keyspace"), "{refused}");
    for cut in 1..9 {
        assert!(decode(&batch.bytes()[..cut]).next().unwrap().is_err());
    }
}

#[test]
fn an_operand_of_another_form_is_refused_by_name() {
    for (operand, found) in [
        (&[][..], "nothing"),
        (&[0, 1], "operator 0 and 1 bytes"),
        (&[2; 10], "operator 2 and 9 bytes"),
        (&[3; 9], "operator 3 and 8 bytes"),
    ] {
        let mut bytes = vec![Kind::Merge as u8, 1];
        put_bytes(&mut bytes, b"k");
        put_bytes(&mut bytes, operand);
        let refused = WriteBatch::from_encoded(bytes).unwrap_err().to_string();
        assert!(refused.contains("0 add") && refused.contains(found), "{refused}");
    }
}

#[test]
fn a_batch_takes_its_limit_and_refuses_more_unchanged() {
    let mut batch = WriteBatch::new();
    let value = vec![7; MAX_VALUE_BYTES];
    for _ in 0..3 {
        batch.put(KeyspaceId(1), b"", &value).unwrap();
    }
    let held = batch.bytes().len();
    let room = MAX_BATCH_BYTES - HEAD_BYTES - held;
    assert!(batch.put(KeyspaceId(1), b"", &value[..room + 1]).is_err());
    assert!(batch.put(KeyspaceId(1), b"k", &value[..room]).is_err());
    assert_eq!((batch.len(), batch.bytes().len()), (3, held));
    batch.put(KeyspaceId(1), b"k", &value[..room - 1]).unwrap();
    assert!(batch.iter().all(|entry| entry.is_ok()) && batch.len() == 4);

    // Kinds, keyspaces and lengths may take less than is reckoned with above.
    let mut bytes = batch.bytes().to_vec();
    let left = MAX_BATCH_BYTES - bytes.len();
    let delete = |key_bytes: usize| {
        let mut entry = vec![Kind::Delete as u8, 1];
        put_bytes(&mut entry, &vec![0; key_bytes]);
        entry
    };
    bytes.extend(delete(left - delete(0).len()));
    assert_eq!(bytes.len(), MAX_BATCH_BYTES);
    assert_eq!(WriteBatch::from_encoded(bytes).unwrap().len(), 5);
    let over = vec![0; MAX_BATCH_BYTES + 1];
    let refused = WriteBatch::from_encoded(over).unwrap_err().to_string();
    assert!(refused.contains(&format!("{} bytes", MAX_BATCH_BYTES + 1)), "{refused}");
}

#[test]
fn the_greatest_entry_takes_the_reckoned_bytes() {
    let mut batch = WriteBatch::new();
    let (key, value) = (vec![0; MAX_KEY_BYTES], vec![0; MAX_VALUE_BYTES]);
    batch.put(KeyspaceId(u32::MAX), &key, &value).unwrap();
    assert_eq!(batch.bytes().len(), HEAD_BYTES + key.len() + value.len());
}

#[test]
fn the_longest_key_and_value_are_read_and_longer_are_damage() {
    let read = |kind: Kind, key_bytes: usize, value_bytes: usize| {
        let mut bytes = vec![kind as u8, 1];
        put_bytes(&mut bytes, &vec![1; key_bytes]);
        if kind == Kind::Put {
            put_bytes(&mut bytes, &vec![2; value_bytes]);
        }
        decode(&bytes).next().unwrap().map(|(_, operation)| {
            let (_, key, value) = operation.parts();
            (key.len(), value.len())
        })
    };
    let most = (MAX_KEY_BYTES, MAX_VALUE_BYTES);
    assert_eq!(read(Kind::Put, most.0, most.1), Ok(most));
    assert_eq!(read(Kind::Delete, most.0, 0), Ok((most.0, 0)));
    for (kind, key_bytes, value_bytes) in [
        (Kind::Put, most.0 + 1, 0),
        (Kind::Put, most.0 + 2, 0),
        (Kind::Delete, most.0 + 1, 0),
        (Kind::Put, 0, most.1 + 1),
        (Kind::Put, 0, most.1 + 2),
    ] {
        assert!(read(kind, key_bytes, value_bytes).is_err(), "{key_bytes} {value_bytes}");
    }
}

#[test]
fn damage_of_an_entry_is_located_in_the_file_of_the_batch() {
    let mut batch = WriteBatch::new();
    batch.put(KeyspaceId(1), b"key", b"value").unwrap();
    let bytes = [batch.bytes(), &[Kind::Delete as u8]].concat();
    let damage = decode(&bytes).nth(1).unwrap().unwrap_err();
    let told = damage.within("log", 1000).into_corruption().unwrap();
    assert_eq!((&told.file[..], told.offset), ("log", 1000 + batch.bytes().len() as u64));
}

#[test]
fn a_batch_names_each_keyspace_once_and_none_after_clear() {
    let mut batch = WriteBatch::new();
    for id in [4, 2, 4, 4, 7, 2] {
        batch.delete(KeyspaceId(id), b"k").unwrap();
    }
    assert!(batch.keyspaces().eq([4, 2, 7].map(KeyspaceId)));
    batch.clear();
    assert_eq!(batch, WriteBatch::new());
    assert!(batch.is_empty() && batch.iter().next().is_none());
}

#[test]
fn a_batch_is_read_for_other_keyspace_ids_and_keeps_its_order() {
    let mut encoded = WriteBatch::new();
    encoded.put(KeyspaceId(0), b"a", b"1").unwrap();
    encoded.put(KeyspaceId(1), b"a", b"2").unwrap();
    encoded.delete(KeyspaceId(0), b"b").unwrap();
    let id = |named: KeyspaceId, _: Operation<'_>| match named.0 {
        0 => Ok(KeyspaceId(0)),
        1 => Ok(KeyspaceId(300)),
        _ => Err(Closed::Keyspace.into()),
    };
    let batch = WriteBatch::from_encoded_for(encoded.bytes().to_vec(), id).unwrap();
    let mut expected = WriteBatch::new();
    expected.put(KeyspaceId(0), b"a", b"1").unwrap();
    expected.put(KeyspaceId(300), b"a", b"2").unwrap();
    expected.delete(KeyspaceId(0), b"b").unwrap();
    assert_eq!(batch, expected);

    let up = |named: KeyspaceId, _: Operation<'_>| Ok(KeyspaceId(named.0 + 1));
    let all = WriteBatch::from_encoded_for(encoded.bytes().to_vec(), up).unwrap();
    let ids = all.iter().map(|entry| entry.unwrap().0.0);
    assert_eq!(ids.collect::<Vec<_>>(), [1, 2, 1]);

    encoded.put(KeyspaceId(2), b"a", b"").unwrap();
    let unknown = WriteBatch::from_encoded_for(encoded.bytes().to_vec(), id);
    assert!(matches!(unknown.map_err(Error::into_kind), Err(ErrorKind::Closed(_))));
}
