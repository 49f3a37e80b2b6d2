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
mod state;
#[cfg(test)]
mod tests;

pub(crate) use crash::Random;
pub use crash::Survivors;
pub use state::Fault;

use crate::error::{Error, Result};
use crate::storage::vfs::Vfs;
use crate::storage::{File, StoreId, lock, read_exact_at, write_all_at};
use crate::sync::Mutex;
use file::FaultFile;
use state::{NameChange, Node, Planned, Shared, State, index};
use std::io;
use std::sync::Arc;

/// The default sector size, in bytes: a sector is written whole or not at all.
pub const SECTOR: u64 = 512;
/// Sector sizes of real devices.
pub const SECTORS: [u64; 3] = [512, 4096, 16384];

/// A fault-injecting wrapper around any file system. Clones share its state.
#[derive(Clone)]
pub struct FaultVfs {
    shared: Arc<Shared>,
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
