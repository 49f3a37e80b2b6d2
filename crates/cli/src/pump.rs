//! Rows that a thread reads for a command, which so notices a signal even while the next row is sought
//! among millions of deletes.
//!
//! 1. The thread gathers rows into a chunk until `add` says that it is full.
//! 2. The command takes chunk after chunk, at most one behind the thread. After a signal it leaves the
//!    thread, which ends with its next chunk.

use crate::exit::Failure;
use crate::interrupt;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use terrane::Cursor;

/// Direction and number of the rows that are read.
#[derive(Clone, Copy)]
pub struct Order {
    pub reverse: bool,
    pub limit: u64,
}

impl Order {
    /// All rows, from the first key on.
    pub const ALL: Order = Order { reverse: false, limit: u64::MAX };
}

/// Reads the rows of `cursor`. `add` puts a row into a chunk and returns whether the chunk is full; `take`
/// receives each chunk.
pub fn pump<T: Default + Send + 'static>(
    cursor: Cursor,
    order: Order,
    mut add: impl FnMut(&mut T, &[u8], &[u8]) -> Result<bool, Failure> + Send + 'static,
    mut take: impl FnMut(T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (sender, chunks) = sync_channel(0);
    let mut rows = Rows { cursor, order };
    let read = move || {
        loop {
            let read = rows.chunk(&mut add);
            let ended = !matches!(read, Ok((_, true)));
            // Nobody receives it after a signal.
            if sender.send(read.map(|(chunk, _)| chunk)).is_err() || ended {
                return;
            }
        }
    };
    let thread = interrupt::spawn("rows", read)?;
    loop {
        interrupt::check()?;
        match chunks.recv_timeout(interrupt::PATIENCE) {
            Ok(chunk) => take(chunk?)?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return interrupt::join(thread),
        }
    }
}

struct Rows {
    cursor: Cursor,
    order: Order,
}

impl Rows {
    /// Returns the next chunk, and whether more follow.
    fn chunk<T: Default>(
        &mut self,
        add: &mut impl FnMut(&mut T, &[u8], &[u8]) -> Result<bool, Failure>,
    ) -> Result<(T, bool), Failure> {
        let mut chunk = T::default();
        while self.order.limit > 0 {
            let row = if self.order.reverse { self.cursor.prev()? } else { self.cursor.next()? };
            let Some((key, value)) = row else { break };
            self.order.limit -= 1;
            if add(&mut chunk, key, value)? {
                return Ok((chunk, true));
            }
        }
        Ok((chunk, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrane::{Db, Durability, Options};

    fn pumped(
        add: impl FnMut(&mut Vec<u8>, &[u8]) -> bool + Send + 'static,
    ) -> Result<Vec<u8>, Failure> {
        let dir = tempfile::tempdir().unwrap();
        let db = Db::open(dir.path(), Options::default()).unwrap();
        let rows = db.default_keyspace();
        for key in 0..5u8 {
            rows.put([key], b"", Durability::Buffered).unwrap();
        }
        let (mut found, mut add) = (Vec::new(), add);
        let add = move |chunk: &mut Vec<u8>, key: &[u8], _: &[u8]| Ok(add(chunk, key));
        pump(rows.cursor(..).unwrap(), Order::ALL, add, |chunk| {
            found.extend(chunk);
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn every_row_is_in_one_chunk() {
        for full in 1..=6 {
            let found = pumped(move |chunk, key| {
                chunk.extend_from_slice(key);
                chunk.len() == full
            });
            assert_eq!(found.unwrap(), [0, 1, 2, 3, 4]);
        }
    }

    #[test]
    fn a_panic_of_the_thread_is_not_the_end_of_the_rows() {
        let failed = pumped(|_, key| if key == [3] { panic!("at row 3") } else { true });
        let failed = format!("{:?}", failed.unwrap_err());
        assert!(failed.contains("at row 3") && failed.contains("Defect"), "{failed}");
    }
}
