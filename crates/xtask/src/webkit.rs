//! Debian's WebKit: a WebDriver server, the browser that it starts, and a virtual display.

use crate::debian;
use crate::need::Need;
use crate::workspace::{Workspace, on_path};
use anyhow::{Result, ensure};
use std::env;
use std::path::PathBuf;

/// The variable that names the driver, here and in the tests.
pub const VARIABLE: &str = "TERRANE_WEBKIT";

const PACKAGES: [&str; 3] = ["webkit2gtk-driver", "xvfb", "fonts-liberation"];

/// WebKit's driver, and a virtual display.
pub struct WebKit;

/// Returns the path of the driver: the one that the variable names, or else the one on `PATH`.
pub fn driver() -> PathBuf {
    let chosen = env::var_os(VARIABLE).map(PathBuf::from);
    chosen.or_else(|| on_path(&["WebKitWebDriver"]).next()).unwrap_or_default()
}

impl Need for WebKit {
    fn name(&self) -> String {
        "WebKit".into()
    }

    fn wanted(&self, _: &Workspace) -> String {
        "any".into()
    }

    fn found(&self, workspace: &Workspace) -> Result<String, String> {
        let driver = driver();
        let version = workspace.version(&driver, &[]).ok_or("no WebKitWebDriver that runs")?;
        on_path(&["Xvfb"]).next().ok_or("no Xvfb")?;
        Ok(format!("{version} ({})", driver.display()))
    }

    fn remedy(&self, _: &Workspace) -> String {
        format!(
            "apt-get install {} as root on Debian, or set {VARIABLE} to a driver that is elsewhere",
            PACKAGES.join(" ")
        )
    }

    fn install(&self, workspace: &Workspace) -> Result<()> {
        ensure!(env::var_os(VARIABLE).is_none(), "{VARIABLE} is set, so nothing is installed");
        debian::install(workspace, &PACKAGES)
    }

    fn is_optional(&self) -> bool {
        true
    }
}
