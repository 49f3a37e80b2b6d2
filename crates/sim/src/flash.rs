//! A page-mapped flash device: what its garbage collection rewrites.
//!
//! 1. Flash is written page by page and erased in *units* of many pages. The host's pages go to its
//!    open unit, whichever file they belong to: files that are written concurrently are interleaved.
//! 2. The file system gives each page of a file the lowest free address. A page that is written again at
//!    its address is invalidated where it was; so are those of a removed file, if the file system
//!    discards them on the device (*discard*). Otherwise they are moved about until their addresses are
//!    used again.
//! 3. When few units are free, garbage collection picks the closed unit with the fewest valid pages
//!    (the first such; *greedy*), moves these to an open unit of its own, and erases it.
//! 4. The device has more units than the host can address: *over-provisioning* leaves garbage
//!    collection room to work.
//!
//! A file's last page is written whole.

use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// The geometry of a flash device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    rename_all = "kebab-case",
    expecting = "an object with parameters of flash"
)]
pub struct FlashOptions {
    /// The host's capacity, in bytes.
    pub capacity_bytes: u64,
    /// Over-provisioning, as a share of the capacity.
    pub over_provisioning: f64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Pages of an erase unit.
    pub unit_pages: u32,
    /// Whether the file system discards the pages of removed files.
    pub discard: bool,
}

/// 960 GB; assumed are 7 % over-provisioning and units of 1 GiB, a stripe over all dies.
impl Default for FlashOptions {
    fn default() -> Self {
        FlashOptions {
            capacity_bytes: 960_000_000_000,
            over_provisioning: 0.07,
            page_bytes: 256 << 10,
            unit_pages: 4096,
            discard: true,
        }
    }
}

impl FlashOptions {
    pub(crate) fn logical_pages(&self) -> u64 {
        self.capacity_bytes / self.page_bytes.max(1)
    }

    /// The number of units, including the spare ones that garbage collection needs.
    pub(crate) fn units(&self) -> u64 {
        let pages = self.logical_pages() as f64 * (1.0 + self.over_provisioning);
        (pages / f64::from(self.unit_pages.max(1))).ceil() as u64 + SPARE_UNITS
    }
}

/// The host's open unit, that of garbage collection, and one in reserve.
const SPARE_UNITS: u64 = 3;

/// Free units at which garbage collection starts.
const FREE_UNITS: usize = 2;

/// The device is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

#[derive(Clone, Copy, Default)]
struct Unit {
    /// Pages written since it was erased.
    written: u32,
    /// Those of them that are valid.
    valid: u32,
}

/// A place on flash: a unit, and a page of it.
type Place = (u32, u32);

#[derive(Default)]
struct File {
    /// The addresses of its pages.
    pages: Vec<u32>,
    /// Bytes at its end that do not fill a page yet.
    pending: u64,
}

/// The state of the device, and of the file system on it.
pub(crate) struct Flash {
    page_bytes: u64,
    unit_pages: u32,
    discard: bool,
    units: Vec<Unit>,
    /// The address of each page on flash, while it is valid.
    owners: Vec<Option<u32>>,
    /// Place of each address on flash.
    places: Vec<Option<Place>>,
    free: VecDeque<u32>,
    files: HashMap<u64, File>,
    /// Addresses that no file uses; all from `unused` on were never used.
    released: BinaryHeap<Reverse<u32>>,
    unused: u32,
    /// The open unit of the host, and that of garbage collection.
    open: [Option<u32>; 2],
    host_pages: u64,
    moved_pages: u64,
}

const HOST: usize = 0;
const COLLECTION: usize = 1;

impl Flash {
    /// An erased device.
    pub(crate) fn new(options: &FlashOptions) -> Self {
        let units = u32::try_from(options.units()).unwrap_or(u32::MAX);
        let unit_pages = options.unit_pages.max(1);
        Flash {
            page_bytes: options.page_bytes.max(1),
            unit_pages,
            discard: options.discard,
            units: vec![Unit::default(); units as usize],
            owners: vec![None; units as usize * unit_pages as usize],
            places: vec![None; usize::try_from(options.logical_pages()).unwrap_or(0)],
            free: (0..units).collect(),
            files: HashMap::new(),
            released: BinaryHeap::new(),
            unused: 0,
            open: [None; 2],
            host_pages: 0,
            moved_pages: 0,
        }
    }

    /// Appends to a new or existing file; the last page is written when the file ends.
    pub(crate) fn append(&mut self, file: u64, bytes: u64, ends: bool) -> Result<(), Full> {
        let entry = self.files.entry(file).or_default();
        let pending = entry.pending + bytes;
        entry.pending = if ends { 0 } else { pending % self.page_bytes };
        let pages = pending / self.page_bytes;
        let rest = u64::from(ends && !pending.is_multiple_of(self.page_bytes));
        self.write(file, pages + rest)
    }

    /// Removes a file.
    pub(crate) fn remove(&mut self, file: u64) {
        for page in self.files.remove(&file).map(|f| f.pages).unwrap_or_default() {
            if self.discard {
                self.invalidate(page);
            }
            self.released.push(Reverse(page));
        }
    }

    /// Bytes written by the host.
    pub(crate) fn host_bytes(&self) -> u64 {
        self.host_pages * self.page_bytes
    }

    /// Bytes moved by garbage collection.
    pub(crate) fn moved_bytes(&self) -> u64 {
        self.moved_pages * self.page_bytes
    }

    fn write(&mut self, file: u64, pages: u64) -> Result<(), Full> {
        for _ in 0..pages {
            let page = self.allocate()?;
            self.invalidate(page);
            self.place(HOST, page)?;
            self.files.entry(file).or_default().pages.push(page);
            self.host_pages += 1;
        }
        Ok(())
    }

    /// The lowest free address.
    fn allocate(&mut self) -> Result<u32, Full> {
        if let Some(Reverse(page)) = self.released.pop() {
            return Ok(page);
        }
        let page = self.unused;
        if page as usize >= self.places.len() {
            return Err(Full);
        }
        self.unused += 1;
        Ok(page)
    }

    /// Writes a page to one of the open units.
    fn place(&mut self, stream: usize, page: u32) -> Result<(), Full> {
        let room = |number: &u32, units: &[Unit]| {
            units.get(*number as usize).is_some_and(|unit| unit.written < self.unit_pages)
        };
        let open = self.open.get(stream).copied().flatten().filter(|n| room(n, &self.units));
        let unit = match open {
            Some(unit) => unit,
            None => {
                if stream == HOST {
                    while self.free.len() < FREE_UNITS {
                        self.collect()?;
                    }
                }
                let unit = self.free.pop_front().ok_or(Full)?;
                if let Some(open) = self.open.get_mut(stream) {
                    *open = Some(unit);
                }
                unit
            }
        };
        let state = self.units.get_mut(unit as usize).ok_or(Full)?;
        let place = state.written;
        state.written += 1;
        state.valid += 1;
        *self.owner(unit, place).ok_or(Full)? = Some(page);
        *self.places.get_mut(page as usize).ok_or(Full)? = Some((unit, place));
        Ok(())
    }

    /// Step 3: moves a unit's valid pages and erases it.
    fn collect(&mut self) -> Result<(), Full> {
        let closed = (0u32..).zip(&self.units).filter(|(number, unit)| {
            unit.written == self.unit_pages && !self.open.contains(&Some(*number))
        });
        // A full open unit could be collected, but the next page replaces it anyway.
        let (victim, unit) = closed.min_by_key(|(_, unit)| unit.valid).ok_or(Full)?;
        if unit.valid == self.unit_pages {
            return Err(Full);
        }
        for place in 0..self.unit_pages {
            let Some(page) = self.owner(victim, place).and_then(Option::take) else { continue };
            self.place(COLLECTION, page)?;
            self.moved_pages += 1;
        }
        if let Some(unit) = self.units.get_mut(victim as usize) {
            *unit = Unit::default();
        }
        self.free.push_back(victim);
        Ok(())
    }

    /// Invalidates the data at an address.
    fn invalidate(&mut self, page: u32) {
        let place = self.places.get_mut(page as usize).and_then(Option::take);
        let Some((unit, place)) = place else { return };
        if let Some(owner) = self.owner(unit, place) {
            *owner = None;
        }
        if let Some(unit) = self.units.get_mut(unit as usize) {
            unit.valid -= 1;
        }
    }

    fn owner(&mut self, unit: u32, place: u32) -> Option<&mut Option<u32>> {
        self.owners.get_mut(unit as usize * self.unit_pages as usize + place as usize)
    }
}
