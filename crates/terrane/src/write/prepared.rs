//! A batch on its way into a group, with conditions that were evaluated before, and its fate there.

use super::condition::{Checks, Evaluated, Outcome};
use crate::batch::WriteBatch;
use crate::engine::Engine;
use crate::error::Result;

/// The most times that a batch is outrun; then its conditions are evaluated under the lock.
pub(super) const TRIES_MAX: u32 = 8;

/// A batch, and its conditions if it has some.
pub(crate) struct Write {
    pub batch: WriteBatch,
    pub prepared: Option<Prepared>,
}

/// Conditions that were evaluated before their batch queued.
pub(crate) struct Prepared {
    pub checks: Checks,
    pub evaluated: Evaluated,
    /// The number of times that it was outrun.
    pub tries: u32,
}

impl Prepared {
    pub fn new(checks: Checks) -> Option<Self> {
        let prepared = Prepared { checks, evaluated: Evaluated::default(), tries: 0 };
        (!prepared.checks.is_empty()).then_some(prepared)
    }

    /// Evaluates the conditions on what is visible.
    pub fn evaluate(&mut self, engine: &Engine) -> Result<()> {
        self.evaluated = self.checks.evaluate(engine)?;
        Ok(())
    }

    /// Whether the conditions are evaluated under the lock, since writers were faster each time before.
    pub fn is_last_try(&self) -> bool {
        self.tries >= TRIES_MAX
    }
}

/// The fate of a batch under the lock.
pub(crate) enum Decision {
    Decided(Outcome),
    /// More was written since its conditions were evaluated than is kept, or a merge of what they are on: they must be
    /// re-evaluated.
    Outrun,
}
