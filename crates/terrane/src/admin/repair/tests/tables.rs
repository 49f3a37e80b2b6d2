//! Tables that are not what they should be, and the new store's batches.

use super::*;
use crate::entry::newer_kind;
use crate::storage::Commit;
use crate::table::TableWriter;
use crate::version::{Change, Edit};
use terrane_policy::{RunId, TableId};

/// The bytes of a table of these entries, for a keyspace if that is known.
fn table(
    number: u64,
    salt: u64,
    keyspace: Option<(u32, &str)>,
    entries: &[(&str, Tag, &str)],
) -> Vec<u8> {
    let file = MemoryVfs::new().create("table").unwrap();
    write_table(file.clone(), number, salt, keyspace, entries);
    bytes(&*file)
}

fn write_table(
    file: Arc<dyn File>,
    number: u64,
    salt: u64,
    keyspace: Option<(u32, &str)>,
    entries: &[(&str, Tag, &str)],
) -> TableInfo {
    let writer = TableWriter::new(file, TableId(number), &TableOptions::default());
    let mut writer = writer.of_store(salt, 0);
    if let Some((id, name)) = keyspace {
        writer = writer.of_keyspace(id, Some(name.to_owned()));
    }
    for (key, tag, value) in entries {
        writer.add(key.as_bytes(), *tag, value.as_bytes()).unwrap();
    }
    writer.finish().unwrap()
}

fn entry<'a>(key: &'a str, seq: Seq, value: &'a str) -> (&'a str, Tag, &'a str) {
    (key, Tag::new(seq, Kind::Put), value)
}

/// A closed store with a row of the default keyspace in a table, and the table's name.
fn of_one_table() -> (Store, String) {
    let store = Store::new(Layout::Directory);
    let db = store.open();
    put(&db, "default", "key", "value");
    db.flush().unwrap();
    db.close().unwrap();
    let (version_set, _) = store.look();
    let name = FileId::table(version_set.tables()[0].id.0).to_string();
    (store, name)
}

fn replace(store: &Store, name: &str, bytes: &[u8]) {
    write_all_at(&*store.vfs.create(name).unwrap(), bytes, 0).unwrap();
}

#[test]
fn a_table_of_another_number_or_store_is_none_of_the_store() {
    let (store, name) = of_one_table();
    let salt = store.look().1.id().salt();
    let number = FileId::parse(&name).unwrap().number;
    for (number, salt) in [(number + 1, salt), (number, salt + 1)] {
        replace(&store, &name, &table(number, salt, None, &[entry("foreign", 1, "row")]));
        // Without the row in the log.
        for (id, log) in store.remains().files {
            if id.kind == FileKind::Log {
                write_all_at(&*store.vfs.open(log.name()).unwrap(), &[0; 4096], 0).unwrap();
            }
        }
        let (target, report) = store.repair();
        let lost = &of_file(&report, &name).lost;
        let found = format!("found table {number} under salt {salt:016x}");
        assert!(lost.len() == 1 && lost[0].starts_with("all of it, 1 entries: "), "{lost:?}");
        assert!(lost[0].contains(&found) && !report.complete, "{lost:?}");
        assert_eq!(get(&target, "foreign"), None);
    }
}

/// Repairs a store after its manifest is gone, or has this many keyspaces left, with a table that does
/// not say whose it is.
fn with_a_table_of_nobody(keyspaces: Option<usize>, said: Option<(u32, &str)>) -> (Db, Salvaged) {
    let store = Store::new(Layout::Directory);
    let db = store.open();
    let records = store.remains().edits.len();
    for name in ["a", "b"] {
        db.create_keyspace(name).unwrap();
    }
    put(&db, "default", "flushed", "later");
    db.flush().unwrap();
    db.close().unwrap();
    replace(&store, "00999999.sst", &table(999_999, 1, said, &[entry("nobody's", 1, "row")]));
    match keyspaces {
        // Each keyspace is a record of its own.
        Some(keyspaces) => store.lose_record((records + keyspaces - 1) as u64),
        None => store.lose_manifest(),
    }
    store.repair()
}

#[test]
fn an_unowned_table_joins_the_only_keyspace_or_gets_its_own() {
    for keyspaces in [None, Some(1)] {
        for said in [None, Some((u32::MAX, "unknown"))] {
            let (target, report) = with_a_table_of_nobody(keyspaces, said);
            assert_eq!(rows(&target, "default").len(), 2, "{keyspaces:?}: {report:#?}");
            assert_eq!(report.rows, [("default".to_owned(), 2)]);
        }
    }
    for said in [None, Some((u32::MAX, "unknown"))] {
        let (target, report) = with_a_table_of_nobody(Some(2), said);
        assert_eq!(rows(&target, "of unknown keyspace").len(), 1, "{report:#?}");
        assert_eq!(rows(&target, "default").len(), 1);
        let keyspace = of_file(&report, "00999999.sst").keyspace.as_deref();
        assert_eq!(keyspace, Some("of unknown keyspace"));
    }
    let (target, report) = with_a_table_of_nobody(Some(2), Some((77, "said")));
    assert_eq!(rows(&target, "said").len(), 1, "{report:#?}");
    assert_eq!(report.rows.last().unwrap(), &("said".to_owned(), 1));
}

#[test]
fn an_entry_of_a_later_release_hides_older_ones_and_is_reported() {
    let (store, name) = of_one_table();
    let (version_set, storage) = store.look();
    let (number, salt) = (version_set.next_id, storage.id().salt());
    let file = storage.create(FileId::table(number), 0).unwrap();
    let separated = Tag(100 << 8 | 5);
    let entries = [("key", separated, "place"), ("other", Tag::new(100, Kind::Put), "row")];
    let info = write_table(file, number, salt, None, &entries);
    let changes = vec![
        Change::NextId(number + 2),
        Change::AddTable { keyspace: KeyspaceId(0), level: 0, run: RunId(number + 1), info },
    ];
    let edit = Edit { changes }.encode();
    let snapshot = || panic!("the manifest has room");
    let added = [FileId::table(number)];
    let commit = Commit { edit: &edit, added: &added, dropped: &[], snapshot: &snapshot };
    storage.commit(&commit).unwrap();
    storage.close(0);

    let (target, report) = store.repair();
    assert_eq!((get(&target, "key"), get(&target, "other").as_deref()), (None, Some("row")));
    let newer = of_file(&report, &FileId::table(number).to_string());
    let told = newer_kind(&newer.file, 5).to_string();
    assert!(told.contains(&newer.file));
    assert_eq!((&newer.lost, newer.entries), (&vec![told], 2));
    assert!(of_file(&report, &name).lost.is_empty() && !report.complete);
}

#[test]
fn rows_are_written_in_batches_of_a_bounded_size() {
    let store = Store::new(Layout::Directory);
    let db = Db::open_storage(
        store.storage(),
        Options { wal_file_bytes: 8 << 20, ..Options::small() },
        Arc::new(SliceExecutor::default()),
    );
    let db = db.unwrap();
    let sizes = (0..3000).map(|_| 60).chain([400_000; 7]).chain([0]);
    // How many batches take rows of up to a MiB, in order.
    let (mut batches, mut bytes) = (1, 0);
    for (n, size) in sizes.enumerate() {
        let key = format!("{n:06} {}", "k".repeat(60));
        put(&db, "default", &key, &"v".repeat(size));
        if bytes + key.len() + size > 1 << 20 {
            (batches, bytes) = (batches + 1, 0);
        }
        bytes += key.len() + size;
    }
    db.close().unwrap();
    let (target, report) = store.repair();
    assert_eq!(report.rows, [("default".to_owned(), 3008)]);
    assert_eq!(rows(&target, "default").len(), 3008);
    assert_eq!(target.snapshot().sequence(), batches);
}
