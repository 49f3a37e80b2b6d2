//! Salvage from a directory, from a volume, from a volume without a manifest (`search`), and beside
//! another store's manifest (`foreign`); reads around bad sectors (`sectors`).

pub(crate) mod bad_sectors;
mod foreign;
mod search;
mod sectors;

use super::*;
use crate::coding::checksum;
use crate::entry::{Kind, Tag};
use crate::storage::format::Format;
use crate::storage::manifest::{FRAME_ALIGN, Inherited, MIN_CAPACITY, Manifest, ManifestId};
use crate::storage::record::Record;
use crate::storage::vfs::MemoryVfs;
use crate::storage::volume::VolumeOptions;
use crate::storage::{Commit, Storage, StoreId, Volume, write_all_at};
use crate::table::{Compression, TableOptions, TableWriter};
use proptest::prelude::*;
use terrane_policy::TableId;

const STORE: StoreId = StoreId::new([9; StoreId::BYTES]);

/// Returns a table of one row, written by a store after `commits` commits.
fn table(number: u64, salt: u64, commits: u64, value: usize) -> Vec<u8> {
    let file = MemoryVfs::new().create("table").unwrap();
    let options = TableOptions { compression: Compression::None, ..TableOptions::default() };
    let writer = TableWriter::new(file.clone(), TableId(number), &options);
    let mut writer = writer.of_store(salt, commits);
    writer.add(b"key", Tag::new(1, Kind::Put), &vec![1; value]).unwrap();
    writer.finish().unwrap();
    bytes(&*file)
}

fn bytes(file: &dyn File) -> Vec<u8> {
    let mut bytes = vec![0; file.len().unwrap() as usize];
    read_exact_at(file, &mut bytes, 0).unwrap();
    bytes
}

/// Commits the edits, each with the table of its number.
fn commit(storage: &dyn Storage, edits: std::ops::Range<u8>) {
    for n in edits {
        let id = FileId::table(n.into());
        let salt = storage.id().salt();
        let bytes = table(id.number, salt, storage.commits(), 2000 * usize::from(n));
        write_all_at(&*storage.create(id, 0).unwrap(), &bytes, 0).unwrap();
        let snapshot = || vec![n];
        storage
            .commit(&Commit { edit: &[n], added: &[id], dropped: &[], snapshot: &snapshot })
            .unwrap();
    }
}

/// Returns a directory after `commits` commits.
fn directory_of(commits: u8) -> (MemoryVfs, Directory) {
    let vfs = MemoryVfs::new();
    let storage = Directory::open(Arc::new(vfs.clone())).unwrap();
    assert!(storage.recover().unwrap().is_none());
    commit(&storage, 0..commits);
    (vfs, storage)
}

fn volume_on(backing: &Arc<dyn File>) -> Volume {
    let options = VolumeOptions { new_id: STORE, ..VolumeOptions::default() };
    Volume::open(vec![backing.clone()], options).unwrap()
}

/// Returns a volume after `commits` commits.
fn volume_of(commits: u8) -> (Arc<dyn File>, Volume) {
    let backing = MemoryVfs::new().create("volume").unwrap();
    let storage = volume_on(&backing);
    assert!(storage.recover().unwrap().is_none());
    commit(&storage, 0..commits);
    (backing, storage)
}

/// Whether these are the files of the storage, byte for byte, and the edits of `commits` commits.
fn is_whole(remains: &Remains, storage: &dyn Storage, commits: u8) -> bool {
    let edits: Vec<_> = (0..commits).map(|n| vec![n]).collect();
    let mut files = storage.files().unwrap();
    files.sort();
    let is_same = |id: &FileId, (found, file): &(FileId, Arc<dyn File>)| {
        let stored = bytes(&*storage.open(*id).unwrap());
        let len = remains.named.get(id).copied();
        id == found
            && file.name() == id.to_string()
            && len == Some(stored.len() as u64)
            && bytes(&**file) == stored
    };
    assert_eq!(remains.salts, [storage.id().salt()]);
    remains.edits == edits
        && files.len() == remains.files.len()
        && files.iter().zip(&remains.files).all(|(id, found)| is_same(id, found))
        && remains.whole
        && !remains.is_empty()
}

#[test]
fn a_sound_store_is_found_whole() {
    for commits in [1, 6] {
        let (vfs, storage) = directory_of(commits);
        let remains = directory(&vfs).unwrap();
        assert!(is_whole(&remains, &storage, commits) && remains.notes.is_empty());
        let (backing, storage) = volume_of(commits);
        let remains = volume(&backing).unwrap();
        assert!(is_whole(&remains, &storage, commits) && remains.notes.is_empty());
    }
}

#[test]
fn files_of_others_make_no_store() {
    let vfs = MemoryVfs::new();
    vfs.create("notes.txt").unwrap();
    assert!(directory(&vfs).unwrap().is_empty());
    vfs.create("00000007.log").unwrap();
    assert!(!directory(&vfs).unwrap().is_empty());
    let backing = vfs.create("notes").unwrap();
    write_all_at(&*backing, &[7; 100_000], 0).unwrap();
    assert!(volume(&backing).unwrap().is_empty());
}

#[test]
fn a_superblock_a_manifest_or_a_table_makes_a_store() {
    let backing = || MemoryVfs::new().create("volume").unwrap();
    // A volume that lost all that its superblocks name.
    let (whole, _) = volume_of(1);
    let empty = backing();
    write_all_at(&*empty, &bytes(&*whole)[..RESERVED as usize], 0).unwrap();
    let remains = volume(&empty).unwrap();
    assert!(!remains.is_empty() && remains.edits.is_empty() && remains.files.is_empty());
    assert!(!remains.whole && !remains.notes.is_empty());

    let alone = backing();
    let id = ManifestId { store: STORE, generation: 1 };
    manifest_in(&alone, RESERVED, id, &[Record { edit: Some(b"edit"), ..Record::default() }]);
    let remains = volume(&alone).unwrap();
    assert!(!remains.is_empty() && remains.files.is_empty());
    assert_eq!(remains.edits, [b"edit"]);

    let alone = backing();
    write_all_at(&*alone, &table(3, 5, 0, 100), RESERVED).unwrap();
    let remains = volume(&alone).unwrap();
    assert!(!remains.is_empty() && remains.edits.is_empty());
    assert_eq!((remains.files[0].0, remains.salts), (FileId::table(3), vec![5]));
}

/// Writes a manifest of these records.
fn manifest_in(file: &Arc<dyn File>, base: u64, id: ManifestId, records: &[Record<'_>]) {
    let region = (base, MIN_CAPACITY);
    let manifest = Manifest::create(file.clone(), region, id, Inherited::NONE, &records[0]);
    let mut manifest = manifest.unwrap();
    records[1..].iter().for_each(|record| assert!(manifest.append(record).unwrap()));
}

#[test]
fn an_unreadable_manifest_may_be_later_unless_current_differs() {
    let (vfs, storage) = directory_of(6);
    write_all_at(&*vfs.create("MANIFEST-000002").unwrap(), &[7; 5000], 0).unwrap();
    let remains = directory(&vfs).unwrap();
    assert!(is_whole(&remains, &storage, 6));
    assert!(remains.notes.iter().all(|note| note.contains("MANIFEST-000002")));
    assert_eq!(remains.notes.len(), 1);
    vfs.remove("CURRENT").unwrap();
    let remains = directory(&vfs).unwrap();
    assert_eq!((remains.whole, remains.edits.len()), (false, 6));
    vfs.remove("MANIFEST-000002").unwrap();
    assert!(is_whole(&directory(&vfs).unwrap(), &storage, 6));
}

#[test]
fn a_manifest_without_its_witness_is_not_whole_despite_current() {
    let (vfs, _storage) = directory_of(6);
    let manifest = vfs.open("MANIFEST-000001").unwrap();
    write_all_at(&*manifest, &[0; 16], MIN_CAPACITY - FRAME_ALIGN).unwrap();
    let remains = directory(&vfs).unwrap();
    assert_eq!((remains.whole, remains.edits.len()), (false, 6));
    assert_eq!(remains.notes, ["MANIFEST-000001 can be read through record 6 and not beyond"]);
}

#[test]
fn a_manifest_whose_front_is_lost_gives_way_to_an_older_one() {
    let (vfs, storage) = directory_of(2);
    let next = vfs.create("MANIFEST-000002").unwrap();
    let id = ManifestId { store: storage.id(), generation: 2 };
    manifest_in(&next, 0, id, &[Record { edit: Some(&[9]), ..Record::default() }]);
    assert_eq!(directory(&vfs).unwrap().edits, [[9]]);
    for mirror in [0, MIN_CAPACITY / 2] {
        write_all_at(&*next, &[7; 100], mirror).unwrap();
    }
    assert_eq!(directory(&vfs).unwrap().edits, [[0], [1]]);
}

#[test]
fn a_manifest_with_an_unfitting_first_record_yields_to_an_older() {
    let (vfs, storage) = directory_of(2);
    let id = ManifestId { store: storage.id(), generation: 2 };
    let mut payload = Vec::new();
    Format::CURRENT.encode(&mut payload);
    payload.extend_from_slice(&id.store.bytes());
    // No commits before it, and a region of two mirrors of 16 KiB.
    payload.extend_from_slice(&[0u64, 2 * FRAME_ALIGN].map(u64::to_le_bytes).concat());
    payload.resize(20_000, 0);
    let mut body = (payload.len() as u64).to_le_bytes().to_vec();
    body.extend_from_slice(&[id.generation, 0].map(u64::to_le_bytes).concat());
    body.extend_from_slice(&payload);
    let frame = [&checksum(&body, id.seed(0)).to_le_bytes()[..], &body].concat();
    write_all_at(&*vfs.create("MANIFEST-000002").unwrap(), &frame, 0).unwrap();
    let remains = directory(&vfs).unwrap();
    assert_eq!(remains.edits, [[0], [1]]);
    assert_eq!(remains.notes, ["MANIFEST-000002 has no record that can be read"]);
}

#[test]
fn a_commit_that_never_ended_is_reported_and_costs_nothing() {
    let (vfs, storage) = directory_of(6);
    let manifest = vfs.open("MANIFEST-000001").unwrap();
    write_all_at(&*manifest, &[7; 100], 6 * FRAME_ALIGN).unwrap();
    let remains = directory(&vfs).unwrap();
    assert!(is_whole(&remains, &storage, 6));
    let note = "MANIFEST-000001 ends with 100 bytes of a commit that never ended";
    assert_eq!(remains.notes, [note]);
}

#[test]
fn a_table_begun_after_a_missing_commit_shows_the_loss() {
    for (salt, commits, whole) in
        [(None, 6, true), (None, 7, false), (Some(1), 7, true), (Some(1), 6, true)]
    {
        let (vfs, storage) = directory_of(6);
        let salt = salt.unwrap_or(storage.id().salt());
        let unnamed = vfs.create("00000050.sst").unwrap();
        write_all_at(&*unnamed, &table(50, salt, commits, 10), 0).unwrap();
        let remains = directory(&vfs).unwrap();
        assert_eq!(remains.whole, whole, "{salt} {commits}");
        let note = "MANIFEST-000001 has 6 commits, and there were 7 before table 00000050.sst";
        assert_eq!(remains.notes, if whole { vec![] } else { vec![note] });
        let mut salts = vec![storage.id().salt(), salt];
        salts.dedup();
        assert_eq!(remains.salts, salts);
    }
}

#[test]
fn records_count_up_to_the_first_that_contradicts_others() {
    let file = |n| (FileId::table(n), Placement { len: 5, ..Placement::default() });
    let record = |edit, placed, dropped| Record { edit: Some(edit), placed, dropped };
    let mut records =
        vec![record(&[0], vec![file(1)], vec![]), record(&[1], vec![file(2)], vec![])];
    let alone = |records: &[Record<'_>]| {
        let backing = MemoryVfs::new().create("volume").unwrap();
        manifest_in(&backing, RESERVED, ManifestId { store: STORE, generation: 1 }, records);
        volume(&backing).unwrap()
    };
    let named = [(FileId::table(1), 5), (FileId::table(2), 5)];
    let remains = alone(&records);
    assert!(remains.whole && remains.named == named.into());
    records.push(record(&[2], vec![], vec![FileId::table(3)]));
    records.push(record(&[3], vec![], vec![FileId::table(1)]));
    let remains = alone(&records);
    assert!(!remains.whole && remains.named == named.into());
    assert_eq!(remains.edits, [[0], [1]]);
    assert!(remains.notes.iter().any(|note| note.contains("a live file to drop")));
}

proptest! {
    #[test]
    fn a_file_in_extents_reads_as_its_bytes_in_order(
        extents in prop::collection::vec((0u64..40, 1u64..20), 0..5),
        short in 0u64..60, backing_len in 0usize..60, offset in 0u64..120, wanted in 0usize..120,
    ) {
        let backing = MemoryVfs::new().create("volume").unwrap();
        let stored: Vec<u8> = (0..backing_len as u8).collect();
        write_all_at(&*backing, &stored, 0).unwrap();
        let extents: Vec<_> =
            extents.into_iter().map(|(offset, len)| Extent { offset, len }).collect();
        // Where each byte is; the file may end within its last extent.
        let places: Vec<u64> =
            extents.iter().flat_map(|extent| extent.offset..extent.end()).collect();
        let len = (places.len() as u64).saturating_sub(short);
        let placement = Placement { len, extents, ..Placement::default() };
        let file = PlacedFile { name: "00000001.sst".to_owned(), backing, placement };
        let asked = places.iter().take(len as usize).skip(offset as usize).take(wanted);
        // A read ends where the backing file does.
        let expected: Vec<u8> =
            asked.map_while(|place| stored.get(*place as usize).copied()).collect();
        let mut found = vec![0xff; wanted];
        let n = file.read_at(&mut found, offset).unwrap();
        prop_assert_eq!(&found[..n], &expected[..]);
        prop_assert!(found[n..].iter().all(|byte| *byte == 0xff));
        prop_assert_eq!(file.len().unwrap(), len);
    }
}

#[test]
fn a_file_of_a_damaged_volume_cannot_be_written_to() {
    let (backing, _storage) = volume_of(1);
    let (id, file) = volume(&backing).unwrap().files.remove(0);
    let before = bytes(&*backing);
    for refused in [file.write_at(b"x", 0).map(drop), file.sync(), file.set_len(0)] {
        assert!(refused.unwrap_err().to_string().contains(&id.to_string()));
    }
    assert!(bytes(&*backing) == before);
}
