//! Long calls, which run step by step so that their caller can serve others in between.

use terrane::{Check, Db, Result, Waiter};
use terrane_types::json;

/// Bytes of work per step.
const STEP: u64 = 256 << 10;

/// The result of a long call.
pub enum End {
    /// No result.
    Nothing,
    /// A report, as JSON.
    Json(String),
    /// The bytes of a store in one file.
    Bytes(Vec<u8>),
}

/// A long call that has started.
pub struct Steps {
    step: Box<dyn FnMut() -> Result<Option<End>> + Send>,
    only_wait: bool,
}

impl Steps {
    /// Makes a long call of the function that runs a step.
    pub fn new(step: impl FnMut() -> Result<Option<End>> + Send + 'static) -> Self {
        Steps { step: Box::new(step), only_wait: false }
    }

    /// Runs a step; the last one returns the call's result.
    ///
    /// # Errors
    /// An error of the call, which has failed then.
    pub fn step(&mut self) -> Result<Option<End>> {
        (self.step)()
    }

    /// Whether steps do nothing but wait where background jobs have threads of their own.
    #[must_use]
    pub fn only_wait(&self) -> bool {
        self.only_wait
    }

    /// Runs background jobs until a flush or a compaction is complete.
    pub(crate) fn waiter(db: &Db, mut waiter: Waiter) -> Self {
        let db = db.clone();
        let step = move || {
            if !waiter.is_done()? {
                // If a job fails, the next step returns its error.
                let _ = db.run_jobs(STEP);
            }
            // It may have been the last that was waited for, after which nothing calls the next step.
            Ok(waiter.is_done()?.then_some(End::Nothing))
        };
        Steps { only_wait: true, ..Steps::new(step) }
    }

    /// Verifies everything; returns the report as JSON.
    pub(crate) fn check(mut check: Check) -> Self {
        Steps::new(move || Ok(check.step(STEP)?.map(|report| End::Json(json::to_string(&report)))))
    }
}
