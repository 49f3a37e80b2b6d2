//! Something that commands need on a machine.

use crate::workspace::Workspace;
use anyhow::Result;

/// A tool, a component or a set of packages.
pub trait Need {
    /// Returns its name.
    fn name(&self) -> String;
    /// Returns the wanted version, or `any`.
    fn wanted(&self, workspace: &Workspace) -> String;
    /// Returns the version found: `Ok` if it will do, else `Err`.
    fn found(&self, workspace: &Workspace) -> Result<String, String>;
    /// Returns the way for a person to get it.
    fn remedy(&self, workspace: &Workspace) -> String;
    /// Installs it, where this repository does that.
    fn install(&self, workspace: &Workspace) -> Result<()>;
    /// Whether commands skip the steps that need it where it is missing.
    fn is_optional(&self) -> bool {
        false
    }
}
