//! Measurements: the engine's parts, the engine next to other stores on this machine and in a browser, and
//! in simulation next to the papers.

use crate::browser::{CHROMIUM, FIREFOX};
use crate::node::{self, COMPARISON, NODE_COMPARISON};
use crate::workspace::Workspace;
use crate::{addon, peers, progress, setup, wasm};
use anyhow::{Result, ensure};
use clap::ValueEnum;
use std::process::Command;

/// Subject of a measurement.
#[derive(Clone, Copy, ValueEnum)]
pub enum Subject {
    /// The engine beside RocksDB, fjall, regolith, TidesDB, redb, LMDB and SQLite
    Native,
    /// The engine beside IndexedDB, libraries on it, and stores on OPFS, in Chromium or Firefox
    Browser,
    /// The packages for Node and the browser's module beside classic-level, lmdb and better-sqlite3
    Node,
    /// The engine's hot paths, and what callers do (criterion)
    Micro,
}

/// Runs the benchmarks of a subject; `arguments` go to them.
///
/// # Errors
/// When they cannot be built, or one fails.
pub fn run(workspace: &Workspace, subject: Subject, arguments: &[String]) -> Result<()> {
    match subject {
        Subject::Native => native(workspace, arguments),
        Subject::Browser => browser(workspace, arguments),
        Subject::Node => beside_node(workspace, arguments),
        Subject::Micro => micro(workspace, arguments),
    }
}

/// Folder of the comparison with other native stores: a workspace of its own, since its peers take long to
/// build.
const NATIVE: &str = "bench/native";

/// Runs the engine's benchmarks; `arguments` go to criterion.
///
/// # Errors
/// When they cannot be built, or one fails.
fn micro(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let mut cargo = workspace.cargo(&["bench", "--package", "terrane-bench"]);
    cargo.args(["--bench", "store", "--bench", "micro", "--"]).args(arguments);
    show(cargo)
}

/// Builds and runs the comparison with other native stores; `arguments` go to it. Where `--engines` names
/// some, only those are built.
///
/// # Errors
/// When it cannot be built, or a store failed.
fn native(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let mut cargo = workspace.cargo(&["run", "--release"]);
    cargo.arg("--manifest-path").arg(workspace.path(NATIVE).join("Cargo.toml"));
    cargo.arg("--target-dir").arg(workspace.path("target/compare"));
    if let Some(engines) = engines(arguments) {
        cargo.args(["--no-default-features", "--features", &engines]);
    }
    cargo.arg("--").args(arguments);
    show(cargo)
}

/// The peers among the engines that `--engines` names, if it is there.
fn engines(arguments: &[String]) -> Option<String> {
    let names = value_of(arguments, "--engines")?;
    let peers: Vec<&str> = names.split(',').filter(|name| !name.starts_with("terrane")).collect();
    Some(peers.join(","))
}

/// Returns the argument after an option.
fn value_of<'a>(arguments: &'a [String], option: &str) -> Option<&'a str> {
    let mut following = arguments.iter().skip_while(|argument| !argument.starts_with(option));
    let given = following.next()?.strip_prefix(option)?;
    given.strip_prefix('=').or(following.next().map(String::as_str))
}

/// Simulates the figures of the papers. Reports of the full scale go to `docs/papers`; those of `ci` would
/// replace them there, and go to `target/papers`.
///
/// # Errors
/// When the simulator cannot be built, or fails.
pub fn papers(
    workspace: &Workspace,
    scale: &str,
    paper: Option<&str>,
    figure: Option<&str>,
) -> Result<()> {
    let package = ["run", "--release", "--package", "terrane-papers", "--"];
    let folder = workspace.path(if scale == "full" { "docs/papers" } else { "target/papers" });
    let mut cargo = workspace.cargo(&package);
    cargo.args(["--scale", scale, "--out"]).arg(folder);
    cargo.args(paper.iter().flat_map(|paper| ["--paper", paper]));
    cargo.args(figure.iter().flat_map(|figure| ["--figure", figure]));
    show(cargo)
}

/// Builds the npm package and the other Rust stores that `--contenders` names, and runs the comparison in
/// the browser that `--browser` names, or else in Chromium; `arguments` go to it.
///
/// # Errors
/// A missing tool, a step of the build that failed, or a store that returned what was not written.
fn browser(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let firefox = value_of(arguments, "--browser") == Some("firefox");
    let browser = if firefox { &FIREFOX } else { &CHROMIUM };
    peers::build(workspace, value_of(arguments, "--contenders").unwrap_or_default())?;
    wasm::build(workspace, wasm::Profile::Release)?;
    setup::ensure(workspace, &[&node::Node, &node::Npm, &COMPARISON, browser])?;
    let build = workspace.npm(COMPARISON.folder, &["run", "build"]);
    progress::run("npm run build in bench/browser", build)?;
    let mut node = workspace.command("node");
    node.arg(workspace.path(COMPARISON.folder).join("dist/run/run.js")).args(arguments);
    node.env(browser.variable, browser.executable(workspace)?);
    show(node)
}

/// Builds the addon and the packages around it, and runs the comparison in Node; `arguments` go to it.
///
/// # Errors
/// A missing tool, a step of the build that failed, or a store that returned what was not written.
fn beside_node(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    addon::build(workspace)?;
    if value_of(arguments, "--stores").is_none_or(|stores| stores.contains("terrane/worker")) {
        wasm::build(workspace, wasm::Profile::Release)?;
    }
    setup::ensure(workspace, &[&NODE_COMPARISON])?;
    let mut node = workspace.command("node");
    node.arg(workspace.path(NODE_COMPARISON.folder).join("run.js")).args(arguments);
    show(node)
}

/// Runs `command` with its output on the terminal.
fn show(mut command: Command) -> Result<()> {
    let status = command.status()?;
    ensure!(status.success(), "{:?}: {status}", command.get_program());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{engines, value_of};

    #[test]
    fn an_option_may_have_its_value_behind_a_sign_or_a_space() {
        let arguments =
            ["--rounds", "1", "--browser=firefox", "--json", "a.json"].map(String::from);
        assert_eq!(value_of(&arguments, "--browser"), Some("firefox"));
        assert_eq!(value_of(&arguments, "--json"), Some("a.json"));
        assert_eq!(value_of(&arguments, "--entries"), None);
    }

    #[test]
    fn the_engines_that_are_named_are_built() {
        let engines = |text: &str| {
            let arguments: Vec<String> = text.split_whitespace().map(String::from).collect();
            engines(&arguments)
        };
        assert_eq!(engines("--rounds 1"), None);
        assert_eq!(engines("--rounds 1 --engines fjall,terrane,redb"), Some("fjall,redb".into()));
        assert_eq!(engines("--engines=terrane,terrane-mmap --rounds 1"), Some(String::new()));
    }
}
