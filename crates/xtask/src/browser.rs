//! The browsers that the tests drive, each found in this order.
//!
//! 1. Its variable, which is then the only one looked at.
//! 2. Its names on `PATH`.
//! 3. The application on macOS; for Chromium, the ones that Playwright downloaded.
//!
//! One counts only if it responds to `--version`: Ubuntu's `chromium-browser` is often a stub.

use crate::debian;
use crate::need::Need;
use crate::workspace::{Workspace, on_path};
use anyhow::{Context, Result, ensure};
use std::env;
use std::fs;
use std::path::PathBuf;

/// A browser that tests are run in.
pub struct Browser {
    name: &'static str,
    /// The variable that names the executable, here and in the tests.
    pub variable: &'static str,
    on_path: &'static [&'static str],
    on_mac: &'static str,
    /// The executable in a folder of Playwright's cache.
    from_playwright: &'static [&'static str],
    /// Its package in Debian, and a font so that pages have text.
    debian_packages: [&'static str; 2],
}

/// Chromium or Chrome.
pub const CHROMIUM: Browser = Browser {
    name: "Chromium",
    variable: "TERRANE_CHROMIUM",
    on_path: &["chromium", "google-chrome", "chromium-browser"],
    on_mac: "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    from_playwright: &[
        "chrome-linux/chrome",
        "chrome-linux64/chrome",
        "chrome-mac/Chromium.app/Contents/MacOS/Chromium",
    ],
    debian_packages: ["chromium", "fonts-liberation"],
};

/// Firefox as its makers ship it: Playwright's own build does not speak WebDriver BiDi.
pub const FIREFOX: Browser = Browser {
    name: "Firefox",
    variable: "TERRANE_FIREFOX",
    on_path: &["firefox-esr", "firefox"],
    on_mac: "/Applications/Firefox.app/Contents/MacOS/firefox",
    from_playwright: &[],
    debian_packages: ["firefox-esr", "fonts-liberation"],
};

impl Browser {
    /// The executable.
    ///
    /// # Errors
    /// When there is none that runs.
    pub fn executable(&self, workspace: &Workspace) -> Result<PathBuf> {
        let found = self.find(workspace).map(|(path, _)| path);
        found.with_context(|| format!("there is no {} that runs", self.name))
    }

    fn find(&self, workspace: &Workspace) -> Option<(PathBuf, String)> {
        self.candidates().into_iter().find_map(|path| {
            let version = workspace.version(&path, &[])?;
            Some((path, version))
        })
    }

    fn candidates(&self) -> Vec<PathBuf> {
        if let Some(chosen) = env::var_os(self.variable) {
            return vec![chosen.into()];
        }
        let mut found: Vec<PathBuf> = on_path(self.on_path).collect();
        found.push(self.on_mac.into());
        let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        for cache in [".cache/ms-playwright", "Library/Caches/ms-playwright"] {
            let Ok(entries) = fs::read_dir(home.join(cache)) else { continue };
            let mut browsers: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
            // Their names end in a growing build number.
            browsers.sort();
            for browser in browsers.iter().rev() {
                found.extend(self.from_playwright.iter().map(|inside| browser.join(inside)));
            }
        }
        found
    }
}

impl Need for Browser {
    fn name(&self) -> String {
        self.name.into()
    }

    fn wanted(&self, _: &Workspace) -> String {
        "any".into()
    }

    fn found(&self, workspace: &Workspace) -> Result<String, String> {
        match self.find(workspace) {
            Some((path, version)) => Ok(format!("{version} ({})", path.display())),
            None => Err(match env::var(self.variable) {
                Ok(path) => format!("none: {}={path} does not run", self.variable),
                Err(_) => "none".into(),
            }),
        }
    }

    fn remedy(&self, _: &Workspace) -> String {
        format!(
            "apt-get install {} as root, or set {} to one that is elsewhere",
            self.debian_packages.join(" "),
            self.variable
        )
    }

    fn install(&self, workspace: &Workspace) -> Result<()> {
        let variable = self.variable;
        ensure!(env::var_os(variable).is_none(), "{variable} is set, so nothing is installed");
        debian::install(workspace, &self.debian_packages)
    }
}
