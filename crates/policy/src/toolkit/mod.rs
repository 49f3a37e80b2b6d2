//! The parts that policies are built from.
//!
//! * [`parameter`]: how a policy describes itself and its parameters.
//! * `view` and `vertical`: what the vertical policies see of a tree, and the steps they share.
//! * `group_builder`: groups that bring tables into one run, each as cheaply as it can.
//! * [`pick`]: which table of a level goes down.
//! * `pipelining`: what leveling does with level 0 while level 1 is busy, as an option.
//! * `partition`: cutting outputs by other rules than a policy's own, and grouping inputs accordingly.
//! * `refine`: what changes the plans of any policy, as `partition` and `monkey` do.
//! * `trivial_move`: whether tables that overlap nothing move or are rewritten.
//! * `admission`, `combinatorics` and `stack`: what policies that count admissions share.
//! * `observations`: the operations and their costs that policies tune themselves to.
//! * `format`: numbers in the reasons of plans.

pub(crate) mod admission;
pub(crate) mod combinatorics;
pub(crate) mod filters;
pub(crate) mod format;
pub(crate) mod group_builder;
pub(crate) mod horizontal;
pub(crate) mod monkey;
#[cfg(feature = "all")]
pub(crate) mod observations;
pub mod parameter;
pub(crate) mod partial_tiering;
#[cfg(feature = "all")]
pub(crate) mod partition;
#[cfg(not(feature = "all"))]
#[path = "no_partition.rs"]
pub(crate) mod partition;
pub mod pick;
pub(crate) mod pipelining;
#[doc(hidden)]
pub mod refine;
pub mod shared_merge;
pub(crate) mod stack;
pub(crate) mod trivial_move;
pub(crate) mod vertical;
pub(crate) mod view;
