//! Reading a region, whole or in part.

use super::*;
use crate::error::ErrorKind;
use crate::storage::salvage::tests::bad_sectors::BadSectors;

const HALF: u64 = MIN_CAPACITY / 2;
const WITNESS: u64 = MIN_CAPACITY - FRAME_ALIGN;

#[test]
fn a_region_is_found_by_its_first_record_alone() {
    let file = MemoryVfs::new().create("volume").unwrap();
    let base = 4 * FRAME_ALIGN;
    file.set_len(base).unwrap();
    Manifest::create(file.clone(), (base, MIN_CAPACITY), ID, FIFTH, &record(&edit(1))).unwrap();
    assert_eq!(region_at(&*file, base).unwrap(), Some((GENERATION, MIN_CAPACITY)));
    for elsewhere in [0, FRAME_ALIGN, base + FRAME_ALIGN, base + MIN_CAPACITY] {
        assert_eq!(region_at(&*file, elsewhere).unwrap(), None, "{elsewhere}");
    }
    let mut byte = [0];
    file.read_at(&mut byte, base + 200).unwrap();
    file.write_at(&[byte[0] ^ 1], base + 200).unwrap();
    assert_eq!(region_at(&*file, base).unwrap(), None, "its checksum fails");
    file.set_len(base + FRAME_HEADER_BYTES as u64 - 1).unwrap();
    assert_eq!(region_at(&*file, base).unwrap(), None);
}

#[test]
fn a_missing_witness_is_reported_once_it_should_be_durable() {
    for (edits, witnessed) in [(2, true), (3, false), (9, false)] {
        let vfs = MemoryVfs::new();
        manifest(&vfs, edits);
        let file = vfs.open("manifest").unwrap();
        let opened = || Manifest::open(file.clone(), 0, MIN_CAPACITY, ID).unwrap();
        let salvaged = || salvage(&*file, 0, MIN_CAPACITY, GENERATION).unwrap();
        assert!(opened().witnessed && salvaged().whole);
        file.write_at(&[0; 16], WITNESS).unwrap();
        assert_eq!((opened().witnessed, salvaged().whole), (witnessed, witnessed), "{edits}");
    }
}

#[test]
fn a_salvage_reads_all_records_of_either_mirror() {
    let vfs = MemoryVfs::new();
    manifest(&vfs, 2);
    let expected: Vec<_> = (0..=2).map(|n| record(&edit(n)).encode().to_vec()).collect();
    let sound = region(&vfs);
    let salvaged = |bytes: &[u8]| {
        let file = MemoryVfs::new().create("manifest").unwrap();
        file.write_at(bytes, 0).unwrap();
        salvage(&*file, 0, MIN_CAPACITY, GENERATION).map(|found| (found.payloads, found.whole))
    };
    assert_eq!(salvaged(&sound).unwrap(), (expected.clone(), true));
    let mut first_lost = sound.clone();
    first_lost[100] ^= 1;
    assert_eq!(salvaged(&first_lost).unwrap(), (expected.clone(), true));
    for len in [HALF, HALF + 5, MIN_CAPACITY - 1] {
        let found = salvaged(&sound[..len as usize]).unwrap();
        assert_eq!(found, (expected.clone(), false), "{len} bytes");
    }
    assert!(salvaged(&sound[..HALF as usize - 1]).is_err());
}

#[test]
fn a_stray_byte_in_unused_space_is_reported_where_it_is() {
    let vfs = MemoryVfs::new();
    manifest(&vfs, 2);
    let sound = region(&vfs);
    for at in [4 * FRAME_ALIGN, 5 * FRAME_ALIGN + 3001, HALF + 4 * FRAME_ALIGN + 255] {
        let mut bytes = sound.clone();
        bytes[at as usize] = 1;
        let found = scan(&bytes, ID, "manifest", 0).unwrap();
        let offsets: Vec<_> = found.repaired.iter().map(|damage| damage.offset).collect();
        assert_eq!(offsets, [at]);
    }
}

#[test]
fn a_region_of_no_length_or_an_odd_one_is_damage() {
    for capacity in [0, 1, FRAME_ALIGN, 2 * FRAME_ALIGN - 1, 3 * FRAME_ALIGN] {
        let mut payload = Vec::new();
        FIFTH.format.encode(&mut payload);
        payload.extend_from_slice(&STORE.bytes());
        payload.extend_from_slice(&FIFTH.commits.to_le_bytes());
        payload.extend_from_slice(&capacity.to_le_bytes());
        payload.extend_from_slice(&record(&edit(0)).encode());
        let mut bytes = encode_frame(&payload, ID, 0).unwrap();
        bytes.resize(8 * FRAME_ALIGN as usize, 0);
        let Err(ErrorKind::Corrupt(damage)) =
            scan(&bytes, ID, "manifest", 0).map_err(Error::into_kind)
        else {
            panic!("{capacity}")
        };
        assert_eq!(damage.expected, format!("a manifest of {capacity} bytes, in two halves"));
    }
}

/// The start of a record of 10 bytes.
fn header(reserved: u32, generation: u64, index: u64) -> Vec<u8> {
    let mut header = vec![0xee; 8];
    header.extend_from_slice(&10u32.to_le_bytes());
    header.extend_from_slice(&reserved.to_le_bytes());
    header.extend_from_slice(&generation.to_le_bytes());
    header.extend_from_slice(&index.to_le_bytes());
    header
}

#[test]
fn bytes_behind_a_torn_record_are_stray_if_its_length_is_known() {
    let vfs = MemoryVfs::new();
    manifest(&vfs, 2);
    let sound = region(&vfs);
    let end = 3 * FRAME_ALIGN as usize;
    for (header, known) in [
        (header(0, GENERATION, 3), true),
        (header(1, GENERATION, 3), false),
        (header(0, GENERATION + 1, 3), false),
        (header(0, GENERATION, 4), false),
    ] {
        for torn in [end, end + HALF as usize] {
            let mut bytes = sound.clone();
            bytes[torn..torn + header.len()].copy_from_slice(&header);
            // Right behind its 4 KiB, which hold no valid record.
            let stray = torn + 4096 + 10;
            bytes[stray] = 1;
            let found = scan(&bytes, ID, "manifest", 0).unwrap();
            let offsets: Vec<_> = found.repaired.iter().map(|damage| damage.offset).collect();
            let (expected, discarded) =
                if known { (vec![stray as u64], header.len() as u64) } else { (vec![], 4096 + 11) };
            assert_eq!((offsets, found.records.len()), (expected, 3));
            let trailing = header.iter().rev().take_while(|b| **b == 0).count() as u64;
            assert_eq!(found.discarded_bytes, discarded - if known { trailing } else { 0 });
        }
    }
}

#[test]
fn an_unreadable_sector_is_read_from_the_mirror_and_reported() {
    let vfs = MemoryVfs::new();
    manifest(&vfs, 4);
    let opened = |bad: std::ops::Range<u64>| {
        let vfs = BadSectors { vfs: vfs.clone(), name: "manifest".to_owned(), bad };
        Manifest::open(vfs.open("manifest").unwrap(), 0, MIN_CAPACITY, ID)
    };
    let expected: Vec<_> = (0..=4).map(edit).collect();
    for at in (0..MIN_CAPACITY).step_by(4096) {
        let found = opened(at..at + 4096).unwrap();
        assert_eq!(found.replayed.edits, expected, "{at}");
        assert_eq!(found.repaired[0].offset, at - at % FRAME_ALIGN);
        assert_eq!(found.repaired[0].expected, "bytes that can be read");
        let checked = found.manifest.check().unwrap();
        assert!(checked.iter().any(|damage| damage == &found.repaired[0]), "{checked:?}");
    }
    for at in [0, FRAME_ALIGN, 10 * FRAME_ALIGN] {
        let neither = opened(at..at + HALF + 1).map(|_| ()).unwrap_err();
        assert!(matches!(neither.kind(), ErrorKind::Io(_)), "{neither}");
    }
}

#[test]
fn several_unreadable_sectors_are_read_from_the_other_mirror() {
    let vfs = MemoryVfs::new();
    manifest(&vfs, 4);
    for from in [0, HALF] {
        let bad = from + 1..from + 3 * FRAME_ALIGN;
        let vfs = BadSectors { vfs: vfs.clone(), name: "manifest".to_owned(), bad };
        let found = Manifest::open(vfs.open("manifest").unwrap(), 0, MIN_CAPACITY, ID).unwrap();
        assert_eq!(found.replayed.edits, (0..=4).map(edit).collect::<Vec<_>>());
        let unreadable = (0..3).map(|n| from + n * FRAME_ALIGN);
        let told = found.repaired.iter().filter(|d| d.expected == "bytes that can be read");
        let told = told.map(|damage| damage.offset);
        assert_eq!(told.collect::<Vec<_>>(), unreadable.collect::<Vec<_>>());
    }
}
