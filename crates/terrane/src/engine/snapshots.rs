//! The moments at which readers look: the last visible sequence, and the older ones that snapshots hold, each with its
//! time.
//!
//! A merge keeps what a reader at any of these sees. Once the oldest advances, tables may be worth rewriting. Times
//! ascend with the sequence numbers, since both are read under one lock.

use super::store_clock::StoreClock;
use crate::entry::{Millis, Seq};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Mutex, lock};
use terrane_table::read::Reader;
use terrane_types::SharedMap;

/// The sequences at which readers look.
pub(crate) struct Snapshots {
    /// Every entry up to here is in a memtable or a table.
    visible: AtomicU64,
    /// The sequences that snapshots hold.
    held: Mutex<SharedMap<Seq, Held>>,
    /// The sequence that the oldest snapshot must reach before a table is rewritten; `Seq::MAX` if there is none.
    awaited: AtomicU64,
    /// Whether a table has expired for the present, and not for snapshots of the same sequence.
    awaits_present: AtomicBool,
    pub clock: StoreClock,
}

/// A sequence that snapshots hold.
#[derive(Clone, Copy, Default)]
struct Held {
    /// The number of snapshots.
    holders: u64,
    /// The time at which the first of them was taken, in microseconds.
    since_micros: u64,
    /// The least time of a holder.
    now: Millis,
}

impl Snapshots {
    /// No snapshot; times are those of `clock`.
    pub fn new(clock: StoreClock) -> Self {
        Snapshots {
            visible: AtomicU64::default(),
            held: Mutex::default(),
            awaited: AtomicU64::new(Seq::MAX),
            awaits_present: AtomicBool::default(),
            clock,
        }
    }

    /// The present.
    pub fn present(&self) -> Reader {
        // In this order: what is visible may be the first value that expires.
        let at = self.visible();
        Reader { at, now: self.clock.now() }
    }

    /// The last visible sequence.
    pub fn visible(&self) -> Seq {
        self.visible.load(Ordering::Acquire)
    }

    /// Makes everything through a sequence visible.
    pub fn show(&self, through: Seq) {
        self.visible.store(through, Ordering::Release);
    }

    /// Registers a snapshot of the present, taken at `now_micros`.
    pub fn hold(&self, now_micros: u64) -> Reader {
        let mut held = lock(&self.held);
        // Read under the lock: a merge that looks later finds either this snapshot or an older
        // present, and keeps what both see.
        let reader = self.present();
        let first = Held { holders: 0, since_micros: now_micros, now: reader.now };
        let before = held.get(&reader.at).copied().unwrap_or(first);
        held.insert(reader.at, Held { holders: before.holders + 1, ..before });
        reader
    }

    /// Releases a snapshot. If no other holds its sequence, returns the oldest that is left; `Seq::MAX` if planning is
    /// due for what has expired meanwhile.
    pub fn release(&self, seq: Seq) -> Option<Seq> {
        let mut held = lock(&self.held);
        let at = held.get_mut(&seq)?;
        at.holders -= 1;
        if at.holders > 0 {
            return None;
        }
        held.remove(&seq);
        if self.awaits_present.swap(false, Ordering::AcqRel) {
            self.clock.note_expiry(0);
            return Some(Seq::MAX);
        }
        Some(self.oldest_of(&held))
    }

    /// Returns the least sequence number at which a reader may look. No later reader looks below it.
    pub fn oldest(&self) -> Seq {
        self.oldest_of(&lock(&self.held))
    }

    /// Returns the sequence number of the oldest snapshot and the time at which it was taken, in microseconds.
    pub fn oldest_held(&self) -> Option<(Seq, u64)> {
        lock(&self.held).iter().next().map(|(seq, held)| (*seq, held.since_micros))
    }

    fn oldest_of(&self, held: &SharedMap<Seq, Held>) -> Seq {
        let visible = self.visible();
        held.keys().next().map_or(visible, |oldest| visible.min(*oldest))
    }

    /// Every moment at which a reader may look, ascending: those of snapshots, and the present, which may have the
    /// sequence number of the last of them. Of several snapshots at one number the earliest counts.
    pub fn readers(&self) -> Vec<Reader> {
        let held = lock(&self.held);
        let present = self.present();
        let held = held.iter().map(|(at, held)| Reader { at: *at, now: held.now });
        held.chain([present]).collect()
    }

    /// Notes that a table has expired for the present, but not for snapshots of its sequence.
    pub fn await_present(&self) {
        self.awaits_present.store(true, Ordering::Release);
    }

    /// Notes the sequence that the oldest snapshot must reach before planning has anything to do. The caller
    /// holds the state lock.
    pub fn await_oldest(&self, least: Seq) {
        self.awaited.store(least, Ordering::Release);
    }

    /// Whether planning waits for an oldest snapshot like this.
    pub fn is_awaited(&self, oldest: Seq) -> bool {
        oldest >= self.awaited.load(Ordering::Acquire)
    }
}
