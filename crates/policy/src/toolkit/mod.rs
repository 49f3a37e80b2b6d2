//! What policies are written with.
//!
//! * [`parameter`]: how a policy describes itself and its parameters.
//! * `view` and `vertical`: what the vertical policies see of a tree, and the steps they share.
//! * `group_builder`: groups that bring tables into one run, each as cheaply as it can.
//! * [`pick`]: which table of a level goes down.
//! * `trivial_move`: whether tables that overlap nothing move or are rewritten.
//! * `format`: numbers in the reasons of plans.

pub(crate) mod format;
pub(crate) mod group_builder;
pub mod parameter;
pub mod pick;
pub(crate) mod trivial_move;
pub(crate) mod vertical;
pub(crate) mod view;
