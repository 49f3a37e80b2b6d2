//! The policies, each a file or folder of its own, and the list of them.
//!
//! A policy is a struct of its parameters with `Default`, [`Policy`] (its rule) and `Described`
//! (its summary and parameters). A line of the list below makes it known everywhere: to options and
//! their parser, to the command line and its help, and to what is generated for JavaScript.

use crate::policy::Policy;
use crate::toolkit::parameter::Described;

/// Declares the module of each policy, and its variant of [`PolicyOptions`]. `cargo fmt` does not look
/// into macros: the checks format these files by name.
macro_rules! policies {
    ($($(#[$attribute:meta])* $module:ident::$Policy:ident,)+) => {
        $($(#[$attribute])* pub mod $module;)+
        $($(#[$attribute])* pub use $module::$Policy;)+

        /// A policy and its parameters.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum PolicyOptions {
            $($(#[$attribute])* #[doc = concat!("The policy of module [`", stringify!($module), "`].")]
            $Policy($Policy),)+
        }

        impl PolicyOptions {
            /// Every policy with its defaults, in the order of the list.
            pub(crate) fn all() -> Vec<Self> {
                Vec::from([$($(#[$attribute])* PolicyOptions::$Policy($Policy::default()),)+])
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
    leveled::Leveled,
    leveled_full::LeveledFull,
    tiered::Tiered,
    tiered_full::TieredFull,
    lazy_leveled::LazyLeveled,
    universal::Universal,
    spooky::Spooky,
    #[cfg(feature = "all")]
    tiered_partial::TieredPartial,
    #[cfg(feature = "all")]
    horizontal_leveling::HorizontalLeveling,
    #[cfg(feature = "all")]
    horizontal_tiering::HorizontalTiering,
    #[cfg(feature = "all")]
    binomial::Binomial,
    #[cfg(feature = "all")]
    min_latency::MinLatency,
    #[cfg(any(test, feature = "testing"))]
    adversarial::Adversarial,
}
