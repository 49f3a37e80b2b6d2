//! The Rust side of the set-up: the compiler, its components, and the tools that cargo builds.

use crate::need::Need;
use crate::progress;
use crate::workspace::{Workspace, at_least};
use anyhow::{Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The target of the browser build.
pub const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// `rustc`, recent enough.
pub struct Compiler;

impl Need for Compiler {
    fn name(&self) -> String {
        "rustc".into()
    }

    fn wanted(&self, _: &Workspace) -> String {
        format!(">= {}", env!("CARGO_PKG_RUST_VERSION"))
    }

    fn found(&self, workspace: &Workspace) -> Result<String, String> {
        let version = workspace.version("rustc", &[]).ok_or("none")?;
        let sufficient = at_least(&version, env!("CARGO_PKG_RUST_VERSION"));
        let origin = match workspace.version("rustup", &[]) {
            Some(rustup) => format!("{version} (rustup {rustup})"),
            None => format!("{version} (no rustup)"),
        };
        if sufficient { Ok(origin) } else { Err(origin) }
    }

    fn remedy(&self, _: &Workspace) -> String {
        "rustup update stable (rustup itself: https://rustup.rs)".into()
    }

    fn install(&self, _: &Workspace) -> Result<()> {
        bail!("the compiler is left to you")
    }
}

/// The standard library for the browser.
pub struct WasmTarget;

impl Need for WasmTarget {
    fn name(&self) -> String {
        WASM_TARGET.into()
    }

    fn wanted(&self, _: &Workspace) -> String {
        "any".into()
    }

    fn found(&self, workspace: &Workspace) -> Result<String, String> {
        // Asking rustc serves a Rust that did not come from rustup too.
        let mut rustc = workspace.command("rustc");
        rustc.args(["--print", "target-libdir", "--target", WASM_TARGET]);
        let output = rustc.output().map_err(|_| "no rustc")?;
        let folder = String::from_utf8_lossy(&output.stdout);
        if fs::metadata(folder.trim()).is_ok() {
            Ok("installed".into())
        } else {
            Err("none".into())
        }
    }

    fn remedy(&self, _: &Workspace) -> String {
        format!("rustup target add {WASM_TARGET}")
    }

    fn install(&self, workspace: &Workspace) -> Result<()> {
        rustup(workspace, &["target", "add", WASM_TARGET])
    }
}

/// The compiler of the browser's releases, whose standard library is compiled along with them.
pub const NIGHTLY: &str = "nightly-2026-05-20";

/// [`NIGHTLY`], with the source of the standard library.
pub struct Nightly;

impl Nightly {
    const INSTALL: [&str; 9] = [
        "toolchain",
        "install",
        NIGHTLY,
        "--profile",
        "minimal",
        "-c",
        "rust-src",
        "-t",
        WASM_TARGET,
    ];
}

impl Need for Nightly {
    fn name(&self) -> String {
        NIGHTLY.into()
    }

    fn wanted(&self, _: &Workspace) -> String {
        "with rust-src".into()
    }

    fn found(&self, workspace: &Workspace) -> Result<String, String> {
        let mut rustc = workspace.command("rustc");
        rustc.env("RUSTUP_TOOLCHAIN", NIGHTLY).args(["--print", "sysroot"]);
        let output = rustc.output().map_err(|_| "no rustc")?;
        let sysroot = String::from_utf8_lossy(&output.stdout);
        let library = "lib/rustlib/src/rust/library/std";
        let is_nightly = sysroot.contains(NIGHTLY);
        match fs::metadata(Path::new(sysroot.trim()).join(library)) {
            Ok(_) if is_nightly => Ok("installed".into()),
            _ => Err("none".into()),
        }
    }

    fn remedy(&self, _: &Workspace) -> String {
        format!("rustup {}", Self::INSTALL.join(" "))
    }

    fn install(&self, workspace: &Workspace) -> Result<()> {
        rustup(workspace, &Self::INSTALL)
    }
}

/// A part of the toolchain that is a cargo subcommand.
pub struct Component {
    name: &'static str,
    subcommand: &'static str,
}

/// The formatter.
pub const RUSTFMT: Component = Component { name: "rustfmt", subcommand: "fmt" };
/// The linter.
pub const CLIPPY: Component = Component { name: "clippy", subcommand: "clippy" };

impl Need for Component {
    fn name(&self) -> String {
        self.name.into()
    }

    fn wanted(&self, _: &Workspace) -> String {
        "any".into()
    }

    fn found(&self, workspace: &Workspace) -> Result<String, String> {
        workspace.version("cargo", &[self.subcommand]).ok_or_else(|| "none".into())
    }

    fn remedy(&self, _: &Workspace) -> String {
        format!("rustup component add {}", self.name)
    }

    fn install(&self, workspace: &Workspace) -> Result<()> {
        rustup(workspace, &["component", "add", self.name])
    }
}

/// wasm-pack, of the version that this repository is built with.
pub struct WasmPack;

impl WasmPack {
    const VERSION: &str = "0.15.1";
}

impl Need for WasmPack {
    fn name(&self) -> String {
        "wasm-pack".into()
    }

    fn wanted(&self, _: &Workspace) -> String {
        Self::VERSION.into()
    }

    fn found(&self, workspace: &Workspace) -> Result<String, String> {
        exactly(workspace, "wasm-pack", Self::VERSION)
    }

    fn remedy(&self, _: &Workspace) -> String {
        format!("cargo install wasm-pack --version {}", Self::VERSION)
    }

    fn install(&self, workspace: &Workspace) -> Result<()> {
        install_wasm_tools(workspace)
    }
}

/// The wasm-bindgen command: of the very version of the library in `Cargo.lock`, or they refuse
/// each other.
pub struct WasmBindgen;

impl WasmBindgen {
    fn version(workspace: &Workspace) -> Result<String, String> {
        let lock = fs::read_to_string(workspace.path("Cargo.lock")).unwrap_or_default();
        locked_version(&lock, "wasm-bindgen")
            .map(String::from)
            .ok_or_else(|| "no wasm-bindgen in Cargo.lock".into())
    }
}

impl Need for WasmBindgen {
    fn name(&self) -> String {
        "wasm-bindgen".into()
    }

    fn wanted(&self, workspace: &Workspace) -> String {
        Self::version(workspace).unwrap_or_else(|_| "as in Cargo.lock".into())
    }

    fn found(&self, workspace: &Workspace) -> Result<String, String> {
        exactly(workspace, "wasm-bindgen", &Self::version(workspace)?)
    }

    fn remedy(&self, workspace: &Workspace) -> String {
        format!("cargo install wasm-bindgen-cli --version {}", self.wanted(workspace))
    }

    fn install(&self, workspace: &Workspace) -> Result<()> {
        install_wasm_tools(workspace)
    }
}

/// The checker of licences, sources and banned crates.
pub struct CargoDeny;

impl CargoDeny {
    const VERSION: &str = "0.20.2";
}

impl Need for CargoDeny {
    fn name(&self) -> String {
        "cargo-deny".into()
    }

    fn wanted(&self, _: &Workspace) -> String {
        Self::VERSION.into()
    }

    fn found(&self, workspace: &Workspace) -> Result<String, String> {
        exactly(workspace, "cargo-deny", Self::VERSION)
    }

    fn remedy(&self, _: &Workspace) -> String {
        format!("cargo install cargo-deny --version {}", Self::VERSION)
    }

    fn install(&self, workspace: &Workspace) -> Result<()> {
        cargo_install(workspace, "cargo-deny", Self::VERSION)
    }
}

/// Tool that breaks the code to test its tests.
pub struct CargoMutants;

impl CargoMutants {
    const VERSION: &str = "27.1.0";
}

impl Need for CargoMutants {
    fn name(&self) -> String {
        "cargo-mutants".into()
    }

    fn wanted(&self, _: &Workspace) -> String {
        Self::VERSION.into()
    }

    fn found(&self, workspace: &Workspace) -> Result<String, String> {
        // By itself it does not say its version.
        let version = workspace.version("cargo", &["mutants"]).ok_or("none")?;
        if version == Self::VERSION { Ok(version) } else { Err(version) }
    }

    fn remedy(&self, _: &Workspace) -> String {
        format!("cargo install cargo-mutants --version {}", Self::VERSION)
    }

    fn install(&self, workspace: &Workspace) -> Result<()> {
        cargo_install(workspace, "cargo-mutants", Self::VERSION)
    }
}

/// The oldest compiler that the workspace may be built with.
pub struct Toolchain(pub &'static str);

impl Need for Toolchain {
    fn name(&self) -> String {
        format!("Rust {}", self.0)
    }

    fn wanted(&self, _: &Workspace) -> String {
        self.0.into()
    }

    fn found(&self, workspace: &Workspace) -> Result<String, String> {
        let toolchain = format!("+{}", self.0);
        workspace.version("rustc", &[&toolchain]).ok_or_else(|| "none".into())
    }

    fn remedy(&self, _: &Workspace) -> String {
        format!("rustup toolchain install {} --profile minimal", self.0)
    }

    fn install(&self, workspace: &Workspace) -> Result<()> {
        rustup(workspace, &["toolchain", "install", self.0, "--profile", "minimal"])
    }
}

fn rustup(workspace: &Workspace, arguments: &[&str]) -> Result<()> {
    let mut command = workspace.command("rustup");
    command.args(arguments);
    progress::run(&format!("rustup {}", arguments.join(" ")), command).map(drop)
}

fn exactly(workspace: &Workspace, program: &str, wanted: &str) -> Result<String, String> {
    let version = workspace.version(program, &[]).ok_or("none")?;
    if version == wanted { Ok(version) } else { Err(version) }
}

/// Builds wasm-pack and wasm-bindgen, as the folder `tools` beside this one has them.
fn install_wasm_tools(workspace: &Workspace) -> Result<()> {
    let mut command =
        workspace.cargo(&["install", "--path", "crates/xtask/tools", "--locked", "--force"]);
    command.arg("--root").arg(workspace.tools());
    command.arg("--target-dir").arg(workspace.tools().join("build"));
    progress::run("cargo install --path crates/xtask/tools", command).map(drop)
}

/// Builds a tool into `target/tools`, for a short build rather than a fast tool. The lock file that
/// came with it is tried first; some registries lack a version that it names.
fn cargo_install(workspace: &Workspace, package: &str, version: &str) -> Result<()> {
    let install = |locked: &[&str]| -> Command {
        let mut command = workspace.cargo(&["install", package, "--bin", package]);
        command.args(["--version", version, "--force", "--root"]).arg(workspace.tools());
        command.args(locked);
        command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
        command.env("CARGO_PROFILE_RELEASE_LTO", "off");
        command.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
        command
    };
    let label = format!("cargo install {package} {version}");
    if progress::attempt(&format!("{label} --locked"), install(&["--locked"]))? {
        return Ok(());
    }
    progress::say("  trying again without the tool's lock file");
    progress::run(&label, install(&[])).map(drop)
}

/// The version of `package` in the text of a `Cargo.lock`.
fn locked_version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name).skip(1);
    lines.next()?.strip_prefix("version = \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::{WasmBindgen, WasmPack, locked_version};
    use crate::workspace::Workspace;
    use std::fs;

    #[test]
    fn the_lock_file_names_the_version_of_the_exact_package() {
        let lock = "[[package]]\nname = \"wasm-bindgen-macro\"\nversion = \"0.2.1\"\n\n\
                    [[package]]\nname = \"wasm-bindgen\"\nversion = \"0.2.9\"\nsource = \"r\"\n";
        assert_eq!(locked_version(lock, "wasm-bindgen"), Some("0.2.9"));
        assert_eq!(locked_version(lock, "wasm"), None);
    }
    #[test]
    fn the_tools_are_those_that_the_checks_look_for() {
        let workspace = Workspace::find();
        let lock = fs::read_to_string(workspace.path("crates/xtask/tools/Cargo.lock")).unwrap();
        let bindgen = WasmBindgen::version(&workspace).unwrap();
        for package in ["terrane-tools", "wasm-bindgen-cli-support"] {
            assert_eq!(locked_version(&lock, package), Some(bindgen.as_str()), "{package}");
        }
        assert_eq!(locked_version(&lock, "wasm-pack"), Some(WasmPack::VERSION));
        let peers = fs::read_to_string(workspace.path("bench/browser/rust/Cargo.lock")).unwrap();
        assert_eq!(locked_version(&peers, "wasm-bindgen"), Some(bindgen.as_str()));
    }
}
