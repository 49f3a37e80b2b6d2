//! The manifest of a volume: its region moves down and shrinks, also while power is cut.

use super::*;

/// A mostly free volume whose manifest is after the free space; and the manifest's edits.
fn manifest_at_the_end() -> (MemoryVfs, Vec<Vec<u8>>) {
    let vfs = MemoryVfs::new();
    let volume = new(&vfs, 1);
    let file = volume.create(FileId::table(1), 0).unwrap();
    write_all_at(&*file, &vec![1; 3 << 20], 0).unwrap();
    table(&volume, 2, 1000, 2);
    commit(&volume, b"one", &[FileId::table(1)], &[]).unwrap();
    commit(&volume, b"two", &[], &[FileId::table(1)]).unwrap();
    let edits = open(&vfs, 1).recover().unwrap().unwrap().edits;
    (vfs, edits)
}

#[test]
fn the_manifest_moves_down_and_the_volume_is_truncated() {
    let (vfs, edits) = manifest_at_the_end();
    let volume = open(&vfs, 1);
    volume.recover().unwrap();
    let before = (region(&volume), volume.space().unwrap());
    assert!(before.0.0 > 3 << 20);
    while volume.vacuum().unwrap() {}
    assert_eq!(region(&volume), (RESERVED, before.0.1));
    assert!(volume.space().unwrap().taken < before.1.taken / 2);
    assert!(volume.check().unwrap().is_empty());
    commit(&volume, b"more", &[], &[]).unwrap();
    let again = open(&vfs, 1);
    let found = again.recover().unwrap().unwrap().edits;
    assert!(found.iter().eq(edits.iter().chain([&b"more".to_vec()])));
    assert!(holds(&*again.open(FileId::table(2)).unwrap(), 1000, 2));
}

#[test]
fn a_manifest_that_says_it_is_longer_than_its_region_is_damage() {
    let vfs = MemoryVfs::new();
    let volume = new(&vfs, 1);
    table(&volume, 1, 100, 1);
    let (offset, len) = region(&volume);
    let shorter = Extent { offset, len: len - 2 * FRAME_ALIGN };
    for slot in 0..2 {
        let superblock = volume.superblock(Format::CURRENT, 1, shorter);
        volume.write_slot(slot, &superblock).unwrap();
    }
    assert!(matches!(
        open(&vfs, 1).recover().map_err(Error::into_kind),
        Err(ErrorKind::Corrupt(_))
    ));
}

#[test]
fn a_manifest_region_for_many_more_files_is_shrunk() {
    let vfs = MemoryVfs::new();
    let volume = new(&vfs, 1);
    let ids: Vec<_> = (1..41).map(|n| table(&volume, n, 10, 1)).collect();
    let large = vec![7; 400_000];
    lock(&volume.commit_state).needs_rollover = true;
    commit(&volume, &large, &[], &[]).unwrap();
    assert!(region(&volume).1 > 3 << 20);
    commit(&volume, b"one", &[], &ids[..20]).unwrap();
    assert!(region(&volume).1 > 3 << 20, "half of the files are there");
    let volume = open(&vfs, 1);
    volume.recover().unwrap();
    volume.resume().unwrap();
    commit(&volume, b"two", &[], &ids[20..35]).unwrap();
    commit(&volume, b"three", &[], &[]).unwrap();
    assert_eq!(region(&volume).1, MIN_CAPACITY);
    let edits = open(&vfs, 1).recover().unwrap().unwrap().edits;
    assert_eq!(edits, [b"three".to_vec()]);
}

#[test]
fn power_may_be_cut_while_the_manifest_moves() {
    let (image, edits) = manifest_at_the_end();
    let copy = || {
        let file = image.open("backing.0").unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_at(&mut bytes, 0).unwrap();
        let copy = MemoryVfs::new();
        copy.create("backing.0").unwrap().write_at(&bytes, 0).unwrap();
        copy
    };
    for cut in 0.. {
        let mut ended = false;
        for outcome in 0..6 {
            let memory = copy();
            let vfs = FaultVfs::new(Arc::new(memory.clone())).unwrap();
            vfs.set_sector(SECTORS[outcome as usize % 3]);
            vfs.cut_at(cut);
            let moved = (|| {
                let volume = open(&vfs, 1);
                volume.recover()?;
                volume.resume()?;
                while volume.vacuum()? {}
                Ok::<_, Error>(())
            })();
            ended = moved.is_ok();
            let survivors = match outcome {
                0 => Survivors::Synced,
                1 => Survivors::All,
                _ => Survivors::Random(outcome),
            };
            vfs.crash(survivors).unwrap();
            let again = open(&memory, 1);
            assert_eq!(again.recover().unwrap().unwrap().edits, edits, "{cut}, {survivors:?}");
            again.resume().unwrap();
            assert!(holds(&*again.open(FileId::table(2)).unwrap(), 1000, 2));
            commit(&again, b"more", &[], &[]).unwrap();
            assert!(again.check().unwrap().is_empty());
        }
        if ended {
            assert!(cut > 8, "{cut} operations are no move");
            return;
        }
    }
}
