//! No samples: the lean build reports no operations.

use super::LevelCounters;
use crate::event::EventStream;
use crate::keyspace::KeyspaceId;
use std::sync::Arc;

/// Kind of an operation.
#[derive(Clone, Copy)]
pub(crate) enum OperationKind {
    Get,
    Write,
}

/// Nothing.
#[derive(Clone)]
pub(crate) struct SharedSamples;

/// Draws nothing, since nothing is sampled.
pub(crate) fn draw() -> u32 {
    0
}

/// Stands for the samples of other builds.
pub(crate) type Samples = SharedSamples;

impl Samples {
    pub fn new(_: KeyspaceId, _: &Arc<LevelCounters>) -> SharedSamples {
        SharedSamples
    }

    #[inline]
    pub fn start(&self, _: OperationKind, _: &EventStream) -> Option<u64> {
        None
    }

    pub fn end(&self, _: OperationKind, _: u64, _: &[u8], _: &EventStream) {}
}
