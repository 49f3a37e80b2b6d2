//! The Rust side of the set-up: the compiler and its components.

use crate::progress;
use crate::setup::Need;
use crate::workspace::{Workspace, at_least};
use anyhow::{Result, bail};
use std::fs;

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

/// The checker of licences, sources and banned crates, built into `target/tools` for a short build
/// rather than a fast tool.
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
        let version = workspace.version("cargo-deny", &[]).ok_or("none")?;
        if version == Self::VERSION { Ok(version) } else { Err(version) }
    }

    fn remedy(&self, _: &Workspace) -> String {
        format!("cargo install cargo-deny --version {}", Self::VERSION)
    }

    fn install(&self, workspace: &Workspace) -> Result<()> {
        let mut command = workspace.cargo(&["install", "cargo-deny", "--locked", "--force"]);
        command.args(["--version", Self::VERSION, "--root"]).arg(workspace.tools());
        command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
        command.env("CARGO_PROFILE_RELEASE_LTO", "off");
        command.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
        progress::run(&format!("cargo install cargo-deny {}", Self::VERSION), command).map(drop)
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
