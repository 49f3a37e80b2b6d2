//! Pressure: how near writes are to the bounds at which they must wait.

use super::Engine;
use crate::sync::atomic::Ordering;

/// Bytes that writers have filled of the room that they have before they must wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// What they have filled. It may be more than the room: background work is behind then.
    pub filled: u64,
    /// The room, in bytes.
    pub room: u64,
}

impl Engine {
    /// The pressure of the keyspace and bound that are the nearest to a stall: memtables that wait
    /// for their flush, or runs of level 0, both counted in memtables, the one that fills included,
    /// and told in bytes; or the memory of all memtables while some wait for their flush.
    #[must_use]
    pub fn pressure(&self) -> Pressure {
        let memtable = self.options.memtable_bytes;
        let keyspaces = self.keyspaces.load();
        let pressures = keyspaces.values().flat_map(|keyspace| {
            let view = keyspace.view.load();
            let active = (view.active.bytes() as u64).min(memtable);
            let (sealed, runs) = (view.sealed.len(), view.tree.level0_runs());
            let of = |waiting: usize, bound: usize| Pressure {
                filled: memtable.saturating_mul(waiting as u64).saturating_add(active),
                room: memtable.saturating_mul(bound as u64),
            };
            let memtables = (sealed > 0).then(|| of(sealed, self.options.memtables_max));
            memtables.into_iter().chain([of(runs + sealed, self.options.level0_runs_max)])
        });
        let waits = self.sealed_bytes.load(Ordering::Relaxed) > 0;
        let memory = waits.then(|| Pressure {
            filled: self.memtable_bytes.load(Ordering::Relaxed),
            room: self.options.memtables_share(),
        });
        let pressures = pressures.chain(memory);
        let share = |p: &Pressure| p.filled as f64 / p.room.max(1) as f64;
        pressures.max_by(|a, b| share(a).total_cmp(&share(b))).unwrap_or_default()
    }

    /// Bytes of batches that were written since the store was opened.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        self.counters.user_bytes.load(Ordering::Relaxed)
    }
}
