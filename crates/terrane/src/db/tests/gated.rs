//! A file system whose operations wait at a gate, or panic there.

use super::PATIENCE;
use crate::Result;
use crate::storage::vfs::{MemoryVfs, Vfs};
use crate::storage::{File, StoreId};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// Holds threads that do what it is closed for, or has them panic.
#[derive(Clone, Default)]
pub(super) struct Gate(Arc<(Mutex<State>, Condvar)>);

/// Whether a thread panics that does an operation.
pub(super) type Where = Box<dyn FnMut(&str) -> bool + Send>;

#[derive(Default)]
struct State {
    /// Held operations, by the start of their description, such as "sync MANIFEST".
    closed: Option<&'static str>,
    /// Point where threads panic.
    panics: Option<Where>,
    held: usize,
}

impl Gate {
    pub fn close(&self, operation: &'static str) {
        self.0.0.lock().unwrap().closed = Some(operation);
    }

    pub fn open(&self) {
        self.0.0.lock().unwrap().closed = None;
        self.0.1.notify_all();
    }

    /// Waits until somebody is held.
    pub fn wait_held(&self) {
        let state = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(state, |state| state.held == 0).unwrap());
    }

    /// From now on a thread panics that does such an operation.
    pub fn panic_where(&self, operation: Where) {
        self.0.0.lock().unwrap().panics = Some(operation);
    }

    /// Returns the number of held threads.
    pub fn held(&self) -> usize {
        self.0.0.lock().unwrap().held
    }

    /// Waits while it is closed for the operation.
    pub fn pass(&self, operation: &str) {
        let holds = |state: &mut State| state.closed.is_some_and(|o| operation.starts_with(o));
        let mut state = self.0.0.lock().unwrap();
        if state.panics.as_mut().is_some_and(|panics| panics(operation)) {
            drop(state);
            panic!("no {operation}");
        }
        if holds(&mut state) {
            state.held += 1;
            self.0.1.notify_all();
            state = self.0.1.wait_while(state, holds).unwrap();
            state.held -= 1;
        }
    }

    /// Runs `writes` while what it is closed for is held; it is opened then, however they end.
    pub fn meanwhile(&self, writes: impl FnOnce() + Send) {
        self.wait_held();
        thread::scope(|threads| {
            let (done, ended) = channel();
            threads.spawn(move || {
                writes();
                done.send(())
            });
            // It ends only where they wait for what is held, which would be for ever.
            let ended = ended.recv_timeout(PATIENCE);
            self.open();
            assert!(ended.is_ok(), "writes wait for what is held, or failed");
        });
    }
}

/// A file system in memory, with the gate before each read, sync and removal.
pub(super) struct Gated {
    vfs: Arc<dyn Vfs>,
    gate: Gate,
}

struct GatedFile {
    file: Arc<dyn File>,
    gate: Gate,
}

impl Gated {
    /// One in memory, with its gate.
    pub fn new() -> (Self, Gate) {
        let gate = Gate::default();
        (Gated::on(Arc::new(MemoryVfs::new()), &gate), gate)
    }

    /// The gate before another.
    pub fn on(vfs: Arc<dyn Vfs>, gate: &Gate) -> Self {
        Gated { vfs, gate: gate.clone() }
    }

    fn file(&self, file: Arc<dyn File>) -> Arc<dyn File> {
        Arc::new(GatedFile { file, gate: self.gate.clone() })
    }
}

impl Vfs for Gated {
    fn place(&self) -> String {
        self.vfs.place()
    }
    fn draw_id(&self) -> Result<StoreId> {
        self.vfs.draw_id()
    }
    fn create(&self, name: &str) -> Result<Arc<dyn File>> {
        Ok(self.file(self.vfs.create(name)?))
    }
    fn open(&self, name: &str) -> Result<Arc<dyn File>> {
        Ok(self.file(self.vfs.open(name)?))
    }
    fn remove(&self, name: &str) -> Result<()> {
        self.gate.pass(&format!("remove {name}"));
        self.vfs.remove(name)
    }
    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.vfs.rename(from, to)
    }
    fn list(&self) -> Result<Vec<String>> {
        self.vfs.list()
    }
    fn sync_names(&self) -> Result<()> {
        self.vfs.sync_names()
    }
}

impl File for GatedFile {
    fn name(&self) -> &str {
        self.file.name()
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.gate.pass(&format!("read {}", self.name()));
        self.file.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<usize> {
        self.file.write_at(buf, offset)
    }
    fn sync(&self) -> Result<()> {
        self.gate.pass(&format!("sync {}", self.name()));
        self.file.sync()
    }
    fn set_len(&self, len: u64) -> Result<()> {
        self.file.set_len(len)
    }
    fn len(&self) -> Result<u64> {
        self.file.len()
    }
}
