//! The pool of workers that run flushes and merges, for the build that has threads.
//!
//! JavaScript starts the pool before it opens a store. Then it waits for the bell, whose address it
//! gets, and calls [`serve`] each time it rings.

use crate::events;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use terrane::executor::{Executor, JobThreads, PoolExecutor, SliceExecutor};
use terrane_opfs::owner;
use wasm_bindgen::prelude::wasm_bindgen;
pub use wasm_bindgen_rayon::init_thread_pool;

/// Number of merges that the pool runs at once; 0 without a pool.
static MERGES_MAX: AtomicU32 = AtomicU32::new(0);
/// A thread has notified the owner of something to do.
static TURN: AtomicBool = AtomicBool::new(false);

/// The pool has started, with a worker more than it runs merges. Returns the address of the bell: how
/// often it rang, then whether a worker has died.
#[wasm_bindgen]
pub fn use_pool(merges_max: u32) -> *mut i32 {
    MERGES_MAX.store(merges_max, Ordering::Relaxed);
    owner::own();
    owner::bell()
}

/// Does what the workers of the pool have asked for; returns whether background jobs need a turn.
#[wasm_bindgen]
pub fn serve() -> bool {
    owner::serve_now();
    events::deliver();
    TURN.swap(false, Ordering::AcqRel)
}

struct Workers;

impl JobThreads for Workers {
    fn spawn(&self, job: Box<dyn FnOnce() + Send>) {
        rayon::spawn(job);
    }

    fn thread(&self) -> usize {
        rayon::current_thread_index().unwrap_or_default()
    }

    fn notify(&self) {
        TURN.store(true, Ordering::Release);
        owner::ring();
    }

    fn serve(&self) {
        owner::serve();
        events::deliver();
    }
}

/// The executor of a store: with the pool, if there is one.
pub(crate) fn executor() -> Arc<dyn Executor> {
    match MERGES_MAX.load(Ordering::Relaxed) {
        0 => Arc::new(SliceExecutor::with_clock(events::clock)),
        merges => Arc::new(PoolExecutor::new(merges as usize, Box::new(Workers), events::clock)),
    }
}
