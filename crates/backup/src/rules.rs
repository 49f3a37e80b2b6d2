//! The rules of backups, as switches.
//!
//! A product build keeps every rule, and the compiler sees a constant. In unit tests each can be broken, so that a test
//! shows that the model (`model`) would notice.

/// A rule (INVARIANTS.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// 1. A store claims a place only if nobody else has claimed it since.
    OwnClaim = 1,
    /// 2. A writer ends the other lineages of the place before it uploads.
    EndOthers = 2,
    /// 3. A manifest is created only where there is none.
    CreateOnce = 3,
    /// 4. Batches count as uploaded once a manifest names them.
    NamedFirst = 4,
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
