//! Places in the repository, and the commands that run there.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The repository.
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The repository that holds this crate.
    pub fn find() -> Self {
        // Cargo says it at run time as well, which stays right after the folder was moved.
        let crate_folder = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = crate_folder.ancestors().nth(2).unwrap_or(&crate_folder);
        Self { root: root.to_path_buf() }
    }

    /// An absolute path in the repository.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// The folder that `cargo install` puts this repository's own tools under.
    pub fn tools(&self) -> PathBuf {
        self.path("target/tools")
    }

    /// `program` in the root. The repository's own tools come first on its `PATH`.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(&self.root).env("PATH", self.search_path());
        command
    }

    /// `cargo` with these arguments, in the root.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = self.command("cargo");
        command.args(arguments);
        command
    }

    /// `npm` with these arguments, in the folder of an npm package.
    pub fn npm(&self, package: &str, arguments: &[&str]) -> Command {
        let mut command = self.command(if cfg!(windows) { "npm.cmd" } else { "npm" });
        command.current_dir(self.path(package)).args(arguments);
        command
    }

    /// Returns the version in `program --version`, if it runs: `1.95.0` of `rustc 1.95.0 (…)`.
    pub fn version(&self, program: impl AsRef<Path>, arguments: &[&str]) -> Option<String> {
        let mut command = self.command(program);
        let output = command.args(arguments).arg("--version").stdin(Stdio::null()).output().ok()?;
        let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
        let mut words = text.split_whitespace().map(|word| word.trim_start_matches('v'));
        words.find(|word| word.starts_with(|first: char| first.is_ascii_digit())).map(String::from)
    }

    fn search_path(&self) -> OsString {
        let inherited = env::var_os("PATH").unwrap_or_default();
        let own = self.tools().join("bin");
        let all = std::iter::once(own).chain(env::split_paths(&inherited));
        env::join_paths(all).unwrap_or(inherited)
    }
}

/// The files on `PATH` with one of these names, those with the first name first.
pub fn on_path(names: &[&str]) -> impl Iterator<Item = PathBuf> {
    let folders: Vec<_> = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    let candidates: Vec<_> =
        names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).collect();
    candidates.into_iter().filter(|path| path.is_file())
}

/// Whether the dotted version `found` is at least `least`, compared number by number.
pub fn at_least(found: &str, least: &str) -> bool {
    let numbers = |version: &str| -> Vec<u64> {
        version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
    };
    numbers(found) >= numbers(least)
}

#[cfg(test)]
mod tests {
    use super::at_least;

    #[test]
    fn versions_compare_as_numbers() {
        assert!(at_least("20.20.2", "20.19"));
        assert!(at_least("20.19.0", "20.19"));
        assert!(at_least("100.0", "20.19"));
        assert!(!at_least("20.9.0", "20.19"));
        assert!(!at_least("nonsense", "20.19"));
    }
}
