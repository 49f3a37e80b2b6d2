//! The event stream: everything the engine does, as typed values.

use crate::sync::ArcSwap;
use crate::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

pub use terrane_policy::event::{Event, TraceLine};

/// Receives events, in order, on the thread that caused them, each with its time: microseconds since
/// the store was opened, or 0 during that and where the executor has no clock. It must not call the
/// store.
pub type Listener = Arc<dyn Fn(u64, &Event) + Send + Sync>;

/// Microseconds since a moment of its choice.
pub(crate) type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Where a store's events go.
pub(crate) struct EventStream {
    listener: ArcSwap<Option<Listener>>,
    clock: OnceLock<Clock>,
    /// What the clock showed when the engine got it.
    began: AtomicU64,
}

impl EventStream {
    pub fn new(listener: Option<Listener>) -> Self {
        EventStream {
            listener: ArcSwap::from_pointee(listener),
            clock: OnceLock::new(),
            began: AtomicU64::new(0),
        }
    }

    pub fn set_listener(&self, listener: Option<Listener>) {
        self.listener.store(Arc::new(listener));
    }

    /// Takes the clock, unless it has one.
    pub fn set_clock(&self, clock: Clock) {
        if self.clock.get().is_none() {
            self.began.store(clock(), Ordering::Relaxed);
        }
        let _ = self.clock.set(clock);
    }

    pub fn micros(&self) -> u64 {
        let since = |now: &Clock| now().saturating_sub(self.began.load(Ordering::Relaxed));
        self.clock.get().map_or(0, since)
    }

    /// Whether anyone listens.
    pub fn is_heard(&self) -> bool {
        self.listener.load().is_some()
    }

    /// Tells the listener, if there is one; the event is built for it alone.
    pub fn emit(&self, event: impl FnOnce() -> Event) {
        if self.is_heard() {
            self.tell(&event());
        }
    }

    fn tell(&self, event: &Event) {
        if let Some(listener) = &*self.listener.load_full() {
            listener(self.micros(), event);
        }
    }
}
