use super::*;
use crate::error::ErrorKind;
use crate::storage::vfs::MemoryVfs;
use std::collections::BTreeSet;

fn wrapped() -> (MemoryVfs, FaultVfs) {
    let memory = MemoryVfs::new();
    let file = memory.create("f").unwrap();
    file.write_at(&[1; 2048], 0).unwrap();
    let vfs = FaultVfs::new(Arc::new(memory.clone())).unwrap();
    (memory, vfs)
}

fn bytes(vfs: &dyn Vfs, name: &str) -> Option<Vec<u8>> {
    let file = vfs.open(name).ok()?;
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    Some(bytes)
}

#[test]
fn reads_see_writes_and_a_crash_leaves_what_was_synced() {
    for (survivors, kept) in [(Survivors::Synced, 2), (Survivors::All, 3)] {
        let (memory, vfs) = wrapped();
        let file = vfs.open("f").unwrap();
        file.write_at(&[2; 100], 0).unwrap();
        file.sync().unwrap();
        file.write_at(&[3; 100], 0).unwrap();
        assert_eq!(bytes(&vfs, "f").unwrap()[0], 3);
        assert_eq!(bytes(&memory, "f").unwrap()[0], 1, "the file system is written by the crash");
        vfs.crash(survivors).unwrap();
        assert_eq!(bytes(&memory, "f").unwrap()[0], kept);
        assert!(file.len().is_err() && vfs.list().is_err(), "there is no power");
    }
}

#[test]
fn each_sector_may_keep_any_content_and_all_outcomes_occur() {
    let mut outcomes = BTreeSet::new();
    for seed in 0..4000 {
        let (memory, vfs) = wrapped();
        let file = vfs.open("f").unwrap();
        file.write_at(&[2; 1024], 0).unwrap();
        file.write_at(&[3; 1024], 512).unwrap();
        file.set_len(4096).unwrap();
        vfs.crash(Survivors::Random(seed)).unwrap();
        let found = bytes(&memory, "f").unwrap();
        let sectors: Vec<u8> = found
            .chunks(512)
            .map(|sector| {
                assert!(sector.iter().all(|b| *b == sector[0]), "a sector is whole");
                sector[0]
            })
            .collect();
        assert!([1, 2].contains(&sectors[0]) && [1, 3].contains(&sectors[2]));
        assert!([4, 8].contains(&sectors.len()) && sectors[4..].iter().all(|b| *b == 0));
        outcomes.insert(sectors);
    }
    // Two contents, three, two, and two lengths.
    assert_eq!(outcomes.len(), 2 * 3 * 2 * 2);
    assert!(outcomes.contains(&vec![1, 3, 3, 1]), "a later write without the earlier one");
}

#[test]
fn unsynced_names_may_be_lost_and_a_rename_is_old_or_new() {
    let (memory, vfs) = wrapped();
    let file = vfs.create("g").unwrap();
    file.write_at(&[7], 0).unwrap();
    file.sync().unwrap();
    vfs.crash(Survivors::Synced).unwrap();
    assert_eq!(memory.list().unwrap(), ["f"], "synced bytes do not make a name");

    let mut seen = BTreeSet::new();
    for seed in 0..60 {
        let (memory, vfs) = wrapped();
        let file = vfs.create("t").unwrap();
        file.write_at(&[7], 0).unwrap();
        file.sync().unwrap();
        vfs.rename("t", "f").unwrap();
        vfs.crash(Survivors::Random(seed)).unwrap();
        let content = |name| bytes(&memory, name).map(|b| b[0]);
        seen.insert((content("f"), content("t")));
    }
    let expected = [(Some(1), None), (Some(1), Some(7)), (Some(7), None)];
    assert_eq!(seen, BTreeSet::from(expected));
}

#[test]
fn power_is_cut_during_the_given_operation() {
    let (memory, vfs) = wrapped();
    let file = vfs.open("f").unwrap();
    file.write_at(&[2; 512], 0).unwrap();
    vfs.cut_at(1);
    assert!(file.write_at(&[3; 1024], 1024).is_err());
    assert!(file.sync().is_err() && vfs.open("f").is_err());
    assert_eq!(vfs.operations(), 2);
    vfs.crash(Survivors::Prefix { operation: 1, sectors: 1 }).unwrap();
    let found: Vec<u8> = bytes(&memory, "f").unwrap().chunks(512).map(|s| s[0]).collect();
    assert_eq!(found, [2, 1, 3, 1]);
}

#[test]
fn faults_last_as_planned_and_failed_syncs_stay_failed() {
    let (memory, vfs) = wrapped();
    let file = vfs.open("f").unwrap();
    vfs.fail_at(0, Fault::Short);
    assert_eq!(file.write_at(&[2; 10], 0).unwrap(), 5);
    vfs.fail_from(1, Fault::NoSpace);
    for _ in 0..2 {
        assert!(matches!(
            file.write_at(&[2; 10], 0).map_err(Error::into_kind),
            Err(ErrorKind::NoSpace(_))
        ));
    }
    vfs.heal();
    vfs.fail_at(3, Fault::Io);
    assert!(file.sync().is_err());
    file.write_at(&[4; 512], 512).unwrap();
    file.sync().unwrap();
    vfs.crash(Survivors::Synced).unwrap();
    let found = bytes(&memory, "f").unwrap();
    assert_eq!((found[0], found[512]), (1, 4));
}

#[test]
fn capacity_is_limited_and_a_flipped_bit_is_read() {
    let (memory, vfs) = wrapped();
    let file = vfs.open("f").unwrap();
    vfs.set_capacity(2100, Fault::Short);
    assert_eq!(file.write_at(&[2; 100], 2048).unwrap(), 52);
    vfs.set_capacity(2100, Fault::NoSpace);
    assert!(matches!(
        file.write_at(&[2; 100], 2048).map_err(Error::into_kind),
        Err(ErrorKind::NoSpace(_))
    ));
    assert!(matches!(file.set_len(3000).map_err(Error::into_kind), Err(ErrorKind::NoSpace(_))));
    assert_eq!(file.write_at(&[2; 100], 0).unwrap(), 100, "what is there can be written again");
    vfs.flip("f", 8 * 1000 + 3).unwrap();
    assert_eq!(bytes(&vfs, "f").unwrap()[1000], 1 ^ 8);
    vfs.crash(Survivors::Synced).unwrap();
    assert_eq!(bytes(&memory, "f").unwrap()[1000], 1 ^ 8);
}

#[test]
fn sectors_have_the_size_that_was_set() {
    for size in SECTORS {
        let mut outcomes = BTreeSet::new();
        for seed in 0..60 {
            let (memory, vfs) = wrapped();
            vfs.set_sector(size);
            let file = vfs.open("f").unwrap();
            file.set_len(32 << 10).unwrap();
            file.sync().unwrap();
            file.write_at(&[2; 32 << 10], 0).unwrap();
            vfs.crash(Survivors::Random(seed)).unwrap();
            let found = bytes(&memory, "f").unwrap();
            let whole =
                |sector: &[u8]| sector.iter().all(|b| *b == 2) || sector.iter().all(|b| *b != 2);
            assert!(found.chunks(size as usize).all(whole));
            outcomes.insert(found);
        }
        assert!(outcomes.len() >= 4, "sectors of {size} bytes fare independently");
    }
}

#[test]
fn lost_and_misdirected_writes_are_reported_as_done() {
    let (memory, vfs) = wrapped();
    let file = vfs.open("f").unwrap();
    vfs.fail_at(0, Fault::Lost);
    vfs.fail_at(1, Fault::Misdirected(512));
    vfs.fail_at(2, Fault::Lost);
    assert_eq!(file.write_at(&[2; 4096], 0).unwrap(), 4096);
    assert_eq!(file.write_at(&[3; 512], 512).unwrap(), 512);
    file.sync().unwrap();
    vfs.crash(Survivors::Synced).unwrap();
    let found = bytes(&memory, "f").unwrap();
    assert_eq!((found.len(), found[0], found[512], found[1024], found[3000]), (4096, 1, 1, 3, 0));
}

#[test]
fn one_read_fails_and_a_reverted_sync_shows_what_is_stored() {
    let mut outcomes = BTreeSet::new();
    for before in 0..60 {
        let (memory, vfs) = wrapped();
        let file = vfs.open("f").unwrap();
        vfs.fail_read_at(1);
        assert!(file.read_at(&mut [0], 0).is_ok() && file.read_at(&mut [0], 0).is_err());
        (0..before).for_each(|_| file.sync().unwrap());
        file.write_at(&[2; 1024], 0).unwrap();
        vfs.fail_at(vfs.operations(), Fault::Reverted);
        assert!(file.sync().is_err());
        let seen = bytes(&vfs, "f").unwrap();
        file.sync().unwrap();
        vfs.crash(Survivors::All).unwrap();
        assert_eq!(bytes(&memory, "f").unwrap(), seen);
        outcomes.insert((seen[0], seen[512]));
    }
    assert_eq!(outcomes, BTreeSet::from([(1, 1), (1, 2), (2, 1), (2, 2)]));
}

#[test]
fn writes_through_memory_are_read_and_survive_if_synced() {
    for (survivors, kept) in [(Survivors::Synced, [2, 1]), (Survivors::All, [2, 3])] {
        let (memory, vfs) = wrapped();
        let file = vfs.open("f").unwrap();
        assert!(file.map(0, 2048).is_none());
        vfs.allow_mmap_writes(true);
        assert!(file.map(0, 2049).is_none());
        let mut mapped = file.map(0, 2048).unwrap();
        assert!(mapped.append(&[2; 8], &[2; 504], 0));
        file.sync().unwrap();
        assert!(mapped.append(&[3; 8], &[3; 504], 512) && !mapped.append(&[3; 1], &[3; 1], 2047));
        assert_eq!(bytes(&vfs, "f").unwrap()[512], 3);
        vfs.fail_at(vfs.operations(), Fault::Io);
        assert!(!mapped.append(&[4; 8], &[4; 504], 512), "a page that cannot be populated");
        assert_eq!(vfs.operations(), 6, "each of two parts is an operation");
        vfs.crash(survivors).unwrap();
        assert!(!mapped.append(&[5; 8], &[5; 504], 512), "there is no power");
        let found = bytes(&memory, "f").unwrap();
        assert_eq!([found[0], found[512]], kept);
    }
}
