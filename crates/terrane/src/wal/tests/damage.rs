//! Damage to logs at every byte and bit: an end, or corruption, and never other records.

use super::*;

#[test]
fn a_log_cut_at_any_byte_replays_a_prefix() {
    let mut world = World::new(1);
    for size in [9, 30, 0, 70] {
        world.append(&[1], size);
    }
    let image = world.images().remove(0);
    for cut in 0..=image.len() {
        world.check(&[image[..cut].to_vec()], 0).unwrap();
    }
    let replayed = world.check(std::slice::from_ref(&image), 0).unwrap();
    assert_eq!((replayed.next, replayed.records, replayed.discarded_bytes), (5, 4, 0));
}

#[test]
fn any_flipped_bit_before_a_later_record_is_corruption() {
    let world = small();
    let sound = world.images();
    for (log, bytes) in sound.iter().enumerate() {
        for bit in 0..bytes.len() * 8 {
            let mut images = sound.clone();
            images[log][bit / 8] ^= 1 << (bit % 8);
            let in_a_record = |record: &Written| {
                record.log == log
                    && (record.offset..record.offset + record.bytes.len()).contains(&(bit / 8))
            };
            let synced = world.records[..2].iter().any(in_a_record);
            assert_eq!(world.check(&images, 0).is_err(), synced, "log {log} bit {bit}");
        }
    }
}

#[test]
fn a_damaged_last_record_ends_the_log_and_is_reported() {
    let world = small();
    let mut images = world.images();
    let last = &world.records[3];
    images[1][last.offset + HEADER_BYTES] ^= 1;
    let replayed = world.check(&images, 0).unwrap();
    assert_eq!(replayed.next, last.first);
    assert_eq!(replayed.discarded_bytes, last.bytes.len().next_multiple_of(8) as u64);

    // The log cannot end before what the floor says is synced.
    assert!(world.check(&images, last.first).is_err());
}

#[test]
fn any_flipped_bit_of_a_record_before_a_claim_is_corruption() {
    let mut world = World::new(1);
    world.append(&[1], 9);
    world.append(&[2, 1], 30);
    world.sync();
    world.writer.claim(world.next, world.synced).unwrap();
    let sound = world.images();
    let log = |image: &[u8]| (id(FIRST_LOG), Disk::holding("log", image.to_vec()) as Arc<dyn File>);
    let replayed = replay(&[log(&sound[0])], 1, 0, &mut |_, _| Ok(())).unwrap();
    assert_eq!((replayed.next, replayed.records, replayed.discarded_bytes), (4, 2, 0));
    for record in &world.records {
        for bit in 0..record.bytes.len() * 8 {
            let mut image = sound[0].clone();
            image[record.offset + bit / 8] ^= 1 << (bit % 8);
            let error = replay(&[log(&image)], 1, 0, &mut |_, _| Ok(())).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Corrupt(_)), "bit {bit}: {error}");
        }
    }

    // What is appended after the claim is replayed, and a crash may still lose it.
    world.append(&[1], 20);
    let image = &world.images()[0];
    let lost = world.records.last().unwrap();
    let replayed = replay(&[log(image)], 1, 0, &mut |_, _| Ok(())).unwrap();
    assert_eq!((replayed.next, replayed.records), (5, 3));
    let torn = &image[..lost.offset + lost.bytes.len() - 1];
    let replayed = replay(&[log(torn)], 1, 0, &mut |_, _| Ok(())).unwrap();
    assert_eq!((replayed.next, replayed.records), (4, 2));
}

#[test]
fn any_flipped_bit_of_the_last_record_is_reported() {
    // In a preallocated file, new or recycled; as the first record or a later one.
    let mut world = World::new(1);
    world.disks[0].set_len(2000).unwrap();
    world.append(&[2], 30);
    for first in [false, true] {
        if first {
            world.roll(true);
        }
        world.append(&[1], 9);
        let last = world.records.last().unwrap();
        for bit in 0..last.bytes.len() * 8 {
            let mut images = world.images();
            images[last.log][last.offset + bit / 8] ^= 1 << (bit % 8);
            let replayed = world.check(&images, 0).unwrap();
            assert_eq!(replayed.next, last.first);
            assert!(replayed.discarded_bytes > 0, "bit {bit}");
        }
        assert_eq!(world.check(&world.images(), 0).unwrap().discarded_bytes, 0);
    }
}

#[test]
fn damage_names_the_file_the_offset_and_the_lost_record() {
    let world = small();
    let mut images = world.images();
    let missing = &world.records[1];
    images[0][missing.offset] ^= 1;
    let Err(ErrorKind::Corrupt(damage)) = world.check(&images, 0).map_err(Error::into_kind) else {
        panic!("not seen")
    };
    assert_eq!((damage.file.as_str(), damage.offset), ("0.log", missing.offset as u64));
    assert!(damage.expected.contains("sequence 2"), "{damage}");
    assert!(damage.found.contains("no sound record header"), "{damage}");
}
