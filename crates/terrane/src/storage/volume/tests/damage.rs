//! Damage to superblocks, the manifest and backings: repaired where a copy is left, and refused otherwise.

use super::*;

#[test]
fn any_one_lost_sector_of_superblocks_and_manifest_is_repaired() {
    let vfs = MemoryVfs::new();
    let volume = new(&vfs, 1);
    table(&volume, 1, 100, 1);
    let (base, len) = region(&volume);
    let file = backings(&vfs, 1).remove(0);
    let mut sound = vec![0; (base + len) as usize];
    file.read_at(&mut sound, 0).unwrap();
    let edits = open(&vfs, 1).recover().unwrap().unwrap().edits;
    for size in SECTORS {
        for sector in (0..RESERVED).chain(base..base + len).step_by(size as usize) {
            file.write_at(&vec![0xee; size as usize], sector).unwrap();
            let again = open(&vfs, 1);
            assert_eq!(again.recover().unwrap().unwrap().edits, edits, "{size} at {sector}");
            file.write_at(&sound, 0).unwrap();
        }
    }
}

#[test]
fn one_damaged_superblock_is_repaired_and_two_are_damage() {
    for slot in SLOTS {
        let vfs = MemoryVfs::new();
        let volume = new(&vfs, 1);
        table(&volume, 1, 100, 1);
        let file = backings(&vfs, 1).remove(0);
        file.write_at(&[0xff], slot + 20).unwrap();
        assert_eq!(volume.check().unwrap().len(), 1);
        let again = open(&vfs, 1);
        assert_eq!(again.recover().unwrap().unwrap().repaired.len(), 1);
        again.resume().unwrap();
        assert!(again.check().unwrap().is_empty());
        assert!(SLOTS.iter().all(|slot| file.write_at(&[0xff], slot + 20).is_ok()));
        assert!(matches!(
            open(&vfs, 1).recover().map_err(Error::into_kind),
            Err(ErrorKind::Corrupt(_))
        ));
    }
}

#[test]
fn a_stale_superblock_slot_is_repairable_when_read_only() {
    let vfs = MemoryVfs::new();
    let volume = new(&vfs, 1);
    table(&volume, 1, 100, 1);
    let file = backings(&vfs, 1).remove(0);
    let mut before = vec![0; 512];
    file.read_at(&mut before, SLOTS[1]).unwrap();
    // After damage the next commit starts a new generation.
    file.write_at(&[0xff], region(&volume).0 + 40).unwrap();
    let again = open(&vfs, 1);
    again.recover().unwrap().unwrap();
    table(&again, 2, 100, 1);
    file.write_at(&before, SLOTS[1]).unwrap();
    let options = VolumeOptions { read_only: true, ..VolumeOptions::default() };
    let read = Volume::open(backings(&vfs, 1), options).unwrap();
    let repaired = read.recover().unwrap().unwrap().repaired;
    assert_eq!((repaired.len(), read.check().unwrap()), (1, repaired));
}

#[test]
fn a_file_that_is_no_volume_and_a_missing_backing_are_refused() {
    let vfs = MemoryVfs::new();
    let file = vfs.create("backing.0").unwrap();
    for content in [&b"a letter"[..], &[0; 33_000]] {
        file.write_at(content, 0).unwrap();
        assert!(matches!(
            open(&vfs, 1).recover().map_err(Error::into_kind),
            Err(ErrorKind::NoStore(_))
        ));
        file.set_len(0).unwrap();
    }
    assert!(Volume::open(Vec::new(), VolumeOptions::default()).is_err());
    let volume = new(&vfs, 2);
    table(&volume, 1, 100_000, 1);
    assert!(matches!(
        open(&vfs, 1).recover().map_err(Error::into_kind),
        Err(ErrorKind::InvalidArgument(_))
    ));
    let newer = Superblock {
        format: Format { required: 1 << 20, ..Format::CURRENT },
        ..volume.superblock(Format::CURRENT, 99, Extent { offset: 0, len: 0 })
    };
    volume.write_slot(0, &newer).unwrap();
    assert!(matches!(
        open(&vfs, 2).recover().map_err(Error::into_kind),
        Err(ErrorKind::NewerFormat(_))
    ));
}

#[test]
fn optional_features_that_are_not_known_outlive_a_generation() {
    let vfs = MemoryVfs::new();
    let volume = new(&vfs, 1);
    table(&volume, 1, 10, 1);
    let later = Format { optional: 8, ..Format::CURRENT };
    for (n, slot) in volume.read_slots().unwrap().into_iter().enumerate() {
        let Slot::Valid(superblock) = slot else { panic!("{slot:?}") };
        volume.write_slot(n, &Superblock { format: later, ..superblock }).unwrap();
    }
    let volume = open(&vfs, 1);
    volume.recover().unwrap();
    assert!(volume.check().unwrap().is_empty());
    lock(&volume.commit_state).needs_rollover = true;
    table(&volume, 2, 10, 2);
    assert!(volume.check().unwrap().is_empty());
    for slot in volume.read_slots().unwrap() {
        assert!(matches!(slot, Slot::Valid(s) if (s.generation, s.format) == (2, later)));
    }
    let volume = open(&vfs, 1);
    volume.recover().unwrap();
    assert_eq!(
        lock(&volume.commit_state).manifest.as_ref().unwrap().for_next_generation().format,
        later
    );
}

#[test]
fn a_backing_cut_short_is_damage() {
    let vfs = MemoryVfs::new();
    let volume = new(&vfs, 1);
    table(&volume, 0, 10, 0);
    let id = table(&volume, 1, 500_000, 1);
    let end = extents(&volume, id).extents.last().unwrap().end();
    backings(&vfs, 1)[0].set_len(end - 4096).unwrap();
    assert_eq!(volume.check().unwrap().len(), 1);
    assert!(matches!(
        open(&vfs, 1).recover().map_err(Error::into_kind),
        Err(ErrorKind::Corrupt(_))
    ));
    let mut buf = vec![0; 500_000];
    assert!(matches!(
        read_exact_at(&*volume.open(id).unwrap(), &mut buf, 0).map_err(Error::into_kind),
        Err(ErrorKind::Corrupt(_))
    ));
}

#[test]
fn extents_that_two_files_claim_are_damage() {
    let vfs = MemoryVfs::new();
    let volume = new(&vfs, 1);
    table(&volume, 0, 10, 1);
    let id = table(&volume, 1, 500_000, 1);
    let twice = (FileId::table(2), extents(&volume, id));
    let twice_end = twice.1.extents.iter().map(|extent| extent.end()).max().unwrap();
    let record = Record { placed: vec![twice], edit: Some(b"x"), ..Record::default() };
    assert!(lock(&volume.commit_state).manifest.as_mut().unwrap().append(&record).unwrap());
    let told = || match open(&vfs, 1).recover().map_err(Error::into_kind) {
        Err(ErrorKind::Corrupt(damage)) => damage.found.clone(),
        found => panic!("{:?}", found.map(drop)),
    };
    assert_eq!(told(), "space that another file uses");
    // Also where the file ends with it.
    let end = twice_end.max(region(&volume).0 + region(&volume).1);
    vfs.open("backing.0").unwrap().set_len(end).unwrap();
    assert_eq!((told(), end), ("space that another file uses".to_owned(), twice_end));
}
