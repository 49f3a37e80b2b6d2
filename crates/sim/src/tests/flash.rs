//! Flash against a naive model: a list of units, searched linearly.

use crate::flash::{Flash, FlashOptions, Full};
use proptest::prelude::*;

/// A page: its file (0 if none), and its index in the file.
type Page = (u64, usize);

struct Model {
    /// Units by number; `None` is an unwritten page.
    units: Vec<Vec<Option<Page>>>,
    free: Vec<usize>,
    host: Option<usize>,
    collection: Option<usize>,
    capacity: usize,
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
            capacity,
            written: 0,
            moved: 0,
        }
    }

    fn pages(&self, file: u64) -> usize {
        self.units.iter().flatten().flatten().filter(|(f, _)| *f == file).count()
    }

    fn valid(&self, unit: usize) -> usize {
        self.units[unit].iter().flatten().filter(|(f, _)| *f != 0).count()
    }

    fn is_full(&self, unit: usize) -> bool {
        self.units[unit].iter().all(Option::is_some)
    }

    fn put(&mut self, unit: usize, page: Page) {
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
        for page in self.units[victim].clone().into_iter().flatten().filter(|(f, _)| *f != 0) {
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
        if (0..self.units.len()).map(|u| self.valid(u)).sum::<usize>() == self.capacity {
            return Err(Full);
        }
        if self.host.is_none_or(|u| self.is_full(u)) {
            while self.free.len() < 2 {
                self.collect()?;
            }
            self.host = Some(self.free.remove(0));
        }
        let number = self.pages(file);
        self.put(self.host.unwrap(), (file, number));
        self.written += 1;
        Ok(())
    }

    fn trim(&mut self, file: u64) {
        let pages = self.units.iter_mut().flatten().flatten();
        pages.filter(|(f, _)| *f == file).for_each(|page| page.0 = 0);
    }
}

const OPTIONS: FlashOptions =
    FlashOptions { capacity_bytes: 400, over_provisioning: 0.2, page_bytes: 10, unit_pages: 4 };

proptest! {
    #[test]
    fn it_moves_what_a_slow_model_moves(
        steps in prop::collection::vec((1u64..6, 0u64..30, any::<bool>(), 0u8..4), 1..120),
    ) {
        let (mut flash, mut model) = (Flash::new(&OPTIONS), Model::new(&OPTIONS));
        let mut pending = [0; 6];
        for (file, bytes, ends, kind) in steps {
            if kind == 0 {
                flash.trim(file);
                model.trim(file);
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
fn rounds(writers: u64, lifetimes: impl Fn(u64) -> u64) -> f64 {
    let options = FlashOptions { capacity_bytes: 40_000, unit_pages: 16, ..OPTIONS };
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
                flash.trim(old * writers + writer);
            }
        }
    }
    (flash.host_bytes() + flash.moved_bytes()) as f64 / flash.host_bytes() as f64
}

#[test]
fn garbage_collection_is_free_only_if_files_die_together() {
    assert_eq!(rounds(1, |_| 200), 1.0);
    assert_eq!(rounds(4, |_| 50), 1.0);
    assert!(rounds(4, |writer| [1, 1, 1, 220][writer as usize]) > 1.2);
}
