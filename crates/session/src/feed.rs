//! The change feed as JavaScript reads it: pages of durable batches.
//!
//! 1. A page has the batches after a cursor, which the caller passes with each call. So nothing is lost with a worker.
//! 2. Earlier writes are synced first, since someone waits for the page.
//! 3. The readers of the last pages are kept, since a new one reads its first log from the start.
//!
//! A page is one batch after another: its sequence number (a double), its length (`u32`) and its bytes, as they lie in
//! the log, with the engine's ids of keyspaces. Before the first batch of the page that has an id is, with the sequence
//! number 0 in place of a batch, its keyspace: the id and the length of the name (varints), and the name. A keyspace
//! that the store's owner keeps for itself has none.

use crate::codec::number;
use terrane::coding::{put_bytes, put_varint};
use terrane::{Changes, Db, FeedCursor, KeyspaceId, Result, batch::decode};

/// Bytes at which a page ends.
const PAGE_BYTES: usize = 256 << 10;
/// The most readers that are kept.
const READERS_MAX: usize = 8;

/// Readers of the feed.
#[derive(Default)]
pub(crate) struct Feed {
    /// The latest first.
    readers: Vec<Changes>,
}

impl Feed {
    /// Returns the batches after a cursor; no bytes at the end of the feed.
    ///
    /// # Errors
    /// A malformed cursor, or one from which the feed cannot continue; damage, an I/O error.
    pub fn page(&mut self, db: &Db, since: &str) -> Result<Vec<u8>> {
        sync(db)?;
        let since: FeedCursor = since.parse()?;
        let known = self.readers.iter().position(|changes| changes.cursor() == since);
        let mut changes = match known {
            Some(at) => self.readers.remove(at),
            None => db.changes(since)?,
        };
        let (mut page, mut named) = (Vec::new(), Vec::<KeyspaceId>::new());
        while page.len() < PAGE_BYTES {
            let Some(batch) = changes.try_next()? else { break };
            for (id, _) in decode(batch.encoded()).map_while(Result::ok) {
                if named.contains(&id) {
                    continue;
                }
                named.push(id);
                if let Some(name) = batch.name(id) {
                    let mut keyspace = Vec::new();
                    put_varint(&mut keyspace, id.0.into());
                    put_bytes(&mut keyspace, name.as_bytes());
                    push(&mut page, 0, &keyspace);
                }
            }
            push(&mut page, batch.cursor().sequence, batch.encoded());
        }
        self.readers.truncate(READERS_MAX - 1);
        self.readers.insert(0, changes);
        Ok(page)
    }
}

/// Appends a batch to a page, or a keyspace with the number 0.
fn push(page: &mut Vec<u8>, sequence: u64, bytes: &[u8]) {
    page.extend_from_slice(&number(sequence));
    // A batch is far shorter than 4 GiB.
    page.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    page.extend_from_slice(bytes);
}

/// Makes every earlier write durable.
pub(crate) fn sync(db: &Db) -> Result<()> {
    match db.feed_cursor().sequence < db.latest_sequence() {
        true => db.sync(),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Session;
    use std::sync::Arc;
    use terrane::executor::SliceExecutor;
    use terrane::storage::{Directory, vfs::MemoryVfs};
    use terrane::{Durability, Options};

    /// Returns the sequence numbers of the batches of a page.
    fn sequences(page: &[u8]) -> Vec<u64> {
        let mut sequences = Vec::new();
        let mut rest = page;
        while let Some((sequence, after)) = rest.split_first_chunk() {
            let sequence = f64::from_le_bytes(*sequence) as u64;
            sequences.extend((sequence > 0).then_some(sequence));
            let (length, after) = after.split_first_chunk().unwrap();
            rest = &after[u32::from_le_bytes(*length) as usize..];
        }
        sequences
    }

    /// Returns a store in memory.
    fn in_memory() -> Db {
        let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
        let executor = Arc::new(SliceExecutor::default());
        Db::open_storage(storage, Options::small(), executor).unwrap()
    }

    #[test]
    fn pages_have_each_batch_once_for_many_subscribers() {
        let db = in_memory();
        let mut session = Session::new(db.clone());
        let start = session.feed_cursor(0).unwrap();
        let (lineage, _) = start.split_once('-').unwrap();
        for n in 0..40_u64 {
            let value = vec![0; 20 << 10];
            db.default_keyspace().put(n.to_be_bytes(), value, Durability::Buffered).unwrap();
        }
        let first = sequences(&session.feed(&start).unwrap());
        assert!(first.len() > 1 && first.len() < 40, "{first:?}");
        // More subscribers than readers that are kept, each somewhere else.
        let mut ends: Vec<u64> = (0..2 * READERS_MAX as u64).collect();
        for end in &mut ends {
            while *end < 40 {
                let next = sequences(&session.feed(&format!("{lineage}-{end}")).unwrap());
                assert_eq!(next, (*end + 1..=*end + next.len() as u64).collect::<Vec<_>>());
                *end = *next.last().unwrap();
            }
        }
        let end = session.feed_cursor(0).unwrap();
        assert!(session.feed(&end).unwrap().is_empty());
        session.snapshot(7);
        db.default_keyspace().delete("a", Durability::Buffered).unwrap();
        assert_eq!(session.feed_cursor(7).unwrap(), end);
        assert_eq!(sequences(&session.feed(&end).unwrap()), [41]);
        assert!(session.feed("17").is_err() && session.feed(&format!("{lineage}-42")).is_err());
    }

    #[test]
    fn a_page_names_the_keyspaces_of_its_batches_once() {
        let db = in_memory();
        let mut session = Session::new(db.clone());
        let start = session.feed_cursor(0).unwrap();
        let users = db.create_keyspace("users").unwrap();
        users.put("a", "1", Durability::Buffered).unwrap();
        users.put("b", "1", Durability::Buffered).unwrap();
        let hidden = db.reserved_keyspace("owner", true).unwrap().unwrap();
        hidden.put("a", "1", Durability::Buffered).unwrap();
        db.drop_keyspace("users").unwrap();
        let page = session.feed(&start).unwrap();
        let name = [&[users.id().0 as u8, 5][..], b"users"].concat();
        assert_eq!(page[..8], [0; 8]);
        assert_eq!(page[8..12], [7, 0, 0, 0]);
        assert_eq!(page[12..19], name);
        assert_eq!(sequences(&page), [1, 2, 3, 4]);
        assert_eq!(page.windows(7).filter(|found| *found == name).count(), 2);
    }
}
