//! Writes a set of golden stores:
//! `cargo test -p terrane-tests --test engine golden -- --ignored` makes `tests/golden/VERSION`.
//!
//! Each of its two stores has every feature of the format:
//!
//! 1. Two keyspaces; batches over both; small logs that fill and are recycled.
//! 2. Overwrites, deletes and range deletes under a snapshot, then merged: several versions of a key.
//! 3. A compaction of several groups, stopped after the first is installed.
//! 4. A range delete that is flushed, over older tables, a table of values that expire, and one of operands over one
//!    of values; then batches that are only in the log, some of them with a range delete, values that expire and
//!    operands, and one that drops a keyspace, the last of them torn.

use super::content::{Rule, key};
use super::format::{Place, Store};
use super::{VOLUME, golden, lacks};
use std::sync::Arc;
use terrane::executor::JobFilter;
use terrane::executor::Progress;
use terrane::executor::SliceExecutor;
use terrane::storage::vfs::{MemoryVfs, Vfs};
use terrane::storage::volume::VolumeOptions;
use terrane::storage::{Directory, Storage, Volume};
use terrane::table::TableOptions;
use terrane::{Db, Durability, Millis, Operand, Options, WriteBatch};
use terrane_policy::{Leveled, LeveledFull, Pick, PolicyOptions};
use terrane_tests::fixtures::tiny;
use terrane_tests::image::Image;

const BOTH: [&str; 2] = ["default", "other"];
/// The year 2286, in milliseconds since the epoch.
const LATER: Millis = 10_000_000_000_000;

fn options() -> Options {
    let pick = Pick::RoundRobin;
    let (size_ratio, level_base_bytes, target_file_bytes) = (3, 2 << 10, 2 << 10);
    let leveled =
        Leveled { size_ratio, level_base_bytes, target_file_bytes, pick, ..Leveled::default() };
    tiny()
        .memtable_bytes(8 << 10)
        .feed_bytes(8 << 10)
        .table(TableOptions { block_bytes: 512, partition_bytes: 64, ..TableOptions::default() })
        .policy(PolicyOptions::Leveled(leveled))
}

/// The policy of `other`: its compactions have several groups.
fn whole_levels() -> PolicyOptions {
    let (size_ratio, level_base_bytes, target_file_bytes) = (3, 2 << 10, 2 << 10);
    let full =
        LeveledFull { size_ratio, level_base_bytes, target_file_bytes, ..LeveledFull::default() };
    PolicyOptions::LeveledFull(full)
}

/// A store being written, and the rules of what was written.
struct Writing {
    db: Db,
    rules: String,
}

impl Writing {
    /// Applies a rule to some keyspaces: eight keys in each of them make a batch.
    fn apply(
        &mut self,
        keyspaces: &[&'static str],
        first: u64,
        end: u64,
        step: usize,
        version: u64,
    ) {
        let rule = Rule { keyspace: "", first, end, step, version };
        let ids = keyspaces.iter().map(|name| self.db.create_keyspace(name).unwrap().id());
        let ids: Vec<_> = ids.collect();
        for entries in rule.entries().collect::<Vec<_>>().chunks(8) {
            let mut batch = WriteBatch::new();
            for ((key, value), id) in entries.iter().flat_map(|e| ids.iter().map(move |id| (e, id)))
            {
                match value {
                    Some(value) => batch.put(*id, key, value).unwrap(),
                    None => batch.delete(*id, key).unwrap(),
                };
            }
            self.db.write(batch, Durability::Sync).unwrap();
        }
        let lines = keyspaces.iter().map(|keyspace| Rule { keyspace, ..rule }.to_string());
        self.rules.extend(lines);
    }
}

impl Writing {
    /// Deletes the keys from `first` to below `end` of a keyspace by one range delete.
    fn delete_range(&mut self, keyspace: &'static str, first: u64, end: u64) {
        let rows = self.db.create_keyspace(keyspace).unwrap();
        rows.delete_range(key(first)..key(end), Durability::Sync).unwrap();
        let (step, version) = (1, 0);
        self.rules += &Rule { keyspace, first, end, step, version }.to_string();
    }

    /// Puts the keys from `first` to below `end` of a keyspace with values that expire at a time, which may be over.
    fn expire(&mut self, keyspace: &'static str, first: u64, end: u64, expires_at: Millis) {
        let rows = self.db.create_keyspace(keyspace).unwrap();
        let rule = Rule { keyspace, first, end, step: 1, version: 98 };
        let mut batch = WriteBatch::new();
        for (key, value) in rule.entries() {
            batch.put_expiring_at(&rows, key, value.unwrap(), expires_at).unwrap();
        }
        self.db.write(batch, Durability::Sync).unwrap();
        let version = if expires_at == LATER { rule.version } else { 0 };
        self.rules += &Rule { version, ..rule }.to_string();
    }
}

impl Writing {
    /// Merges operands into the counters from `first` to below `end`; the last value of all of them is `value`.
    fn merge(&mut self, first: u64, end: u64, operands: &[Operand<'_>], value: u64) {
        let rows = self.db.create_keyspace("counters").unwrap();
        for operand in operands {
            let mut batch = WriteBatch::new();
            (first..end).for_each(|n| batch.merge(&rows, key(n), *operand).unwrap());
            self.db.write(batch, Durability::Sync).unwrap();
        }
        let rule = Rule { keyspace: "counters", first, end, step: 1, version: value };
        self.rules += &rule.to_string();
    }
}

/// Writes a store through `open`, which is over `vfs`, its last batches with keys below `end`. Returns
/// the image and the rules of its content.
fn write(
    open: impl Fn() -> Arc<dyn Storage>,
    place: Place,
    vfs: &MemoryVfs,
    end: u64,
) -> (Image, String) {
    let open_db =
        |storage| Db::open_storage(storage, options(), Arc::new(SliceExecutor::default())).unwrap();
    let db = open_db(open());
    db.create_keyspace("other").unwrap().set_policy(&whole_levels()).unwrap();
    let mut writing = Writing { db: db.clone(), rules: String::new() };

    writing.apply(&BOTH, 0, 340, 1, 1);
    db.wait_until_idle().unwrap();
    let snapshot = db.snapshot();
    writing.apply(&BOTH, 0, 200, 3, 2);
    writing.apply(&BOTH, 0, 340, 7, 0);
    writing.delete_range("other", 60, 64);
    db.create_keyspace("other").unwrap().compact_range(..).unwrap();
    for version in 3..9 {
        writing.apply(&["default"], version, 340, 5, version);
        db.wait_until_idle().unwrap();
    }
    drop(snapshot);

    // Two clusters of keys, far from each other, make two groups. One of them must stay unfinished
    // through all that follows.
    let remaining = || Store::read(&Image::of(vfs).files, place).remaining > 0;
    writing.db = db;
    for version in 9.. {
        assert!(version < 50, "no compaction of several groups is left half done");
        for first in [20, 230] {
            writing.apply(&["other"], first, first + 40, 1, version);
            writing.db.flush().unwrap();
        }
        while !remaining()
            && let Some(mut job) = writing.db.next_job(JobFilter::Any)
        {
            while job.run_for(u64::MAX).unwrap() == Progress::More {}
        }
        if !remaining() {
            continue;
        }

        // A volume that is mostly free moves its tables to the front and truncates the rest. The space they
        // leave is free when the store is reopened, and a manifest full of moves continues with a commit.
        for _ in 0..4 {
            drop(writing.db);
            if place == Place::Volume {
                let backing = vfs.open(VOLUME).unwrap();
                backing.set_len(4 * backing.len().unwrap()).unwrap();
            }
            let storage = open();
            writing.db = open_db(storage.clone());
            while storage.vacuum().unwrap() {}
            writing.db.create_keyspace("other").unwrap().set_policy(&whole_levels()).unwrap();
        }

        writing.delete_range("default", 300, 320);
        writing.db.flush().unwrap();
        writing.expire("default", 310, 330, LATER);
        writing.db.flush().unwrap();
        let counters = writing.db.create_keyspace("counters").unwrap();
        for n in 0..10 {
            counters.put(key(n), "5", Durability::Sync).unwrap();
        }
        writing.db.flush().unwrap();
        writing.merge(0, 5, &[Operand::Add(7)], 12);
        writing.merge(5, 12, &[Operand::Max(8), Operand::Add(-3), Operand::Min(90)], 5);
        writing.db.flush().unwrap();
        writing.merge(4, 5, &[Operand::Add(-2)], 10);
        let fleeting = writing.db.create_keyspace("fleeting").unwrap();
        fleeting.put(b"key", b"value", Durability::Sync).unwrap();
        assert!(writing.db.drop_keyspace("fleeting").unwrap());
        writing.merge(11, 13, &[Operand::Max(6)], 6);
        writing.apply(&BOTH, 100, end, 1, 99);
        writing.delete_range("other", 100, 102);
        writing.expire("other", 101, 103, LATER);
        writing.expire("other", 103, 105, 1);
        // Writes a claim.
        writing.db.sync().unwrap();
        if remaining() {
            break;
        }
    }

    let mut image = Image::of(vfs);
    let other = writing.db.create_keyspace("other").unwrap();
    other.put(b"lost", &[b'x'; 100], Durability::Sync).unwrap();
    for (name, after) in Image::of(vfs).files {
        let torn = image.files.get_mut(&name).unwrap();
        let changed: Vec<_> = (0..after.len()).filter(|at| torn[*at] != after[*at]).collect();
        changed.iter().take(changed.len() / 2).for_each(|at| torn[*at] = after[*at]);
    }
    (image, writing.rules)
}

fn save(name: &str, (mut image, rules): (Image, String)) {
    let place = golden().join(env!("CARGO_PKG_VERSION")).join(name);
    std::fs::create_dir_all(place.join("store")).unwrap();
    std::fs::write(place.join("content.txt"), rules).unwrap();
    image.files.remove("LOCK");
    for (name, bytes) in image.files {
        std::fs::write(place.join("store").join(name), bytes).unwrap();
    }
}

/// The first of several stores, which differ in how many batches come last, that has every feature:
/// where logs and compactions stand at the end depends on that number.
fn complete(place: Place, store: impl Fn(u64) -> (Image, String)) -> (Image, String) {
    let shows_all =
        |(image, _): &(Image, String)| lacks(&Store::read(&image.files, place)).is_none();
    (104..200).step_by(4).map(store).find(shows_all).expect("a store that shows every feature")
}

/// A complete store of each kind of storage.
fn stores() -> [(&'static str, Place, (Image, String)); 2] {
    let directory = |end| {
        let vfs = MemoryVfs::new();
        let open =
            || -> Arc<dyn Storage> { Arc::new(Directory::open(Arc::new(vfs.clone())).unwrap()) };
        write(open, Place::Directory, &vfs, end)
    };
    let volume = |end| {
        let vfs = MemoryVfs::new();
        drop(vfs.create(VOLUME).unwrap());
        let open = || -> Arc<dyn Storage> {
            let new_id = vfs.draw_id().unwrap();
            let options =
                VolumeOptions { new_id, min_growth: 4096, max_growth: 4096, ..Default::default() };
            Arc::new(Volume::open(vec![vfs.open(VOLUME).unwrap()], options).unwrap())
        };
        write(open, Place::Volume, &vfs, end)
    };
    [
        ("directory", Place::Directory, complete(Place::Directory, directory)),
        ("volume", Place::Volume, complete(Place::Volume, volume)),
    ]
}

#[test]
#[ignore = "writes a set of golden stores"]
fn write_a_set() {
    for (name, _, store) in stores() {
        save(name, store);
    }
}

#[test]
fn format_md_suffices_to_read_a_store_of_this_release() {
    for (name, place, (image, _)) in stores() {
        let store = Store::read(&image.files, place);
        assert!(store.keeping > 0, "{name}: no table kept an entry for a snapshot");
        assert!(store.retained > 0, "{name}: no log is retained");
    }
}
