//! How filter memory is divided among runs: a parameter of every policy.

use super::parameter::Choose;

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

impl Choose for Filters {
    fn among(&self) -> &'static [&'static str] {
        // The small build has no other.
        if cfg!(feature = "all") { &Filters::NAMES } else { &["uniform"] }
    }

    fn at(&self) -> usize {
        *self as usize
    }

    fn choose(&mut self, at: usize) {
        *self = match at {
            1 => Filters::Monkey,
            2 => Filters::Dynamic,
            _ => Filters::Uniform,
        };
    }
}
