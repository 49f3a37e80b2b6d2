//! Blocks by themselves: lengths of every size, and what searches and steps find.

use super::*;
use crate::table::block_writer::BlockWriter;

/// Lengths that take a byte, two and three, also such as end in zeros.
const LENGTHS: [usize; 7] = [0, 1, 127, 128, 256, 300, 20_000];

fn block(entries: &[Entry], interval: u32) -> Block {
    let mut writer = BlockWriter::new(interval);
    let mut before: &[u8] = &[];
    for (key, tag, value) in entries {
        writer.add(crate::entry::common_prefix(before, key), key, *tag, value);
        before = key;
    }
    Block::decode(writer.finish().to_vec()).unwrap()
}

fn put(key: Vec<u8>, value: Vec<u8>) -> Entry {
    (key, Tag::new(3, Kind::Put), value)
}

#[test]
fn lengths_of_one_and_two_bytes_are_read_in_every_combination() {
    for shared in LENGTHS {
        for unshared in LENGTHS {
            for value in LENGTHS {
                let first = vec![b'a'; shared];
                let second = [&first[..], &vec![b'b'; unshared]].concat();
                let entries = [put(first, vec![1; value]), put(second, vec![2; value])];
                let mut cursor = BlockCursor::new(Arc::new(block(&entries, 16)));
                cursor.seek_first().unwrap();
                for (key, tag, value) in &entries {
                    assert!(cursor.valid());
                    assert_eq!(
                        (cursor.key(), cursor.tag(), cursor.value()),
                        (&key[..], *tag, &value[..])
                    );
                    cursor.advance().unwrap();
                }
                assert!(!cursor.valid());
            }
        }
    }
}

#[test]
fn key_prefixes_take_memory_that_is_counted() {
    let entries: Vec<_> = (0..40u8).map(|n| put(vec![b'k', n], vec![])).collect();
    let plain = block(&entries, 1);
    let bytes = size_of::<Block>() + plain.into_bytes().capacity();
    let quick = block(&entries, 1).with_key_prefixes();
    // The byte that all share, and eight for each.
    assert_eq!(quick.memory(), bytes + 1 + 8 * entries.len());
}

#[test]
fn a_key_may_be_as_long_as_its_limit_and_no_longer() {
    use crate::entry::MAX_KEY_BYTES;
    for (len, refused) in [(MAX_KEY_BYTES, false), (MAX_KEY_BYTES + 1, true)] {
        let (first, mut second) = (vec![b'a'; 1000], vec![b'b'; len]);
        second[..1000].copy_from_slice(&first);
        let mut cursor =
            BlockCursor::new(Arc::new(block(&[put(first, vec![]), put(second, vec![])], 16)));
        cursor.seek_first().unwrap();
        assert_eq!(cursor.advance().is_err(), refused);
        assert_eq!(cursor.key().len(), if refused { 0 } else { len });
    }
}

#[test]
fn a_cursor_over_no_entries_is_on_none() {
    let mut cursor = BlockCursor::new(Arc::default());
    cursor.seek_first().unwrap();
    assert!(!cursor.valid());
    cursor.seek_last().unwrap();
    assert!(!cursor.valid());
}

#[test]
fn the_length_of_a_block_is_known_before_it_is_finished() {
    for interval in [1, 2, 16] {
        for count in 1..40u8 {
            let mut writer = BlockWriter::new(interval);
            (0..count).for_each(|n| writer.add(0, &[n], Tag(0), b"value"));
            let len = writer.len();
            assert_eq!(writer.finish().len(), len, "{count} entries");
        }
    }
}
