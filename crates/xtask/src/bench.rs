//! What is measured: the engine on this machine, next to other stores in a browser, and in simulation
//! next to the papers.

use crate::browser::CHROMIUM;
use crate::node::{self, COMPARISON};
use crate::workspace::Workspace;
use crate::{progress, setup, wasm};
use anyhow::{Result, ensure};
use std::process::Command;

/// Runs the engine's benchmarks; `arguments` go to criterion.
///
/// # Errors
/// When they cannot be built, or one fails.
pub fn native(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let mut cargo = workspace.cargo(&["bench", "--package", "terrane-bench", "--"]);
    cargo.args(arguments);
    show(cargo)
}

/// Simulates the figures of the papers; the reports go to `docs/papers`.
///
/// # Errors
/// When the simulator cannot be built, or fails.
pub fn papers(workspace: &Workspace, scale: &str, paper: Option<&str>) -> Result<()> {
    let package = ["run", "--release", "--package", "terrane-papers", "--"];
    let mut cargo = workspace.cargo(&package);
    cargo.args(["--scale", scale, "--out"]).arg(workspace.path("docs/papers"));
    cargo.args(paper.iter().flat_map(|paper| ["--paper", paper]));
    show(cargo)
}

/// Builds the npm package and runs the comparison in Chromium; `arguments` go to it.
///
/// # Errors
/// A missing tool, a step of the build that failed, or a store that answered wrongly.
pub fn browser(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    wasm::build(workspace, wasm::Profile::Release)?;
    setup::ensure(workspace, &[&node::Node, &node::Npm, &COMPARISON, &CHROMIUM])?;
    let build = workspace.npm(COMPARISON.folder, &["run", "build"]);
    progress::run("npm run build in bench/browser", build)?;
    let mut node = workspace.command("node");
    node.arg(workspace.path(COMPARISON.folder).join("dist/run/run.js")).args(arguments);
    node.env(CHROMIUM.variable, CHROMIUM.executable(workspace)?);
    show(node)
}

/// Runs `command` with its output on the terminal.
fn show(mut command: Command) -> Result<()> {
    let status = command.status()?;
    ensure!(status.success(), "{:?}: {status}", command.get_program());
    Ok(())
}
