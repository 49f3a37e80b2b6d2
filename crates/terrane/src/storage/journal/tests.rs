use super::*;
use crate::storage::medium::fault::Survivors;
use crate::storage::medium::{FaultMedium, Medium, MemoryMedium};

const GENERATION: u64 = 7;

fn edit(n: u64) -> Vec<u8> {
    // Of one sector, and of several.
    vec![n as u8 + 1; if n.is_multiple_of(2) { 40 } else { 1300 }]
}

fn record(bytes: &[u8]) -> Record<'_> {
    Record { edit: Some(bytes), ..Record::default() }
}

/// A journal of a snapshot and `n` edits on `medium`.
fn journal(medium: &dyn Medium, n: u64) -> Journal {
    let file = medium.create("journal").unwrap();
    medium.sync_names().unwrap();
    let first = edit(0);
    let mut journal = Journal::begin(file, 0, LEAST_CAPACITY, GENERATION, &record(&first)).unwrap();
    for i in 1..=n {
        assert!(journal.append(&record(&edit(i))).unwrap());
    }
    journal
}

fn region(medium: &MemoryMedium) -> Vec<u8> {
    read_region(&*medium.open("journal").unwrap(), 0, u64::MAX).unwrap()
}

fn edits<'a>(scan: &Scan<'a>) -> Vec<Vec<u8>> {
    replay("journal", &scan.records).unwrap().edits
}

#[test]
fn every_flipped_byte_and_every_lost_sector_is_made_good_and_reported() {
    let medium = MemoryMedium::new();
    let end = journal(&medium, 4).end as usize;
    let sound = region(&medium);
    let expected: Vec<_> = (0..=4).map(edit).collect();
    let clean = scan(&sound, GENERATION, "journal", 0).unwrap();
    assert_eq!((edits(&clean), clean.repaired.len()), (expected.clone(), 0));
    let mut bytes = sound.clone();
    for at in 0..end {
        bytes[at] ^= 0x10;
        let found = scan(&bytes, GENERATION, "journal", 0).unwrap();
        assert_eq!(edits(&found), expected, "byte {at}");
        assert!(found.repaired.len() == 1 || sound[at] == 0, "byte {at} was not reported");
        bytes[at] ^= 0x10;
    }
    for sector in (0..end).step_by(SECTOR) {
        let mut bytes = sound.clone();
        bytes[sector..sector + SECTOR].fill(0xee);
        let found = scan(&bytes, GENERATION, "journal", 0).unwrap();
        assert_eq!((edits(&found), found.repaired.len()), (expected.clone(), 1));
        assert_eq!(found.end as usize, end);
    }
}

#[test]
fn a_commit_torn_at_any_sector_is_whole_or_absent_and_its_bytes_are_counted() {
    for sectors in 0..=6 {
        let memory = MemoryMedium::new();
        let medium = FaultMedium::new(Arc::new(memory.clone())).unwrap();
        let mut journal = journal(&medium, 2);
        medium.cut_at(medium.operations());
        assert!(journal.append(&record(&edit(3))).is_err());
        let operation = medium.operations() - 1;
        medium.crash(Survivors::Prefix { operation, sectors }).unwrap();
        let bytes = region(&memory);
        let found = scan(&bytes, GENERATION, "journal", 0).unwrap();
        // A frame of 1300 bytes is three sectors.
        assert_eq!(found.records.len(), if sectors >= 3 { 4 } else { 3 }, "{sectors} sectors");
        assert_eq!(found.discarded_bytes > 0, sectors == 1 || sectors == 2);
        assert_eq!(!found.repaired.is_empty(), (3..6).contains(&sectors));
    }
}

#[test]
fn a_record_lost_before_a_later_one_is_damage() {
    let medium = MemoryMedium::new();
    journal(&medium, 3);
    let mut bytes = region(&medium);
    let second = 2 * frame_size(edit(0).len() + REGION_HEADER);
    bytes[second] ^= 1;
    bytes[second + frame_size(edit(1).len())] ^= 1;
    match scan(&bytes, GENERATION, "journal", 4096) {
        Err(Error::Corrupt(c)) => assert_eq!(c.offset, 4096 + second as u64),
        other => panic!("{other:?}"),
    }
}

#[test]
fn frames_of_another_generation_and_a_region_cut_short_are_refused() {
    let medium = MemoryMedium::new();
    let journal = journal(&medium, 3);
    let bytes = region(&medium);
    assert!(matches!(scan(&bytes, GENERATION - 1, "journal", 0), Err(Error::Corrupt(_))));
    // Stale frames behind a sound end do not parse as its continuation.
    let mut mixed = bytes.clone();
    let first = encode(&bytes[FRAME_HEADER..][..60], 8, 0).unwrap();
    mixed[..first.len()].copy_from_slice(&first);
    let stale = scan(&mixed, 8, "journal", 0).unwrap();
    assert_eq!(stale.records.len(), 1);
    assert!(stale.discarded_bytes > 0);
    let cut = &bytes[..journal.end as usize];
    assert!(matches!(scan(cut, GENERATION, "journal", 0), Err(Error::Corrupt(_))));
}

#[test]
fn a_later_format_is_refused_by_name() {
    for (version, required, fine) in [(1, 0, true), (2, 0, false), (1, 1, false)] {
        let mut payload = Vec::new();
        Format { version, required, optional: 5 }.encode(&mut payload);
        payload.extend_from_slice(&0u64.to_le_bytes());
        let bytes = encode(&payload, 1, 0).unwrap();
        match scan(&bytes, 1, "journal", 0) {
            Ok(_) => assert!(fine),
            Err(e) => assert!(!fine && matches!(e, Error::NewerFormat(_)), "{e}"),
        }
    }
}

#[test]
fn a_full_region_refuses_the_record_and_check_finds_a_lost_last_one() {
    let medium = MemoryMedium::new();
    let mut journal = journal(&medium, 1);
    while journal.append(&record(&edit(1))).unwrap() {}
    assert!(journal.check().unwrap().is_empty());
    let last = journal.end - 1;
    let file = medium.open("journal").unwrap();
    for back in [2 * frame_size(1301) as u64, frame_size(1301) as u64] {
        file.write_at(&[0xff], last + 1 - back).unwrap();
    }
    assert_eq!(journal.check().unwrap().len(), 1);
}

#[test]
fn scanning_noise_never_panics() {
    use proptest::prelude::*;
    proptest!(|(noise in prop::collection::vec(any::<u8>(), 0..3000), flips in prop::collection::vec((0usize..4096, any::<u8>()), 0..9))| {
        let mut bytes = encode(&[0; 60], 3, 0).unwrap();
        bytes.extend(&noise);
        for (at, to) in flips {
            if let Some(b) = bytes.get_mut(at) { *b = to; }
        }
        let _ = scan(&bytes, 3, "noise", 0);
    });
}
