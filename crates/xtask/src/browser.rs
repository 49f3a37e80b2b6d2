//! The browser that the tests drive: a Chromium, found in this order.
//!
//! 1. `TERRANE_CHROMIUM`, which is then the only one looked at.
//! 2. `chromium`, `google-chrome` or `chromium-browser` on `PATH`.
//! 3. The application on macOS; the ones that Playwright downloaded.
//!
//! One counts only if it answers `--version`: Ubuntu's `chromium-browser` is often a stub.

use crate::progress;
use crate::setup::Need;
use crate::workspace::{Workspace, on_path};
use anyhow::{Context, Result, ensure};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The variable that names the browser, here and in the tests.
pub const VARIABLE: &str = "TERRANE_CHROMIUM";
/// What Debian calls it, and a font so that pages have text.
const DEBIAN_PACKAGES: [&str; 2] = ["chromium", "fonts-liberation"];

/// A Chromium or Chrome.
pub struct Chromium;

impl Chromium {
    /// The executable.
    ///
    /// # Errors
    /// When there is none that runs.
    pub fn executable(workspace: &Workspace) -> Result<PathBuf> {
        let found = Self::find(workspace).map(|(path, _)| path);
        found.context("there is no Chromium that runs")
    }

    fn find(workspace: &Workspace) -> Option<(PathBuf, String)> {
        candidates().into_iter().find_map(|path| {
            let version = workspace.version(&path, &[])?;
            Some((path, version))
        })
    }
}

impl Need for Chromium {
    fn name(&self) -> String {
        "Chromium".into()
    }

    fn wanted(&self, _: &Workspace) -> String {
        "any".into()
    }

    fn found(&self, workspace: &Workspace) -> Result<String, String> {
        match Self::find(workspace) {
            Some((path, version)) => Ok(format!("{version} ({})", path.display())),
            None => Err(match env::var(VARIABLE) {
                Ok(path) => format!("none: {VARIABLE}={path} does not run"),
                Err(_) => "none".into(),
            }),
        }
    }

    fn remedy(&self, _: &Workspace) -> String {
        format!(
            "apt-get install {} as root, or npx playwright install chromium in tests/e2e, or set \
             {VARIABLE} to a Chromium or Chrome",
            DEBIAN_PACKAGES.join(" ")
        )
    }

    fn install(&self, workspace: &Workspace) -> Result<()> {
        ensure!(env::var_os(VARIABLE).is_none(), "{VARIABLE} is set, so nothing is installed");
        let debian =
            Path::new("/etc/debian_version").exists() && on_path(&["apt-get"]).next().is_some();
        ensure!(debian && is_root(workspace), "it is installed only by root on Debian and its kin");
        let apt = |arguments: &[&str]| {
            let mut command = workspace.command("apt-get");
            command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
            command
        };
        progress::run("apt-get update", apt(&["update"]))?;
        let mut install = apt(&["install", "-y", "--no-install-recommends"]);
        install.args(DEBIAN_PACKAGES);
        progress::run("apt-get install chromium", install).map(drop)
    }
}

fn candidates() -> Vec<PathBuf> {
    if let Some(chosen) = env::var_os(VARIABLE) {
        return vec![chosen.into()];
    }
    let mut found: Vec<PathBuf> =
        on_path(&["chromium", "google-chrome", "chromium-browser"]).collect();
    found.push("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome".into());
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    for cache in [".cache/ms-playwright", "Library/Caches/ms-playwright"] {
        let Ok(entries) = fs::read_dir(home.join(cache)) else { continue };
        let mut browsers: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        // Their names end in a growing build number.
        browsers.sort();
        for browser in browsers.iter().rev() {
            for inside in [
                "chrome-linux/chrome",
                "chrome-linux64/chrome",
                "chrome-mac/Chromium.app/Contents/MacOS/Chromium",
            ] {
                found.push(browser.join(inside));
            }
        }
    }
    found
}

fn is_root(workspace: &Workspace) -> bool {
    let output = workspace.command("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
