//! Both storages under crashes and faults: a seeded program creates, names, drops and removes files;
//! power is cut, or a fault injected, at every operation in turn; then the store is opened again, must
//! have everything it acknowledged, and the program continues.

mod reported;
mod rollover;

use super::vfs::fault::{Fault, Random, SECTORS, Survivors};
use super::vfs::{FaultVfs, MemoryVfs, Vfs};
use super::volume::VolumeOptions;
use super::*;
use crate::error::Error;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Directory,
    Volume(usize),
}

const KINDS: [Kind; 3] = [Kind::Directory, Kind::Volume(1), Kind::Volume(4)];

/// The file system of a store that does not exist yet.
fn place(kind: Kind) -> MemoryVfs {
    let vfs = MemoryVfs::new();
    if let Kind::Volume(n) = kind {
        (0..n).for_each(|n| drop(vfs.create(&format!("backing.{n}")).unwrap()));
    }
    vfs
}

fn open(kind: Kind, vfs: &FaultVfs) -> Box<dyn Storage> {
    match kind {
        Kind::Directory => Box::new(Directory::open(Arc::new(vfs.clone())).unwrap()),
        Kind::Volume(n) => {
            let backings = (0..n).map(|n| vfs.open(&format!("backing.{n}")).unwrap()).collect();
            let new_id = vfs.draw_id().unwrap();
            let options = VolumeOptions { new_id, min_growth: 4 << 10, ..VolumeOptions::default() };
            Box::new(Volume::open(backings, options).unwrap())
        }
    }
}

/// A failure: an error of the storage, or a broken guarantee.
enum Failure {
    Storage(Error),
    Broken(String),
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Storage(e) => write!(f, "{e}"),
            Failure::Broken(what) => f.write_str(what),
        }
    }
}

impl From<Error> for Failure {
    fn from(e: Error) -> Self {
        Failure::Storage(e)
    }
}

fn promise(kept: bool, what: impl FnOnce() -> String) -> Result<(), Failure> {
    if kept { Ok(()) } else { Err(Failure::Broken(what())) }
}

/// A file's content: bytes drawn from a seed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Content {
    seed: u64,
    len: usize,
}

impl Content {
    fn bytes(self) -> Vec<u8> {
        let mut random = Random(self.seed);
        (0..self.len.div_ceil(8)).flat_map(|_| random.next().to_le_bytes()).take(self.len).collect()
    }

    fn verify(self, file: &dyn File) -> Result<(), Failure> {
        let mut found = vec![0; self.len];
        read_exact_at(file, &mut found, 0)?;
        promise(found == self.bytes(), || format!("{} has lost its content", file.name()))
    }
}

/// A commit that was tried: its predecessor, and the files that are live after it.
#[derive(Clone, Default)]
struct State {
    parent: usize,
    files: BTreeMap<FileId, Content>,
}

/// The program, and what was acknowledged to it.
struct Program {
    storage: Box<dyn Storage>,
    random: Random,
    states: Vec<State>,
    committed: usize,
    /// Commits that failed since.
    in_doubt: Vec<usize>,
    fresh: BTreeMap<FileId, Content>,
    to_remove: Vec<FileId>,
    readers: Vec<(Content, Arc<dyn File>)>,
    next_number: u64,
    moves: u64,
    /// A write was cut short, perhaps the manifest's witness. Without that, a lost record may have named
    /// an orphaned table, which is kept.
    cut_short: bool,
}

impl Program {
    fn new(storage: Box<dyn Storage>, seed: u64) -> Self {
        Program {
            storage,
            random: Random(seed),
            states: vec![State::default()],
            committed: 0,
            in_doubt: Vec::new(),
            fresh: BTreeMap::new(),
            to_remove: Vec::new(),
            readers: Vec::new(),
            next_number: 1,
            moves: 0,
            cut_short: false,
        }
    }

    fn step(&mut self) -> Result<(), Failure> {
        match self.random.below(10) {
            0..=3 => self.create(),
            4..=6 => self.commit(),
            7 => {
                while let Some(id) = self.to_remove.pop() {
                    self.storage.remove(id)?;
                }
                Ok(())
            }
            8 => {
                for _ in 0..4 {
                    self.moves += u64::from(self.storage.vacuum()?);
                }
                Ok(())
            }
            _ => {
                for (content, file) in &self.readers {
                    content.verify(&**file)?;
                }
                self.readers.clear();
                Ok(())
            }
        }
    }

    fn create(&mut self) -> Result<(), Failure> {
        let number = self.next_number;
        self.next_number += 1;
        let log = self.random.below(5) == 0;
        let id = if log { FileId::log(number) } else { FileId::table(number) };
        // An engine may name a log before it writes there.
        let unwritten = log && self.random.below(2) == 0;
        let len = if unwritten { 0 } else { self.random.below(20_000) as usize };
        let content = Content { seed: self.random.next(), len };
        let made = (|| {
            let file = self.storage.create(id, if log { 20_000 } else { 0 })?;
            for (n, chunk) in content.bytes().chunks(9_000).enumerate() {
                write_all_at(&*file, chunk, n as u64 * 9_000)?;
            }
            if unwritten { Ok(()) } else { file.sync() }
        })();
        match made {
            Ok(()) => {
                self.fresh.insert(id, content);
                Ok(())
            }
            Err(e) => {
                // As an engine would; this may fail.
                let _ = self.storage.remove(id);
                Err(e.into())
            }
        }
    }

    fn commit(&mut self) -> Result<(), Failure> {
        let attempt = self.states.len();
        let mut state = self.states[self.committed].clone();
        state.parent = self.committed;
        let live: Vec<_> = state.files.iter().map(|(id, content)| (*id, *content)).collect();
        let mut dropped = Vec::new();
        let all = self.random.below(3) == 0;
        for (id, content) in live {
            if all || self.random.below(3) == 0 {
                state.files.remove(&id);
                dropped.push(id);
                if self.random.below(2) == 0 {
                    self.readers.push((content, self.storage.open(id)?));
                }
            }
        }
        let added: Vec<_> = self.fresh.keys().copied().collect();
        state.files.append(&mut self.fresh.clone());
        self.states.push(state);
        let mut edit = (attempt as u64).to_le_bytes().to_vec();
        edit.resize(8 + self.random.below(6_000) as usize, 0xed);
        let snapshot = || edit.clone();
        let commit = Commit { edit: &edit, added: &added, dropped: &dropped, snapshot: &snapshot };
        match self.storage.commit(&commit) {
            Ok(()) => {
                self.committed = attempt;
                self.in_doubt.clear();
                self.fresh.clear();
                self.to_remove.extend(dropped);
                Ok(())
            }
            Err(e) => {
                self.in_doubt.push(attempt);
                for id in added.iter().filter(|_| attempt.is_multiple_of(2)) {
                    self.fresh.remove(id);
                    let _ = self.storage.remove(*id);
                }
                Err(e.into())
            }
        }
    }

    /// Verifies a reopened store, and continues with it.
    fn reopen(&mut self, storage: Box<dyn Storage>) -> Result<(), Failure> {
        let Some(found) = storage.recover()? else {
            promise(self.committed == 0, || "no store is left".to_owned())?;
            *self = Program::new(storage, self.random.next());
            return Ok(());
        };
        storage.resume()?;
        let attempts: Vec<usize> = found
            .edits
            .iter()
            .map(|e| u64::from_le_bytes(e[..8].try_into().unwrap()) as usize)
            .collect();
        for pair in attempts.windows(2) {
            promise(self.states[pair[1]].parent == pair[0], || {
                format!("{attempts:?} is no history")
            })?;
        }
        let last = *attempts.last().unwrap();
        promise(last == self.committed || self.in_doubt.contains(&last), || {
            format!("found commit {last}, expected {} or {:?}", self.committed, self.in_doubt)
        })?;
        let files = self.states[last].files.clone();
        let mut left = storage.files()?;
        left.retain(|id| !(self.cut_short && id.kind == FileKind::Table) || files.contains_key(id));
        promise(left.iter().eq(files.keys()), || "other files are left".to_owned())?;
        for (id, content) in &files {
            content.verify(&*storage.open(*id)?)?;
        }
        let space = storage.space()?;
        promise(space.live <= space.taken, || format!("{space:?}"))?;
        let named = storage.files()?;
        let mut next = Program::new(storage, self.random.next());
        next.states = std::mem::take(&mut self.states);
        next.committed = last;
        // Files that were not named are gone, and their numbers may be used again.
        next.next_number = 1 + next
            .states
            .iter()
            .flat_map(|s| s.files.keys())
            .chain(&named)
            .map(|id| id.number)
            .max()
            .unwrap_or(0);
        *self = next;
        Ok(())
    }
}

/// Starts a program on a new store.
fn start(kind: Kind, vfs: &FaultVfs, seed: u64) -> Program {
    let storage = open(kind, vfs);
    assert!(storage.recover().unwrap().is_none());
    Program::new(storage, seed)
}

const STEPS: usize = 36;

/// Cuts power at one operation, keeps `survivors`, and continues from there.
fn crash_at(kind: Kind, seed: u64, cut: u64, survivors: Survivors) -> Result<(), Failure> {
    let memory = place(kind);
    let vfs = FaultVfs::new(Arc::new(memory.clone()))?;
    vfs.set_sector(SECTORS[((seed + cut) % 3) as usize]);
    vfs.cut_at(cut);
    let mut program = start(kind, &vfs, seed);
    for _ in 0..STEPS {
        match program.step() {
            Err(Failure::Storage(_)) if vfs.operations() > cut => break,
            other => other?,
        }
    }
    vfs.crash(survivors)?;
    let vfs = FaultVfs::new(Arc::new(memory.clone()))?;
    program.reopen(open(kind, &vfs))?;
    for _ in 0..STEPS / 3 {
        program.step()?;
    }
    program.commit()?;
    let damage = program.storage.check()?;
    promise(damage.is_empty(), || format!("{damage:?}"))?;
    vfs.crash(Survivors::Synced)?;
    program.reopen(open(kind, &FaultVfs::new(Arc::new(memory))?))
}

/// Runs to the end without a fault; returns the number of operations and of vacuum steps.
fn operations(kind: Kind, seed: u64) -> Result<(u64, u64), Failure> {
    let vfs = FaultVfs::new(Arc::new(place(kind)))?;
    let mut program = start(kind, &vfs, seed);
    (0..STEPS).try_for_each(|_| program.step())?;
    Ok((vfs.operations(), program.moves))
}

/// The first failure, with its seed, operation and survivors.
type Found = (u64, u64, Survivors, Failure);

fn crash_everywhere(kind: Kind, seeds: std::ops::Range<u64>) -> Result<(), Found> {
    for seed in seeds {
        let run = operations(kind, seed).map_err(|e| (seed, 0, Survivors::All, e))?;
        for cut in 0..run.0 {
            let plain = if cut % 2 == 0 { Survivors::Synced } else { Survivors::All };
            let torn = Survivors::Prefix { operation: cut, sectors: 1 + cut % 7 };
            for survivors in [plain, Survivors::Random(cut), torn] {
                crash_at(kind, seed, cut, survivors).map_err(|e| (seed, cut, survivors, e))?;
            }
        }
    }
    Ok(())
}

#[test]
fn power_may_be_cut_at_any_operation() {
    for kind in KINDS {
        if let Err(e) = crash_everywhere(kind, 1..2) {
            panic!("{kind:?}: {e:?}");
        }
    }
}

#[test]
fn a_creation_may_be_cut_anywhere() {
    for kind in KINDS {
        for (cut, seed) in (0..24).flat_map(|cut| (0..24).map(move |seed| (cut, seed))) {
            if let Err(e) = crash_at(kind, 3, cut, Survivors::Random(seed)) {
                panic!("{kind:?}, cut at {cut}, {seed}: {e:?}");
            }
        }
    }
}

#[test]
fn what_a_restarted_process_recovered_is_durable() {
    for kind in KINDS {
        for at in 0..operations(kind, 2).unwrap().0 {
            let run = || -> Result<(), Failure> {
                let memory = place(kind);
                let vfs = FaultVfs::new(Arc::new(memory.clone()))?;
                vfs.fail_from(at, Fault::Killed);
                let mut program = start(kind, &vfs, 2);
                while program.step().is_ok() {}
                vfs.heal();
                program.reopen(open(kind, &vfs))?;
                vfs.crash(Survivors::Synced)?;
                program.reopen(open(kind, &FaultVfs::new(Arc::new(memory))?))
            };
            if let Err(e) = run() {
                panic!("{kind:?}, ended at {at}: {e:?}");
            }
        }
    }
}

#[test]
fn the_program_of_the_crash_test_makes_volumes_move_tables() {
    assert!((1..3).any(|seed| operations(Kind::Volume(1), seed).unwrap().1 > 0));
}

#[cfg(feature = "testing")]
#[test]
fn space_reused_before_the_drop_is_synced_would_be_noticed() {
    let broken =
        crate::rules::Rule::ReuseAfterEdit.broken(|| crash_everywhere(Kind::Volume(1), 1..9));
    assert!(matches!(broken, Err((.., Failure::Broken(_)))), "{broken:?}");
}

/// Makes one operation fail, and continues; with `stop`, crashes while it is unknown whether a failed
/// commit is durable.
fn fail_at(kind: Kind, at: u64, fault: Fault, stop: bool, end: Survivors) -> Result<(), Failure> {
    let memory = place(kind);
    let vfs = FaultVfs::new(Arc::new(memory.clone()))?;
    vfs.fail_at(at, fault);
    let mut program = start(kind, &vfs, 5);
    program.cut_short = fault == Fault::Short;
    for _ in 0..STEPS {
        match program.step() {
            Err(Failure::Storage(_)) if vfs.operations() > at => {}
            other => other?,
        }
        if stop && !program.in_doubt.is_empty() {
            // What the failed commit names must not be overwritten.
            (0..6).try_for_each(|_| program.create())?;
            break;
        }
    }
    vfs.crash(end)?;
    program.reopen(open(kind, &FaultVfs::new(Arc::new(memory))?))?;
    program.commit()
}

#[test]
fn a_failed_operation_is_an_error_and_loses_no_commit() {
    for kind in KINDS {
        for at in 0..operations(kind, 5).unwrap().0 {
            let full = if at % 2 == 0 { Fault::NoSpace } else { Fault::Short };
            for (fault, stop, end) in [
                (Fault::Io, false, Survivors::Synced),
                (Fault::Io, true, Survivors::All),
                (full, at % 3 == 0, Survivors::Random(at)),
            ] {
                if let Err(e) = fail_at(kind, at, fault, stop, end) {
                    panic!("{kind:?}, {fault:?} at {at}, {end:?}: {e:?}");
                }
            }
        }
    }
}

#[test]
fn a_full_disk_is_an_error_and_the_store_continues_with_room() {
    for kind in KINDS {
        for fault in [Fault::NoSpace, Fault::Short] {
            for kib in [0, 16, 64, 528, 588] {
                let memory = place(kind);
                let vfs = FaultVfs::new(Arc::new(memory.clone())).unwrap();
                vfs.set_capacity(kib << 10, fault);
                let mut program = start(kind, &vfs, 11);
                let results: Vec<_> = (0..STEPS).map(|_| program.step()).collect();
                assert!(results.iter().any(Result::is_err), "{kind:?} {kib} KiB");
                vfs.heal();
                program.commit().unwrap();
                vfs.crash(Survivors::Synced).unwrap();
                let vfs = FaultVfs::new(Arc::new(memory)).unwrap();
                program.reopen(open(kind, &vfs)).unwrap();
            }
        }
    }
}

/// A read-only file system.
struct ReadOnly(MemoryVfs);

impl Vfs for ReadOnly {
    fn place(&self) -> String {
        self.0.place()
    }
    fn draw_id(&self) -> Result<StoreId> {
        self.0.draw_id()
    }
    fn create(&self, name: &str) -> Result<Arc<dyn File>> {
        Err(Error::read_only("create", name))
    }
    fn open(&self, name: &str) -> Result<Arc<dyn File>> {
        Ok(Arc::new(ReadOnlyFile(self.0.open(name)?)))
    }
    fn remove(&self, name: &str) -> Result<()> {
        Err(Error::read_only("remove", name))
    }
    fn rename(&self, from: &str, _: &str) -> Result<()> {
        Err(Error::read_only("rename", from))
    }
    fn list(&self) -> Result<Vec<String>> {
        self.0.list()
    }
    fn sync_names(&self) -> Result<()> {
        Err(Error::read_only("sync", "names"))
    }
}

struct ReadOnlyFile(Arc<dyn File>);

impl File for ReadOnlyFile {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.0.read_at(buf, offset)
    }
    fn write_at(&self, _: &[u8], _: u64) -> Result<usize> {
        Err(Error::read_only("write", self.name()))
    }
    fn sync(&self) -> Result<()> {
        Err(Error::read_only("sync", self.name()))
    }
    fn set_len(&self, _: u64) -> Result<()> {
        Err(Error::read_only("resize", self.name()))
    }
    fn len(&self) -> Result<u64> {
        self.0.len()
    }
}

#[test]
fn a_store_on_a_read_only_vfs_refuses_changes() {
    for kind in KINDS {
        for cut in 20..operations(kind, 7).unwrap().0 {
            // A store after a crash: with torn ends, stale copies and orphans.
            let memory = place(kind);
            let vfs = FaultVfs::new(Arc::new(memory.clone())).unwrap();
            vfs.cut_at(cut);
            let mut program = start(kind, &vfs, 7);
            while vfs.operations() <= cut {
                let _ = program.step();
            }
            vfs.crash(Survivors::Random(cut)).unwrap();
            let storage: Box<dyn Storage> = match kind {
                Kind::Directory => {
                    Box::new(Directory::read_only(Arc::new(ReadOnly(memory.clone()))).unwrap())
                }
                Kind::Volume(n) => {
                    let open = |n| ReadOnly(memory.clone()).open(&format!("backing.{n}")).unwrap();
                    let options = VolumeOptions { read_only: true, ..VolumeOptions::default() };
                    Box::new(Volume::open((0..n).map(open).collect(), options).unwrap())
                }
            };
            assert!(storage.read_only());
            let Some(found) = storage.recover().unwrap() else { continue };
            let writable = FaultVfs::new(Arc::new(memory)).unwrap();
            let expected = open(kind, &writable).recover().unwrap().unwrap();
            assert_eq!(found.edits, expected.edits, "{kind:?}, cut at {cut}");
            let commit =
                Commit { edit: b"edit", added: &[], dropped: &[], snapshot: &|| b"edit".to_vec() };
            let refused = |done: Result<()>| {
                let why = done.err().and_then(|e| e.io_kind());
                why == Some(std::io::ErrorKind::ReadOnlyFilesystem)
            };
            assert!(refused(storage.commit(&commit)));
            assert!(refused(storage.create(FileId::log(999), 100).map(drop)));
            assert!(refused(storage.remove(FileId::log(999))));
            assert!(!storage.vacuum().unwrap());
            storage.check().unwrap();
        }
    }
}
