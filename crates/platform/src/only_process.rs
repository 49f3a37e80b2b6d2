//! The process that opened a store, where no process can be forked.

/// The process that opened a store.
pub struct OwnerProcess;

impl OwnerProcess {
    /// Returns this process.
    #[must_use]
    pub fn current() -> Self {
        OwnerProcess
    }

    /// Whether this process is the owner.
    #[must_use]
    pub fn is_current(&self) -> bool {
        true
    }
}
