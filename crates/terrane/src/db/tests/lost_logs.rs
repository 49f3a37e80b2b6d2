//! A log that lost its last batches, which an edit says are durable, is damage and no crash.

use super::range_deletes::idle;
use super::*;
use crate::batch::{Operation, WriteBatch};
use crate::storage::vfs::{MemoryVfs, Vfs};
use crate::storage::{Directory, read_exact_at, write_all_at};

/// A store in memory whose logs can be put back to an earlier state.
pub(super) struct Lost(MemoryVfs);

impl Lost {
    pub fn new() -> Self {
        Lost(MemoryVfs::new())
    }

    pub fn open(&self) -> Result<Db> {
        let directory = Directory::open(Arc::new(self.0.clone()))?;
        Db::open_storage(Arc::new(directory), idle(), slices())
    }

    /// Returns the names and bytes of all logs.
    pub fn logs(&self) -> Vec<(String, Vec<u8>)> {
        let names = self.0.list().unwrap().into_iter().filter(|name| name.ends_with(".log"));
        let bytes = |name: String| {
            let file = self.0.open(&name).unwrap();
            let mut bytes = vec![0; file.len().unwrap() as usize];
            read_exact_at(&*file, &mut bytes, 0).unwrap();
            (name, bytes)
        };
        names.map(bytes).collect()
    }

    pub fn put_back(&self, logs: Vec<(String, Vec<u8>)>) {
        for (name, bytes) in logs {
            write_all_at(&*self.0.open(&name).unwrap(), &bytes, 0).unwrap();
        }
    }
}

#[test]
fn a_log_that_lost_a_drop_which_an_edit_names_is_damage() {
    let lost = Lost::new();
    let db = lost.open().unwrap();
    db.create_keyspace("users").unwrap().put("a", "1", Buffered).unwrap();
    let before = lost.logs();
    assert!(db.drop_keyspace("users").unwrap());
    std::mem::forget(db);
    lost.put_back(before);
    let damage = lost.open().map(drop).unwrap_err();
    assert!(matches!(damage.kind(), crate::ErrorKind::Corrupt(_)), "{damage}");
}

#[test]
fn a_batch_that_drops_a_keyspace_is_written_by_no_other_call() {
    let db = Lost::new().open().unwrap();
    let users = db.create_keyspace("users").unwrap();
    users.put("a", "1", Buffered).unwrap();
    let mut batch = WriteBatch::new();
    batch.push(users.id(), Operation::DropKeyspace(b"users")).unwrap();
    let refused = db.write(batch.clone(), Buffered).unwrap_err();
    assert!(matches!(refused.kind(), crate::ErrorKind::InvalidArgument { .. }), "{refused}");
    assert!(db.try_write(batch).is_err());
    assert_eq!(users.get("a").unwrap().as_deref(), Some(&b"1"[..]));
}
