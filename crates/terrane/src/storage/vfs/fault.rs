//! A fault-injecting file system: power cuts, lost, torn and reordered writes, I/O errors, a full
//! disk, bit rot.
//!
//! 1. Writes since a file's last sync, and changes to names since the last [`Vfs::sync_names`], are
//!    kept apart from the durable state. Reads see all of them.
//! 2. Every write, resize, sync, creation, removal and rename is one *operation*, numbered from 0. Any
//!    of them can be made to fail, or power can be cut at it; then all later ones fail.
//! 3. [`FaultVfs::crash`] decides what survives of the unsynced state, and writes the outcome to the
//!    wrapped file system. Wrapping that one again is the restart.
//!
//! **What a crash may leave.** Each sector of a file (512 bytes, or what [`FaultVfs::set_sector`] set)
//! has one of the contents it had since the last sync, independently of all other sectors, so that
//! writes are lost, torn and reordered. The length is one of the lengths that the file had; bytes that
//! were never written are zeros. A change of a name happened or not, in order among the changes of one
//! name; a file whose name is not durable is lost, even if its bytes were synced. A failed sync leaves
//! its writes in doubt for good: a later sync does not save them.
//!
//! Reads are counted separately, and can be made to fail ([`FaultVfs::fail_read_at`]).
//!
//! A file can be mapped where [`FaultVfs::allow_mmap_writes`] says so. A write through memory is an operation
//! like a write: the system has its bytes at once, and the device some of its sectors, or all after a sync. Where
//! it would fail, it is refused, as where a page cannot be populated.

mod crash;
mod file;
#[cfg(test)]
mod tests;

pub(crate) use crash::Random;
pub use crash::Survivors;

use crate::error::{Error, Result};
use crate::storage::vfs::Vfs;
use crate::storage::{File, StoreId, lock, read_exact_at, write_all_at};
use crate::sync::Mutex;
use file::FaultFile;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// The default sector size, in bytes: a sector is written whole or not at all.
pub const SECTOR: u64 = 512;
/// Sector sizes of real devices.
pub const SECTORS: [u64; 3] = [512, 4096, 16384];

/// Kind of an operation's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An I/O error. Nothing is done.
    Io,
    /// The disk is full. Nothing is done.
    NoSpace,
    /// A write writes half of its bytes and returns that count; other operations fail like `Io`.
    Short,
    /// The process ended before the operation. With [`FaultVfs::fail_from`] and [`FaultVfs::heal`],
    /// this is a restart without a power cut.
    Killed,
    /// A write is reported as done and is not; other operations succeed.
    Lost,
    /// A write goes to the wrong place, this many bytes further on, and is reported as done; other
    /// operations succeed.
    Misdirected(u64),
    /// A sync fails, and from then on reads see what is stored, where each sector may have been written
    /// or not; other operations fail like `Io`.
    Reverted,
}

/// A fault-injecting wrapper around any file system. Clones share its state.
#[derive(Clone)]
pub struct FaultVfs {
    shared: Arc<Shared>,
}

struct Shared {
    inner: Arc<dyn Vfs>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    operations: u64,
    reads: u64,
    failing_read: Option<u64>,
    /// Whether files can be mapped.
    maps: bool,
    /// The file of the last lost or misdirected write, until it is written again.
    struck: Option<usize>,
    sector: u64,
    cut: Option<u64>,
    crashed: bool,
    faults: Vec<Planned>,
    capacity: Option<(u64, Fault)>,
    /// Names as the program sees them, and as they are durable.
    names: BTreeMap<String, usize>,
    durable: BTreeMap<String, usize>,
    pending: Vec<(u64, NameChange)>,
    nodes: Vec<Node>,
}

struct Planned {
    operation: u64,
    until_healed: bool,
    fault: Fault,
}

enum NameChange {
    Create(String, usize),
    Remove(String),
    Rename(String, String, usize),
}

/// A file: what the program sees, what is durable, and the changes in between.
struct Node {
    seen: Vec<u8>,
    synced: Vec<u8>,
    changes: Vec<Change>,
    /// It was not changed since the file system was wrapped.
    pristine: bool,
}

struct Change {
    operation: u64,
    what: What,
    /// A sync of it failed.
    in_doubt: bool,
}

enum What {
    Write { offset: u64, bytes: Vec<u8> },
    SetLen(u64),
}

/// Result of an operation.
enum Outcome {
    Done,
    Fails(Fault),
    /// Power is cut during it.
    Cut,
}

impl FaultVfs {
    /// Wraps `inner`.
    ///
    /// # Errors
    /// Those of reading `inner`.
    pub fn new(inner: Arc<dyn Vfs>) -> Result<Self> {
        let mut state = State { sector: SECTOR, ..State::default() };
        for name in inner.list()? {
            let file = inner.open(&name)?;
            let mut bytes = vec![0; index(file.len()?)];
            read_exact_at(&*file, &mut bytes, 0)?;
            state.names.insert(name, state.nodes.len());
            state.nodes.push(Node {
                seen: bytes.clone(),
                synced: bytes,
                changes: Vec::new(),
                pristine: true,
            });
        }
        state.durable = state.names.clone();
        Ok(FaultVfs { shared: Arc::new(Shared { inner, state: Mutex::new(state) }) })
    }

    /// The number of operations so far.
    #[must_use]
    pub fn operations(&self) -> u64 {
        lock(&self.shared.state).operations
    }

    /// The number of reads so far.
    #[must_use]
    pub fn reads(&self) -> u64 {
        lock(&self.shared.state).reads
    }

    /// Whether files can be mapped.
    pub fn allow_mmap_writes(&self, allow: bool) {
        lock(&self.shared.state).maps = allow;
    }

    /// Makes this read fail.
    pub fn fail_read_at(&self, read: u64) {
        lock(&self.shared.state).failing_read = Some(read);
    }

    /// Whether the file of the last lost or misdirected write was not written since.
    #[must_use]
    pub fn struck_last(&self) -> bool {
        lock(&self.shared.state).struck.is_some()
    }

    /// Sets the sector size, in bytes.
    pub fn set_sector(&self, bytes: u64) {
        lock(&self.shared.state).sector = bytes.max(1);
    }

    /// Cuts power during this operation, which may happen in part. It and all later ones fail.
    pub fn cut_at(&self, operation: u64) {
        lock(&self.shared.state).cut = Some(operation);
    }

    /// Makes this operation fail.
    pub fn fail_at(&self, operation: u64, fault: Fault) {
        let planned = Planned { operation, until_healed: false, fault };
        lock(&self.shared.state).faults.push(planned);
    }

    /// Makes this operation and all later ones fail, until [`heal`](Self::heal).
    pub fn fail_from(&self, operation: u64, fault: Fault) {
        let planned = Planned { operation, until_healed: true, fault };
        lock(&self.shared.state).faults.push(planned);
    }

    /// Removes all planned faults and the capacity limit.
    pub fn heal(&self) {
        let mut state = lock(&self.shared.state);
        state.faults.clear();
        state.failing_read = None;
        state.capacity = None;
    }

    /// Limits the total bytes of all files. A write that would exceed it fails with `fault`; with
    /// [`Fault::Short`] it is cut short at the limit.
    pub fn set_capacity(&self, bytes: u64, fault: Fault) {
        lock(&self.shared.state).capacity = Some((bytes, fault));
    }

    /// Flips one bit of a file, both stored and as it is read.
    ///
    /// # Errors
    /// If the file is missing or shorter.
    pub fn flip(&self, name: &str, bit: u64) -> Result<()> {
        let mut state = lock(&self.shared.state);
        let node = state.find("flip", name)?;
        let at = index(bit / 8);
        let Some(byte) = state.nodes.get_mut(node).and_then(|n| {
            n.pristine = false;
            if let Some(synced) = n.synced.get_mut(at) {
                *synced ^= 1 << (bit % 8);
            }
            n.seen.get_mut(at)
        }) else {
            return Err(Error::io("flip", name, 0, io::ErrorKind::UnexpectedEof.into()));
        };
        *byte ^= 1 << (bit % 8);
        Ok(())
    }

    /// Cuts power, unless it was cut, and writes what survives to the wrapped file system.
    ///
    /// # Errors
    /// Those of writing to the wrapped file system.
    pub fn crash(&self, survivors: Survivors) -> Result<()> {
        let mut state = lock(&self.shared.state);
        state.crashed = true;
        let mut random = Random(match survivors {
            Survivors::Random(seed) => seed,
            _ => 0,
        });
        let names = state.surviving_names(survivors, &mut random);
        let inner = &self.shared.inner;
        for name in inner.list()? {
            if !names.contains_key(&name) {
                inner.remove(&name)?;
            }
        }
        for (name, node) in names {
            let kept = state.durable.get(&name) == Some(&node);
            let Some(node) = state.nodes.get(node) else { continue };
            if kept && node.pristine {
                continue;
            }
            let bytes = node.surviving(state.sector, survivors, &mut random);
            let file = inner.create(&name)?;
            write_all_at(&*file, &bytes, 0)?;
            file.sync()?;
        }
        inner.sync_names()
    }
}

impl State {
    /// Counts an operation and decides its outcome; an error after a power cut.
    fn begin(&mut self, action: &'static str, name: &str) -> Result<(u64, Outcome)> {
        self.powered(action, name)?;
        let operation = self.operations;
        self.operations += 1;
        if self.cut == Some(operation) {
            return Ok((operation, Outcome::Cut));
        }
        let planned = self
            .faults
            .iter()
            .find(|p| p.operation == operation || (p.until_healed && p.operation < operation));
        let silent = |f: &Fault| matches!(f, Fault::Lost | Fault::Misdirected(_));
        let fault = planned.map(|p| p.fault).filter(|f| action == "write" || !silent(f));
        Ok((operation, fault.map_or(Outcome::Done, Outcome::Fails)))
    }

    /// Like [`begin`](Self::begin), for operations that happen or not: a fault is an error at once.
    fn begin_whole(&mut self, action: &'static str, name: &str) -> Result<(u64, Result<()>)> {
        match self.begin(action, name)? {
            (n, Outcome::Done) => Ok((n, Ok(()))),
            (n, Outcome::Cut) => Ok((n, Err(no_power(action, name)))),
            (_, Outcome::Fails(fault)) => Err(failure(fault, action, name, 0)),
        }
    }

    fn powered(&self, action: &'static str, name: &str) -> Result<()> {
        if self.crashed || self.cut.is_some_and(|cut| cut < self.operations) {
            return Err(no_power(action, name));
        }
        Ok(())
    }

    fn find(&self, action: &'static str, name: &str) -> Result<usize> {
        self.names
            .get(name)
            .copied()
            .ok_or_else(|| Error::io(action, name, 0, io::ErrorKind::NotFound.into()))
    }

    /// Returns the number of bytes from `offset` to `end` that fit, if not all do.
    fn room(&self, node: usize, offset: u64, end: u64) -> Option<(u64, Fault)> {
        let (capacity, fault) = self.capacity?;
        let len = |n: &usize| self.nodes.get(*n).map_or(0, |n| n.seen.len() as u64);
        let taken: u64 = self.names.values().map(len).sum();
        let limit = len(&node) + capacity.saturating_sub(taken);
        (end > limit).then(|| (limit.saturating_sub(offset), fault))
    }
}

impl Node {
    fn empty() -> Self {
        Node { seen: Vec::new(), synced: Vec::new(), changes: Vec::new(), pristine: false }
    }

    /// Records a change that may become durable; with `visible`, the program sees it.
    fn change(&mut self, operation: u64, what: What, visible: bool) {
        if visible {
            what.apply(&mut self.seen);
        }
        self.pristine = false;
        self.changes.push(Change { operation, what, in_doubt: false });
    }

    fn sync(&mut self) {
        for change in self.changes.drain(..).filter(|c| !c.in_doubt) {
            change.what.apply(&mut self.synced);
        }
    }
}

impl What {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            What::Write { offset, bytes: new } => put(bytes, *offset, new),
            What::SetLen(len) => bytes.resize(index(*len), 0),
        }
    }
}

fn put(bytes: &mut Vec<u8>, offset: u64, new: &[u8]) {
    let (start, end) = (index(offset), index(offset) + new.len());
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes.get_mut(start..end).unwrap_or_default().copy_from_slice(new);
}

fn index(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

fn no_power(action: &'static str, name: &str) -> Error {
    Error::io(action, name, 0, io::Error::other("power lost"))
}

fn failure(fault: Fault, action: &'static str, name: &str, wanted: u64) -> Error {
    let source = match fault {
        Fault::NoSpace => io::ErrorKind::StorageFull.into(),
        Fault::Killed => io::Error::other("the process ended"),
        _ => io::Error::other("injected fault"),
    };
    Error::io(action, name, wanted, source)
}

impl Vfs for FaultVfs {
    fn place(&self) -> String {
        self.shared.inner.place()
    }

    fn draw_id(&self) -> Result<StoreId> {
        self.shared.inner.draw_id()
    }

    fn create(&self, name: &str) -> Result<Arc<dyn File>> {
        let mut state = lock(&self.shared.state);
        let (operation, done) = state.begin_whole("create", name)?;
        let node = state.nodes.len();
        state.nodes.push(Node::empty());
        state.pending.push((operation, NameChange::Create(name.to_owned(), node)));
        done?;
        state.names.insert(name.to_owned(), node);
        Ok(self.file(name, node))
    }

    fn open(&self, name: &str) -> Result<Arc<dyn File>> {
        let state = lock(&self.shared.state);
        state.powered("open", name)?;
        Ok(self.file(name, state.find("open", name)?))
    }

    fn remove(&self, name: &str) -> Result<()> {
        let mut state = lock(&self.shared.state);
        let (operation, done) = state.begin_whole("remove", name)?;
        state.find("remove", name)?;
        state.pending.push((operation, NameChange::Remove(name.to_owned())));
        done?;
        state.names.remove(name);
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let mut state = lock(&self.shared.state);
        let (operation, done) = state.begin_whole("rename", from)?;
        let node = state.find("rename", from)?;
        let change = NameChange::Rename(from.to_owned(), to.to_owned(), node);
        state.pending.push((operation, change));
        done?;
        state.names.remove(from);
        state.names.insert(to.to_owned(), node);
        Ok(())
    }

    fn list(&self) -> Result<Vec<String>> {
        let state = lock(&self.shared.state);
        state.powered("list", &self.place())?;
        Ok(state.names.keys().cloned().collect())
    }

    fn sync_names(&self) -> Result<()> {
        let mut state = lock(&self.shared.state);
        let (_, done) = state.begin_whole("sync", &self.place())?;
        done?;
        state.pending.clear();
        state.durable = state.names.clone();
        Ok(())
    }
}

impl FaultVfs {
    fn file(&self, name: &str, node: usize) -> Arc<dyn File> {
        Arc::new(FaultFile { name: name.to_owned(), node, shared: self.shared.clone() })
    }
}
