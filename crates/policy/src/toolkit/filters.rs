//! How filter memory is divided among runs: a parameter of every policy.

/// How filter memory is divided among runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filters {
    /// The same bits per key for all.
    #[default]
    Uniform,
    /// By the sizes of runs.
    Monkey,
    /// By the sizes that runs will have.
    Dynamic,
}

impl Filters {
    pub(crate) const NAMES: [&str; 3] = ["uniform", "monkey", "dynamic"];
}
