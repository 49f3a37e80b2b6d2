//! A manifest that has lost its end looks like one that ends there. Its commits are not silently
//! forgotten, and the files that they named are not removed.

use terrane::inspect;
use terrane::storage::vfs::Vfs;
use terrane::storage::vfs::fault::Survivors;
use terrane::storage::{Orphan, read_exact_at, write_all_at};
use terrane::{Durability, Error, ErrorKind, Options};
use terrane_tests::fixtures::{Kind, Rig};
use terrane_tests::image::Image;

/// Records of the manifest start at multiples of this.
const SLOT: u64 = 16 << 10;

/// Two keyspaces that were written, flushed and closed a few times.
fn store() -> Rig {
    let mut rig = Rig::new(Kind::MemoryDirectory);
    for session in 0..4u32 {
        let db = rig.open(Options::default(), 1).unwrap();
        for name in ["default", "other"] {
            let rows = db.create_keyspace(name).unwrap();
            for row in 0..100u32 {
                let key = (session * 100 + row).to_be_bytes();
                rows.put(&key, &[7; 50], Durability::Buffered).unwrap();
            }
        }
        db.flush().unwrap();
        db.close().unwrap();
    }
    rig.vfs.crash(Survivors::All).unwrap();
    rig.restore_power();
    rig
}

/// Zeros all records of the manifest from `kept` on, and the witness if asked to. Returns its file.
fn forget(rig: &Rig, kept: u64, witness: bool) -> String {
    let names = rig.inner.list().unwrap();
    let name = names.into_iter().rfind(|name| name.starts_with("MANIFEST-")).unwrap();
    let file = rig.inner.open(&name).unwrap();
    let half = file.len().unwrap() / 2;
    let mut record = [0; 8];
    read_exact_at(&*file, &mut record, kept * SLOT).unwrap();
    assert_ne!(record, [0; 8], "there is a record to lose");
    let spared = if witness { SLOT } else { 0 };
    for (from, to) in [(kept * SLOT, half), (half + kept * SLOT, 2 * half - spared)] {
        write_all_at(&*file, &vec![0; (to - from) as usize], from).unwrap();
    }
    name
}

#[test]
fn a_manifest_that_lost_its_end_is_refused_and_files_are_kept() {
    for kept in [1, 2, 4] {
        for witness in [true, false] {
            let mut rig = store();
            let manifest = forget(&rig, kept, witness);
            rig.restore_power();
            let before = Image::of(&*rig.inner).files;
            let refused = rig.open(Options::default(), 2).err().expect("a store that is refused");
            let damage = refused.into_corruption().unwrap();
            assert_eq!(damage.file, manifest, "{damage}");
            assert!(damage.found.contains("lost"), "{damage}");
            assert!(
                Image::of(&*rig.inner).files == before,
                "{kept} records kept: a file was changed"
            );
        }
    }
}

/// The names of the log files.
fn logs(rig: &Rig) -> Vec<String> {
    let names = rig.vfs.list().unwrap();
    names.into_iter().filter(|name| name.ends_with(".log")).collect()
}

#[test]
fn a_log_opened_by_a_lost_commit_is_detected() {
    let mut rig = Rig::new(Kind::MemoryDirectory);
    let db = rig.open(Options::default().wal_file_bytes(4 << 10), 1).unwrap();
    let mut row = 0u32;
    while logs(&rig).len() < 3 {
        db.default_keyspace().put(&row.to_be_bytes(), &[7; 50], Durability::Sync).unwrap();
        row += 1;
        assert!(row < 1000, "{:?}", logs(&rig));
    }
    db.close().unwrap();
    rig.vfs.crash(Survivors::All).unwrap();
    forget(&rig, 1, false);
    rig.restore_power();
    let before = Image::of(&*rig.inner).files;
    let checked = inspect(&*rig.storage().unwrap()).unwrap();
    let Err(ErrorKind::Corrupt(damage)) = rig.open(Options::default(), 2).map_err(Error::into_kind)
    else {
        panic!("no damage")
    };
    assert!(logs(&rig).contains(&damage.file) && damage.found.contains("lost"), "{damage}");
    assert_eq!(checked.damage, [damage]);
    assert!(Image::of(&*rig.inner).files == before, "a file was changed");
}

#[test]
fn a_log_file_renumbered_by_a_lost_commit_is_detected() {
    let mut rig = Rig::new(Kind::MemoryDirectory);
    let db = rig.open(Options::default().wal_file_bytes(4 << 10), 1).unwrap();
    let rows = db.default_keyspace();
    for row in 0..60u32 {
        rows.put(&row.to_be_bytes(), &[7; 50], Durability::Buffered).unwrap();
    }
    let before = logs(&rig);
    db.flush().unwrap();
    for row in 0..300u32 {
        rows.put(&row.to_be_bytes(), &[8; 50], Durability::Buffered).unwrap();
    }
    db.close().unwrap();
    rig.vfs.crash(Survivors::All).unwrap();
    let stray = |name: &String| {
        name.ends_with(".sst") || (name.ends_with(".log") && !before.contains(name))
    };
    for name in rig.inner.list().unwrap().iter().filter(|name| stray(name)) {
        rig.inner.remove(name).unwrap();
    }
    // The flush, and everything committed after it.
    forget(&rig, before.len() as u64, false);
    rig.restore_power();
    let Err(ErrorKind::Corrupt(damage)) = rig.open(Options::default(), 2).map_err(Error::into_kind)
    else {
        panic!("no damage")
    };
    assert!(before.contains(&damage.file) && damage.found.contains("lost"), "{damage}");
}

#[test]
fn a_clean_close_forgets_no_commit() {
    let mut rig = store();
    let db = rig.open(Options::default(), 5).unwrap();
    db.create_keyspace("a commit, the last one").unwrap();
    db.close().unwrap();
    rig.vfs.crash(Survivors::Synced).unwrap();
    let commits = |rig: &Rig| {
        let storage = rig.storage().unwrap();
        storage.recover().map(|found| (found.is_some(), storage.commits()))
    };
    rig.restore_power();
    let (_, records) = commits(&rig).unwrap();
    forget(&rig, records - 1, true);
    rig.restore_power();
    assert!(matches!(commits(&rig).map_err(Error::into_kind), Err(ErrorKind::Corrupt(_))));
}

#[test]
fn a_check_reports_orphans_and_changes_nothing() {
    let mut rig = store();
    let strays = ["00000998.log", "00000999.sst", "CURRENT.tmp", "MANIFEST-000777"];
    for name in strays.iter().chain(&["notes.txt"]) {
        write_all_at(&*rig.inner.create(name).unwrap(), &[1; 500], 0).unwrap();
    }
    rig.restore_power();
    let before = Image::of(&*rig.inner).files;
    let report = inspect(&*rig.storage().unwrap()).unwrap();
    let reported: Vec<_> = report.orphans.iter().map(|o| (o.file.as_str(), o.kept)).collect();
    assert_eq!(reported, strays.map(|name| (name, false)));
    assert_eq!(report.damage, []);
    assert!(Image::of(&*rig.inner).files == before);

    let db = rig.open(Options::default(), 2).unwrap();
    assert_eq!(db.check().unwrap().orphans, []);
    let left = rig.vfs.list().unwrap();
    assert!(!left.iter().any(|name| strays.contains(&name.as_str())), "{left:?}");
    assert!(left.contains(&"notes.txt".to_owned()));
}

#[test]
fn a_table_that_a_lost_commit_may_name_is_kept_and_reported() {
    let mut rig = store();
    let stray = "00000999.sst";
    write_all_at(&*rig.inner.create(stray).unwrap(), &[1; 500], 0).unwrap();
    let names = rig.inner.list().unwrap();
    let manifest = names.iter().find(|name| name.starts_with("MANIFEST-")).unwrap();
    let manifest = rig.inner.open(manifest).unwrap();
    let witness = manifest.len().unwrap() - SLOT;
    write_all_at(&*manifest, &[0; 16], witness).unwrap();
    rig.restore_power();
    let kept = [Orphan { file: stray.to_owned(), kept: true }];
    assert_eq!(inspect(&*rig.storage().unwrap()).unwrap().orphans, kept);
    let db = rig.open(Options::default(), 2).unwrap();
    assert_eq!(db.check().unwrap().orphans, kept);
    assert!(rig.vfs.list().unwrap().iter().any(|name| name == stray));
}

#[test]
fn a_table_that_was_never_committed_is_removed() {
    let mut rig = store();
    let stray = "00000999.sst";
    write_all_at(&*rig.inner.create(stray).unwrap(), &[1; 500], 0).unwrap();
    rig.restore_power();
    drop(rig.open(Options::default(), 2).unwrap());
    assert!(!rig.vfs.list().unwrap().iter().any(|name| name == stray));
}
