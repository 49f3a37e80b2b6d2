//! Terrane as a store that is measured.

use crate::session::Session;
use terrane::{Db, Durability, Error, Keyspace, WriteBatch};

/// A keyspace, and the durability of writes to it.
pub struct Terrane<'a> {
    db: &'a Db,
    keyspace: &'a Keyspace,
    durability: Durability,
}

impl<'a> Terrane<'a> {
    /// A keyspace of a store.
    #[must_use]
    pub fn new(db: &'a Db, keyspace: &'a Keyspace, durability: Durability) -> Self {
        Terrane { db, keyspace, durability }
    }
}

impl<E: From<Error>> Session<E> for Terrane<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), E> {
        self.keyspace.put(key, value, self.durability)?;
        Ok(())
    }

    fn batch(&mut self, rows: &[(Vec<u8>, Vec<u8>)]) -> Result<(), E> {
        let mut batch = WriteBatch::new();
        for (key, value) in rows {
            batch.put(self.keyspace, key, value)?;
        }
        self.db.write(batch, self.durability)?;
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), E> {
        self.keyspace.delete(key, self.durability)?;
        Ok(())
    }

    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool, E> {
        Ok(self.keyspace.get_with(key, found)?.is_some())
    }

    fn scan(
        &mut self,
        key: &[u8],
        rows: u64,
        each: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<u64, E> {
        let mut cursor = self.keyspace.cursor(key..)?;
        for at in 0..rows {
            match cursor.next()? {
                Some((key, value)) => each(key, value),
                None => return Ok(at),
            }
        }
        Ok(rows)
    }
}
