//! Manifests and tables that nothing leads to.

use super::*;

/// A file of which the parts without data are known to the byte.
struct Sparse(Arc<dyn File>);

impl File for Sparse {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.0.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        self.0.write_at(buf, offset)
    }
    fn sync(&self) -> Result<()> {
        self.0.sync()
    }
    fn set_len(&self, len: u64) -> Result<()> {
        self.0.set_len(len)
    }
    fn len(&self) -> Result<u64> {
        self.0.len()
    }
    fn next_data(&self, offset: u64) -> Result<u64> {
        let bytes = bytes(&*self.0);
        let rest = bytes.get(offset as usize..).unwrap_or_default();
        let data = rest.iter().position(|byte| *byte != 0);
        Ok(data.map_or(bytes.len() as u64, |at| offset + at as u64))
    }
}

/// The volume without superblocks, behind a file system that reports holes and one that does not.
fn without_superblocks(backing: &Arc<dyn File>) -> [Arc<dyn File>; 2] {
    write_all_at(&**backing, &[0; RESERVED as usize], 0).unwrap();
    [backing.clone(), Arc::new(Sparse(backing.clone()))]
}

/// Returns the offset of the manifest's region.
fn base(backing: &dyn File) -> u64 {
    let superblock = superblock::decode(&bytes(backing)[..SLOT_BYTES]);
    let Slot::Valid(slot) = superblock else { panic!("{superblock:?}") };
    slot.manifest_offset
}

#[test]
fn one_superblock_is_enough() {
    for lost in SLOTS {
        let (backing, storage) = volume_of(2);
        write_all_at(&*backing, &[7; 512], lost).unwrap();
        let remains = volume(&backing).unwrap();
        assert!(is_whole(&remains, &storage, 2), "{lost}");
        assert_eq!(remains.notes, [format!("the superblock at {lost} cannot be read")]);
    }
}

#[test]
fn without_superblocks_a_first_record_finds_the_manifest() {
    for commits in [1, 6] {
        for lost in [None, Some(0), Some(MIN_CAPACITY / 2)] {
            let (backing, storage) = volume_of(commits);
            let base = base(&*backing);
            if let Some(mirror) = lost {
                write_all_at(&*backing, &[0; 4096], base + mirror).unwrap();
            }
            for backing in without_superblocks(&backing) {
                let remains = volume(&backing).unwrap();
                assert!(is_whole(&remains, &storage, commits), "{commits} {lost:?}");
                assert_eq!(remains.notes.len(), 2, "{:?}", remains.notes);
            }
        }
    }
}

#[test]
fn without_superblocks_a_lost_record_is_read_from_the_mirror() {
    for mirror in [0, MIN_CAPACITY / 2] {
        for record in [1, 3, 5] {
            let (backing, storage) = volume_of(6);
            let at = base(&*backing) + mirror + record * FRAME_ALIGN;
            write_all_at(&*backing, &[7; 4096], at).unwrap();
            for backing in without_superblocks(&backing) {
                assert!(is_whole(&volume(&backing).unwrap(), &storage, 6), "{mirror} {record}");
            }
        }
    }
}

#[test]
fn of_several_manifests_the_newest_counts_wherever_it_lies() {
    let edit = |edit| [Record { edit: Some(edit), ..Record::default() }];
    for (old, new) in [(9, 1000), (1000, 9)] {
        let backing = MemoryVfs::new().create("volume").unwrap();
        for (unit, generation, edit) in [(old, 3, edit(b"old")), (new, 4, edit(b"new"))] {
            let id = ManifestId { store: STORE, generation };
            manifest_in(&backing, unit * UNIT, id, &edit);
        }
        // Data right before a manifest, in a unit that starts with none.
        for unit in [old, new] {
            write_all_at(&*backing, &[7], unit * UNIT - 96).unwrap();
        }
        for backing in [backing.clone(), Arc::new(Sparse(backing))] {
            assert_eq!(volume(&backing).unwrap().edits, [b"new"], "{old} {new}");
        }
    }
}

/// A table whose length in bytes leaves `rest` of a unit.
fn table_with_rest(number: u64, rest: u64) -> Vec<u8> {
    let lengths = (0..2 * UNIT as usize).map(|value| table(number, 5, 0, value));
    let mut fits = lengths.filter(|table| table.len() as u64 % UNIT == rest);
    fits.next().unwrap()
}

#[test]
fn without_a_manifest_tables_are_found_once_across_reads() {
    let backing = MemoryVfs::new().create("volume").unwrap();
    let mut expected = Vec::new();
    // Their ends lie around those of the parts that are read at a time.
    for (number, rest) in (1..).zip([0, 1, 2, 6, 7, 8, 9, 2000]) {
        let table = table_with_rest(number, rest);
        let end = RESERVED + number * PART + rest;
        write_all_at(&*backing, &table, end - table.len() as u64).unwrap();
        expected.push((FileId::table(number), table));
    }
    // One that is no table of a volume, since it does not start where a unit does.
    write_all_at(&*backing, &table(77, 5, 0, 10), RESERVED + PART / 2 + 8).unwrap();
    let last = RESERVED + 9 * PART + PART / 2;
    expected.push((FileId::table(40), table(40, 6, 0, 10_000)));
    write_all_at(&*backing, &expected[8].1, last).unwrap();
    for backing in [backing.clone(), Arc::new(Sparse(backing))] {
        let remains = volume(&backing).unwrap();
        let found: Vec<_> = remains.files.iter().map(|(id, file)| (*id, bytes(&**file))).collect();
        let ids = |files: &[(FileId, Vec<u8>)]| files.iter().map(|(id, _)| *id).collect::<Vec<_>>();
        assert_eq!(ids(&found), ids(&expected));
        assert!(found == expected);
        let mut salts = remains.salts;
        salts.sort_unstable();
        assert_eq!(salts, [5, 6]);
    }
}
