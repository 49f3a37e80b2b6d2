//! redb: a transaction for each put. Its cache has the memory of the others' cache and memtable.

use crate::engine::{self, Engine, Settings};
use anyhow::{Error, Result};
use redb::{Database, Durability, ReadableDatabase, TableDefinition, WriteTransaction};
use terrane_measure::Session;

const ROWS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("rows");

struct Store {
    db: Database,
    durability: Durability,
}

pub fn open(settings: &Settings) -> Result<Box<dyn Engine>> {
    std::fs::create_dir_all(settings.path)?;
    let cache = usize::try_from(settings.cache_bytes + settings.memtable_bytes)?;
    let db = Database::builder().set_cache_size(cache).create(settings.path.join("rows.redb"))?;
    let durability = match settings.durability {
        engine::Durability::Buffered => Durability::None,
        engine::Durability::Durable => Durability::Immediate,
    };
    let store = Store { db, durability };
    // Readers expect the table.
    store.write(|_| Ok(()))?;
    Ok(Box::new(store))
}

impl Store {
    fn write(&self, change: impl FnOnce(&mut Table) -> Result<()>) -> Result<()> {
        let mut transaction: WriteTransaction = self.db.begin_write()?;
        transaction.set_durability(self.durability)?;
        change(&mut transaction.open_table(ROWS)?)?;
        Ok(transaction.commit()?)
    }
}

type Table<'t> = redb::Table<'t, &'static [u8], &'static [u8]>;

impl Engine for Store {
    fn session(&self) -> Result<Box<dyn Session<Error> + '_>> {
        Ok(Box::new(self))
    }

    /// A commit that waits for the device, for all those that did not.
    fn settle(&self) -> Result<()> {
        let mut transaction = self.db.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        Ok(transaction.commit()?)
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.settle()
    }
}

impl Session<Error> for &Store {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.write(|table| {
            table.insert(key, value)?;
            Ok(())
        })
    }

    fn batch(&mut self, rows: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        self.write(|table| {
            for (key, value) in rows {
                table.insert(key.as_slice(), value.as_slice())?;
            }
            Ok(())
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.write(|table| {
            table.remove(key)?;
            Ok(())
        })
    }

    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let table = self.db.begin_read()?.open_table(ROWS)?;
        let value = redb::ReadableTable::get(&table, key)?;
        Ok(value.is_some_and(|value| {
            found(value.value());
            true
        }))
    }

    fn scan(&mut self, key: &[u8], rows: u64, each: &mut dyn FnMut(&[u8], &[u8])) -> Result<u64> {
        let table = self.db.begin_read()?.open_table(ROWS)?;
        let mut count = 0;
        for row in redb::ReadableTable::range(&table, key..)?.take(usize::try_from(rows)?) {
            let (key, value) = row?;
            each(key.value(), value.value());
            count += 1;
        }
        Ok(count)
    }
}
