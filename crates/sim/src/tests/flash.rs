//! Flash against a naive model: a list of units, searched linearly.

use crate::flash::{Flash, FlashOptions, Full};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A page is an address, or `DEAD`.
const DEAD: usize = usize::MAX;

struct Model {
    /// Units by number; `None` is an unwritten page.
    units: Vec<Vec<Option<usize>>>,
    free: Vec<usize>,
    host: Option<usize>,
    collection: Option<usize>,
    files: BTreeMap<u64, Vec<usize>>,
    capacity: usize,
    discard: bool,
    written: u64,
    moved: u64,
}

impl Model {
    fn new(options: &FlashOptions) -> Self {
        let capacity = (options.capacity_bytes / options.page_bytes) as usize;
        let pages = capacity as f64 * (1.0 + options.over_provisioning);
        let count = (pages / f64::from(options.unit_pages)).ceil() as usize + 3;
        Model {
            units: vec![vec![None; options.unit_pages as usize]; count],
            free: (0..count).collect(),
            host: None,
            collection: None,
            files: BTreeMap::new(),
            capacity,
            discard: options.discard,
            written: 0,
            moved: 0,
        }
    }

    fn kill(&mut self, address: usize) {
        let pages = self.units.iter_mut().flatten().flatten();
        pages.filter(|page| **page == address).for_each(|page| *page = DEAD);
    }

    fn valid(&self, unit: usize) -> usize {
        self.units[unit].iter().flatten().filter(|page| **page != DEAD).count()
    }

    fn is_full(&self, unit: usize) -> bool {
        self.units[unit].iter().all(Option::is_some)
    }

    fn put(&mut self, unit: usize, page: usize) {
        *self.units[unit].iter_mut().find(|p| p.is_none()).unwrap() = Some(page);
    }

    fn collect(&mut self) -> Result<(), Full> {
        let open = [self.host, self.collection];
        let closed =
            (0..self.units.len()).filter(|u| self.is_full(*u) && !open.contains(&Some(*u)));
        let victim = closed.min_by_key(|u| (self.valid(*u), *u)).ok_or(Full)?;
        if self.valid(victim) == self.units[victim].len() {
            return Err(Full);
        }
        for page in self.units[victim].clone().into_iter().flatten().filter(|page| *page != DEAD) {
            if self.collection.is_none_or(|u| self.is_full(u)) {
                self.collection = Some(self.free.remove(0));
            }
            self.put(self.collection.unwrap(), page);
            self.moved += 1;
        }
        self.units[victim].fill(None);
        self.free.push(victim);
        Ok(())
    }

    fn append(&mut self, file: u64) -> Result<(), Full> {
        let is_free = |at: &usize| !self.files.values().flatten().any(|used| used == at);
        let address = (0..self.capacity).find(is_free).ok_or(Full)?;
        self.kill(address);
        if self.host.is_none_or(|u| self.is_full(u)) {
            while self.free.len() < 2 {
                self.collect()?;
            }
            self.host = Some(self.free.remove(0));
        }
        self.put(self.host.unwrap(), address);
        self.files.entry(file).or_default().push(address);
        self.written += 1;
        Ok(())
    }

    fn remove(&mut self, file: u64) {
        for address in self.files.remove(&file).unwrap_or_default() {
            if self.discard {
                self.kill(address);
            }
        }
    }
}

const OPTIONS: FlashOptions = FlashOptions {
    capacity_bytes: 400,
    over_provisioning: 0.2,
    page_bytes: 10,
    unit_pages: 4,
    discard: true,
};

proptest! {
    #[test]
    fn it_moves_what_a_slow_model_moves(
        steps in prop::collection::vec((1u64..6, 0u64..30, any::<bool>(), 0u8..4), 1..120),
        discard in any::<bool>(),
    ) {
        let options = FlashOptions { discard, ..OPTIONS };
        let (mut flash, mut model) = (Flash::new(&options), Model::new(&options));
        let mut pending = [0; 6];
        for (file, bytes, ends, kind) in steps {
            if kind == 0 {
                flash.remove(file);
                model.remove(file);
                pending[file as usize] = 0;
            } else {
                let pages = pending[file as usize] + bytes;
                pending[file as usize] = if ends { 0 } else { pages % 10 };
                let pages = if ends { pages.div_ceil(10) } else { pages / 10 };
                let expected = (0..pages).try_for_each(|_| model.append(file));
                let done = flash.append(file, bytes, ends);
                prop_assert_eq!(done, expected);
                if done.is_err() {
                    break;
                }
            }
            prop_assert_eq!(flash.host_bytes(), model.written * 10);
            prop_assert_eq!(flash.moved_bytes(), model.moved * 10);
        }
    }
}

/// Rounds of interleaved files of the same length, each replacing the previous round.
fn rounds(discard: bool, writers: u64, lifetimes: impl Fn(u64) -> u64) -> f64 {
    let options = FlashOptions { capacity_bytes: 40_000, unit_pages: 16, discard, ..OPTIONS };
    let mut flash = Flash::new(&options);
    for round in 0..400u64 {
        for _ in 0..16 {
            for writer in 0..writers {
                flash.append(round * writers + writer, 10, false).unwrap();
            }
        }
        for writer in 0..writers {
            let age = lifetimes(writer);
            if let Some(old) = (round + 1).checked_sub(age) {
                flash.remove(old * writers + writer);
            }
        }
    }
    (flash.host_bytes() + flash.moved_bytes()) as f64 / flash.host_bytes() as f64
}

#[test]
fn garbage_collection_is_free_only_if_files_die_together() {
    assert_eq!(rounds(true, 1, |_| 200), 1.0);
    assert_eq!(rounds(true, 4, |_| 50), 1.0);
    assert!(rounds(true, 4, |writer| [1, 1, 1, 220][writer as usize]) > 1.2);
}

#[test]
fn without_discard_garbage_collection_keeps_stale_pages() {
    let lifetimes = |writer| [1, 1, 1, 180][writer as usize];
    assert!(rounds(false, 4, lifetimes) > rounds(true, 4, lifetimes));
    // Addresses that are used again in their old order die in that order.
    assert_eq!(rounds(false, 1, |_| 200), 1.0);
}
