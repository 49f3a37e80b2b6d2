//! The JavaScript side of the set-up: Node.js, npm, and the packages of each npm package here.

use crate::need::Need;
use crate::progress;
use crate::workspace::{Workspace, at_least};
use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

/// The npm package that applications install.
pub const BINDINGS: Packages = Packages { folder: "bindings-js" };
/// The Level database over it.
pub const LEVEL: Packages = Packages { folder: "bindings-js/level" };
/// The demo site.
pub const DEMO: Packages = Packages { folder: "demo" };
/// The tests in a real browser.
pub const E2E: Packages = Packages { folder: "tests/e2e" };
/// The tools that read the packed package.
pub const CHECKS: Packages = Packages { folder: "tests/packages/checks" };
/// Projects that use the packed package, each with a bundler.
pub const BUNDLERS: [Packages; 7] = [
    Packages { folder: "tests/packages/vite" },
    Packages { folder: "tests/packages/webpack" },
    Packages { folder: "tests/packages/esbuild" },
    Packages { folder: "tests/packages/rollup" },
    Packages { folder: "tests/packages/rspack" },
    Packages { folder: "tests/packages/parcel" },
    Packages { folder: "tests/packages/react" },
];
/// The tests of client libraries on the server.
pub const CLIENTS: Packages = Packages { folder: "tests/clients" };
/// The comparison with other stores in a browser.
pub const COMPARISON: Packages = Packages { folder: "bench/browser" };
/// The runtimes for JavaScript in which tests run the packages.
pub const RUNTIMES: Packages = Packages { folder: "tests/runtimes" };
/// The comparison with other stores in Node, which is installed only for it: one of them is compiled.
pub const NODE_COMPARISON: Packages = Packages { folder: "bench/node" };
/// All packages but `NODE_COMPARISON`, dependencies first.
pub const PACKAGES: [Packages; 15] = [
    BINDINGS,
    LEVEL,
    DEMO,
    E2E,
    CLIENTS,
    CHECKS,
    BUNDLERS[0],
    BUNDLERS[1],
    BUNDLERS[2],
    BUNDLERS[3],
    BUNDLERS[4],
    BUNDLERS[5],
    BUNDLERS[6],
    RUNTIMES,
    COMPARISON,
];

/// Node.js, recent enough.
pub struct Node;

impl Node {
    const LEAST: &str = "20.19";
}

impl Need for Node {
    fn name(&self) -> String {
        "node".into()
    }

    fn wanted(&self, _: &Workspace) -> String {
        format!(">= {}", Self::LEAST)
    }

    fn found(&self, workspace: &Workspace) -> Result<String, String> {
        let version = workspace.version("node", &[]).ok_or("none")?;
        if at_least(&version, Self::LEAST) { Ok(version) } else { Err(version) }
    }

    fn remedy(&self, _: &Workspace) -> String {
        "https://nodejs.org/en/download, or your system's package nodejs".into()
    }

    fn install(&self, _: &Workspace) -> Result<()> {
        bail!("Node.js is left to you")
    }
}

/// npm, which comes with Node.js.
pub struct Npm;

impl Need for Npm {
    fn name(&self) -> String {
        "npm".into()
    }

    fn wanted(&self, _: &Workspace) -> String {
        "any".into()
    }

    fn found(&self, workspace: &Workspace) -> Result<String, String> {
        let program = workspace.npm("", &[]);
        workspace.version(program.get_program(), &[]).ok_or_else(|| "none".into())
    }

    fn remedy(&self, _: &Workspace) -> String {
        "it comes with Node.js; on Debian, the package npm".into()
    }

    fn install(&self, _: &Workspace) -> Result<()> {
        bail!("npm is left to you")
    }
}

/// Packages of `package-lock.json`, in `node_modules`.
#[derive(Clone, Copy)]
pub struct Packages {
    /// The npm package's folder in the repository.
    pub folder: &'static str,
}

impl Packages {
    fn lock(self, workspace: &Workspace) -> PathBuf {
        workspace.path(self.folder).join("package-lock.json")
    }

    /// Returns the sources of the package: all that lies in its folder but generated files.
    pub fn sources(self, workspace: &Workspace) -> Result<Vec<PathBuf>> {
        let made = ["node_modules", "dist", "LICENSE-MIT", "LICENSE-APACHE"].map(OsStr::new);
        let folder = workspace.path(self.folder);
        let entries = fs::read_dir(&folder).with_context(|| format!("{}", folder.display()))?;
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        paths.retain(|path| !path.file_name().is_some_and(|name| made.contains(&name)));
        Ok(paths)
    }

    /// A copy of the lock file that `node_modules` was made from.
    fn stamp(self, workspace: &Workspace) -> PathBuf {
        workspace.path(self.folder).join("node_modules/.installed-lock.json")
    }
}

impl Need for Packages {
    fn name(&self) -> String {
        format!("npm packages of {}", self.folder)
    }

    fn wanted(&self, _: &Workspace) -> String {
        "as locked".into()
    }

    fn found(&self, workspace: &Workspace) -> Result<String, String> {
        let lock = fs::read(self.lock(workspace)).map_err(|_| "no package-lock.json")?;
        let installed = fs::read(self.stamp(workspace)).map_err(|_| "none")?;
        if installed == lock { Ok("as locked".into()) } else { Err("of another lock file".into()) }
    }

    fn remedy(&self, _: &Workspace) -> String {
        format!("npm ci in {}", self.folder)
    }

    fn install(&self, workspace: &Workspace) -> Result<()> {
        let mut command = workspace.npm(self.folder, &["ci", "--no-fund", "--no-audit"]);
        command.env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
        progress::run(&format!("npm ci in {}", self.folder), command)?;
        fs::copy(self.lock(workspace), self.stamp(workspace))?;
        Ok(())
    }
}
