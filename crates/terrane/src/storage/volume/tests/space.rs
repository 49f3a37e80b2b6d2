//! Places of files and manifest in their backings, and returned space.

use super::*;
use crate::error::ErrorKind;

/// Writes `tables` tables of 64 KiB, and drops each second one.
fn with_holes(volume: &Volume, tables: u64) {
    let ids: Vec<_> = (0..tables).map(|n| table(volume, n, 64 << 10, 1)).collect();
    let dropped: Vec<_> = ids.into_iter().step_by(2).collect();
    commit(volume, b"drop", &[], &dropped).unwrap();
    dropped.iter().for_each(|id| volume.remove(*id).unwrap());
}

/// Free bytes in backing 0, and where it ends.
fn free_and_end(volume: &Volume) -> (u64, u64) {
    let free = lock(&volume.space.backings()[0].free);
    (free.total(), free.end())
}

#[test]
fn unwritten_extents_are_freed_when_the_file_is_synced() {
    let volume = new(&MemoryVfs::new(), 1);
    with_holes(&volume, 8);
    let in_use = || {
        let (free, end) = free_and_end(&volume);
        end - free
    };
    let (before, id) = (in_use(), FileId::table(50));
    // In more than one hole.
    let file = volume.create(id, 300_000).unwrap();
    assert_eq!(in_use(), before + 303_104);
    write_all_at(&*file, &[1; 5000], 0).unwrap();
    file.sync().unwrap();
    assert_eq!(in_use(), before + 8192);
    commit(&volume, b"one", &[id], &[]).unwrap();
    assert_eq!(extents(&volume, id).extents.iter().map(|e| e.len).sum::<u64>(), 8192);
    commit(&volume, b"two", &[], &[id]).unwrap();
    volume.remove(id).unwrap();
    drop(file);
    assert_eq!(in_use(), before);
}

#[test]
fn a_short_write_within_an_extent_does_not_go_on_in_the_next() {
    let vfs = FaultVfs::new(Arc::new(MemoryVfs::new())).unwrap();
    let volume = new(&vfs, 1);
    with_holes(&volume, 8);
    let file = volume.create(FileId::table(50), 200_000).unwrap();
    write_all_at(&*file, &[1; 200_000], 0).unwrap();
    vfs.fail_at(vfs.operations(), Fault::Short);
    let written = file.write_at(&[2; 200_000], 0).unwrap();
    assert!(written > 0 && written < 150_000, "{written}");
    let mut found = vec![0; 200_000];
    read_exact_at(&*file, &mut found, 0).unwrap();
    assert!(found[..written].iter().all(|b| *b == 2) && found[written..].iter().all(|b| *b == 1));
}

#[test]
fn a_small_table_finds_room_in_the_holes_of_a_full_disk() {
    let vfs = FaultVfs::new(Arc::new(MemoryVfs::new())).unwrap();
    let volume = new(&vfs, 1);
    let ids: Vec<_> = (0..8).map(|n| table(&volume, n, 4096, 1)).collect();
    // All the rest is in use.
    while free_and_end(&volume).0 > 0 {
        volume.space.allocate(0, 4096, 4096).unwrap();
    }
    vfs.set_capacity(volume.space().unwrap().taken, Fault::NoSpace);
    let dropped: Vec<_> = ids.into_iter().step_by(2).collect();
    commit(&volume, b"drop", &[], &dropped).unwrap();
    dropped.iter().for_each(|id| volume.remove(*id).unwrap());
    let file = volume.create(FileId::table(50), 4 * 4096).unwrap();
    write_all_at(&*file, &[3; 4 * 4096], 0).unwrap();
    assert!(holds(&*file, 4 * 4096, 3));
    assert!(matches!(
        file.write_at(&[3], 4 * 4096).map_err(Error::into_kind),
        Err(ErrorKind::NoSpace(_))
    ));
}

#[test]
fn a_commit_makes_an_unsynced_logs_length_durable() {
    let memory = MemoryVfs::new();
    drop(backings(&memory, 2));
    let vfs = FaultVfs::new(Arc::new(memory.clone())).unwrap();
    let volume = new(&vfs, 2);
    table(&volume, 1, 10, 1);
    let log = FileId::log(2);
    volume.create(log, 1 << 20).unwrap();
    commit(&volume, b"log", &[log], &[]).unwrap();
    vfs.crash(Survivors::Synced).unwrap();
    let again = open(&memory, 2);
    again.recover().unwrap().unwrap();
    assert_eq!(again.open(log).unwrap().len().unwrap(), 1 << 20);
    assert_eq!(again.check().unwrap(), []);
}

#[test]
fn a_region_that_is_no_extent_or_not_aligned_is_damage() {
    let vfs = MemoryVfs::new();
    let volume = new(&vfs, 1);
    table(&volume, 1, 100, 1);
    let (offset, len) = region(&volume);
    for (offset, len) in
        [(offset, len + 512), (offset + 4096, len), (offset + 512, len), (offset, 0)]
    {
        let superblock = volume.superblock(Format::CURRENT, 1, Extent { offset, len });
        (0..2).for_each(|slot| volume.write_slot(slot, &superblock).unwrap());
        let Err(ErrorKind::Corrupt(damage)) = open(&vfs, 1).recover().map_err(Error::into_kind)
        else {
            panic!("{offset} {len}")
        };
        assert!(damage.expected.starts_with("a manifest region"), "{damage}");
    }
}

#[test]
fn a_small_volume_is_not_vacuumed_though_most_of_it_is_free() {
    let volume = new(&MemoryVfs::new(), 1);
    let [dropped, kept] = [(1, 100_000), (2, 40_000)].map(|(n, len)| table(&volume, n, len, 1));
    commit(&volume, b"drop", &[], &[dropped]).unwrap();
    volume.remove(dropped).unwrap();
    let place = extents(&volume, kept);
    let (free, end) = free_and_end(&volume);
    assert!(free > (end - region(&volume).1) / 2, "most of it is free");
    assert!(free > STEP + 4 && free <= 4 * STEP, "not more than four steps");
    while volume.vacuum().unwrap() {}
    assert_eq!(extents(&volume, kept), place);
}

#[test]
fn the_manifest_stays_where_no_second_one_would_fit_below_it() {
    let vfs = MemoryVfs::new();
    let volume = new(&vfs, 1);
    let id = FileId::table(1);
    write_all_at(&*volume.create(id, 0).unwrap(), &vec![1; 3 << 18], 0).unwrap();
    commit(&volume, b"one", &[id], &[]).unwrap();
    commit(&volume, b"two", &[], &[id]).unwrap();
    volume.remove(id).unwrap();
    let (base, len) = region(&volume);
    let (free, end) = free_and_end(&volume);
    assert!(base > len && free > (end - len) / 2, "it is after the free space");
    assert!(len + 2 < free && free <= 2 * len, "{free} bytes are free");
    while volume.vacuum().unwrap() {}
    assert_eq!(region(&volume).0, base);
}
