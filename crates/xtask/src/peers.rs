//! Other stores written in Rust that run on OPFS, built as Wasm modules for the comparison in a browser.
//!
//! Nothing else builds them, and the comparison only those that it is asked for: their crates come from the
//! registry, and take minutes to compile.

use crate::fresh::Step;
use crate::need::Need;
use crate::node::{self, BINDINGS};
use crate::rust::{WasmBindgen, WasmPack, WasmTarget};
use crate::workspace::Workspace;
use crate::{progress, setup, wasm};
use anyhow::{Context, Result};
use std::fs;
use std::path::PathBuf;

/// Their crate: a workspace of its own, so that nothing else locks or checks what they depend on.
const SOURCE: &str = "bench/browser/rust";

/// Each is a feature of the crate, and a contender.
const NAMES: [&str; 2] = ["regolith", "trine-kv"];

/// The target features of Terrane's module, without the flags that make that one small.
const RUSTFLAGS: &str = "-C target-feature=+simd128,+bulk-memory";

const WASM_OPT_FLAGS: [&str; 1] = ["-O3"];

/// Brings up to date the modules of those in `contenders`, a list of names or `all`.
///
/// # Errors
/// A missing tool, or the build step that failed.
pub fn build(workspace: &Workspace, contenders: &str) -> Result<()> {
    for name in named_in(contenders) {
        let needs: [&dyn Need; 5] = [&WasmTarget, &WasmPack, &WasmBindgen, &node::Node, &BINDINGS];
        setup::ensure(workspace, &needs)?;
        let build = || compile(workspace, name);
        step(workspace, name).bring_up_to_date(build).with_context(|| {
            format!(
                "{name} was not built (its crates are fetched the first time, which needs a network; \
                 --contenders can leave it out)"
            )
        })?;
    }
    Ok(())
}

fn named_in(contenders: &str) -> impl Iterator<Item = &'static str> {
    let named =
        move |name: &&str| contenders == "all" || contenders.split(',').any(|one| one == *name);
    NAMES.into_iter().filter(named)
}

fn step(workspace: &Workspace, name: &str) -> Step {
    let version = |program| workspace.version(program, &[]).unwrap_or_default();
    let inputs = ["Cargo.toml", "Cargo.lock", "src"];
    Step {
        stamp: workspace.path(&format!("target/xtask/{name}.stamp")),
        key: format!(
            "rustc {} wasm-pack {} {RUSTFLAGS} {WASM_OPT_FLAGS:?}",
            version("rustc"),
            version("wasm-pack"),
        ),
        inputs: inputs.map(|input| workspace.path(SOURCE).join(input)).to_vec(),
        output: folder(workspace, name).join(format!("{name}.js")),
    }
}

/// The folder in which the comparison's build finds a module and its JavaScript.
fn folder(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.path(SOURCE).join("pkg").join(name)
}

fn compile(workspace: &Workspace, name: &str) -> Result<()> {
    let built = workspace.path("target/wasm-pack").join(name);
    let mut wasm_pack = workspace.command("wasm-pack");
    wasm_pack.args(["build", SOURCE, "--mode", "no-install", "--target", "web", "--release"]);
    wasm_pack.args(["--no-pack", "--no-opt", "--out-name", name, "--out-dir"]).arg(&built);
    wasm_pack.args(["--", "--locked", "--features", name]);
    wasm_pack.env("CARGO_TARGET_DIR", workspace.path("target/browser-peers"));
    wasm_pack.env("RUSTFLAGS", RUSTFLAGS);
    progress::run(&format!("wasm-pack build {SOURCE} as {name}"), wasm_pack)?;

    let folder = folder(workspace, name);
    fs::create_dir_all(&folder)?;
    let module = format!("{name}_bg.wasm");
    let optimized = folder.join(&module);
    let label = format!("wasm-opt -O3 of {name}");
    wasm::wasm_opt(workspace, &label, &WASM_OPT_FLAGS, &built.join(&module), &optimized)?;
    let glue = format!("{name}.js");
    fs::copy(built.join(&glue), folder.join(&glue))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{NAMES, SOURCE, named_in};
    use crate::workspace::Workspace;
    use std::fs;

    #[test]
    fn only_the_stores_that_are_asked_for_are_built() {
        let names = |contenders| named_in(contenders).collect::<Vec<_>>();
        assert!(names("").is_empty());
        assert!(names("terrane,indexeddb,trine").is_empty());
        assert_eq!(names("terrane,trine-kv"), ["trine-kv"]);
        assert_eq!(names("all"), NAMES);
    }

    #[test]
    fn every_store_is_a_feature_and_a_contender() {
        let workspace = Workspace::find();
        let read = |path: &str| fs::read_to_string(workspace.path(path)).unwrap();
        let manifest = read(&format!("{SOURCE}/Cargo.toml"));
        let contenders = read("bench/browser/src/worker.ts");
        for name in NAMES {
            assert!(manifest.contains(&format!("\n{name} = [\"dep:")), "{name}");
            assert!(contenders.contains(name), "{name}");
        }
    }
}
