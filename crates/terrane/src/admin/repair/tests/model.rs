//! Repair, against a model that knows which parts of a store are intact.
//!
//! 1. A store of several tables and logs is written, and closed. Each batch is remembered.
//! 2. A part of it is damaged.
//! 3. Every table and record that is still intact counts, and nothing else. Of each key the newest
//!    version that counts is in the new store, and the report has these numbers.

use super::*;
use crate::table::LostBlock;
use crate::wal::record::HEADER_BYTES;
use crate::wal::{self, Replay};

const KEYSPACES: [&str; 3] = ["default", "a", "b"];

/// A version of a key: its sequence, and its value unless it was deleted.
type Version = (Seq, Option<Vec<u8>>);
/// Newest version of each key, by keyspace.
type State = BTreeMap<u32, BTreeMap<Vec<u8>, Version>>;

/// A keyspace, a key, and its value unless it is deleted.
type Operation = (u32, Vec<u8>, Option<Vec<u8>>);

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (self.0 >> 33) % n
    }
}

/// A closed store, and what it holds.
pub(super) struct Sound {
    pub(super) store: Store,
    /// The operations of each batch.
    history: BTreeMap<Seq, Vec<Operation>>,
    names: BTreeMap<u32, String>,
    rows: BTreeMap<String, Rows>,
}

impl Sound {
    /// The rows after a write.
    fn rows_after(&self, last: Seq) -> BTreeMap<String, Rows> {
        let mut all: BTreeMap<String, Rows> =
            self.names.values().map(|name| (name.clone(), Rows::new())).collect();
        for (keyspace, key, value) in self.history.range(..=last).flat_map(|(_, batch)| batch) {
            let rows = all.get_mut(&self.names[keyspace]).unwrap();
            match value {
                Some(value) => drop(rows.insert(key.clone(), value.clone())),
                None => drop(rows.remove(key)),
            }
        }
        all
    }

    /// Checks that each row of a repaired store that is not what it was after the last write that was found
    /// lies in a range that the report calls doubtful, and that each range counts rows of the store.
    pub(super) fn judge(&self, target: &Db, report: &Salvaged, context: &str) {
        let expected = self.rows_after(report.last_write.unwrap_or(Seq::MAX));
        let found = all_rows(target);
        for (name, expected) in &expected {
            let found = found.get(name).cloned().unwrap_or_default();
            for key in expected.keys().chain(found.keys()) {
                assert!(
                    expected.get(key) == found.get(key) || is_doubtful(report, name, key),
                    "{name} {} is {:?}, not {:?}: {context}",
                    String::from_utf8_lossy(key),
                    found.get(key),
                    expected.get(key)
                );
            }
        }
        let doubtful = |(name, rows): (&String, &Rows)| {
            rows.keys().filter(|key| is_doubtful(report, name, key)).count() as u64
        };
        let most: u64 = found.iter().map(doubtful).sum();
        assert!(report.doubtful_rows <= most, "{context}");
        let counted: u64 = report.doubtful.iter().map(|range| range.rows).sum();
        assert!(report.doubtful_rows <= counted, "{context}");
    }
}

/// Whether a report names a key as doubtful.
pub(super) fn is_doubtful(report: &Salvaged, keyspace: &str, key: &[u8]) -> bool {
    report.doubtful.iter().any(|range| {
        range.keyspace.as_ref().is_none_or(|name| name == keyspace)
            && range.from.as_ref().is_none_or(|from| from.as_slice() <= key)
            && range.through.as_ref().is_none_or(|through| through.as_slice() >= key)
    })
}

pub(super) fn sound(layout: Layout, seed: u64) -> Sound {
    let (store, mut random) = (Store::new(layout), Random(seed));
    let (db, mut history) = (store.open(), BTreeMap::new());
    let keyspaces = KEYSPACES.map(|name| db.create_keyspace(name).unwrap());
    for step in 0..120 {
        let mut operations: Vec<Operation> = Vec::new();
        for n in 0..1 + random.below(3) {
            let keyspace = &keyspaces[random.below(3) as usize];
            // Each key at most once in a batch.
            let key = format!("key {:02}", 3 * random.below(12) + n).into_bytes();
            let value = random.below(4) > 0;
            let value = value.then(|| format!("{step} {}", "v".repeat(60)).into_bytes());
            operations.push((keyspace.id().0, key, value));
        }
        let mut batch = WriteBatch::new();
        for (keyspace, key, value) in &operations {
            match value {
                Some(value) => batch.put(KeyspaceId(*keyspace), key, value).unwrap(),
                None => batch.delete(KeyspaceId(*keyspace), key).unwrap(),
            }
        }
        history.insert(db.write(batch, Durability::Buffered).unwrap(), operations);
        match random.below(30) {
            0 | 1 => db.flush().unwrap(),
            2 => keyspaces[random.below(3) as usize].compact_range(..).unwrap(),
            _ => {}
        }
    }
    let rows = all_rows(&db);
    db.close().unwrap();
    // Which removes what no commit names.
    store.open().close().unwrap();
    let names =
        keyspaces.iter().zip(KEYSPACES).map(|(keyspace, name)| (keyspace.id().0, name.into()));
    Sound { store, history, names: names.collect(), rows }
}

/// Damage done to a store.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Damage {
    Nothing,
    FirstBlock,
    Footer,
    TableEnd,
    TableCut,
    TableLonger,
    TableLost,
    Record,
    RecordHeader,
    LogCut,
    LogLost,
    LogZeroed,
    LogFilled,
    LogFront,
    HeadLost,
    ManifestCut,
    ManifestLost,
}

impl Damage {
    /// Whether no row is lost: all that is damaged is not needed.
    fn costs_nothing(self) -> bool {
        use Damage::{Footer, HeadLost, Nothing, TableEnd, TableLonger};
        matches!(self, Nothing | HeadLost | Footer | TableEnd | TableLonger)
    }

    /// Whether the manifest names the live files.
    fn leaves_manifest(self) -> bool {
        !matches!(self, Damage::ManifestCut | Damage::ManifestLost)
    }
}

/// A file that the manifest of the undamaged store names.
struct Known {
    id: FileId,
    file: Arc<dyn File>,
    before: Vec<u8>,
    /// The keyspace of a table.
    keyspace: Option<u32>,
    gone: bool,
}

fn known(version_set: &VersionSet, storage: &dyn Storage) -> Vec<Known> {
    let mut ids = Vec::new();
    for (keyspace, record) in &version_set.keyspaces {
        let tables = record.shape.tables().map(|(.., info)| FileId::table(info.id.0));
        ids.extend(tables.map(|id| (id, Some(keyspace.0))));
    }
    ids.extend(version_set.logs.iter().map(|log| (FileId::log(log.file), None)));
    let known = ids.into_iter().map(|(id, keyspace)| {
        let file = storage.open(id).unwrap();
        Known { id, before: bytes(&*file), file, keyspace, gone: false }
    });
    known.collect()
}

/// Damages a file of the store that `random` selects.
fn damage(store: &Store, files: &mut [Known], damage: Damage, random: &mut Random) {
    use Damage::*;
    let kind = match damage {
        FirstBlock | Footer | TableEnd | TableCut | TableLonger | TableLost => FileKind::Table,
        _ => FileKind::Log,
    };
    let mut of_kind: Vec<_> = files.iter_mut().filter(|file| file.id.kind == kind).collect();
    let selected = random.below(of_kind.len() as u64) as usize;
    let struck = &mut of_kind[selected];
    let written = struck.before.iter().rposition(|byte| *byte != 0).unwrap_or(0) as u64;
    let len = struck.before.len();
    match damage {
        Nothing => {}
        FirstBlock => flip(&*struck.file, 20),
        Footer => flip(&*struck.file, len as u64 - 20),
        // The footer, the directory, and properties.
        TableEnd => write_all_at(&*struck.file, &[0; 150], len as u64 - 150).unwrap(),
        TableCut => struck.file.set_len(random.below(len as u64)).unwrap(),
        TableLonger => write_all_at(&*struck.file, b"x", len as u64).unwrap(),
        TableLost | LogLost if store.layout == Layout::Directory => {
            store.vfs.remove(&struck.id.to_string()).unwrap();
            struck.gone = true;
        }
        TableLost | LogLost | LogZeroed => write_all_at(&*struck.file, &vec![0; len], 0).unwrap(),
        Record => flip(&*struck.file, random.below(written.max(1))),
        RecordHeader => flip(&*struck.file, 12),
        LogFilled => write_all_at(&*struck.file, &vec![7; len], 0).unwrap(),
        LogFront => write_all_at(&*struck.file, &[0; 8], 0).unwrap(),
        LogCut => struck.file.set_len(written / 2).unwrap(),
        HeadLost if store.layout == Layout::Directory => store.vfs.remove("CURRENT").unwrap(),
        HeadLost => write_all_at(&*store.vfs.open(BACKING).unwrap(), &[0; 32 << 10], 0).unwrap(),
        // Not those that created the keyspaces.
        ManifestCut => store.lose_record(3.min(store.remains().edits.len() as u64 - 1)),
        ManifestLost => store.lose_manifest(),
    }
}

/// The operations of the valid records of a log, and what is said to be lost of it.
struct Read<'a> {
    batches: Vec<(Seq, &'a Operation)>,
    lost: Vec<String>,
}

fn read_log<'a>(
    log: &Known,
    id: wal::LogId,
    history: &'a BTreeMap<Seq, Vec<Operation>>,
    sound: bool,
) -> Read<'a> {
    let now = bytes(&*log.file);
    let mut read = Read { batches: Vec::new(), lost: Vec::new() };
    if now.len() < log.before.len() {
        let (there, lost) = (now.len(), log.before.len() - now.len());
        read.lost.push(format!("{lost} bytes from {there} on: the file is cut short"));
    }
    let mut end = 0;
    for found in wal::scan(&log.before, id).unwrap() {
        let offset = found.offset as usize;
        let range = offset..offset + HEADER_BYTES + found.header.payload_bytes;
        if now.get(range.clone()) != log.before.get(range) {
            continue;
        }
        if found.offset > end && !sound {
            let gap = found.offset - end;
            read.lost.push(format!("{gap} bytes from {end} on, before the next record"));
        }
        end = found.end();
        for (seq, _) in found.batches(&log.before) {
            read.batches.extend(history[&seq].iter().map(|operation| (seq, operation)));
        }
    }
    if end == 0 && !sound && now.iter().take(8).any(|byte| *byte != 0) {
        read.lost.push("no record of it can be read".to_owned());
    }
    read
}

/// Judges the logs as opening does: returns the lacking file, and the reason.
fn judge(version_set: &VersionSet, durable: Seq, files: &[Known]) -> Option<(String, String)> {
    let mut replay = Replay::new(version_set.log_start, durable);
    for log in &version_set.logs {
        let file = files.iter().find(|file| file.id == FileId::log(log.file)).unwrap();
        if let Err(e) = replay.log(log.id(), &file.file, None, &mut |_, _| Ok(())) {
            return Some((file.id.to_string(), e.to_string()));
        }
    }
    match replay.end() {
        Ok(_) => None,
        Err(e) => {
            let damage = e.into_corruption().unwrap();
            Some((damage.file.to_string(), damage.to_string()))
        }
    }
}

/// Expected report on a file.
#[derive(Debug, PartialEq)]
struct Told {
    keyspace: Option<String>,
    entries: u64,
    lost_blocks: Vec<LostBlock>,
    /// Losses named by the report, in a table's words; a log's are only counted.
    lost: Result<Vec<String>, usize>,
}

fn add(state: &mut State, keyspace: u32, key: &[u8], version: Version) {
    let newest = state.entry(keyspace).or_default().entry(key.to_vec()).or_default();
    *newest = std::mem::take(newest).max(version);
}

fn follow(sound: &Sound, seed: u64, what: Damage) {
    let whole = sound;
    let Sound { store, history, rows: sound_rows, .. } = sound;
    let store = store.copy();
    let layout = store.layout;
    let (version_set, storage) = store.look();
    let mut files = known(&version_set, &*storage);
    damage(&store, &mut files, what, &mut Random(seed));
    let manifest = what.leaves_manifest();
    let (mut state, mut told) = (State::default(), BTreeMap::new());
    let name = |id: u32| version_set.keyspaces.get(&KeyspaceId(id)).unwrap().name.clone();
    let mut names: BTreeMap<u32, String> = BTreeMap::new();
    if what != Damage::ManifestLost {
        names = version_set.keyspaces.keys().map(|id| (id.0, name(id.0))).collect();
    }
    for table in files.iter().filter(|file| file.id.kind == FileKind::Table) {
        let keyspace = table.keyspace.unwrap();
        let lost = Told { keyspace: None, entries: 0, lost_blocks: vec![], lost: Err(1) };
        let tables = version_set.tables();
        let info = tables.iter().find(|info| info.id.0 == table.id.number).unwrap();
        let known = KnownTable {
            number: info.id.0,
            salts: &[info.salt],
            info: (what != Damage::ManifestLost).then_some(info),
        };
        let open = || Salvage::open(table.file.clone(), &known).ok();
        let opened = (!table.gone).then(open).flatten();
        assert!(opened.is_some() || !what.costs_nothing());
        let Some(mut entries) = opened else {
            told.insert(table.id.to_string(), lost);
            continue;
        };
        names.insert(keyspace, name(keyspace));
        while let Some((key, tag, value)) = entries.entry() {
            let value = (tag.kind() == Some(Kind::Put)).then(|| value.to_vec());
            add(&mut state, keyspace, key, (tag.seq(), value));
            entries.next();
        }
        let (lost_blocks, entries) = (entries.lost().to_vec(), entries.entries());
        assert!(entries == info.entries || !what.costs_nothing());
        let lost_entries = lost_blocks.iter().map(|lost| lost.entries.unwrap()).sum::<u64>();
        assert_eq!(entries + lost_entries, info.entries);
        let (keyspace, lost) = (Some(name(keyspace)), Err(0));
        told.insert(table.id.to_string(), Told { keyspace, entries, lost_blocks, lost });
    }
    let gone = files.iter().any(|file| file.gone && file.id.kind == FileKind::Log);
    let durable = version_set.durable(store.remains().synced);
    let damage = (manifest && !gone).then(|| judge(&version_set, durable, &files)).flatten();
    let sound = manifest && !gone && damage.is_none();
    for log in &version_set.logs {
        let file = files.iter().find(|file| file.id == FileId::log(log.file)).unwrap();
        let mut read = Read { batches: vec![], lost: vec![] };
        if file.gone {
            read.lost.push("all of it: there is no such file".to_owned());
        } else {
            read = read_log(file, log.id(), history, sound);
        }
        if let Some((name, why)) = &damage
            && *name == file.id.to_string()
            && !read.lost.contains(why)
        {
            read.lost.push(why.clone());
        }
        let mut entries = 0;
        for (seq, (keyspace, key, value)) in read.batches {
            let record = version_set.keyspaces.get(&KeyspaceId(*keyspace)).unwrap();
            if manifest && !sound && seq <= record.flushed {
                continue;
            }
            names.entry(*keyspace).or_insert_with(|| unnamed(*keyspace));
            add(&mut state, *keyspace, key, (seq, value.clone()));
            entries += 1;
        }
        let lost = Ok(read.lost);
        let file = Told { keyspace: None, entries, lost_blocks: vec![], lost };
        told.insert(FileId::log(log.file).to_string(), file);
    }
    let mut expected: BTreeMap<String, Rows> = BTreeMap::new();
    for (id, name) in &names {
        let versions = state.get(id).into_iter().flatten();
        let puts = versions.filter_map(|(k, (_, value))| Some((k.clone(), value.clone()?)));
        expected.insert(name.clone(), puts.collect());
    }

    let (target, report) = store.repair();
    let context = format!("{layout:?} {seed} {what:?} {report:#?}");
    let mut found = all_rows(&target);
    if !names.contains_key(&0) {
        assert_eq!(found.remove("default"), Some(Rows::new()), "{context}");
    }
    assert!(found == expected, "{found:?} {expected:?} {context}");
    let counts: Vec<_> =
        names.values().map(|name| (name.clone(), expected[name].len() as u64)).collect();
    assert_eq!(report.rows, counts, "{context}");
    let mut nothing_lost = true;
    for file in &report.files {
        let is_table = file.file.ends_with(".sst");
        let lost = if is_table { Err(file.lost.len()) } else { Ok(file.lost.clone()) };
        let SalvagedFile { keyspace, entries, lost_blocks, .. } = file.clone();
        let found = Told { keyspace, entries, lost_blocks, lost };
        nothing_lost &= matches!(&found.lost, Err(0)) || found.lost == Ok(vec![]);
        nothing_lost &= found.lost_blocks.is_empty();
        // Spare logs hold nothing.
        let spare = Told { keyspace: None, entries: 0, lost_blocks: vec![], lost: Ok(vec![]) };
        let wanted = told.remove(&file.file);
        assert!(wanted.is_some() || manifest || !is_table, "{} {context}", file.file);
        // Without a manifest nobody knows how long a log was, nor what it lacks.
        if manifest || is_table {
            assert_eq!(Some(found), wanted, "{} {context}", file.file);
        } else if what == Damage::ManifestLost {
            assert_eq!(found.entries, wanted.unwrap_or(spare).entries, "{} {context}", file.file);
        }
    }
    assert!(told.is_empty(), "{told:?} {context}");
    assert_eq!(
        report.complete,
        manifest && nothing_lost && report.doubtful.is_empty(),
        "{context}"
    );
    whole.judge(&target, &report, &context);
    if what.costs_nothing() {
        assert!(report.complete && all_rows(&target) == *sound_rows, "{context}");
        let told = what == Damage::HeadLost && layout == Layout::Volume;
        assert_eq!(report.notes.is_empty(), !told, "{context}");
    }
    if what == Damage::ManifestCut {
        assert!(all_rows(&target) == *sound_rows, "{context}");
    }
}

/// Repairs stores of several seeds after each of these damages.
fn follow_all(layouts: &[Layout], damages: &[Damage]) {
    for layout in layouts {
        for seed in 0..4 {
            let sound = sound(*layout, seed);
            damages.iter().for_each(|damage| follow(&sound, seed, *damage));
        }
    }
}

#[test]
fn a_sound_store_is_salvaged_whole_without_its_manifest_pointer() {
    follow_all(&LAYOUTS, &[Damage::Nothing, Damage::HeadLost]);
}

#[test]
fn a_damaged_table_costs_what_logs_and_other_tables_do_not_hold() {
    follow_all(&LAYOUTS, &[Damage::FirstBlock, Damage::TableLost]);
    follow_all(&[Layout::Directory], &[Damage::TableCut]);
}

#[test]
fn a_table_damaged_behind_its_data_costs_nothing() {
    follow_all(&LAYOUTS, &[Damage::Footer, Damage::TableEnd]);
    follow_all(&[Layout::Directory], &[Damage::TableLonger]);
}

#[test]
fn a_damaged_log_costs_the_records_that_it_struck() {
    use Damage::{LogFilled, LogFront, LogLost, LogZeroed, Record, RecordHeader};
    follow_all(&LAYOUTS, &[Record, RecordHeader, LogFront]);
    follow_all(&LAYOUTS, &[LogLost, LogZeroed, LogFilled]);
    follow_all(&[Layout::Directory], &[Damage::LogCut]);
}

#[test]
fn all_in_the_files_is_salvaged_without_a_whole_manifest() {
    follow_all(&[Layout::Directory], &[Damage::ManifestCut, Damage::ManifestLost]);
}
