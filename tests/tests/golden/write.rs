//! Writes a set of golden stores:
//! `cargo test -p terrane-tests --test golden -- --ignored` makes `tests/golden/VERSION`.
//!
//! Every feature of the format is in each of its two stores:
//!
//! 1. Two keyspaces; batches over both; small logs that fill and serve again.
//! 2. Overwritten and deleted while a snapshot looks, then merged: several versions of a key.
//! 3. A compaction of several groups, stopped when the first is installed.
//! 4. Batches that are only in the log, the last of them cut short.

use crate::content::Rule;
use crate::format::{Place, Store};
use crate::{VOLUME, golden};
use std::sync::Arc;
use terrane::compaction::Progress;
use terrane::db::Wanted;
use terrane::driver::SliceDriver;
use terrane::storage::medium::{Medium, MemoryMedium};
use terrane::storage::volume::VolumeOptions;
use terrane::storage::{Directory, Storage, Volume};
use terrane::table::TableOptions;
use terrane::{Db, Durability, Options, Range, WriteBatch};
use terrane_policy::{Leveled, LeveledFull, PolicyOptions};
use terrane_tests::image::Image;
use terrane_tests::rig::tiny;

const BOTH: [&str; 2] = ["default", "other"];

fn options() -> Options {
    let leveled =
        Leveled { size_ratio: 3, base_bytes: 2 << 10, table_bytes: 1 << 10, ..Default::default() };
    let table = TableOptions { block_bytes: 512, ..TableOptions::default() };
    Options { memtable_bytes: 8 << 10, table, policy: PolicyOptions::Leveled(leveled), ..tiny() }
}

/// A store that is being written, and what was written.
struct Writing {
    db: Db,
    rules: String,
}

impl Writing {
    /// Applies a rule to some keyspaces: eight keys of all of them are a batch.
    fn apply(
        &mut self,
        keyspaces: &[&'static str],
        first: u64,
        end: u64,
        step: usize,
        version: u64,
    ) {
        let rule = Rule { keyspace: "", first, end, step, version };
        let ids = keyspaces.iter().map(|name| self.db.keyspace(name).unwrap().id());
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

/// Writes a store on `medium`; answers the rules of what it holds.
fn write(storage: Arc<dyn Storage>, place: Place, medium: &MemoryMedium) -> (Image, String) {
    let db = Db::open_storage(storage, options(), Arc::new(SliceDriver::default())).unwrap();
    let other = db.keyspace("other").unwrap();
    let full = LeveledFull {
        size_ratio: 3,
        base_bytes: 2 << 10,
        table_bytes: 1 << 10,
        ..Default::default()
    };
    other.set_policy(&PolicyOptions::LeveledFull(full)).unwrap();
    let mut writing = Writing { db: db.clone(), rules: String::new() };

    writing.apply(&BOTH, 0, 400, 1, 1);
    db.settle().unwrap();
    let snapshot = db.snapshot();
    writing.apply(&BOTH, 0, 200, 3, 2);
    writing.apply(&BOTH, 0, 400, 7, 0);
    db.default_keyspace().compact_range(&Range::default()).unwrap();

    // Two clusters of keys, far from each other, make two groups.
    let remaining = || Store::read(&Image::of(medium).files, place).remaining > 0;
    for version in 3.. {
        for first in [20, 320] {
            writing.apply(&["other"], first, first + 40, 1, version);
            db.flush().unwrap();
        }
        while !remaining()
            && let Some(mut job) = db.engine().next_job(Wanted::Any)
        {
            while job.run_for(u64::MAX).unwrap() == Progress::More {}
        }
        if remaining() {
            break;
        }
        assert!(version < 50, "no compaction has several groups");
    }

    writing.apply(&BOTH, 100, 130, 1, 9);
    let before = Image::of(medium);
    let mut last = WriteBatch::new();
    last.put(other.id(), b"lost", &[b'x'; 100]).unwrap();
    db.write(last, Durability::Sync).unwrap();
    let mut image = before.clone();
    for (name, after) in Image::of(medium).files {
        let torn = image.files.get_mut(&name).unwrap();
        let changed: Vec<_> = (0..after.len()).filter(|at| torn[*at] != after[*at]).collect();
        changed.iter().take(changed.len() / 2).for_each(|at| torn[*at] = after[*at]);
    }
    drop(snapshot);
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

#[test]
#[ignore = "writes a set of golden stores"]
fn write_a_set() {
    let medium = MemoryMedium::new();
    let storage = Directory::open(Arc::new(medium.clone())).unwrap();
    save("directory", write(Arc::new(storage), Place::Directory, &medium));
    let medium = MemoryMedium::new();
    let backing = medium.create(VOLUME).unwrap();
    let options = VolumeOptions { min_growth: 4096, max_growth: 4096, ..Default::default() };
    let storage = Volume::open(vec![backing], options).unwrap();
    save("volume", write(Arc::new(storage), Place::Volume, &medium));
}
