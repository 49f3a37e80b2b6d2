//! Something that commands need on a machine.

use crate::workspace::Workspace;
use anyhow::Result;

/// A tool, a component or a set of packages.
pub trait Need {
    /// What it is called.
    fn name(&self) -> String;
    /// What would do: a version, `any`.
    fn wanted(&self, workspace: &Workspace) -> String;
    /// What is there: `Ok` when it will do, else `Err` with what was found instead.
    fn found(&self, workspace: &Workspace) -> Result<String, String>;
    /// How a person gets it.
    fn remedy(&self, workspace: &Workspace) -> String;
    /// Installs it, where this repository does that.
    fn install(&self, workspace: &Workspace) -> Result<()>;
}
