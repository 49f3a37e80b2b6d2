//! Batches of a call that are sampled: their times, and a key of each.

use crate::batch::{Operation, WriteBatch};
use crate::engine::Engine;
use crate::keyspace::KeyspaceId;
use crate::version::{OperationKind, SharedSamples, draw};

/// Whether this build samples operations.
const AVAILABLE: bool = cfg!(feature = "all");

/// Sampled batches.
#[derive(Default)]
pub(super) struct Sampled(Vec<Sample>);

/// A sampled batch.
struct Sample {
    of: SharedSamples,
    began: u64,
    key: Vec<u8>,
}

impl Sampled {
    /// Starts a call. A batch is one of the keyspace of its first entry.
    #[inline]
    pub fn start<'a>(engine: &Engine, batches: impl Iterator<Item = &'a WriteBatch>) -> Self {
        if !AVAILABLE || !engine.jobs.events.is_heard() {
            return Sampled::default();
        }
        Sampled(batches.filter_map(|batch| sample(engine, batch)).collect())
    }

    /// Ends a call whose batches were written.
    #[inline]
    pub fn end(self, engine: &Engine) {
        if AVAILABLE {
            for Sample { of, began, key } in self.0 {
                of.end(OperationKind::Write, began, &key, &engine.jobs.events);
            }
        }
    }
}

fn sample(engine: &Engine, batch: &WriteBatch) -> Option<Sample> {
    let id = batch.keyspaces().next()?;
    let keyspaces = engine.keyspaces.load();
    let super_version = keyspaces.get(&id)?.super_version.load();
    let began = super_version.samples.start(OperationKind::Write, &engine.jobs.events)?;
    let key = key_of(batch, id, draw() as usize)?;
    Some(Sample { of: super_version.samples.clone(), began, key })
}

/// Returns the key of one of the entries of a keyspace, by a number that was drawn.
fn key_of(batch: &WriteBatch, id: KeyspaceId, number: usize) -> Option<Vec<u8>> {
    let keys = || batch.iter().filter_map(Result::ok).filter(|(of, _)| *of == id);
    let count = keys().count().max(1);
    let (_, operation) = keys().nth(number % count)?;
    match operation {
        Operation::Put(key, _)
        | Operation::PutExpiring(key, _)
        | Operation::Merge(key, _)
        | Operation::Delete(key)
        | Operation::DeleteRange(key, _) => Some(key.to_vec()),
        Operation::DropKeyspace(_) => None,
    }
}
