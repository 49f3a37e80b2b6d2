//! Writes that were submitted, and whose outcome is awaited.

use super::failure::Failure;
use super::reply::Encoded;
use terrane::{Closed, Outcome};
use terrane_tokio::{Submitted, SubmittedUpdate};

/// A write whose outcome is awaited.
pub(super) enum Pending {
    /// A batch, whose reply is OK.
    Write(Submitted<Outcome>),
    /// An update, which makes its reply.
    Update(SubmittedUpdate<Encoded, Failure>),
    /// A write that could not be submitted.
    Failed(Failure),
}

impl Pending {
    /// Waits for the outcome. Returns the reply.
    ///
    /// # Errors
    /// The errors of the command and of the store.
    pub async fn outcome(self) -> Result<Encoded, Failure> {
        match self {
            Pending::Update(update) => update.outcome().await,
            Pending::Failed(failure) => Err(failure),
            Pending::Write(write) => {
                let written = write.outcome().await?.written();
                written.ok_or(terrane::Error::from(Closed::Leader))?;
                Ok(Encoded { bytes: b"+OK\r\n".to_vec(), held: None })
            }
        }
    }
}
