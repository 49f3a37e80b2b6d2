//! The rules of replication, as switches.
//!
//! A product build keeps every rule, and the compiler sees a constant. In unit tests each can be broken, so that a test
//! shows that the model of replicas (`follow/model`) would notice.

/// A rule (INVARIANTS.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// 1. A replica writes a batch of the source and the cursor after it as one batch.
    CursorWithBatch = 1,
    /// 2. It deletes a cursor, durably, before its rows stop fitting it.
    ForgetFirst = 2,
    /// 3. It empties its store before it loads a snapshot.
    EmptyFirst = 3,
    /// 4. The cursor of a snapshot is in the batch of its last rows.
    CursorLast = 4,
    /// 5. A batch that does not follow the last one is refused.
    InOrder = 5,
    /// 6. A server syncs what a snapshot shows before it sends the snapshot.
    SnapshotAfterSync = 6,
}

#[cfg(not(test))]
impl Rule {
    /// Whether the rule holds: always.
    #[inline(always)]
    pub const fn holds(self) -> bool {
        true
    }
}

#[cfg(test)]
mod switches {
    use super::Rule;
    use std::cell::Cell;

    thread_local! {
        static BROKEN: Cell<Option<Rule>> = const { Cell::new(None) };
    }

    impl Rule {
        /// Whether the rule holds on this thread.
        pub fn holds(self) -> bool {
            BROKEN.get() != Some(self)
        }

        /// Runs `body` with the rule broken on this thread.
        pub fn broken<T>(self, body: impl FnOnce() -> T) -> T {
            let before = BROKEN.replace(Some(self));
            let out = body();
            BROKEN.set(before);
            out
        }
    }
}
