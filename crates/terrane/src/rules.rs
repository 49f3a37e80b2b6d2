//! Rules as switches: the five durability rules and three of the change feed. The crates of backups and of replicas
//! declare theirs by the same macro.
//!
//! A product build keeps every rule, and the compiler sees a constant. With the `testing` feature
//! each can be switched off, so that a test shows that the crash suite, or the model of replicas, would notice.

/// Declares an enum of at most 32 rules, numbered from 0 or 1 on. Where the first argument, a condition of `cfg`, is
/// met, each rule can be broken on a thread.
#[doc(hidden)]
#[macro_export]
macro_rules! rules {
    (
        $testing:meta;
        $(#[$doc:meta])*
        $vis:vis enum $Rule:ident { $($(#[$of_rule:meta])* $rule:ident = $number:literal,)+ }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $Rule {
            $($(#[$of_rule])* $rule = $number,)+
        }

        #[cfg(not($testing))]
        impl $Rule {
            /// Whether the rule holds: always.
            #[inline(always)]
            #[must_use]
            pub const fn holds(self) -> bool {
                true
            }
        }

        #[cfg($testing)]
        const _: () = {
            ::std::thread_local! {
                static BROKEN: ::std::cell::Cell<u32> = const { ::std::cell::Cell::new(0) };
            }

            impl $Rule {
                /// All rules.
                pub const ALL: &'static [$Rule] = &[$($Rule::$rule),+];

                /// Whether the rule holds on this thread.
                #[must_use]
                pub fn holds(self) -> bool {
                    BROKEN.get() & (1 << self as u32) == 0
                }

                /// Runs `body` with the rule broken on this thread.
                pub fn broken<T>(self, body: impl FnOnce() -> T) -> T {
                    BROKEN.set(BROKEN.get() | 1 << self as u32);
                    let out = body();
                    BROKEN.set(BROKEN.get() & !(1 << self as u32));
                    out
                }
            }
        };
    };
}

rules! {
    feature = "testing";
    /// A rule (INVARIANTS.md).
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
        /// The batch that drops a keyspace is synced before the edit that drops it.
        DropBeforeEdit = 8,
    }
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use super::*;

    #[test]
    fn a_broken_rule_is_the_only_one_and_holds_again_after() {
        let rules = Rule::ALL;
        let holding = || rules.iter().copied().filter(|rule| rule.holds()).collect::<Vec<_>>();
        for (at, rule) in rules.iter().enumerate() {
            let others = [&rules[..at], &rules[at + 1..]].concat();
            // Also where it is broken within itself.
            rule.broken(|| rule.broken(|| assert_eq!(holding(), others)));
            assert_eq!(holding(), rules);
        }
        let [first, second, rest @ ..] = rules else { panic!("{rules:?}") };
        first.broken(|| {
            second.broken(|| assert_eq!(holding(), rest));
            assert_eq!(holding(), [&[*second], rest].concat());
        });
    }
}
