//! The stores that are open in this process, each once: all openings of one path share an engine, from whatever
//! thread, and the last of them closes it.
//!
//! 1. A store is identified by the file or directory that its path leads to, through links. A store that is moved
//!    while it is open stays the same, and a store at its old path is another.
//! 2. The list stays locked while a store is opened or closed, so that an opening meets neither a store that is about
//!    to close nor the lock of this process.

use crate::listeners::{Emit, Listeners};
use crate::place::{Layout, Place};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use terrane::{Closed, Db, Error, Result};
use terrane_session::Session;

/// The file or directory of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Identity {
    /// Device, and number of the file on it.
    #[cfg(unix)]
    Inode(u64, u64),
    /// Path without links, where the system has no such numbers.
    #[cfg(not(unix))]
    Path(std::path::PathBuf),
}

impl Identity {
    fn of(path: &Path) -> std::io::Result<Identity> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            path.metadata().map(|found| Identity::Inode(found.dev(), found.ino()))
        }
        #[cfg(not(unix))]
        path.canonicalize().map(Identity::Path)
    }
}

/// A store on files.
struct Entry {
    identity: Identity,
    layout: Layout,
    read_only: bool,
    engine: Engine,
    openings: usize,
}

/// An open store, and who listens to it.
#[derive(Clone)]
struct Engine {
    /// The opening from which all others are made; nothing else is done with it.
    first: Arc<Session>,
    listeners: Arc<Listeners>,
}

static OPEN: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

/// The number of the process's next opening.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// One opening of a store. Dropping this closes it.
pub(crate) struct Opened {
    /// Number of this opening.
    pub(crate) number: u64,
    /// `None` once it is closed: JavaScript may keep the object for long, and the engine has memory and threads.
    engine: Option<Engine>,
    /// Identity in the list; `None` in memory.
    identity: Option<Identity>,
    /// Whether another opening had opened the store before.
    pub(crate) shared: bool,
}

impl Opened {
    /// Opens the store at a place with `open`, or shares it; in memory, each opening has its own.
    pub(crate) fn new(
        place: Option<&Place>,
        read_only: bool,
        open: impl FnOnce() -> Result<Db>,
    ) -> Result<Self> {
        let opened = |engine, identity, shared| {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            Opened { number, engine: Some(engine), identity, shared }
        };
        let start =
            || Ok(Engine { first: Arc::new(Session::new(open()?)), listeners: Arc::default() });
        let Some(Place { path, layout }) = place else {
            return start().map(|engine| opened(engine, None, false));
        };
        let mut all = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        // A path that does not exist has no open store.
        let found = Identity::of(path).ok();
        if let Some(entry) = all.iter_mut().find(|entry| Some(&entry.identity) == found.as_ref()) {
            if entry.layout != *layout {
                let expected = format!("\"{}\", as which the store is open", entry.layout.name());
                return Err(Error::invalid("layout", expected, layout.name()));
            }
            if entry.read_only != read_only {
                let expected = format!("{}, as which the store is open", entry.read_only);
                return Err(Error::invalid("readOnly", expected, read_only));
            }
            entry.openings += 1;
            return Ok(opened(entry.engine.clone(), found, true));
        }
        let engine = start()?;
        let identity = Identity::of(path)
            .map_err(|why| Error::io("find", &path.display().to_string(), 0, why))?;
        let entry = Entry {
            identity: identity.clone(),
            layout: *layout,
            read_only,
            engine: engine.clone(),
            openings: 1,
        };
        all.push(entry);
        Ok(opened(engine, Some(identity), false))
    }

    /// Makes the tables of this opening, unless it is closed.
    pub(crate) fn session(&self) -> Result<Session> {
        let engine = self.engine.as_ref().ok_or(Closed::Store)?;
        Ok(engine.first.another())
    }

    /// Sets the function that is called with the store's events.
    pub(crate) fn listen(&self, emit: Option<Emit>) {
        if let Some(engine) = &self.engine {
            engine.listeners.set(engine.first.db(), self.number, emit);
        }
    }

    /// Moves this opening into another value, and leaves a closed opening.
    pub(crate) fn take(&mut self) -> Opened {
        let (engine, identity) = (self.engine.take(), self.identity.take());
        Opened { number: self.number, engine, identity, shared: self.shared }
    }

    /// Closes this opening: the last one closes the store, the others sync.
    pub(crate) fn close(&mut self) -> Result<()> {
        self.listen(None);
        let Some(engine) = self.engine.take() else { return Ok(()) };
        let db = engine.first.db();
        let Some(identity) = &self.identity else { return db.clone().close() };
        let mut all = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.iter().position(|entry| entry.identity == *identity);
        let Some(entry) = found.and_then(|at| all.get_mut(at)) else { return Ok(()) };
        entry.openings -= 1;
        if entry.openings > 0 {
            return db.sync();
        }
        all.retain(|entry| entry.identity != *identity);
        db.clone().close()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // There is nobody to report an error to.
        let _ = self.close();
    }
}
