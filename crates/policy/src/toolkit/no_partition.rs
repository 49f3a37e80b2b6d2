//! Partitioning in the lean build: each policy's own way is all there is.

use crate::policy::Policy;
use options::Partitioning;

/// The policy as it is.
pub(crate) fn partitioned(
    policy: Box<dyn Policy>,
    _: Option<&Partitioning>,
    _: u64,
) -> Box<dyn Policy> {
    policy
}

/// The parameters of partitioning: none.
pub mod options {
    use crate::toolkit::parameter::{Conflict, ParameterRef};

    /// The cuts of merges' outputs: the policy's own.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Partitioning;

    impl Partitioning {
        /// The default, as a constant.
        pub const DEFAULT: Self = Partitioning;

        pub(crate) fn tuning<'a>(&'a mut self, _: &mut Vec<ParameterRef<'a>>) {}

        pub(crate) fn conflict(&self, _: u64) -> Option<Conflict> {
            None
        }
    }
}
