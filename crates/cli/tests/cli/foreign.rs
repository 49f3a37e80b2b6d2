//! Places that belong to another program, or to the file system.

use crate::place::{Place, names};

/// A directory `other` with such files.
fn holding(files: &[(&str, &str)]) -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path("other")).unwrap();
    for (name, text) in files {
        place.file(&format!("other/{name}"), text);
    }
    place
}

#[test]
fn a_store_of_another_program_is_named_and_left_alone() {
    let leveldb = [
        ("CURRENT", "MANIFEST-000002\n"),
        ("MANIFEST-000002", "leveldb.BytewiseComparator"),
        ("000003.log", "log"),
        ("LOG", ""),
    ];
    let rocksdb = [&leveldb[..], &[("IDENTITY", "id"), ("OPTIONS-000007", "[Version]")]].concat();
    let lost_current: Vec<_> = rocksdb.iter().filter(|(name, _)| *name != "CURRENT").collect();
    let lost_current: Vec<_> = lost_current.into_iter().copied().collect();
    let text = [("CURRENT", "state: on\n"), ("notes.txt", "")];
    for (files, program) in [
        (&leveldb[..], "LevelDB"),
        (&rocksdb, "RocksDB"),
        (&lost_current, "RocksDB"),
        (&text, "CURRENT"),
    ] {
        let place = holding(files);
        let before = names(&place.path("other"));
        for args in [
            &["put", "other", "k", "v"][..],
            &["get", "other", "k"],
            &["check", "other"],
            &["shell", "other", "--create"],
            &["checkpoint", "other", "copy"],
            &["repair", "other", "copy"],
        ] {
            let refused = place.run(args);
            assert!(!refused.err.contains("terrane repair"), "{}", refused.err);
            refused.fails(4, &["other holds no", "Terrane store", program]);
            assert_eq!(names(&place.path("other")), before, "{args:?}");
        }
        for (name, text) in files {
            let left = std::fs::read_to_string(place.path(&format!("other/{name}"))).unwrap();
            assert_eq!(left, *text);
        }
        assert_eq!(names(&place.path(".")), ["other"]);
    }
}

#[test]
fn the_root_of_a_volume_takes_a_store() {
    let place = holding(&[]);
    std::fs::create_dir(place.path("other/lost+found")).unwrap();
    place.run(&["get", "other", "k"]).fails(4, &["other holds no Terrane store", "empty"]);
    place.run(&["put", "other", "k", "v"]).ok();
    assert_eq!(place.run(&["get", "other", "k"]).ok(), b"v");
    place.run(&["check", "other"]).ok();
    assert!(place.path("other/lost+found").exists());
}
