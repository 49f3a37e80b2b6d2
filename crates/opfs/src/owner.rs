//! The thread that owns the handles works for those that do not.
//!
//! 1. A thread without handles leaves a request with the call, rings the *bell*, and sleeps until it is
//!    woken: it may, the owner may not.
//! 2. The owner waits for the bell between messages, asynchronously in JavaScript; or, where it has to
//!    wait itself, here. It does what has been requested each time it rings.
//! 3. A thread that dies rings, and says so: whoever waits for it would wait for ever.

use std::arch::wasm32::{memory_atomic_notify, memory_atomic_wait32};
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Thread};
use terrane_table::sync::serving::while_locking;

/// Longest sleep of the owner, in nanoseconds: the thread that holds a lock does not ring when it unlocks
/// it.
const SLEEP: i64 = 200_000;

/// Rings of the bell, and whether a thread has died; JavaScript knows them by their address.
static BELL: Bell = Bell { rung: AtomicI32::new(0), died: AtomicI32::new(0) };
/// Requests of threads.
static REQUESTS: Mutex<Vec<Request>> = Mutex::new(Vec::new());

thread_local! {
    /// Rings that the owner had counted when it last looked.
    static SEEN: Cell<Option<i32>> = const { Cell::new(None) };
}

#[repr(C)]
struct Bell {
    rung: AtomicI32,
    died: AtomicI32,
}

/// A call that a thread waits for.
struct Request {
    call: NonNull<dyn FnMut()>,
    done: NonNull<AtomicBool>,
    thread: Thread,
}

// SAFETY: The pointers lead to loans of the waiting thread: a call of a `Send` type, and an atomic.
unsafe impl Send for Request {}

/// Makes this thread the owner.
pub fn own() {
    SEEN.set(Some(rung()));
    while_locking(serve);
}

/// Whether this thread is the owner.
#[must_use]
pub fn is_here() -> bool {
    SEEN.get().is_some()
}

/// The address of the bell: how often it rang, then whether a thread has died.
#[must_use]
pub fn bell() -> *mut i32 {
    BELL.rung.as_ptr()
}

/// Rings for the owner.
pub fn ring() {
    BELL.rung.fetch_add(1, Ordering::SeqCst);
    // SAFETY: It is the address of an atomic.
    unsafe { memory_atomic_notify(BELL.rung.as_ptr(), 1) };
}

fn rung() -> i32 {
    BELL.rung.load(Ordering::SeqCst)
}

/// Does what has been requested, or sleeps for a moment if the bell has not rung since this thread, which
/// is the owner, last looked.
pub fn serve() {
    if let Some(seen) = SEEN.get() {
        // SAFETY: It is the address of an atomic.
        unsafe { memory_atomic_wait32(BELL.rung.as_ptr(), seen, SLEEP) };
    }
    serve_now();
}

/// Does what has been requested; throws if a thread has died.
pub fn serve_now() {
    SEEN.set(Some(rung()));
    if BELL.died.load(Ordering::SeqCst) != 0 {
        wasm_bindgen::throw_str("a thread of the engine's pool died");
    }
    let requests = std::mem::take(&mut *REQUESTS.lock().unwrap_or_else(PoisonError::into_inner));
    for Request { mut call, done, thread } in requests {
        // SAFETY: The thread lends both until `done` is set, and uses neither meanwhile but to load it.
        unsafe {
            call.as_mut()();
            done.as_ref().store(true, Ordering::Release);
        }
        thread.unpark();
    }
}

/// Makes a call on the owner's thread, which may be this one.
pub(crate) fn on_owner<T: Send>(call: impl FnOnce() -> T + Send) -> T {
    if is_here() {
        return call();
    }
    let (mut call, mut result) = (Some(call), None);
    let mut once = || result = call.take().map(|call| call());
    let done = AtomicBool::new(false);
    let lent: &mut dyn FnMut() = &mut once;
    // SAFETY: Only the lifetime changes, and this thread waits until the call was made.
    let lent: &'static mut (dyn FnMut() + 'static) = unsafe { std::mem::transmute(lent) };
    let (call, thread) = (NonNull::from(lent), thread::current());
    let request = Request { call, done: NonNull::from(&done), thread };
    REQUESTS.lock().unwrap_or_else(PoisonError::into_inner).push(request);
    ring();
    while !done.load(Ordering::Acquire) {
        thread::park();
    }
    match result {
        Some(result) => result,
        None => std::process::abort(),
    }
}
