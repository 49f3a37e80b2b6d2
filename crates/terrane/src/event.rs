//! The stream of events to a listener. The events are declared in `crates/policy/src/event.rs`.

use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sync::{ArcSwap, Mutex, lock};
use std::sync::{Arc, OnceLock};

pub use terrane_policy::event::{Event, TraceLine};

/// Receives events, one after the other, on the thread that caused them, each with its time: microseconds
/// since the store was opened, or 0 during that and where the executor has no clock. No time is before that
/// of the event before. It must not call the store, nor take a lock that is held around a call of the store: gets and
/// writes call it as well.
pub type Listener = Arc<dyn Fn(u64, &Event) + Send + Sync>;

/// Microseconds since a moment of its choice.
pub(crate) type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Destination of a store's events.
pub(crate) struct EventStream {
    listener: ArcSwap<Option<Listener>>,
    /// Held while the listener is replaced, so that concurrent callers count each change once.
    replacing: Mutex<()>,
    /// Number of times that listening started or stopped: odd while there is a listener. Gets and writes read it.
    listening_epoch: AtomicU32,
    clock: OnceLock<Clock>,
    /// Time on the clock when the engine got it.
    began: AtomicU64,
    /// The time of the latest event. Its lock is held while a listener runs, so that events have an order.
    latest: Mutex<u64>,
}

impl EventStream {
    pub fn new(listener: Option<Listener>) -> Self {
        EventStream {
            listening_epoch: AtomicU32::new(listener.is_some().into()),
            listener: ArcSwap::from_pointee(listener),
            replacing: Mutex::new(()),
            clock: OnceLock::new(),
            began: AtomicU64::new(0),
            latest: Mutex::new(0),
        }
    }

    pub fn set_listener(&self, listener: Option<Listener>) {
        let one = lock(&self.replacing);
        let changes = listener.is_some() != self.is_heard();
        let before = self.listener.load_full();
        self.listener.store(Arc::new(listener));
        self.listening_epoch.fetch_add(changes.into(), Ordering::Release);
        // What it holds may be waiting for a thread that replaces a listener.
        drop(one);
        drop(before);
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
    #[inline]
    pub fn is_heard(&self) -> bool {
        self.listening_epoch.load(Ordering::Acquire) & 1 != 0
    }

    /// Returns a number that differs between two times if listening stopped or started in between.
    #[cfg(feature = "all")]
    pub fn listening_epoch(&self) -> u32 {
        self.listening_epoch.load(Ordering::Acquire)
    }

    /// Reports an event to the listener, if there is one; without one it is not built. Events are reported
    /// one after another.
    pub fn emit(&self, event: impl FnOnce() -> Event) {
        if self.is_heard() {
            let mut latest = lock(&self.latest);
            self.report(&mut latest, &event());
        }
    }

    fn report(&self, latest: &mut u64, event: &Event) {
        if let Some(listener) = &*self.listener.load_full() {
            // Clocks of several threads may differ a little.
            *latest = self.micros().max(*latest);
            listener(*latest, event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::{Mutex, lock};

    fn removed() -> Event {
        Event::FileRemoved { file: "file".to_owned() }
    }

    #[test]
    fn the_listener_gets_the_time_since_the_first_clock() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let times = seen.clone();
        let listener: Listener = Arc::new(move |micros, _: &Event| lock(&times).push(micros));
        let events = EventStream::new(Some(listener));
        events.emit(removed);
        let now = Arc::new(AtomicU64::new(700));
        let shown = now.clone();
        events.set_clock(Arc::new(move || shown.load(Ordering::Relaxed)));
        events.emit(removed);
        for later in [703, 750] {
            now.store(later, Ordering::Relaxed);
            events.emit(removed);
            events.set_clock(Arc::new(|| 1));
        }
        assert_eq!(*lock(&seen), [0, 0, 3, 50]);
    }

    #[test]
    fn threads_report_one_at_a_time_and_no_time_decreases() {
        let (now, inside) = (AtomicU64::new(1000), AtomicU64::new(0));
        let told = Arc::new(Mutex::new(Vec::new()));
        let times = told.clone();
        let listener: Listener = Arc::new(move |micros, _: &Event| {
            let others = inside.fetch_add(1, Ordering::SeqCst);
            std::thread::yield_now();
            lock(&times).push((micros, others));
            inside.fetch_sub(1, Ordering::SeqCst);
        });
        let events = EventStream::new(Some(listener));
        // It goes back by one after each two.
        events.set_clock(Arc::new(move || {
            let read = now.fetch_add(1, Ordering::SeqCst);
            read - 2 * (read % 3 / 2)
        }));
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| (0..200).for_each(|_| events.emit(removed)));
            }
        });
        let told = lock(&told);
        assert_eq!(told.len(), 800);
        assert!(told.iter().all(|(_, others)| *others == 0), "one listener at a time");
        assert!(told.is_sorted_by_key(|(micros, _)| *micros));
    }

    /// Sets no listener when it is dropped, from another thread, and waits for that.
    struct SetsNone(Arc<EventStream>);

    impl Drop for SetsNone {
        fn drop(&mut self) {
            let (done, wait) = std::sync::mpsc::channel();
            let events = self.0.clone();
            std::thread::spawn(move || {
                events.set_listener(None);
                done.send(()).unwrap();
            });
            assert!(wait.recv_timeout(std::time::Duration::from_secs(60)).is_ok(), "it waits");
        }
    }

    #[test]
    fn a_listener_that_is_dropped_may_replace_the_next() {
        let events = Arc::new(EventStream::new(None));
        let sets = SetsNone(events.clone());
        events.set_listener(Some(Arc::new(move |_, _: &Event| {
            let _held = &sets;
        })));
        events.set_listener(Some(Arc::new(|_, _: &Event| {})));
        assert!(!events.is_heard());
    }

    #[test]
    fn an_event_is_made_for_a_listener_alone() {
        let made = AtomicU64::new(0);
        let event = || {
            made.fetch_add(1, Ordering::Relaxed);
            removed()
        };
        let events = EventStream::new(None);
        events.emit(event);
        events.set_listener(Some(Arc::new(|_, _: &Event| {})));
        events.emit(event);
        events.set_listener(None);
        events.emit(event);
        assert_eq!((made.load(Ordering::Relaxed), events.is_heard()), (1, false));
    }
}
