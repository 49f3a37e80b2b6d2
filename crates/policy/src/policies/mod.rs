//! The policies, each a file or folder of its own, and the list of them.
//!
//! A policy is a struct of its parameters with `Default`, [`Policy`] (its rule) and `Described`
//! (its summary and parameters). A line of the list below makes it known everywhere: to options and
//! their parser, to the command line and its help, and to what is generated for JavaScript. The module
//! is called after the policy.

use crate::policy::Policy;
use crate::toolkit::parameter::Described;

/// Declares the policies of every build, those that the feature `all` adds, and those for tests.
/// `cargo fmt` does not look into macros: the checks format these files by name.
macro_rules! policies {
    (
        every build { $($every:ident::$Every:ident,)+ }
        feature all { $($all:ident::$All:ident,)+ }
        tests { $($test:ident::$Test:ident,)+ }
    ) => {
        declare! {
            $($every::$Every,)+
            $(#[cfg(feature = "all")] $all::$All,)+
            $(#[cfg(any(test, feature = "testing"))] $test::$Test,)+
        }

        /// The modules of the policies that only builds with the feature `all` have.
        pub(crate) const ADDED_BY_ALL: &[&str] = &[$(stringify!($all)),+];
    };
}

/// Declares the module of each policy, and its variant of [`PolicyOptions`].
macro_rules! declare {
    ($($(#[$attribute:meta])* $module:ident::$Policy:ident,)+) => {
        $($(#[$attribute])* pub mod $module;)+
        $($(#[$attribute])* pub use $module::$Policy;)+

        /// A policy and its parameters.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum PolicyOptions {
            $($(#[$attribute])* #[doc = concat!("The policy of module [`", stringify!($module), "`].")]
            $Policy($Policy),)+
        }

        $($(#[$attribute])* impl From<$Policy> for PolicyOptions {
            fn from(policy: $Policy) -> Self {
                PolicyOptions::$Policy(policy)
            }
        })+

        impl PolicyOptions {
            /// Every policy with its defaults, in the order of the list.
            pub(crate) fn all() -> Vec<Self> {
                const DEFAULTS: &[fn() -> PolicyOptions] =
                    &[$($(#[$attribute])* || PolicyOptions::$Policy($Policy::default()),)+];
                DEFAULTS.iter().map(|default| default()).collect()
            }

            pub(crate) fn described(&self) -> &dyn Described {
                match self {
                    $($(#[$attribute])* PolicyOptions::$Policy(policy) => policy,)+
                }
            }

            pub(crate) fn described_mut(&mut self) -> &mut dyn Described {
                match self {
                    $($(#[$attribute])* PolicyOptions::$Policy(policy) => policy,)+
                }
            }

            pub(crate) fn into_policy(self) -> Box<dyn Policy> {
                match self {
                    $($(#[$attribute])* PolicyOptions::$Policy(policy) => Box::new(policy),)+
                }
            }
        }
    };
}

policies! {
    every build {
        leveled::Leveled,
        leveled_full::LeveledFull,
        tiered::Tiered,
        tiered_full::TieredFull,
        lazy_leveled::LazyLeveled,
        universal::Universal,
        spooky::Spooky,
    }
    feature all {
        tiered_partial::TieredPartial,
        horizontal_leveling::HorizontalLeveling,
        horizontal_tiering::HorizontalTiering,
        vertiorizon::Vertiorizon,
        binomial::Binomial,
        min_latency::MinLatency,
        bucket::BucketLsm,
        ptier::PTier,
        fluid::Fluid,
        ecotune::EcoTune,
    }
    tests {
        adversarial::Adversarial,
    }
}
