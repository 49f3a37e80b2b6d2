//! The five durability rules and two of the change feed, as switches.
//!
//! A product build keeps every rule, and the compiler sees a constant. With the `testing` feature
//! each can be switched off, so that a test shows that the crash suite, or the model of replicas, would notice.

/// A rule (INVARIANTS.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// 1. Before a flush is installed, the log is synced through that flush's last sequence.
    LogBeforeInstall = 1,
    /// 2. Flushes of a keyspace install in memtable order.
    FlushOrder = 2,
    /// 3. Table data is synced before the edit that names it.
    DataBeforeEdit = 3,
    /// 4. Space is reused only when no version pins it and the edit that dropped it is synced.
    ReuseAfterEdit = 4,
    /// 5. Log checksums include the log's number.
    NumberedChecksums = 5,
    /// The change feed ends with the last synced batch.
    FeedAfterSync = 6,
    /// A cursor of another lineage is refused.
    CursorOfLineage = 7,
}

#[cfg(not(feature = "testing"))]
impl Rule {
    /// Whether the rule holds: always.
    #[inline(always)]
    #[must_use]
    pub const fn holds(self) -> bool {
        true
    }
}

#[cfg(feature = "testing")]
mod switches {
    use super::Rule;
    use std::cell::Cell;

    thread_local! {
        static OFF: Cell<u8> = const { Cell::new(0) };
    }

    impl Rule {
        /// Whether the rule holds on this thread.
        #[must_use]
        pub fn holds(self) -> bool {
            OFF.get() & (1 << self as u8) == 0
        }

        /// Runs `body` with the rule broken on this thread.
        pub fn broken<T>(self, body: impl FnOnce() -> T) -> T {
            OFF.set(OFF.get() | 1 << self as u8);
            let out = body();
            OFF.set(OFF.get() & !(1 << self as u8));
            out
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_broken_rule_is_the_only_one_and_holds_again_after() {
            let rules = [
                Rule::LogBeforeInstall,
                Rule::FlushOrder,
                Rule::DataBeforeEdit,
                Rule::ReuseAfterEdit,
                Rule::NumberedChecksums,
                Rule::FeedAfterSync,
                Rule::CursorOfLineage,
            ];
            let holding = || rules.into_iter().filter(|rule| rule.holds()).collect::<Vec<_>>();
            for (at, rule) in rules.into_iter().enumerate() {
                let others = [&rules[..at], &rules[at + 1..]].concat();
                // Also where it is broken within itself.
                rule.broken(|| rule.broken(|| assert_eq!(holding(), others)));
                assert_eq!(holding(), rules);
            }
            let [first, second, rest @ ..] = rules;
            first.broken(|| {
                second.broken(|| assert_eq!(holding(), rest));
                assert_eq!(holding(), [&[second], &rest[..]].concat());
            });
        }
    }
}
