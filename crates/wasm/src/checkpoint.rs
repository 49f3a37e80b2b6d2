//! Copies of a store, made step by step, so that its owner serves others in between.
//!
//! 1. The engine makes its checkpoint in a [`Draft`] of the target: logs, which are short by then, are
//!    copied at once, tables are only opened, which keeps their bytes, and the commit is noted. This
//!    is the moment that the copy shows.
//! 2. A step brings over the next chunk of a table.
//! 3. When all tables are there, the commit is made. Until then the target holds no store.
//! 4. Room that the last growth left at the target's end is given back.

use crate::answer;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use terrane::storage::volume::Volume;
use terrane::storage::{Commit, File, FileId, Recovered, Space, Storage};
use terrane::storage::{read_exact_at, write_all_at};
use terrane::{Corruption, Db, Result};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

/// Bytes copied in a step.
const CHUNK: usize = 256 << 10;

/// A store on its way to another place. Free it when done.
#[wasm_bindgen]
pub struct Checkpoint {
    target: Volume,
    /// Tables that have not been begun.
    tables: Vec<(FileId, Arc<dyn File>)>,
    transfer: Option<Transfer>,
    naming: Option<Naming>,
    chunk: Vec<u8>,
}

impl Checkpoint {
    /// Begins to copy the store, as it is now, to a place that holds none.
    pub(crate) fn begin(db: &Db, target: Volume) -> Result<Self> {
        let draft = Draft { target, noted: Mutex::default() };
        db.checkpoint(&draft)?;
        let Draft { target, noted } = draft;
        let Noted { tables, naming } = noted.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Checkpoint { target, tables, transfer: None, naming, chunk: vec![0; CHUNK] })
    }

    /// Does a step; answers whether more is left.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        if self.transfer.is_none()
            && let Some((id, from)) = self.tables.pop()
        {
            self.transfer = Some(Transfer::begin(&self.target, id, from)?);
        }
        if let Some(transfer) = &mut self.transfer {
            if transfer.advance(&mut self.chunk)? {
                self.transfer = None;
            }
            return Ok(true);
        }
        match self.naming.take() {
            Some(naming) => naming.make(&self.target).map(|()| true),
            None => self.target.tidy(),
        }
    }

    /// Does all steps.
    pub(crate) fn complete(mut self) -> Result<()> {
        while self.advance()? {}
        Ok(())
    }
}

#[wasm_bindgen]
impl Checkpoint {
    /// Copies a chunk; answers whether more is left to do.
    ///
    /// # Errors
    /// Damage, a full or failing medium; the place then holds no store.
    pub fn step(&mut self) -> Result<bool, JsValue> {
        answer(self.advance())
    }
}

/// A table on its way.
struct Transfer {
    from: Arc<dyn File>,
    to: Arc<dyn File>,
    at: u64,
    len: u64,
}

impl Transfer {
    fn begin(target: &Volume, id: FileId, from: Arc<dyn File>) -> Result<Self> {
        let len = from.len()?;
        Ok(Transfer { to: target.create(id, len)?, from, at: 0, len })
    }

    /// Copies a chunk; answers whether it was the last, and is on the medium.
    fn advance(&mut self, chunk: &mut [u8]) -> Result<bool> {
        let left = usize::try_from(self.len - self.at).unwrap_or(usize::MAX);
        let size = left.min(chunk.len());
        let Some(part) = chunk.get_mut(..size) else { return Ok(true) };
        read_exact_at(&*self.from, part, self.at)?;
        write_all_at(&*self.to, part, self.at)?;
        self.at += size as u64;
        if size < left {
            return Ok(false);
        }
        self.to.sync().map(|()| true)
    }
}

/// The commit that names all files of the copy.
struct Naming {
    edit: Vec<u8>,
    added: Vec<FileId>,
}

impl Naming {
    fn make(&self, target: &Volume) -> Result<()> {
        let Naming { edit, added } = self;
        target.commit(&Commit { edit, added, dropped: &[], snapshot: &|| edit.clone() })
    }
}

/// What is left to do for a checkpoint.
#[derive(Default)]
struct Noted {
    tables: Vec<(FileId, Arc<dyn File>)>,
    naming: Option<Naming>,
}

/// A place as the engine's checkpoint sees it: one that takes tables and the commit on trust.
struct Draft {
    target: Volume,
    noted: Mutex<Noted>,
}

impl Draft {
    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Storage for Draft {
    fn name(&self) -> String {
        self.target.name()
    }

    fn recover(&self) -> Result<Option<Recovered>> {
        self.target.recover()
    }

    fn create(&self, id: FileId, capacity: u64) -> Result<Arc<dyn File>> {
        self.target.create(id, capacity)
    }

    fn link(&self, id: FileId, from: &dyn Storage) -> Result<bool> {
        self.noted().tables.push((id, from.open(id)?));
        Ok(true)
    }

    fn open(&self, id: FileId) -> Result<Arc<dyn File>> {
        self.target.open(id)
    }

    fn commit(&self, commit: &Commit<'_>) -> Result<()> {
        let naming = Naming { edit: commit.edit.to_vec(), added: commit.added.to_vec() };
        self.noted().naming = Some(naming);
        Ok(())
    }

    fn remove(&self, id: FileId) -> Result<()> {
        self.target.remove(id)
    }

    fn files(&self) -> Result<Vec<FileId>> {
        self.target.files()
    }

    fn space(&self) -> Result<Space> {
        self.target.space()
    }

    fn check(&self) -> Result<Vec<Corruption>> {
        self.target.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrane::driver::SliceDriver;
    use terrane::storage::medium::{Medium, MemoryMedium};
    use terrane::storage::volume::VolumeOptions;
    use terrane::{Durability, Options, Range, WriteBatch};

    fn volume(file: &Arc<dyn File>) -> Volume {
        Volume::open(vec![file.clone()], VolumeOptions::default()).unwrap()
    }

    fn open(file: &Arc<dyn File>, create: bool) -> Result<Db> {
        let options = Options { create, memtable_bytes: 64 << 10, ..Options::small() };
        Db::open_storage(Arc::new(volume(file)), options, Arc::new(SliceDriver::default()))
    }

    /// Gives 4000 keys values that no compression shrinks, drawn from `seed`, in tables of one run.
    fn fill(db: &Db, mut seed: u64) {
        let mut draw = || {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (seed >> 32) as u32
        };
        for batch in 0..40 {
            let mut writes = WriteBatch::new();
            for n in 0..100u32 {
                let key = (batch * 100 + n).to_be_bytes();
                let value: Vec<_> = (0..50).flat_map(|_| draw().to_be_bytes()).collect();
                writes.put(db.default_keyspace().id(), &key, &value).unwrap();
            }
            db.write(writes, Durability::Buffered).unwrap();
        }
        db.default_keyspace().compact_range(&Range::default()).unwrap();
    }

    fn entries(db: &Db) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut scan = db.default_keyspace().scan(Range::default()).unwrap();
        let mut found = Vec::new();
        while let Some((key, value)) = scan.next().unwrap() {
            found.push((key.to_vec(), value.to_vec()));
        }
        found
    }

    #[test]
    fn a_copy_shows_the_moment_of_its_beginning_though_its_tables_go_meanwhile() {
        let medium = MemoryMedium::new();
        let (from, to) = (medium.create("from").unwrap(), medium.create("to").unwrap());
        let db = open(&from, true).unwrap();
        fill(&db, 1);
        let expected = entries(&db);
        let mut copy = Checkpoint::begin(&db, volume(&to)).unwrap();
        let mut steps = 0;
        loop {
            // Other work goes on: the tables that are copied are dropped, and their room is used.
            if steps < 3 {
                fill(&db, 2 + steps);
                db.settle().unwrap();
            }
            steps += 1;
            if !copy.advance().unwrap() {
                break;
            }
        }
        drop(copy);
        assert!(steps > 3, "{steps} steps");
        let copied = open(&to, false).unwrap();
        assert!(entries(&copied) == expected);
        assert_eq!(copied.check().unwrap().damage, []);
        assert!(entries(&db) != expected);
    }

    #[test]
    fn a_copy_that_is_not_completed_leaves_no_store() {
        let medium = MemoryMedium::new();
        let (from, to) = (medium.create("from").unwrap(), medium.create("to").unwrap());
        let db = open(&from, true).unwrap();
        fill(&db, 1);
        let mut copy = Checkpoint::begin(&db, volume(&to)).unwrap();
        assert!(copy.advance().unwrap());
        drop(copy);
        assert!(matches!(open(&to, false), Err(terrane::Error::NoStore { .. })));
        Checkpoint::begin(&db, volume(&to)).unwrap().complete().unwrap();
        assert!(entries(&open(&to, false).unwrap()) == entries(&db));
    }
}
