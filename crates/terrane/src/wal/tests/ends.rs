//! Ends of logs that a replay reports, and losses there.

use super::*;
use crate::entry::MAX_SEQ;
use crate::error::ErrorKind;

/// Returns the place of the damage that a replay of these images reports.
fn damage(world: &World, images: &[Vec<u8>]) -> (String, u64) {
    match world.check(images, 0).map_err(Error::into_kind) {
        Err(ErrorKind::Corrupt(damage)) => (damage.file, damage.offset),
        other => panic!("{other:?}"),
    }
}

/// Damages the header, or else the payload, of record `n`.
fn damaged(world: &World, images: &mut [Vec<u8>], n: usize, header: bool) {
    let record = &world.records[n];
    images[record.log][record.offset + if header { 0 } else { HEADER_BYTES }] ^= 1;
}

#[test]
fn a_record_lost_at_the_start_of_the_next_log_is_missing_there() {
    let mut world = World::new(1);
    world.append(&[1], 9);
    world.roll(false);
    world.append(&[1], 9);
    world.sync();
    world.append(&[1], 9);
    let mut images = world.images();
    damaged(&world, &mut images, 1, true);
    assert_eq!(damage(&world, &images), ("1.log".to_owned(), 0));
}

#[test]
fn a_lost_last_record_is_missing_if_anything_of_it_is_left() {
    // Torn in its log, or damaged before a record that follows it there.
    for (header, more) in [(false, false), (true, true), (false, true)] {
        let mut world = World::new(1);
        world.append(&[1], 9);
        world.append(&[1], 9);
        if more {
            world.append(&[1], 9);
        }
        world.roll(false);
        world.append(&[1], 9);
        world.sync();
        world.append(&[1], 9);
        let mut images = world.images();
        let at = world.records[1].offset as u64;
        damaged(&world, &mut images, 1, header);
        damaged(&world, &mut images, world.records.len() - 2, true);
        assert_eq!(damage(&world, &images), ("0.log".to_owned(), at), "{header} {more}");
    }
}

#[test]
fn the_rest_of_a_record_cut_by_its_file_counts_as_lost() {
    let mut world = World::new(1);
    world.append(&[1], 9);
    world.append(&[1], 90);
    let last = world.records[1].offset;
    for left in [HEADER_BYTES, HEADER_BYTES + 3, HEADER_BYTES + 50] {
        let image = world.images()[0][..last + left].to_vec();
        assert_eq!(world.check(&[image], 0).unwrap().discarded_bytes, left as u64);
    }
}

#[test]
fn sequence_numbers_end_before_the_greatest() {
    for (first, is_sound) in [(MAX_SEQ - 1, true), (MAX_SEQ, false)] {
        let mut world = World::new(first);
        world.append(&[1], 9);
        let log = (id(FIRST_LOG), Disk::holding("log", world.images().remove(0)) as Arc<dyn File>);
        let replayed = replay(&[log], first, 0, &mut |_, _| Ok(()));
        assert_eq!(replayed.is_ok(), is_sound, "{first}");
    }
}

#[test]
fn a_log_uses_its_capacity_and_no_byte_more() {
    let one = batch(1, 1, 10);
    let size = record_bytes(payload(&[one.bytes()]));
    // Room for one claim, and for one and a half.
    for spare in [HEADER_BYTES as u64, 48] {
        let disk = Disk::holding("log", Vec::new());
        let capacity = 2 * size + spare;
        let mut log = LogWriter::begin(disk.clone(), id(1), capacity).unwrap();
        log.append(1, 0, &[one.bytes()]).unwrap();
        log.append(2, 0, &[one.bytes()]).unwrap();
        log.claim(3, 1).unwrap();
        assert_eq!(log.bytes(), 2 * size, "the last room is for the claim of all");
        log.claim(3, 2).unwrap();
        assert_eq!(log.bytes(), 2 * size + HEADER_BYTES as u64);
        let written = (log.bytes() + 8).min(capacity);
        assert_eq!(disk.len().unwrap(), written);
    }
}
