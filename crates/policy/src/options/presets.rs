//! The presets: every policy with its defaults, as a person chooses from them.

use crate::policies::{ADDED_BY_ALL, PolicyOptions};
use crate::toolkit::parameter::Parameter;

/// A policy with its defaults.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// A sentence about it.
    pub summary: &'static str,
    /// Whether every build has it; others need the feature `all`.
    #[serde(skip)]
    pub in_every_build: bool,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
}

impl PolicyOptions {
    /// The preset of this name, if there is one.
    #[must_use]
    pub fn preset(name: &str) -> Option<Self> {
        defaults().into_iter().find(|options| options.name() == name)
    }
}

/// Every preset.
#[must_use]
pub fn presets() -> Vec<Preset> {
    let described = |options: &PolicyOptions| Preset {
        name: options.name(),
        summary: options.summary(),
        in_every_build: !is_added_by_all(options.name()),
        parameters: options.parameters(),
    };
    defaults().iter().map(described).collect()
}

/// Whether only builds with the feature `all` have the policy of this name.
pub(crate) fn is_added_by_all(name: &str) -> bool {
    let letters =
        |name: &'_ str| name.bytes().filter(u8::is_ascii_alphanumeric).collect::<Vec<_>>();
    let name = letters(name);
    ADDED_BY_ALL.iter().any(|module| letters(module) == name)
}

/// Every policy that is a preset, with its defaults.
pub(crate) fn defaults() -> Vec<PolicyOptions> {
    let mut all = PolicyOptions::all();
    all.retain(|options| options.described().is_preset());
    all
}
