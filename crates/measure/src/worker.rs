//! One thread's loop over operations.
//!
//! 1. Closed loop: an operation starts when the one before has ended, and its latency is the time between
//!    their ends.
//! 2. Open loop: operations are due at an even rate, and latency counts from when one was due. What a
//!    store makes wait is counted too, which a closed loop leaves out.

use crate::session::Session;
use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};
use terrane_workload::{Operation, Rows};

/// Rate and end of a loop, and the operations that it runs at once.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Start of the first operation.
    pub begun: Instant,
    /// Seconds between two operations of an open loop; `None` for a closed loop.
    pub interval: Option<f64>,
    /// Moment after which no operation starts.
    pub end: Option<Instant>,
    /// Puts that are written together; 1 for operations by themselves.
    pub batch: u64,
}

/// Rows and bytes that operations moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Rows that gets and scans returned.
    pub rows: u64,
    /// Bytes of their keys and values.
    pub read_bytes: u64,
    /// Bytes of keys and values that were put, and of keys that were deleted.
    pub written_bytes: u64,
}

/// An operation that has ended; of a batch, the last.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// The operation.
    pub operation: Operation,
    /// Rows and bytes that it moved, or that all of its batch moved.
    pub moved: Moved,
    /// Its latency.
    pub nanos: u64,
    /// Time from the start of the first operation to its end.
    pub ended: Duration,
}

/// A thread that works on a store.
pub struct Worker<'a, E> {
    session: &'a mut dyn Session<E>,
    rows: &'a Rows,
    key: Vec<u8>,
    value: Vec<u8>,
    batch: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Pace {
    /// Starts a closed loop now: one operation after another, without an end in time.
    #[must_use]
    pub fn closed() -> Self {
        Pace { begun: Instant::now(), interval: None, end: None, batch: 1 }
    }
}

impl Moved {
    /// Adds what other operations moved.
    pub fn add(&mut self, other: Moved) {
        self.rows += other.rows;
        self.read_bytes += other.read_bytes;
        self.written_bytes += other.written_bytes;
    }
}

impl<'a, E> Worker<'a, E> {
    /// Prepares to work on the rows of a store.
    pub fn new(session: &'a mut dyn Session<E>, rows: &'a Rows) -> Self {
        Worker { session, rows, key: Vec::new(), value: Vec::new(), batch: Vec::new() }
    }

    /// Runs `operations`, at most `most` of them, each with the stamp of the value that it may write; reports each to
    /// `ended`. Returns the number of operations, and the time until the last one ended.
    ///
    /// # Errors
    /// Those of the store and of `ended`.
    pub fn run(
        &mut self,
        pace: Pace,
        most: u64,
        mut operations: impl Iterator<Item = (Operation, u64)>,
        mut ended: impl FnMut(Timed) -> Result<(), E>,
    ) -> Result<(u64, Duration), E> {
        let (mut last, mut count) = (pace.begun, 0);
        while count < most && pace.end.is_none_or(|end| last < end) {
            if let Some(interval) = pace.interval {
                let due = Duration::from_secs_f64(interval * count as f64);
                last = wait_until(pace.begun + due);
            }
            let Some((mut operation, stamp)) = operations.next() else { break };
            let moved = match pace.batch.min(most - count) {
                0 | 1 => {
                    count += 1;
                    self.execute(operation, stamp)?
                }
                rows => {
                    let puts = [(operation, stamp)].into_iter().chain(&mut operations);
                    for (put, stamp) in puts.take(usize::try_from(rows).unwrap_or(usize::MAX)) {
                        self.gather(put, stamp);
                        operation = put;
                        count += 1;
                    }
                    self.write_batch()?
                }
            };
            let now = Instant::now();
            let nanos = u64::try_from((now - last).as_nanos()).unwrap_or(u64::MAX).max(1);
            ended(Timed { operation, moved, nanos, ended: now - pace.begun })?;
            last = now;
        }
        Ok((count, last - pace.begun))
    }

    /// Runs an operation; a value that it writes gets `stamp`.
    ///
    /// # Errors
    /// Those of the store.
    pub fn execute(&mut self, operation: Operation, stamp: u64) -> Result<Moved, E> {
        match operation {
            Operation::Put(number) => self.put(number, stamp),
            Operation::Get(number) => {
                self.rows.key(number, &mut self.key);
                self.get()
            }
            Operation::GetMissing(number) => {
                self.rows.missing_key(number, &mut self.key);
                self.get()
            }
            Operation::ReadModifyWrite(number) => {
                self.rows.key(number, &mut self.key);
                let mut moved = self.get()?;
                moved.add(self.put(number, stamp)?);
                Ok(moved)
            }
            Operation::Delete(number) => {
                self.rows.key(number, &mut self.key);
                self.session.delete(&self.key)?;
                Ok(Moved { written_bytes: self.key.len() as u64, ..Moved::default() })
            }
            Operation::Scan { from, entries } => {
                self.rows.key(from, &mut self.key);
                let mut read_bytes = 0;
                let rows = self.session.scan(&self.key, entries, &mut |key, value| {
                    read_bytes += touch(key) + touch(value);
                })?;
                Ok(Moved { rows, read_bytes, written_bytes: 0 })
            }
        }
    }

    fn put(&mut self, number: u64, stamp: u64) -> Result<Moved, E> {
        self.rows.key(number, &mut self.key);
        self.rows.value(number, stamp, &mut self.value);
        self.session.put(&self.key, &self.value)?;
        let written_bytes = (self.key.len() + self.value.len()) as u64;
        Ok(Moved { written_bytes, ..Moved::default() })
    }

    fn get(&mut self) -> Result<Moved, E> {
        let mut value_bytes = 0;
        let found = self.session.get(&self.key, &mut |value| value_bytes = touch(value))?;
        let read_bytes = if found { self.key.len() as u64 + value_bytes } else { 0 };
        Ok(Moved { rows: u64::from(found), read_bytes, written_bytes: 0 })
    }

    fn gather(&mut self, operation: Operation, stamp: u64) {
        if let Operation::Put(number) = operation {
            let (mut key, mut value) = (Vec::new(), Vec::new());
            self.rows.key(number, &mut key);
            self.rows.value(number, stamp, &mut value);
            self.batch.push((key, value));
        }
    }

    fn write_batch(&mut self) -> Result<Moved, E> {
        self.session.batch(&self.batch)?;
        let bytes = self.batch.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
        self.batch.clear();
        Ok(Moved { written_bytes: bytes as u64, ..Moved::default() })
    }
}

/// Reads the ends of what a store lends, so that it must be there. Returns its length.
fn touch(bytes: &[u8]) -> u64 {
    // Copies: references alone would read nothing.
    black_box((bytes.first().copied(), bytes.last().copied()));
    bytes.len() as u64
}

/// Sleeps for most of the time, since a loop would take the processor from the store.
fn wait_until(due: Instant) -> Instant {
    const IMPRECISION: Duration = Duration::from_micros(100);
    let early = due.saturating_duration_since(Instant::now());
    if early > IMPRECISION {
        thread::sleep(early - IMPRECISION);
    }
    while Instant::now() < due {
        thread::yield_now();
    }
    due
}

#[cfg(test)]
mod tests {
    use super::{Moved, Pace, Session, Worker};
    use std::collections::BTreeMap;
    use std::convert::Infallible;
    use std::time::{Duration, Instant};
    use terrane_workload::{Keys, Operation, Rows};

    const ROWS: Rows = Rows { entries: 10, keys: Keys::Numbers, key_bytes: 16, value_bytes: 84 };

    /// A map, and the sizes of the batches that it was given.
    #[derive(Default)]
    struct Map(BTreeMap<Vec<u8>, Vec<u8>>, Vec<usize>);

    impl Session<Infallible> for Map {
        fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Infallible> {
            self.0.insert(key.to_vec(), value.to_vec());
            Ok(())
        }

        fn batch(&mut self, rows: &[(Vec<u8>, Vec<u8>)]) -> Result<(), Infallible> {
            self.1.push(rows.len());
            rows.iter().try_for_each(|(key, value)| self.put(key, value))
        }

        fn delete(&mut self, key: &[u8]) -> Result<(), Infallible> {
            self.0.remove(key);
            Ok(())
        }

        fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool, Infallible> {
            Ok(self.0.get(key).map(|value| found(value)).is_some())
        }

        fn scan(
            &mut self,
            key: &[u8],
            rows: u64,
            each: &mut dyn FnMut(&[u8], &[u8]),
        ) -> Result<u64, Infallible> {
            let found = self.0.range(key.to_vec()..).take(rows as usize);
            Ok(found.map(|(key, value)| each(key, value)).count() as u64)
        }
    }

    fn run(map: &mut Map, pace: Pace, operations: &[Operation]) -> (u64, Vec<Moved>) {
        let (mut worker, mut moved) = (Worker::new(map, &ROWS), Vec::new());
        let operations = operations.iter().map(|operation| (*operation, 1));
        let Ok((count, _)) = worker.run(pace, u64::MAX, operations, |timed| {
            moved.push(timed.moved);
            Ok(())
        });
        (count, moved)
    }

    #[test]
    fn operations_move_the_rows_that_they_name() {
        use Operation::{Delete, Get, GetMissing, Put, ReadModifyWrite, Scan};
        let moved = |rows, read_bytes, written_bytes| Moved { rows, read_bytes, written_bytes };
        let cases = [
            (Put(1), moved(0, 0, 100)),
            (Put(2), moved(0, 0, 100)),
            (Get(1), moved(1, 100, 0)),
            (GetMissing(1), moved(0, 0, 0)),
            (ReadModifyWrite(2), moved(1, 100, 100)),
            (Scan { from: 0, entries: 5 }, moved(2, 200, 0)),
            (Scan { from: 0, entries: 1 }, moved(1, 100, 0)),
            (Delete(1), moved(0, 0, 16)),
            (Get(1), moved(0, 0, 0)),
        ];
        let (count, found) = run(&mut Map::default(), Pace::closed(), &cases.map(|case| case.0));
        assert_eq!((count, found), (9, cases.map(|case| case.1).to_vec()));
    }

    #[test]
    fn a_batch_counts_as_one_operation_that_ended() {
        let mut map = Map::default();
        let puts: Vec<_> = (0..7).map(Operation::Put).collect();
        let (count, found) = run(&mut map, Pace { batch: 3, ..Pace::closed() }, &puts);
        assert_eq!((count, found.len(), map.0.len(), map.1), (7, 3, 7, vec![3, 3, 1]));
        assert_eq!(found[0], Moved { written_bytes: 300, ..Moved::default() });
    }

    #[test]
    fn an_open_loop_starts_no_operation_before_it_is_due() {
        let (begun, interval) = (Instant::now(), Some(0.002));
        let pace = Pace { begun, interval, ..Pace::closed() };
        assert_eq!(run(&mut Map::default(), pace, &[Operation::Put(1); 5]).0, 5);
        assert!(begun.elapsed() >= Duration::from_millis(8));
    }
}
