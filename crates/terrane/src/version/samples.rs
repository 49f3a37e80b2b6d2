//! Samples of a keyspace's gets and writes, which an event reports each second while somebody listens.
//!
//! 1. An operation draws a number, and is sampled if the bits of the mask are zero in it. Without a listener it only
//!    asks whether there is one.
//! 2. Its end adds it to the sampler, which starts anew if nobody listened in between. The first end after an interval
//!    reports that interval.

use super::FilterCounters;
use crate::event::{Event, EventStream};
use crate::keyspace::KeyspaceId;
use crate::sync::atomic::{AtomicU32, Ordering::Relaxed};
use crate::sync::{Mutex, lock};
use std::cell::Cell;
use std::sync::Arc;
use terrane_policy::MAX_LEVELS;
use terrane_policy::operations::{Interval, LevelReads, OperationSampler};

pub(crate) use terrane_policy::operations::OperationKind;

/// The samples of a keyspace, as its super versions share them.
pub(crate) type SharedSamples = Arc<Samples>;

/// Samples of a keyspace's operations.
pub(crate) struct Samples {
    keyspace: KeyspaceId,
    /// Counts of the keyspace, which events report as well.
    filters: Arc<FilterCounters>,
    /// Masks of gets and of writes, as the sampler has them.
    gets: AtomicU32,
    writes: AtomicU32,
    /// The sampler, after the listening epoch that it covers.
    sampler: Mutex<(u32, OperationSampler)>,
}

impl Samples {
    pub fn new(keyspace: KeyspaceId, filters: &Arc<FilterCounters>) -> SharedSamples {
        Arc::new(Samples {
            keyspace,
            filters: filters.clone(),
            gets: AtomicU32::new(0),
            writes: AtomicU32::new(0),
            sampler: Mutex::default(),
        })
    }

    /// Step 1. Returns the time at the start of an operation that is sampled.
    #[inline]
    pub fn start(&self, kind: OperationKind, events: &EventStream) -> Option<u64> {
        if !events.is_heard() || draw() & self.mask(kind).load(Relaxed) != 0 {
            return None;
        }
        Some(events.micros())
    }

    /// Step 2, for an operation on `key` that started at `began`.
    #[cold]
    pub fn end(&self, kind: OperationKind, began: u64, key: &[u8], events: &EventStream) {
        let now = events.micros();
        let mut guard = lock(&self.sampler);
        let (epoch, sampler) = &mut *guard;
        let current = events.listening_epoch();
        if *epoch != current {
            (*epoch, *sampler) = (current, OperationSampler::default());
        }
        let ended = sampler.add(kind, now, now.saturating_sub(began), key);
        for kind in [OperationKind::Get, OperationKind::Write] {
            self.mask(kind).store(sampler.mask(kind), Relaxed);
        }
        drop(guard);
        let Some(Interval { lasted_micros, gets, writes }) = ended else { return };
        let (keyspace, levels) =
            (self.keyspace, LevelReads::to_last((0..MAX_LEVELS).map(|level| self.level(level))));
        events.emit(|| Event::Operations { keyspace, lasted_micros, gets, writes, levels });
    }

    fn mask(&self, kind: OperationKind) -> &AtomicU32 {
        match kind {
            OperationKind::Get => &self.gets,
            OperationKind::Write => &self.writes,
        }
    }

    fn level(&self, level: usize) -> LevelReads {
        let counts = self.filters.level(level);
        LevelReads {
            filter_lookups: counts.lookups,
            filter_positives: counts.passes,
            filter_false_positives: counts.false_positives,
            searches: counts.passes + counts.unfiltered,
            blocks_read: counts.blocks_read,
        }
    }
}

/// Draws a number from this thread's sequence, so that operations that alternate are not sampled in step.
#[inline]
pub(crate) fn draw() -> u32 {
    thread_local! {
        static STATE: Cell<u64> = const { Cell::new(0x9e37_79b9_7f4a_7c15) };
    }
    let next = STATE.try_with(|state| {
        let next = state.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.set(next);
        (next >> 32) as u32
    });
    next.unwrap_or(0)
}
