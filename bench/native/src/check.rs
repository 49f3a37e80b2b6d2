//! Check of a store's content after the phases that ran on it.

use crate::run::Done;
use crate::workload::Workload;
use anyhow::{Error, Result, ensure};
use terrane_measure::Session;
use terrane_workload::{Operation, Random, Rows};

/// Rows that are looked up; all are scanned.
const GETS: u64 = 10_000;

/// The rows of a store: the stamp of each one's last write, 0 where it is not there.
pub struct Model {
    data: Rows,
    stamps: Vec<u64>,
}

impl Model {
    /// An empty store.
    pub fn new(data: Rows) -> Self {
        Model { stamps: vec![0; data.entries as usize], data }
    }

    /// Follows what a phase did.
    pub fn apply(&mut self, done: &Done) {
        let phase = &done.phase;
        if phase.workload == Workload::NothingBesideBusy {
            return;
        }
        for (thread, count) in (0..).zip(&done.counts) {
            for (operation, stamp) in phase.stream(thread).stamped().take(*count as usize) {
                match operation {
                    Operation::Put(number) | Operation::ReadModifyWrite(number) => {
                        self.set(number, stamp);
                    }
                    Operation::Delete(number) => self.set(number, 0),
                    Operation::Get(_) | Operation::GetMissing(_) | Operation::Scan { .. } => {}
                }
            }
        }
    }

    fn set(&mut self, number: u64, stamp: u64) {
        let index = number as usize;
        if self.stamps.len() <= index {
            self.stamps.resize(index + 1, 0);
        }
        self.stamps[index] = stamp;
    }

    /// Bytes of keys and values of all rows.
    pub fn live_bytes(&self) -> u64 {
        let rows = self.stamps.iter().filter(|stamp| **stamp != 0).count();
        rows as u64 * self.data.row_bytes()
    }

    /// Compares every row of the store, then gets of some.
    ///
    /// # Errors
    /// A row that is wrong, missing or too many.
    pub fn check(&self, session: &mut dyn Session<Error>) -> Result<()> {
        let mut order: Vec<(u64, u64)> = (0..self.stamps.len() as u64)
            .filter(|number| self.stamps[*number as usize] != 0)
            .map(|number| (self.data.position(number), number))
            .collect();
        order.sort_unstable();
        let mut expected = order.iter();
        let (mut key, mut value, mut wrong) = (Vec::new(), Vec::new(), None);
        session.scan(&[0], u64::MAX >> 1, &mut |found_key, found_value| {
            let number = expected.next().map(|(_, number)| *number);
            if let Some(number) = number {
                self.data.key(number, &mut key);
                self.data.value(number, self.stamps[number as usize], &mut value);
            }
            if wrong.is_none() && (number.is_none() || found_key != key || found_value != value) {
                wrong = Some(number);
            }
        })?;
        let left = expected.len();
        ensure!(
            wrong.is_none() && left == 0,
            "the scan is wrong at {wrong:?}, and lacks {left} rows"
        );
        let mut random = Random(0);
        for _ in 0..GETS {
            let number = random.below(self.stamps.len() as u64);
            let stamp = self.stamps[number as usize];
            self.data.key(number, &mut key);
            self.data.value(number, stamp, &mut value);
            let mut right = true;
            let found = session.get(&key, &mut |bytes| right = bytes == value)?;
            ensure!(found == (stamp != 0) && right, "the get of row {number} is wrong");
        }
        Ok(())
    }
}
