//! A file system that fails: power cuts, lost, torn and reordered writes, errors, a full disk, bit rot.
//!
//! 1. What the program wrote since a file's last sync, and what it did to names since the last
//!    [`Vfs::sync_names`], is kept apart from what is on the file system. Reads see all of it.
//! 2. Every write, resize, sync, creation, removal and rename is one *operation*, counted from 0.
//!    Any of them can be made to fail, or be the one at which power is cut; from then on all fail.
//! 3. [`FaultVfs::crash`] decides what of the unsynced state had reached the file system and puts the
//!    outcome into the file system wrapped. Wrap that one again: power is back.
//!
//! **What a crash may leave.** Each sector of a file (of 512 bytes, or as
//! [`FaultVfs::set_sector`] says) holds one of the contents that it had
//! since the last sync, independently of every other sector: so writes are lost, torn and
//! reordered. The length is one of the lengths the file had; bytes that were never put there are
//! zeros. An operation on names happened or not, in order among operations on one name; a file
//! whose name is not on the file system is gone, however well its bytes were synced. A failed sync
//! leaves its writes in doubt for ever: a later sync does not save them.
//!
//! Reads are counted on their own, and can be made to fail ([`FaultVfs::fail_read_at`]).

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

/// The unit that the file system writes whole or not at all, in bytes, where nobody says otherwise.
pub const SECTOR: u64 = 512;
/// The sizes of sectors that there are.
pub const SECTORS: [u64; 3] = [512, 4096, 16384];

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The file system reports an error, and nothing is done.
    Io,
    /// The file system is full, and nothing is done.
    NoSpace,
    /// A write does the first half of its bytes and says so; other operations fail as with `Io`.
    Short,
    /// The process ended before the operation, which is not begun: with
    /// [`FaultVfs::fail_from`] and [`FaultVfs::heal`], a restart without a loss of power.
    Killed,
    /// A write is said to be done, and is not; other operations are done.
    Lost,
    /// A write goes to another place in its file, the given number of bytes further on, and is said
    /// to be done; other operations are done.
    Misdirected(u64),
    /// A sync fails, and from then on the file reads as it is on the file system, where each sector may
    /// have been written or not; other operations fail as with `Io`.
    Reverted,
}

/// A wrapper around any file system. Clones share it.
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
    /// The file that a lost or misdirected write struck, until it is written again.
    struck: Option<usize>,
    sector: u64,
    cut: Option<u64>,
    crashed: bool,
    faults: Vec<Planned>,
    capacity: Option<(u64, Fault)>,
    /// Names and files as the program sees them, and as they are on the file system.
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

/// A file: what the program sees, what is on the file system, and the changes between.
struct Node {
    seen: Vec<u8>,
    synced: Vec<u8>,
    changes: Vec<Change>,
    /// Nothing happened to it since the file system was wrapped.
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

/// What becomes of the operation that just began.
enum Outcome {
    Done,
    Fails(Fault),
    /// Power is cut in the midst of it.
    Cut,
}

impl FaultVfs {
    /// Wraps `inner`, with what it holds now.
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

    /// How many operations began so far.
    #[must_use]
    pub fn operations(&self) -> u64 {
        lock(&self.shared.state).operations
    }

    /// How many reads of files began so far.
    #[must_use]
    pub fn reads(&self) -> u64 {
        lock(&self.shared.state).reads
    }

    /// Lets this one read fail.
    pub fn fail_read_at(&self, read: u64) {
        lock(&self.shared.state).failing_read = Some(read);
    }

    /// Whether nothing was written to the file that a lost or misdirected write struck since.
    #[must_use]
    pub fn struck_last(&self) -> bool {
        lock(&self.shared.state).struck.is_some()
    }

    /// Sets the unit that the file system writes whole or not at all, in bytes.
    pub fn set_sector(&self, bytes: u64) {
        lock(&self.shared.state).sector = bytes.max(1);
    }

    /// Cuts power in the midst of this operation: it may have happened in part, and it and all
    /// that follow fail.
    pub fn cut_at(&self, operation: u64) {
        lock(&self.shared.state).cut = Some(operation);
    }

    /// Lets this one operation fail.
    pub fn fail_at(&self, operation: u64, fault: Fault) {
        let planned = Planned { operation, until_healed: false, fault };
        lock(&self.shared.state).faults.push(planned);
    }

    /// Lets this operation and all that follow fail, until [`heal`](Self::heal).
    pub fn fail_from(&self, operation: u64, fault: Fault) {
        let planned = Planned { operation, until_healed: true, fault };
        lock(&self.shared.state).faults.push(planned);
    }

    /// Ends every planned fault and the bound on capacity.
    pub fn heal(&self) {
        let mut state = lock(&self.shared.state);
        state.faults.clear();
        state.failing_read = None;
        state.capacity = None;
    }

    /// Bounds the bytes of all files; a write that would pass it fails with `fault`. With
    /// [`Fault::Short`] it fills what is left and says so.
    pub fn set_capacity(&self, bytes: u64, fault: Fault) {
        lock(&self.shared.state).capacity = Some((bytes, fault));
    }

    /// Flips one bit of a file, on the file system and for those who read it now.
    ///
    /// # Errors
    /// Where the file is missing or shorter.
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

    /// Cuts power, if it was not cut, and leaves in the wrapped file system what survived.
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
    /// Counts an operation and says what becomes of it; an error once power was cut.
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

    /// As [`begin`](Self::begin), for operations that happen or not: a fault is an error at once.
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

    /// How many of the bytes from `offset` to `end` fit, where the file system is bounded.
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

    /// Notes a change that may reach the file system; `visible` if the program sees it too.
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
