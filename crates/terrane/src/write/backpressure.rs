//! Backpressure: how near writes are to a stall.

use crate::engine::Engine;
use crate::error::Stall;
use crate::options::Options;
use crate::version::Tree;
use terrane_platform::BROWSER;

/// Bytes that writers have filled, and bytes at which they stall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backpressure {
    /// Filled bytes. They may exceed the room while background work lags.
    pub filled: u64,
    /// Bytes at which writers stall.
    pub room: u64,
}

impl Backpressure {
    fn share(&self) -> f64 {
        self.filled as f64 / self.room.max(1) as f64
    }
}

/// Returns the distance of a tree's keyspace from a stall by its debt, if there is a limit.
pub(super) fn debt(options: &Options, tree: &Tree) -> Option<(Stall, Backpressure)> {
    if BROWSER {
        return None;
    }
    let room = Some(options.hard_pending_compaction_bytes).filter(|most| *most > 0)?;
    Some((Stall::CompactionBytes, Backpressure { filled: tree.pending_bytes(), room }))
}

/// Returns the backpressure of the keyspace and limit that are the nearest to a stall. The limits are:
///
/// * memtables that wait for their flush, or runs of level 0 (tables over one key), both counted in memtables, the
///   active one included, and given in bytes
/// * the memory of all memtables while some wait for their flush
/// * natively, the bytes that wait to be compacted
pub(crate) fn backpressure(engine: &Engine) -> Backpressure {
    nearest_stall(engine).1
}

/// Returns the nearest stall and its backpressure.
pub(crate) fn nearest_stall(engine: &Engine) -> (Stall, Backpressure) {
    let memtable = engine.options.memtable_bytes;
    let keyspaces = engine.keyspaces.load();
    let mut nearest = (Stall::Memtables, Backpressure::default());
    let mut consider = |stall, backpressure: Backpressure| {
        if backpressure.share() >= nearest.1.share() {
            nearest = (stall, backpressure);
        }
    };
    for keyspace in keyspaces.values() {
        let super_version = keyspace.super_version.load();
        let active = (super_version.active.bytes() as u64).min(memtable);
        let sealed = super_version.sealed.len();
        let runs = super_version.tree.level0_waiting(keyspace.policy.load().as_ref().as_ref());
        let of = |waiting: usize, bound: usize| Backpressure {
            filled: memtable.saturating_mul(waiting as u64).saturating_add(active),
            room: memtable.saturating_mul(bound as u64),
        };
        if let Some((stall, debt)) = debt(&engine.options, &super_version.tree) {
            consider(stall, debt);
        }
        if sealed > 0 {
            consider(Stall::Memtables, of(sealed, engine.options.max_immutable_memtables));
        }
        consider(Stall::Level0, of(runs + sealed, engine.options.l0_stop_trigger));
    }
    if engine.memtables.sealed() > 0 {
        let filled = engine.memtables.all();
        consider(Stall::Memory, Backpressure { filled, room: engine.options.memtables_share() });
    }
    nearest
}
