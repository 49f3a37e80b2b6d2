//! Packages of Debian and its kin, which only root installs.

use crate::progress;
use crate::workspace::{Workspace, on_path};
use anyhow::{Result, ensure};
use std::path::Path;

/// Installs packages, and says so under the name of one of them.
///
/// # Errors
/// Another system, another user, or a failed installation.
pub fn install(workspace: &Workspace, name: &str, packages: &[&str]) -> Result<()> {
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
    install.args(packages);
    progress::run(&format!("apt-get install {name}"), install).map(drop)
}

fn is_root(workspace: &Workspace) -> bool {
    let output = workspace.command("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
