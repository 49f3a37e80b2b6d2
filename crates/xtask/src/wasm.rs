//! The browser build of the engine, and the npm package around it.
//!
//! 1. wasm-pack compiles `crates/wasm` and writes its JavaScript, with the tools that are here: it
//!    downloads nothing.
//! 2. wasm-opt, from the npm package `binaryen`, makes the release module smaller and faster.
//! 3. Three files go to `bindings-js/wasm`, and TypeScript builds `bindings-js/dist`.
//! 4. The release package is weighed as a server would send it, and is refused above a bound.
//!
//! Neither part runs again while its inputs are older than its output.

use crate::fresh::Step;
use crate::node::{self, BINDINGS};
use crate::progress;
use crate::rust::{WASM_TARGET, WasmBindgen, WasmPack, WasmTarget};
use crate::setup::{self, Need};
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Instructions that every supported browser has had for years and Rust does not yet use by itself;
/// and a little less code at the same speed: loops stay as they are written, and what is not marked
/// to be inlined is less often. A threshold of 50 saves 20 kB more, and reads take a tenth longer.
const RUSTFLAGS: &str = "-C target-feature=+simd128,+bulk-memory -C no-vectorize-loops \
    -C no-vectorize-slp -C llvm-args=-inline-threshold=120";

/// Which instructions wasm-opt may meet and write: those that Rust and [`RUSTFLAGS`] use.
const WASM_OPT_FLAGS: [&str; 9] = [
    "-O3",
    "--enable-bulk-memory",
    "--enable-bulk-memory-opt",
    "--enable-simd",
    "--enable-mutable-globals",
    "--enable-sign-ext",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-multivalue",
];

/// Where the module and its JavaScript go.
const OUTPUT: &str = "bindings-js/wasm";
/// The most that a page may have to load, in bytes: module, worker and client with gzip -9.
const GZIP_MAX: u64 = 330_000;
/// The module.
const MODULE: &str = "terrane_bg.wasm";

/// How the module is compiled.
#[derive(Clone, Copy)]
pub enum Profile {
    /// For speed and size: the profile `wasm` of the workspace.
    Release,
    /// For a short build, with names and assertions.
    Dev,
}

impl Profile {
    fn name(self) -> &'static str {
        match self {
            Self::Release => "wasm",
            Self::Dev => "dev",
        }
    }
}

/// A cargo command for the browser, with the flags of this build, so that they share their work.
pub fn cargo(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = workspace.cargo(arguments);
    command.args(["--target", WASM_TARGET]).env("RUSTFLAGS", RUSTFLAGS);
    command
}

/// Brings the module and the npm package up to date.
///
/// # Errors
/// A missing tool, or the build step that failed.
pub fn build(workspace: &Workspace, profile: Profile) -> Result<()> {
    let needs: [&dyn Need; 6] =
        [&WasmTarget, &WasmPack, &WasmBindgen, &node::Node, &node::Npm, &BINDINGS];
    setup::ensure(workspace, &needs)?;
    module_step(workspace, profile)?.bring_up_to_date(|| build_module(workspace, profile))?;
    package_step(workspace)?.bring_up_to_date(|| {
        let build = workspace.npm(BINDINGS.folder, &["run", "build"]);
        progress::run("npm run build in bindings-js", build).map(drop)
    })?;
    weigh(workspace, profile)
}

fn module_step(workspace: &Workspace, profile: Profile) -> Result<Step> {
    let locks = ["Cargo.toml", "Cargo.lock", "bindings-js/package-lock.json"];
    let mut inputs = locks.map(|input| workspace.path(input)).to_vec();
    let native_only = ["cli", "xtask"].map(OsStr::new);
    for entry in fs::read_dir(workspace.path("crates"))? {
        let entry = entry?;
        if !native_only.contains(&entry.file_name().as_os_str()) {
            inputs.push(entry.path());
        }
    }
    let version = |program| workspace.version(program, &[]).unwrap_or_default();
    Ok(Step {
        stamp: workspace.path("target/xtask/wasm.stamp"),
        key: format!(
            "{} rustc {} wasm-pack {} {RUSTFLAGS} {WASM_OPT_FLAGS:?}",
            profile.name(),
            version("rustc"),
            version("wasm-pack")
        ),
        inputs,
        output: module_path(workspace),
    })
}

fn package_step(workspace: &Workspace) -> Result<Step> {
    Ok(Step {
        stamp: workspace.path("target/xtask/bindings.stamp"),
        key: String::new(),
        inputs: BINDINGS.sources(workspace)?,
        output: workspace.path("bindings-js/dist/index.js"),
    })
}

fn build_module(workspace: &Workspace, profile: Profile) -> Result<()> {
    // Not straight into the package: wasm-pack adds a .gitignore there that npm would obey.
    let built = workspace.path("target/wasm-pack").join(profile.name());
    let mut wasm_pack = workspace.command("wasm-pack");
    wasm_pack.args(["build", "crates/wasm", "--mode", "no-install", "--target", "web"]);
    wasm_pack.args(["--no-pack", "--no-opt", "--out-name", "terrane"]);
    wasm_pack.args(["--profile", profile.name(), "--out-dir"]).arg(&built);
    wasm_pack.env("RUSTFLAGS", RUSTFLAGS);
    progress::run(&format!("wasm-pack build ({})", profile.name()), wasm_pack)?;

    let output = workspace.path(OUTPUT);
    fs::create_dir_all(&output)?;
    for name in ["terrane.js", "terrane.d.ts"] {
        fs::copy(built.join(name), output.join(name)).with_context(|| format!("copying {name}"))?;
    }
    let module = built.join(MODULE);
    match profile {
        Profile::Dev => drop(fs::copy(module, output.join(MODULE))?),
        Profile::Release => {
            let wasm_opt = workspace.path(BINDINGS.folder).join("node_modules/.bin/wasm-opt");
            let mut command = workspace.command(wasm_opt);
            command.args(WASM_OPT_FLAGS).arg(module).arg("-o").arg(output.join(MODULE));
            progress::run("wasm-opt -O3", command)?;
        }
    }
    Ok(())
}

fn module_path(workspace: &Workspace) -> PathBuf {
    workspace.path(OUTPUT).join(MODULE)
}

/// Prints what a page has to load; refuses a release that is larger than the bound.
fn weigh(workspace: &Workspace, profile: Profile) -> Result<()> {
    let bound = GZIP_MAX.to_string();
    let mut arguments = vec!["run", "--silent", "size"];
    if matches!(profile, Profile::Release) {
        arguments.extend(["--", &bound]);
    }
    let size = workspace.npm(BINDINGS.folder, &arguments);
    print!("{}", progress::run("npm run size in bindings-js", size)?);
    Ok(())
}
