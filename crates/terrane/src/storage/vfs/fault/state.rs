//! The state of a fault-injecting file system: what the program sees, what is durable, and the faults to come.

use crate::error::{Error, Result};
use crate::storage::vfs::Vfs;
use crate::sync::Mutex;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// Kind of an operation's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An I/O error. Nothing is done.
    Io,
    /// The disk is full. Nothing is done.
    NoSpace,
    /// A write writes half of its bytes and returns that count; other operations fail like `Io`.
    Short,
    /// The process ended before the operation. With [`fail_from`](super::FaultVfs::fail_from) and
    /// [`heal`](super::FaultVfs::heal), this is a restart without a power cut.
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

pub(super) struct Shared {
    pub inner: Arc<dyn Vfs>,
    pub state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    pub operations: u64,
    pub reads: u64,
    pub failing_read: Option<u64>,
    /// Whether files can be mapped.
    pub maps: bool,
    /// The file of the last lost or misdirected write, until it is written again.
    pub struck: Option<usize>,
    pub sector: u64,
    pub cut: Option<u64>,
    pub crashed: bool,
    pub faults: Vec<Planned>,
    pub capacity: Option<(u64, Fault)>,
    /// Names as the program sees them, and as they are durable.
    pub names: BTreeMap<String, usize>,
    pub durable: BTreeMap<String, usize>,
    pub pending: Vec<(u64, NameChange)>,
    pub nodes: Vec<Node>,
}

pub(super) struct Planned {
    pub operation: u64,
    pub until_healed: bool,
    pub fault: Fault,
}

pub(super) enum NameChange {
    Create(String, usize),
    Remove(String),
    Rename(String, String, usize),
}

/// A file: what the program sees, what is durable, and the changes in between.
pub(super) struct Node {
    pub seen: Vec<u8>,
    pub synced: Vec<u8>,
    pub changes: Vec<Change>,
    /// It was not changed since the file system was wrapped.
    pub pristine: bool,
}

pub(super) struct Change {
    pub operation: u64,
    pub what: What,
    /// A sync of it failed.
    pub in_doubt: bool,
}

pub(super) enum What {
    Write { offset: u64, bytes: Vec<u8> },
    SetLen(u64),
}

/// Result of an operation.
pub(super) enum Outcome {
    Done,
    Fails(Fault),
    /// Power is cut during it.
    Cut,
}

impl State {
    /// Counts an operation and decides its outcome; an error after a power cut.
    pub fn begin(&mut self, action: &'static str, name: &str) -> Result<(u64, Outcome)> {
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
    pub fn begin_whole(&mut self, action: &'static str, name: &str) -> Result<(u64, Result<()>)> {
        match self.begin(action, name)? {
            (n, Outcome::Done) => Ok((n, Ok(()))),
            (n, Outcome::Cut) => Ok((n, Err(no_power(action, name)))),
            (_, Outcome::Fails(fault)) => Err(failure(fault, action, name, 0)),
        }
    }

    pub fn powered(&self, action: &'static str, name: &str) -> Result<()> {
        if self.crashed || self.cut.is_some_and(|cut| cut < self.operations) {
            return Err(no_power(action, name));
        }
        Ok(())
    }

    pub fn find(&self, action: &'static str, name: &str) -> Result<usize> {
        self.names
            .get(name)
            .copied()
            .ok_or_else(|| Error::io(action, name, 0, io::ErrorKind::NotFound.into()))
    }

    /// Returns the number of bytes from `offset` to `end` that fit, if not all do.
    pub fn room(&self, node: usize, offset: u64, end: u64) -> Option<(u64, Fault)> {
        let (capacity, fault) = self.capacity?;
        let len = |n: &usize| self.nodes.get(*n).map_or(0, |n| n.seen.len() as u64);
        let taken: u64 = self.names.values().map(len).sum();
        let limit = len(&node) + capacity.saturating_sub(taken);
        (end > limit).then(|| (limit.saturating_sub(offset), fault))
    }
}

impl Node {
    pub fn empty() -> Self {
        Node { seen: Vec::new(), synced: Vec::new(), changes: Vec::new(), pristine: false }
    }

    /// Records a change that may become durable; with `visible`, the program sees it.
    pub fn change(&mut self, operation: u64, what: What, visible: bool) {
        if visible {
            what.apply(&mut self.seen);
        }
        self.pristine = false;
        self.changes.push(Change { operation, what, in_doubt: false });
    }

    pub fn sync(&mut self) {
        for change in self.changes.drain(..).filter(|c| !c.in_doubt) {
            change.what.apply(&mut self.synced);
        }
    }
}

impl What {
    pub fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            What::Write { offset, bytes: new } => put(bytes, *offset, new),
            What::SetLen(len) => bytes.resize(index(*len), 0),
        }
    }
}

pub(super) fn put(bytes: &mut Vec<u8>, offset: u64, new: &[u8]) {
    let (start, end) = (index(offset), index(offset) + new.len());
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes.get_mut(start..end).unwrap_or_default().copy_from_slice(new);
}

pub(super) fn index(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

pub(super) fn no_power(action: &'static str, name: &str) -> Error {
    Error::io(action, name, 0, io::Error::other("power lost"))
}

pub(super) fn failure(fault: Fault, action: &'static str, name: &str, wanted: u64) -> Error {
    let source = match fault {
        Fault::NoSpace => io::ErrorKind::StorageFull.into(),
        Fault::Killed => io::Error::other("the process ended"),
        _ => io::Error::other("injected fault"),
    };
    Error::io(action, name, wanted, source)
}
