//! A place that holds no store, or one that cannot be opened as requested, is refused with the reason,
//! and nothing in it is changed.

use std::fs;
use std::path::Path;
use terrane::coding::checksum;
use terrane::storage::vfs::Vfs;
use terrane::{Db, Durability, Error, ErrorKind, Options};
use terrane_tests::fixtures::{Kind, Rig, tiny};
use terrane_tests::image::{Image, Structure};

fn open(place: &Path, create: bool) -> Result<Db, Error> {
    Db::open(place, Options::default().create(create))
}

#[test]
fn a_missing_directory_is_no_store_and_is_not_created() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("store");
    assert!(matches!(open(&place, false).map_err(Error::into_kind), Err(ErrorKind::NoStore(_))));
    assert!(!place.exists());
    open(&place, true).unwrap().close().unwrap();
    open(&place, false).unwrap();
}

#[test]
fn an_empty_directory_is_no_store_unless_create_is_set() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(
        open(dir.path(), false).map_err(Error::into_kind),
        Err(ErrorKind::NoStore(_))
    ));
    open(dir.path(), true).unwrap();
}

#[test]
fn a_directory_of_other_files_is_refused_and_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("letter.txt"), "dear reader").unwrap();
    for create in [false, true] {
        let Err(ErrorKind::NoStore(missing)) = open(dir.path(), create).map_err(Error::into_kind)
        else {
            panic!("letters are no store")
        };
        assert!(missing.why.contains("letter.txt"), "{missing}");
    }
    assert_eq!(fs::read(dir.path().join("letter.txt")).unwrap(), b"dear reader");
    let names = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name());
    let others = names.filter(|name| name != "letter.txt" && name != "LOCK").count();
    assert_eq!(others, 0, "nothing but the lock was added");
}

#[test]
fn a_file_is_no_store() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("file");
    fs::write(&place, "bytes").unwrap();
    assert!(matches!(open(&place, false).map_err(Error::into_kind), Err(ErrorKind::NoStore(_))));
    assert!(open(&place, true).is_err());
    assert_eq!(fs::read(&place).unwrap(), b"bytes");
}

#[test]
fn a_file_of_other_data_is_no_volume() {
    for kind in [Kind::MemoryVolume, Kind::NativeVolume] {
        let rig = Rig::new(kind);
        let file = rig.vfs.create(kind.backings()[0]).unwrap();
        file.write_at(&[b'x'; 20_000], 0).unwrap();
        assert!(matches!(
            rig.open(tiny(), 0).map_err(Error::into_kind),
            Err(ErrorKind::NoStore(_))
        ));
        assert_eq!(file.len().unwrap(), 20_000);
    }
}

#[test]
fn an_existing_store_is_refused_with_error_if_exists() {
    let dir = tempfile::tempdir().unwrap();
    let new = || Options::default().error_if_exists(true);
    let db = Db::open(dir.path(), new()).unwrap();
    db.default_keyspace().put(b"key", b"value", Durability::Sync).unwrap();
    db.close().unwrap();
    assert!(matches!(
        Db::open(dir.path(), new()).map_err(Error::into_kind),
        Err(ErrorKind::InvalidArgument(_))
    ));
    let db = open(dir.path(), false).unwrap();
    assert_eq!(db.default_keyspace().get(b"key").unwrap(), Some(b"value".to_vec()));
}

#[test]
fn a_directory_that_lost_current_is_corrupt_and_not_empty() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path(), true).unwrap().close().unwrap();
    fs::remove_file(dir.path().join("CURRENT")).unwrap();
    assert!(matches!(open(dir.path(), true).map_err(Error::into_kind), Err(ErrorKind::Corrupt(_))));
}

/// Each is what a later release would write: a higher version or a required feature, with a correct
/// checksum.
#[test]
fn a_store_of_a_later_release_is_refused_by_name() {
    for kind in [Kind::MemoryDirectory, Kind::MemoryVolume] {
        let rig = Rig::new(kind);
        let db = rig.open(tiny(), 0).unwrap();
        db.default_keyspace().put(b"key", b"value", Durability::Sync).unwrap();
        db.flush().unwrap();
        db.close().unwrap();
        let image = Image::of(&rig.vfs);
        for of in [Structure::Manifest, Structure::Head, Structure::Table] {
            // A directory's head has no version of its own.
            if (kind, of) == (Kind::MemoryDirectory, Structure::Head) {
                continue;
            }
            for raise in [Raise::Version, Raise::Feature] {
                let mut later = image.clone();
                raise_format(&mut later, kind, of, raise);
                let rig = Rig::over(kind, std::sync::Arc::new(later.vfs()));
                // A table is opened on its first read.
                let read = rig.open(tiny(), 0).and_then(|db| db.default_keyspace().get(b"key"));
                match read.map_err(Error::into_kind) {
                    Err(ErrorKind::NewerFormat(newer)) => {
                        assert_ne!(newer.found, newer.supported)
                    }
                    Err(e) => panic!("{kind:?}, {of:?}: {e}"),
                    Ok(_) => panic!("{kind:?}, {of:?}: a later format is read"),
                }
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Raise {
    Version,
    Feature,
}

/// Raises the format in every copy of the first such structure.
fn raise_format(image: &mut Image, kind: Kind, of: Structure, raise: Raise) {
    let parts = image.parts(kind);
    let copies = if of == Structure::Table { 1 } else { 2 };
    for part in parts.into_iter().filter(|part| part.of == of).take(copies) {
        let bytes = image.files.get_mut(&part.file).expect("a file of the image");
        let part = &mut bytes[part.range.start as usize..part.range.end as usize];
        match of {
            // Magic, version, required features; the checksum follows 64 bytes.
            Structure::Head => {
                raise_words(&mut part[8..16], raise);
                let sum = checksum(&part[..64], 0);
                part[64..72].copy_from_slice(&sum.to_le_bytes());
            }
            // Checksum, length, zero, generation, index; then version and required features. The
            // checksum is seeded with the store's salt, generation and index, in the first record 1 and 0.
            Structure::Manifest => {
                raise_words(&mut part[32..40], raise);
                let generation = u64::from_le_bytes(part[16..24].try_into().expect("8 bytes"));
                let sum =
                    checksum(&part[8..], checksum(&part[44..60], 0) ^ generation.rotate_left(32));
                part[..8].copy_from_slice(&sum.to_le_bytes());
            }
            // The footer: required features at 44, version at 52, the checksum at 48, seeded with
            // the magic at 56.
            _ => {
                let footer = part.len() - 80;
                let footer = &mut part[footer..];
                match raise {
                    Raise::Version => footer[52] += 1,
                    Raise::Feature => footer[47] |= 0x80,
                }
                let magic = u64::from_le_bytes(footer[72..].try_into().expect("8 bytes"));
                let sum = checksum(&footer[..64], magic);
                footer[64..72].copy_from_slice(&sum.to_le_bytes());
            }
        }
    }
}

/// Two words: version, required features.
fn raise_words(words: &mut [u8], raise: Raise) {
    match raise {
        Raise::Version => words[0] += 1,
        Raise::Feature => words[7] |= 0x80,
    }
}
