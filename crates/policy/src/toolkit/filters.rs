//! The parameter `filters` of every policy: how filter memory is divided among runs.

/// Division of filter memory among runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filters {
    /// The same bits per key for all.
    #[default]
    Uniform,
    /// More for smaller runs (Dayan, Athanassoulis and Idreos, "Monkey: Optimal Navigable Key-Value
    /// Store").
    Monkey,
    /// As Monkey, for the sizes that runs are going to have.
    Dynamic,
}

impl Filters {
    pub(crate) const NAMES: [&str; 3] = ["uniform", "monkey", "dynamic"];
}
