//! Writes that have a place in the committer's queue, and an outcome later.

use crate::committer::Panic;
use std::panic::resume_unwind;
use terrane::{Closed, Error, Result};
use tokio::sync::oneshot;

/// A batch that was submitted. Dropping it does not take the batch back.
#[must_use = "its outcome says whether it was written"]
pub struct Submitted<T>(pub(crate) oneshot::Receiver<Result<T>>);

impl<T> Submitted<T> {
    /// Waits for the outcome.
    ///
    /// # Errors
    /// Those of [`Db::write_if`](crate::Db::write_if).
    pub async fn outcome(self) -> Result<T> {
        // Without a reply the committer has panicked: whether the batch was written is unknown.
        self.0.await.unwrap_or_else(|_| Err(Closed::Leader.into()))
    }
}

/// An update that was submitted. Dropping it does not take the update back.
#[must_use = "its outcome says whether it was written"]
pub struct SubmittedUpdate<T, E>(pub(crate) oneshot::Receiver<Result<Result<T, E>, Panic>>);

impl<T, E: From<Error>> SubmittedUpdate<T, E> {
    /// Waits for the result of the body, and panics if the body did.
    ///
    /// # Errors
    /// Those of [`Db::update`](crate::Db::update).
    pub async fn outcome(self) -> Result<T, E> {
        match self.0.await {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => Err(Error::from(Closed::Leader).into()),
        }
    }
}
