mod damage;
mod manifest;
mod slots;
mod space;

use super::superblock::{SLOTS, Slot, Superblock};
use super::*;
use crate::error::ErrorKind;
use crate::storage::format::Format;
use crate::storage::manifest::MIN_CAPACITY;
use crate::storage::record::Record;
use crate::storage::vfs::fault::{Fault, SECTORS, Survivors};
use crate::storage::vfs::{FaultVfs, MemoryVfs, Vfs};
use crate::storage::{read_exact_at, write_all_at};

const STEP: u64 = 64 << 10;

fn commit(volume: &Volume, edit: &[u8], added: &[FileId], dropped: &[FileId]) -> Result<()> {
    volume.commit(&Commit { edit, added, dropped, snapshot: &|| edit.to_vec() })
}

fn backings(vfs: &dyn Vfs, n: usize) -> Vec<Arc<dyn File>> {
    let name = |n| format!("backing.{n}");
    (0..n).map(|n| vfs.open(&name(n)).or_else(|_| vfs.create(&name(n))).unwrap()).collect()
}

fn open(vfs: &dyn Vfs, n: usize) -> Volume {
    let new_id = vfs.draw_id().unwrap();
    let options = VolumeOptions { new_id, min_growth: STEP, ..VolumeOptions::default() };
    Volume::open(backings(vfs, n), options).unwrap()
}

fn new(vfs: &dyn Vfs, n: usize) -> Volume {
    let volume = open(vfs, n);
    assert!(volume.recover().unwrap().is_none());
    volume
}

/// Creates, writes, syncs and names a table of `len` bytes `fill`.
fn table(volume: &Volume, number: u64, len: usize, fill: u8) -> FileId {
    let id = FileId::table(number);
    let file = volume.create(id, 0).unwrap();
    write_all_at(&*file, &vec![fill; len], 0).unwrap();
    file.sync().unwrap();
    commit(volume, &number.to_le_bytes(), &[id], &[]).unwrap();
    id
}

fn holds(file: &dyn File, len: usize, fill: u8) -> bool {
    let mut buf = vec![!fill; len + 1];
    file.read_at(&mut buf, 0).unwrap() == len && buf[..len].iter().all(|b| *b == fill)
}

fn extents(volume: &Volume, id: FileId) -> Placement {
    lock(&volume.files).live(id).unwrap().placement()
}

fn region(volume: &Volume) -> (u64, u64) {
    lock(&volume.commit_state).manifest.as_ref().unwrap().region()
}

#[test]
fn files_of_every_length_come_back() {
    let vfs = MemoryVfs::new();
    let volume = new(&vfs, 1);
    let lens = [0, 1, 4095, 4096, 4097, 300_000, 1_500_000];
    for (n, len) in lens.into_iter().enumerate() {
        table(&volume, n as u64, len, n as u8 + 1);
    }
    let gap = volume.create(FileId::table(50), 0).unwrap();
    let empty = volume.create(FileId::table(51), 0).unwrap();
    empty.write_at(&[3], 100).unwrap();
    assert_eq!(empty.len().unwrap(), 101);
    gap.write_at(&[1; 9000], 0).unwrap();
    gap.set_len(10).unwrap();
    gap.write_at(&[2], 5000).unwrap();
    gap.sync().unwrap();
    commit(&volume, b"gap", &[FileId::table(50)], &[]).unwrap();
    let again = open(&vfs, 1);
    assert_eq!(again.recover().unwrap().unwrap().edits.len(), lens.len() + 1);
    for (n, len) in lens.into_iter().enumerate() {
        let file = again.open(FileId::table(n as u64)).unwrap();
        assert!(holds(&*file, len, n as u8 + 1), "{len} bytes");
    }
    let mut found = [9; 6000];
    assert_eq!(again.open(FileId::table(50)).unwrap().read_at(&mut found, 0).unwrap(), 5001);
    assert!(found[..10].iter().all(|b| *b == 1) && found[10..5000].iter().all(|b| *b == 0));
    assert!(again.check().unwrap().is_empty());
}

#[test]
fn a_volume_is_in_memory_where_its_backings_are() {
    let id = FileId::table(1);
    let is_in_memory = |vfs: &dyn Vfs| new(vfs, 1).create(id, 0).unwrap().is_in_memory();
    assert!(is_in_memory(&MemoryVfs::new()));
    assert!(!is_in_memory(&FaultVfs::new(Arc::new(MemoryVfs::new())).unwrap()));
}

#[test]
fn logs_and_tables_are_in_separate_backings() {
    let volume = new(&MemoryVfs::new(), 5);
    let log = FileId::log(9);
    let file = volume.create(log, 10_000).unwrap();
    assert_eq!(file.len().unwrap(), 10_000);
    let beyond = file.write_at(&[0; 10], 9_995).map_err(Error::into_kind);
    assert!(matches!(beyond, Err(ErrorKind::Short(short)) if short.found == 5));
    assert!(matches!(
        file.set_len(1).map_err(Error::into_kind),
        Err(ErrorKind::InvalidArgument(_))
    ));
    file.set_len(10_000).expect("the length that it has");
    commit(&volume, b"log", &[log], &[]).unwrap();
    let places: Vec<_> =
        (0..4).map(|n| extents(&volume, table(&volume, n, 5000, 1)).backing).collect();
    assert_eq!((extents(&volume, log).backing, places), (1, vec![2, 3, 4, 2]));
}

#[test]
fn a_volume_has_one_to_eight_backings_and_its_given_name() {
    let vfs = MemoryVfs::new();
    for (n, opens) in [(0, false), (1, true), (MAX_BACKINGS, true), (MAX_BACKINGS + 1, false)] {
        let name = "a store".to_owned();
        let options = VolumeOptions { name, ..VolumeOptions::default() };
        let volume = Volume::open(backings(&vfs, n), options);
        assert_eq!(volume.as_ref().map(Storage::name).ok(), opens.then(|| "a store".to_owned()));
    }
    let volume = new(&vfs, 1);
    let id = FileId::table(4);
    assert_eq!(volume.create(id, 0).unwrap().name(), id.to_string());
}

#[test]
fn a_number_is_not_given_twice_while_its_file_exists() {
    let volume = new(&MemoryVfs::new(), 1);
    let id = table(&volume, 1, 10, 1);
    assert!(
        matches!(
            volume.create(id, 0).map_err(Error::into_kind),
            Err(ErrorKind::InvalidArgument(_))
        ),
        "it is live"
    );
    commit(&volume, b"drop", &[], &[id]).unwrap();
    assert!(
        matches!(
            volume.create(id, 0).map_err(Error::into_kind),
            Err(ErrorKind::InvalidArgument(_))
        ),
        "it is dropped"
    );
    volume.remove(id).unwrap();
    volume.create(id, 0).unwrap();
}

#[test]
fn space_in_use_is_live_tables_the_manifest_and_superblocks() {
    let volume = new(&MemoryVfs::new(), 4);
    commit(&volume, b"begin", &[], &[]).unwrap();
    let live = || volume.space().unwrap().live;
    let rest = RESERVED + region(&volume).1;
    assert_eq!(live(), rest);
    let one = table(&volume, 1, 100_000, 1);
    assert_eq!(live(), rest + 102_400);
    let two = table(&volume, 2, 4096, 1);
    assert_eq!(live(), rest + 102_400 + 4096);
    volume.create(FileId::log(3), 10_000).unwrap();
    commit(&volume, b"log", &[FileId::log(3)], &[]).unwrap();
    commit(&volume, b"drop", &[], &[one]).unwrap();
    assert_eq!(live(), rest + 4096);
    commit(&volume, b"drop", &[], &[two, FileId::log(3)]).unwrap();
    assert_eq!(live(), rest);
}

#[test]
fn a_creation_is_unfinished_until_its_first_commit() {
    let vfs = MemoryVfs::new();
    let volume = new(&vfs, 2);
    assert!(!open(&vfs, 2).is_unfinished().unwrap());
    volume.create(FileId::table(1), 0).unwrap();
    assert!(open(&vfs, 2).is_unfinished().unwrap());
    commit(&volume, b"one", &[FileId::table(1)], &[]).unwrap();
    assert!(!open(&vfs, 2).is_unfinished().unwrap());
}

#[test]
fn backings_with_room_for_superblocks_only_are_new_others_not() {
    for (lens, is_new) in
        [([RESERVED, 0], true), ([100, 0], true), ([RESERVED + 1, 0], false), ([0, 1], false)]
    {
        let vfs = MemoryVfs::new();
        for (file, len) in backings(&vfs, 2).into_iter().zip(lens) {
            file.set_len(len).unwrap();
        }
        let found = open(&vfs, 2).recover();
        assert_eq!(matches!(found, Ok(None)), is_new, "{lens:?}");
    }
}

#[test]
fn a_volume_without_superblocks_is_damaged_a_foreign_file_not() {
    let recovered = |vfs: &MemoryVfs| open(vfs, 1).recover().map_err(Error::into_kind);
    for lost in [0, 0xee] {
        let vfs = MemoryVfs::new();
        table(&new(&vfs, 1), 1, 300_000, 1);
        let backing = vfs.open("backing.0").unwrap();
        write_all_at(&*backing, &[lost; RESERVED as usize], 0).unwrap();
        assert!(matches!(recovered(&vfs), Err(ErrorKind::Corrupt(_))), "{lost}");
        // What is behind them is no store's.
        let rest = vec![7; (backing.len().unwrap() - RESERVED) as usize];
        write_all_at(&*backing, &rest, RESERVED).unwrap();
        assert!(matches!(recovered(&vfs), Err(ErrorKind::NoStore(_))), "{lost}");
    }
}

#[test]
fn a_volume_may_end_with_its_last_table_and_not_before() {
    let vfs = MemoryVfs::new();
    let volume = new(&vfs, 1);
    let id = table(&volume, 1, 300_000, 1);
    let end = extents(&volume, id).extents.iter().map(|e| e.end()).max().unwrap();
    let end = end.max(region(&volume).0 + region(&volume).1);
    let backing = vfs.open("backing.0").unwrap();
    backing.set_len(end).unwrap();
    assert_eq!(volume.check().unwrap(), []);
    open(&vfs, 1).recover().unwrap().unwrap();
    backing.set_len(end - 4096).unwrap();
    assert!(!volume.check().unwrap().is_empty());
    let Err(ErrorKind::Corrupt(damage)) = open(&vfs, 1).recover().map_err(Error::into_kind) else {
        panic!("it is short")
    };
    assert_eq!(damage.found, format!("a backing file of {} bytes", end - 4096));
}

#[test]
fn a_damaged_copy_of_the_manifest_is_repaired_by_a_commit() {
    let vfs = MemoryVfs::new();
    let volume = new(&vfs, 1);
    table(&volume, 1, 10, 1);
    let (base, _) = region(&volume);
    vfs.open("backing.0").unwrap().write_at(&[0xff], base + 40).unwrap();
    assert_eq!(volume.check().unwrap().len(), 1);
    let volume = open(&vfs, 1);
    assert_eq!(volume.recover().unwrap().unwrap().repaired.len(), 1);
    commit(&volume, b"two", &[], &[]).unwrap();
    assert_eq!(volume.check().unwrap(), []);
    assert_ne!(region(&volume).0, base);
}

#[test]
fn free_space_at_a_backings_end_counts_on_a_full_disk() {
    let vfs = FaultVfs::new(Arc::new(MemoryVfs::new())).unwrap();
    let volume = new(&vfs, 1);
    table(&volume, 1, 10, 1);
    let tail = lock(&volume.space.backings()[0].free).tail();
    assert!(tail > 0);
    let taken = volume.space().unwrap().taken;
    vfs.set_capacity(taken + 8192, Fault::NoSpace);
    let extents = volume.space.allocate(0, tail + 8192, tail + 8192).unwrap();
    assert_eq!(extents.iter().map(|extent| extent.len).sum::<u64>(), tail + 8192);
    assert!(volume.space.allocate(0, 1 << 20, 1 << 20).is_err());
}

#[test]
fn a_backing_grows_by_an_eighth_within_its_bounds() {
    let volume = new(&MemoryVfs::new(), 1);
    let steps = [0, 8 * STEP, 8 << 20, (8 << 20) + 8, 1 << 40].map(|len| volume.space.step(len));
    assert_eq!(steps, [STEP, STEP, 1 << 20, (1 << 20) + 4096, 64 << 20]);
}

#[test]
fn a_volume_that_is_less_than_half_free_is_left_as_it_is() {
    let vfs = MemoryVfs::new();
    let volume = new(&vfs, 1);
    let ids: Vec<_> = (0..10).map(|n| table(&volume, n, 500_000, 1)).collect();
    let (dropped, kept) = ids.split_at(3);
    commit(&volume, b"drop", &[], dropped).unwrap();
    dropped.iter().for_each(|id| volume.remove(*id).unwrap());
    let places: Vec<_> = kept.iter().map(|id| extents(&volume, *id)).collect();
    while volume.vacuum().unwrap() {}
    assert_eq!(kept.iter().map(|id| extents(&volume, *id)).collect::<Vec<_>>(), places);
}

#[test]
fn a_table_grows_into_the_last_bytes_of_a_full_disk() {
    let vfs = FaultVfs::new(Arc::new(MemoryVfs::new())).unwrap();
    let volume = new(&vfs, 1);
    table(&volume, 1, 100_000, 1);
    let file = volume.create(FileId::table(2), 0).unwrap();
    let left = lock(&volume.space.backings()[0].free).total();
    let taken = volume.space().unwrap().taken;
    vfs.set_capacity(taken + 20_480, Fault::NoSpace);
    let whole = (left + 20_480) as usize;
    for at in (0..whole).step_by(4096) {
        write_all_at(&*file, &[2; 4096], at as u64).unwrap();
    }
    assert!(matches!(
        file.write_at(&[2], whole as u64).map_err(Error::into_kind),
        Err(ErrorKind::NoSpace(_))
    ));
    assert!(holds(&*file, whole, 2));
}

#[test]
fn synced_tables_free_unused_space_and_may_still_grow() {
    let volume = new(&MemoryVfs::new(), 1);
    table(&volume, 0, 10, 1);
    let end = lock(&volume.space.backings()[0].free).end();
    let files: Vec<_> = (1..101).map(|n| volume.create(FileId::table(n), 0).unwrap()).collect();
    for file in &files {
        for at in [0, 5000, 10_000, 15_000] {
            write_all_at(&**file, &[2; 5000], at).unwrap();
            file.sync().unwrap();
        }
    }
    let grown = lock(&volume.space.backings()[0].free).end() - end;
    assert!(grown <= 100 * 20_480 + volume.space.step(end + grown), "{grown} bytes");
    let ids: Vec<_> = (1..101).map(FileId::table).collect();
    commit(&volume, b"all", &ids, &[]).unwrap();
    assert!(files.iter().all(|file| holds(&**file, 20_000, 2)));
    assert!(volume.check().unwrap().is_empty());
}

#[test]
fn a_large_table_written_in_small_pieces_has_few_extents() {
    let volume = new(&MemoryVfs::new(), 1);
    let (one, other) = (FileId::table(1), FileId::table(2));
    let files = [one, other].map(|id| volume.create(id, 0).unwrap());
    for at in (0..4 << 20).step_by(4096) {
        files.iter().for_each(|file| write_all_at(&**file, &[1; 4096], at).unwrap());
    }
    commit(&volume, b"both", &[one, other], &[]).unwrap();
    for id in [one, other] {
        let placed = extents(&volume, id);
        assert!(placed.extents.len() <= 12, "{placed:?}");
    }
}

#[test]
fn space_is_not_reused_while_a_handle_or_the_manifest_needs_it() {
    let volume = new(&MemoryVfs::new(), 1);
    let dropped = table(&volume, 1, 100_000, 1);
    let place = extents(&volume, dropped);
    let taken =
        |id| extents(&volume, id).extents.iter().any(|e| place.extents[0].offset == e.offset);
    let reader = volume.open(dropped).unwrap();
    commit(&volume, b"drop", &[], &[dropped]).unwrap();
    assert!(!taken(table(&volume, 2, 100_000, 2)), "it was not removed");
    volume.remove(dropped).unwrap();
    assert!(!taken(table(&volume, 3, 100_000, 3)), "it is read");
    assert!(holds(&*reader, 100_000, 1));
    drop(reader);
    assert!(taken(table(&volume, 4, 100_000, 4)), "now it is free");
}

#[test]
fn a_file_that_was_never_named_is_freed_at_once() {
    let volume = new(&MemoryVfs::new(), 1);
    table(&volume, 1, 10, 1);
    let free = || lock(&volume.space.backings()[0].free).total();
    let file = volume.create(FileId::table(2), 50_000).unwrap();
    file.write_at(&[0; 50_000], 0).unwrap();
    let before = free();
    drop(file);
    assert_eq!(free(), before, "the volume holds it until it is removed");
    volume.remove(FileId::table(2)).unwrap();
    assert_eq!(free(), before + 53_248);
}

#[test]
fn vacuum_shrinks_a_volume_while_readers_keep_old_extents() {
    let vfs = MemoryVfs::new();
    let volume = new(&vfs, 1);
    let big: Vec<_> = (0..6).map(|n| table(&volume, n, 500_000, n as u8)).collect();
    let last = table(&volume, 9, 300_000, 9);
    let reader = volume.open(last).unwrap();
    commit(&volume, b"drop", &[], &big).unwrap();
    big.iter().for_each(|id| volume.remove(*id).unwrap());
    let (before, place) = (volume.space().unwrap(), extents(&volume, last));
    let edits = open(&vfs, 1).recover().unwrap().unwrap().edits;
    while volume.vacuum().unwrap() {}
    assert!(extents(&volume, last).extents[0].offset < place.extents[0].offset);
    assert!(holds(&*reader, 300_000, 9) && holds(&*volume.open(last).unwrap(), 300_000, 9));
    assert!(volume.space().unwrap().taken >= place.extents[0].end(), "the reader pins the end");
    drop(reader);
    while volume.vacuum().unwrap() {}
    let after = volume.space().unwrap();
    assert_eq!(after.live, before.live);
    assert!(after.taken < before.taken / 2 && after.taken <= 2 * after.live, "{after:?}");
    assert!(volume.check().unwrap().is_empty());
    let again = open(&vfs, 1);
    assert_eq!(again.recover().unwrap().unwrap().edits, edits);
    assert_eq!(extents(&again, last), extents(&volume, last));
    assert!(holds(&*again.open(last).unwrap(), 300_000, 9));
}
