//! The addon of Node and the npm packages around it.
//!
//! 1. cargo builds the addon, with the profile of that name, and it is refused above its bounds.
//! 2. esbuild and TypeScript build `terrane-node`, whose folder gets the addon of this machine.
//! 3. Node runs the tests in `tests/node`, and over the addon those of the package for browsers.
//! 4. Node, Deno and Bun run each entry of the packages (`tests/runtimes`).

use crate::need::Need;
use crate::node::{self, BINDINGS, LEVEL, RUNTIMES};
use crate::progress;
use crate::setup;
use crate::wasm;
use crate::workspace::Workspace;
use anyhow::{Context, Result, ensure};
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;

/// The most bytes of the addon.
const BYTES_MAX: u64 = 2_328_500;

/// Tests of the package for browsers that the addon must pass as well.
const SHARED_TESTS: [&str; 2] = ["test/sync.test.js", "test/worker.test.js"];

/// Builds the addon of this machine and the package around it.
///
/// # Errors
/// A missing tool, a build that fails, an addon above its bound.
pub fn build(workspace: &Workspace) -> Result<()> {
    let needs: [&dyn Need; 3] = [&node::Node, &BINDINGS, &LEVEL];
    setup::ensure(workspace, &needs)?;
    let mut cargo = workspace.cargo(&["build", "--profile", "addon", "--package", "terrane-node"]);
    // Whether other crates are built beside it changes no feature of its dependencies.
    cargo.args(["--target-dir", "target/node"]);
    progress::run("cargo build of the addon", cargo)?;
    progress::run(
        "npm run build:node in bindings-js",
        workspace.npm(BINDINGS.folder, &["run", "build:node"]),
    )?;
    let built = workspace.path(&format!("target/node/addon/{DLL_PREFIX}terrane_node{DLL_SUFFIX}"));
    let bytes = fs::metadata(&built).with_context(|| format!("{}", built.display()))?.len();
    progress::say(&format!("  addon: {bytes} bytes"));
    ensure!(bytes <= BYTES_MAX, "the addon: expected at most {BYTES_MAX} bytes, found {bytes}");
    fs::copy(built, workspace.path("bindings-js/node/dist/terrane.node"))?;
    Ok(())
}

/// Runs the tests of the packages, with the long ones if `full`; returns what they printed.
///
/// # Errors
/// A test that fails.
pub fn test(workspace: &Workspace, full: bool) -> Result<String> {
    let mut shared = workspace.command("node");
    shared.args(["--test", "--test-reporter=tap"]).args(SHARED_TESTS);
    shared.current_dir(workspace.path(BINDINGS.folder)).env("TERRANE_ADDON", "1");
    let mut own = workspace.command("node");
    own.args(["--test", "--test-reporter=tap"]).current_dir(workspace.path("tests/node"));
    if full {
        own.env("TERRANE_FULL", "1");
    }
    let program = workspace.cargo(&["build", "--package", "terrane-cli"]);
    progress::run("cargo build of the command line", program)?;
    let printed = progress::run("node --test in bindings-js, over the addon", shared)?;
    let printed = printed + &progress::run("node --test in tests/node", own)?;
    setup::ensure(workspace, &[&RUNTIMES])?;
    if !workspace.path(BINDINGS.folder).join("dist/node.js").exists() {
        // Stores in memory are those of the package for browsers.
        wasm::build(workspace, wasm::Profile::Dev)?;
    }
    let mut runtimes = workspace.command("node");
    runtimes.args(["--test", "--test-reporter=tap"]).current_dir(workspace.path(RUNTIMES.folder));
    Ok(printed + &progress::run("node --test in tests/runtimes", runtimes)?)
}
