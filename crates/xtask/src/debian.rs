//! Packages of Debian: installed by root, or fetched into a folder below `target`, which needs no root.
//!
//! 1. The folder has lists of its own, so that the system's lists need not have source packages.
//! 2. Debian's key signs the lists, and the lists have the digests of the packages. apt checks both.

use crate::progress;
use crate::workspace::{Workspace, on_path};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The release whose packages are fetched.
const RELEASE: &str = "bookworm";
/// The key of its lists.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Installs packages.
///
/// # Errors
/// A system other than Debian and its kin; a user other than root; a failure of apt.
pub fn install(workspace: &Workspace, packages: &[&str]) -> Result<()> {
    let debian = Path::new("/etc/debian_version").exists() && has_apt();
    ensure!(debian && is_root(workspace), "it is installed only by root on Debian and its kin");
    progress::run("apt-get update", apt(workspace, &["update"]))?;
    let mut install = apt(workspace, &["install", "-y", "--no-install-recommends"]);
    install.args(packages);
    progress::run(&format!("apt-get install {}", packages.join(" ")), install).map(drop)
}

/// A folder below `target` for packages.
pub struct Folder<'a> {
    workspace: &'a Workspace,
    pub path: PathBuf,
}

impl<'a> Folder<'a> {
    pub fn new(workspace: &'a Workspace) -> Self {
        Folder { workspace, path: workspace.path("target/debian") }
    }

    /// Fetches packages by a command of apt, `source` or `download`, into the folder.
    ///
    /// # Errors
    /// A system without apt or Debian's key; a failure of apt, such as one of the network.
    pub fn fetch(&self, arguments: &[&str]) -> Result<()> {
        ensure!(
            has_apt() && Path::new(KEYRING).exists(),
            "it is fetched only on Debian and its kin"
        );
        for folder in ["lists/partial", "archives/partial"] {
            fs::create_dir_all(self.path.join(folder))?;
        }
        let place = format!("[signed-by={KEYRING}] http://deb.debian.org/debian {RELEASE} main");
        fs::write(self.path.join("sources.list"), format!("deb {place}\ndeb-src {place}\n"))?;
        progress::run("apt-get update of target/debian", self.apt(&["update"]))?;
        let label = format!("apt-get {}", arguments.join(" "));
        progress::run(&label, self.apt(arguments)).map(drop)
    }

    /// Returns the file in the folder whose name starts with `start` and ends with `end`.
    ///
    /// # Errors
    /// A folder without such a file.
    pub fn file(&self, start: &str, end: &str) -> Result<PathBuf> {
        let files = fs::read_dir(&self.path)?.flatten().map(|entry| entry.path());
        let is_named = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            name.is_some_and(|name| name.starts_with(start) && name.ends_with(end))
        };
        files.into_iter().find(is_named).with_context(|| format!("there is no {start}*{end}"))
    }

    fn apt(&self, arguments: &[&str]) -> Command {
        let mut command = apt(self.workspace, &[]);
        let within = |name: &str| self.path.join(name).display().to_string();
        for (option, value) in [
            ("Dir::Etc::SourceList", within("sources.list")),
            ("Dir::Etc::SourceParts", "/dev/null".to_owned()),
            ("Dir::State::Lists", within("lists")),
            ("Dir::Cache", within("")),
            // apt's own user may have no right to write into the folder.
            ("APT::Sandbox::User", "root".to_owned()),
        ] {
            command.arg("-o").arg(format!("{option}={value}"));
        }
        command.args(arguments).current_dir(&self.path);
        command
    }
}

fn apt(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = workspace.command("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn has_apt() -> bool {
    on_path(&["apt-get"]).next().is_some()
}

fn is_root(workspace: &Workspace) -> bool {
    let output = workspace.command("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
