//! Histories against the engines' own accounts of their trees, and every part of the format.
//!
//! `data` has MANIFESTs, each with the tables that its engine had at the end, as the engine listed them: level, number,
//! bytes, least and greatest key, entries. RocksDB 9.8.4 wrote two column families with memtables of 64 KiB, and
//! dropped a third; reopened, it started another file. Pebble 1.1.5 wrote updates, range deletes and a range key with
//! memtables of 64 KiB.

mod format;
mod options;

use crate::edit::{Dialect, Edit};
use crate::history::{History, Line};
use crate::log::frame;
use crate::manifest::{Engine, Manifest, is_manifest};
use crate::{Error, fuzz};
use format::records;
use proptest::prelude::*;
use std::collections::BTreeMap;
use terrane_policy::TableInfo;
use terrane_policy::event::Event;

/// A MANIFEST and the tables at its end.
struct Store {
    manifest: &'static [u8],
    tables: &'static str,
    engine: Engine,
}

macro_rules! store {
    ($name:literal, $engine:expr) => {
        Store {
            manifest: include_bytes!(concat!("../data/", $name)),
            tables: include_str!(concat!("../data/", $name, ".tables")),
            engine: $engine,
        }
    };
}

const STORES: [Store; 5] = [
    store!("rocksdb-leveled", Engine::RocksDb),
    store!("rocksdb-leveled-reopened", Engine::RocksDb),
    store!("rocksdb-universal", Engine::RocksDb),
    store!("rocksdb-universal-reopened", Engine::RocksDb),
    store!("pebble-leveled", Engine::Pebble),
];

/// Tables by their number, with their level and run.
type Tree = BTreeMap<u64, (usize, u64, TableInfo)>;

/// The tree after the events of a history.
fn tree(history: &History) -> Tree {
    let mut tree = Tree::new();
    for line in &history.lines {
        match line {
            Line::Header(_) => {}
            Line::Shape(shape) => {
                let shape = serde_json::to_value(shape).unwrap();
                for (level, place) in shape["levels"].as_array().unwrap().iter().enumerate() {
                    for run in place["runs"].as_array().unwrap() {
                        let id = run["id"].as_u64().unwrap();
                        let tables: Vec<TableInfo> =
                            serde_json::from_value(run["tables"].clone()).unwrap();
                        tree.extend(tables.into_iter().map(|t| (t.id.0, (level, id, t))));
                    }
                }
            }
            Line::Event { event: Event::Flushed { run, tables, .. }, .. } => {
                tree.extend(tables.iter().map(|t| (t.id.0, (0, run.0, t.clone()))));
            }
            Line::Event {
                event: Event::GroupInstalled { inputs, level, run, outputs, .. },
                ..
            } => {
                for input in inputs {
                    assert!(tree.remove(&input.0).is_some(), "{input} is in the tree");
                }
                tree.extend(outputs.iter().map(|t| (t.id.0, (*level, run.0, t.clone()))));
            }
            Line::Event { .. } => {}
        }
    }
    tree
}

fn text(key: &[u8]) -> String {
    String::from_utf8(key.to_vec()).unwrap()
}

#[test]
fn a_history_ends_with_the_tables_of_the_engine() {
    for Store { manifest, tables, engine } in STORES {
        let manifest = Manifest::read(manifest).unwrap();
        assert_eq!((manifest.engine(), manifest.problem()), (engine, None));
        let mut found = Vec::new();
        for family in manifest.families() {
            let history = manifest.history(&family, None);
            assert_eq!((history.problem.clone(), history.is_timed), (None, true));
            for (number, (level, _, table)) in tree(&history) {
                let keys = (text(&table.smallest), text(&table.largest));
                found.push((level, number, table.bytes, keys));
            }
        }
        found.sort();
        let expected = tables.lines().map(|line| {
            let fields: Vec<_> = line.split(' ').collect();
            let number = |at: usize| fields[at].parse::<u64>().unwrap();
            let keys = (fields[3].to_owned(), fields[4].to_owned());
            (number(0) as usize, number(1), number(2), keys)
        });
        assert_eq!(found, expected.collect::<Vec<_>>());
    }
}

#[test]
fn runs_of_level_0_are_in_the_order_of_their_ages() {
    let mut several = 0;
    for Store { manifest, engine, .. } in STORES {
        let manifest = Manifest::read(manifest).unwrap();
        for family in manifest.families() {
            let tree = tree(&manifest.history(&family, None));
            let mut runs: Vec<_> = tree.values().filter(|(level, ..)| *level == 0).collect();
            runs.sort_by_key(|(_, run, _)| *run);
            let seqs: Vec<_> = runs.iter().map(|(.., table)| table.last_seq).collect();
            assert!(seqs.is_sorted(), "{seqs:?}");
            several += usize::from(runs.len() > 1);
            // Every other level is one run, without overlap.
            for level in 1..7 {
                let mut own: Vec<_> = tree.values().filter(|table| table.0 == level).collect();
                own.sort_by(|a, b| a.2.smallest.cmp(&b.2.smallest));
                let apart = |pair: &[&(usize, u64, TableInfo)]| {
                    let [(_, run, one), (_, other_run, other)] = pair else { return false };
                    // A range delete of Pebble may end before the key that the next table starts with.
                    let may_touch = engine == Engine::Pebble && one.largest == other.smallest;
                    run == other_run && (one.largest < other.smallest || may_touch)
                };
                assert!(own.windows(2).all(apart), "level {level}");
            }
        }
    }
    assert!(several > 0, "some level 0 has several runs");
}

#[test]
fn entries_of_a_store_are_estimated() {
    let Store { manifest, tables, .. } = &STORES[0];
    let manifest = Manifest::read(manifest).unwrap();
    let counted: u64 =
        tables.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
    let families = manifest.families();
    let estimated: u64 = families
        .iter()
        .flat_map(|family| tree(&manifest.history(family, None)).into_values())
        .map(|(.., table)| table.entries)
        .sum();
    // Two families share the sequence numbers of a flush.
    assert!((counted..4 * counted).contains(&estimated), "{estimated} for {counted}");
}

#[test]
fn column_families_have_names_and_may_be_dropped() {
    let manifest = Manifest::read(STORES[0].manifest).unwrap();
    let families = manifest.families();
    let names: Vec<_> = families.iter().map(|one| (&*one.name, one.is_dropped)).collect();
    assert_eq!(names, [("default", false), ("users", false), ("old", true)]);
    assert!(families.iter().all(|family| family.edits > 0));
}

/// Fields of a record.
#[derive(Default)]
struct Record(Vec<u8>);

impl Record {
    fn number(mut self, mut value: u64) -> Self {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }

    fn numbers(self, values: &[u64]) -> Self {
        values.iter().fold(self, |record, value| record.number(*value))
    }

    fn bytes(self, bytes: &[u8]) -> Self {
        let mut record = self.number(bytes.len() as u64);
        record.0.extend_from_slice(bytes);
        record
    }

    fn key(self, key: &str) -> Self {
        self.bytes(&[key.as_bytes(), &[1; 8]].concat())
    }

    /// The start of a file.
    fn first() -> Self {
        Record::default().number(1).bytes(b"leveldb.BytewiseComparator")
    }

    /// An edit that follows.
    fn edit() -> Self {
        Record::default().numbers(&[3, 100])
    }

    /// A table in the form of RocksDB's and Pebble's, without further fields.
    fn table(self, level: u64, number: u64, keys: &str, seq: u64) -> Self {
        let (smallest, largest) = keys.split_once('-').unwrap();
        let record = self.numbers(&[103, level, number, 1000]).key(smallest).key(largest);
        record.numbers(&[seq, seq + 9, 1])
    }

    fn removed(self, level: u64, number: u64) -> Self {
        self.numbers(&[6, level, number])
    }
}

/// The events of the default column family, as they are named in a trace, and the reason why they end.
fn events(records: &[Record]) -> (Vec<serde_json::Value>, Option<Error>) {
    let log = frame(records.iter().map(|record| &record.0[..]));
    let manifest = Manifest::read(&log).unwrap();
    let history = manifest.history(&manifest.families()[0], None);
    let lines = history.lines.iter().skip(1).map(|line| serde_json::to_value(line).unwrap());
    (lines.collect(), history.problem)
}

/// Events in short: the type, with the level, inputs and outputs of a group.
fn short(events: &[serde_json::Value]) -> Vec<String> {
    let ids = |list: &serde_json::Value| {
        let ids = list.as_array().unwrap().iter().map(|one| one.get("id").unwrap_or(one));
        ids.map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    let line = |event: &serde_json::Value| match event["type"].as_str().unwrap() {
        "flushed" => format!("flushed {} in run {}", ids(&event["tables"]), event["run"]),
        "group-installed" => format!(
            "{} {} -> {} in level {}",
            if event["moved"] == true { "moved" } else { "merged" },
            ids(&event["inputs"]),
            ids(&event["outputs"]),
            event["level"]
        ),
        other => other.to_owned(),
    };
    let shown = |line: &String| {
        !["memtable-sealed", "group-begun", "compaction-ended", "compaction-begun"]
            .contains(&&**line)
    };
    events.iter().map(line).filter(shown).collect()
}

#[test]
fn edits_are_flushes_merges_and_moves() {
    let (events, problem) = events(&[
        Record::first(),
        Record::edit().table(0, 1, "a-m", 10).table(0, 2, "n-z", 10),
        Record::edit().table(0, 3, "a-m", 20).table(0, 4, "c-z", 30),
        Record::edit().removed(0, 1).removed(0, 3).table(1, 5, "a-m", 10),
        Record::edit().removed(1, 5).table(2, 5, "a-m", 10),
        Record::edit().removed(0, 4).removed(0, 2).table(0, 6, "c-z", 10),
        Record::edit().table(3, 7, "x-z", 90),
        Record::edit().removed(2, 5).removed(0, 6),
    ]);
    assert_eq!(problem, None);
    assert_eq!(
        short(&events),
        [
            "flushed 1 2 in run 1",
            "flushed 3 in run 2",
            "flushed 4 in run 3",
            "merged 3 1 -> 5 in level 1",
            "moved 5 -> 5 in level 2",
            "merged 4 2 -> 6 in level 0",
            "merged  -> 7 in level 3",
            "moved 6 5 ->  in level 2",
        ]
    );
    let reasons = events.iter().filter(|event| event["type"] == "compaction-begun");
    let reasons: Vec<_> = reasons.map(|event| event["reason"].as_str().unwrap()).collect();
    assert_eq!(
        reasons,
        [
            "LevelDB merged 2 tables into level 1.",
            "LevelDB moved 1 table to level 2, as they are.",
            "LevelDB merged 2 tables into level 0.",
            "LevelDB added 1 table to level 3.",
            "LevelDB removed 2 tables.",
        ]
    );
    let within = events.iter().find(|event| event["outputs"][0]["id"] == 6).unwrap();
    assert_eq!(within["run"], 3, "the newest run that was merged");
    // Without times an edit takes a tenth of a second.
    assert_eq!(events.last().unwrap()["micros"], 600_000);
}

#[test]
fn a_file_that_starts_with_tables_starts_with_their_tree() {
    let (events, problem) = events(&[
        Record::first().table(0, 1, "a-m", 30).table(0, 2, "a-z", 20).table(2, 3, "b-c", 1),
        Record::edit().table(0, 4, "a-m", 40),
    ]);
    assert_eq!(problem, None);
    let levels = &events[0]["levels"];
    let runs = |level: usize| levels[level]["runs"].as_array().unwrap();
    let newest: Vec<_> = runs(0).iter().map(|run| &run["tables"][0]["id"]).collect();
    assert_eq!((newest, runs(1).len(), runs(2).len()), (vec![&1.into(), &2.into()], 0, 1));
    assert_eq!(short(&events)[1..], ["flushed 4 in run 4"]);
}

#[test]
fn a_history_ends_before_an_edit_of_another_tree() {
    for wrong in [
        Record::edit().removed(0, 9),
        Record::edit().removed(1, 1),
        Record::edit().removed(0, 1).removed(0, 1),
        Record::edit().table(0, 1, "a-b", 1),
        Record::edit().table(0, 2, "a-b", 1).table(0, 2, "a-b", 1),
    ] {
        let flush = Record::edit().table(0, 1, "a-z", 1);
        let later = Record::edit().table(0, 8, "a-z", 5);
        let (events, problem) = events(&[Record::first(), flush, wrong, later]);
        assert_eq!(short(&events), ["flushed 1 in run 1"]);
        assert!(matches!(problem, Some(Error::Edit { record: 3, .. })), "{problem:?}");
    }
}

#[test]
fn tables_that_pebble_cuts_are_not_rewritten() {
    // Its number, its range keys beside its points, a part of another file, blob references, and an unknown field.
    let part = |record: Record, number: u64, keys: &str| {
        let (smallest, largest) = keys.split_once('-').unwrap();
        let record = record.numbers(&[104, 1, number, 500]).numbers(&[1 | 2 | 4]);
        let record = record.key(smallest).key(largest).key(smallest).key("zz");
        let record = record.numbers(&[1, 9, 66, 1, 69, 1, 1, 7, 8]).number(9).bytes(b"other");
        record.number(1)
    };
    let excised = Record::edit().removed(1, 1).numbers(&[105, 1, 1000]);
    let excised = part(part(excised, 2, "a-c"), 3, "x-z").number(10).bytes(b"d").bytes(b"w");
    let (events, problem) = events(&[
        Record::first().table(1, 1, "a-z", 1),
        excised.numbers(&[0, 12, 106, 1, 107, 1, 2, 3, 4, 5, 108, 1, 2, 11, 1, 2]),
    ]);
    assert_eq!(problem, None);
    assert_eq!(short(&events), ["shape", "moved 1 -> 2 3 in level 1"]);
    let outputs =
        events.iter().find(|event| event["moved"] == true && event["outputs"][0].is_object());
    let largest = &outputs.unwrap()["outputs"][0]["largest"];
    assert_eq!(largest, &serde_json::json!(b"zz"), "that of its range keys");
    let begun = events.iter().find(|event| event["type"] == "compaction-begun").unwrap();
    assert_eq!(begun["reason"], "Pebble moved 2 tables to level 1, as they are.");
}

#[test]
fn the_times_of_tables_distinguish_pebble_from_rocksdb() {
    // Fields of a table: the time of its oldest ancestor, and that of its file.
    let engine = |fields: &[u64]| {
        let table = Record::edit().numbers(&[103, 0, 1, 1000]).key("a").key("m");
        let table = table.numbers(&[1, 9]).numbers(fields).number(1);
        let records = [Record::first(), table];
        let log = frame(records.iter().map(|record| &record.0[..]));
        Manifest::read(&log).unwrap().engine()
    };
    assert_eq!(engine(&[6, 1, 5]), Engine::Pebble);
    assert_eq!(engine(&[5, 1, 5, 6, 1, 5]), Engine::RocksDb);
    assert_eq!(engine(&[]), Engine::LevelDb, "neither is recorded");
}

#[test]
fn unknown_fields_of_rocksdb_are_skipped() {
    let record = Record::first().number(8193).bytes(b"id").numbers(&[10, 4, 203, 5, 300, 0]);
    let record = record.numbers(&[400, 7, 1, 2]).bytes(b"crc").bytes(b"sum").number(3).bytes(b"x");
    let record = record.numbers(&[0, 401, 7, 1, 2, 0, 5, 1]).key("a").numbers(&[102, 0, 1, 0, 9]);
    let record = record.key("a").key("b").numbers(&[1, 2]);
    let edit = Edit::decode(&record.0, Dialect::RocksDb).unwrap();
    assert_eq!((edit.added.len(), edit.added[0].bytes, edit.is_rocksdb), (1, 9, true));
    // A field that changes what a table is.
    let unknown = Record::edit().numbers(&[103, 0, 1, 9]).key("a").key("b").numbers(&[1, 2, 80]);
    let wrong = Edit::decode(&unknown.bytes(b"").0, Dialect::RocksDb).unwrap_err();
    assert_eq!(wrong, ("a field of a table that is known", "80".to_owned()));
}

#[test]
fn records_that_are_no_edits_are_refused_in_words() {
    let refused = |record: Record| Edit::decode(&record.0, Dialect::RocksDb).unwrap_err();
    let number = Record(vec![0x80; 11]);
    assert_eq!(refused(number).0, "a number of 64 bits");
    assert_eq!(refused(Record(vec![0x82])), ("a number", "the end".to_owned()));
    assert_eq!(refused(Record::default().numbers(&[1, 9])).0, "bytes of a length");
    assert_eq!(refused(Record::default().numbers(&[6, 64, 1])).0, "a level below 64");
    assert_eq!(refused(Record::default().number(99)), ("a tag that is known", "99".to_owned()));
    let short = Record::default().numbers(&[7, 0, 1, 9]).bytes(b"seven77");
    assert_eq!(refused(short), ("a key with a sequence number", "7 bytes".to_owned()));
    assert!(matches!(Manifest::read(b""), Err(Error::Chunk { found: "none", .. })));
    let other = frame([&[99][..]]);
    assert!(matches!(Manifest::read(&other), Err(Error::Edit { record: 1, .. })));
    assert!(!is_manifest(&other) && !is_manifest(b"{}") && !is_manifest(&[0; 100]));
    assert!(STORES.iter().all(|store| is_manifest(store.manifest)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn arbitrary_bytes_are_read_or_refused(
        noise in prop::collection::vec(any::<u8>(), 0..80),
        store in 0..STORES.len(),
        at in any::<prop::sample::Index>(),
        with in any::<u8>(),
    ) {
        fuzz(&noise);
        let sound = STORES[store].manifest;
        let mut bytes = sound.to_vec();
        bytes[at.index(sound.len())] = with;
        fuzz(&bytes);
        // A record of it, whose checksum holds.
        let mut all = records(sound).unwrap();
        all.retain(|record| !record.is_empty());
        let mut record = all[at.index(all.len())].clone();
        let place = at.index(record.len());
        record[place] = with;
        fuzz(&record);
        record.splice(place..place, noise);
        fuzz(&record);
    }
}
