//! The platforms of the addon: each has an npm package, which `terrane-node` names as an optional dependency.
//!
//! 1. cargo-zigbuild builds the addon, since its linker has the libraries of each platform, and of old ones of glibc.
//! 2. The addon must have the name by which Node loads it, import no function of Node by name (it looks them up),
//!    and need no later glibc than [`GLIBC_MAX`].
//! 3. The package has the addon, and names its system, processor and C library.

use crate::progress;
use crate::workspace::Workspace;
use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use object::{Object, ObjectSection};
use std::fs;
use std::path::PathBuf;

/// The latest release of glibc 2 that an addon may need: that of Debian 10 and RHEL 8.
const GLIBC_MAX: u32 = 28;

/// The most bytes of an addon. Those that zig links have a little more than those of the machine's linker.
const BYTES_MAX: usize = 2_340_000;

/// Name of the export that Node calls. An addon that does not report its version is one of N-API 8.
const EXPORT: &str = "napi_register_module_v1";

/// A platform, by the name of its package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Platform {
    /// macOS on Apple's processors
    DarwinArm64,
    /// macOS on Intel's
    DarwinX64,
    /// Linux with glibc, ARM
    LinuxArm64,
    /// Linux with musl, ARM
    LinuxArm64Musl,
    /// Linux with glibc, Intel and AMD
    LinuxX64,
    /// Linux with musl, Intel and AMD
    LinuxX64Musl,
    /// Windows, ARM
    Win32Arm64,
    /// Windows, Intel and AMD
    Win32X64,
}

impl Platform {
    /// The name at the end of its package's, `linux-x64`.
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The name by which Rust knows it.
    fn triple(self) -> &'static str {
        match self {
            Platform::DarwinArm64 => "aarch64-apple-darwin",
            Platform::DarwinX64 => "x86_64-apple-darwin",
            Platform::LinuxArm64 => "aarch64-unknown-linux-gnu",
            Platform::LinuxArm64Musl => "aarch64-unknown-linux-musl",
            Platform::LinuxX64 => "x86_64-unknown-linux-gnu",
            Platform::LinuxX64Musl => "x86_64-unknown-linux-musl",
            Platform::Win32Arm64 => "aarch64-pc-windows-gnullvm",
            Platform::Win32X64 => "x86_64-pc-windows-gnu",
        }
    }

    fn is_windows(self) -> bool {
        matches!(self, Platform::Win32Arm64 | Platform::Win32X64)
    }

    fn has_glibc(self) -> bool {
        matches!(self, Platform::LinuxArm64 | Platform::LinuxX64)
    }

    /// The file that cargo builds.
    fn file(self) -> &'static str {
        match self {
            Platform::DarwinArm64 | Platform::DarwinX64 => "libterrane_node.dylib",
            _ if self.is_windows() => "terrane_node.dll",
            _ => "libterrane_node.so",
        }
    }

    /// The description of its package, for a release.
    fn package(self, version: &str) -> String {
        let name = self.name();
        let mut words = name.split('-');
        let (os, cpu) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let libc = match (os, words.next()) {
            ("linux", Some(libc)) => format!("  \"libc\": [\"{libc}\"],\n"),
            ("linux", None) => "  \"libc\": [\"glibc\"],\n".to_owned(),
            _ => String::new(),
        };
        format!(
            r#"{{
  "name": "terrane-node-{name}",
  "version": "{version}",
  "description": "The addon of terrane-node for {name}",
  "license": "MIT OR Apache-2.0",
  "main": "terrane.node",
  "files": ["terrane.node", "LICENSE-*"],
  "os": ["{os}"],
  "cpu": ["{cpu}"],
{libc}  "engines": {{ "node": ">=20.19" }}
}}
"#
        )
    }
}

/// Builds the package of a platform in `target/node/packages`.
///
/// # Errors
/// cargo-zigbuild or a toolchain is missing, or the addon is refused.
pub fn build(workspace: &Workspace, platform: Platform) -> Result<()> {
    let (name, triple) = (platform.name(), platform.triple());
    let glibc = if platform.has_glibc() { format!(".2.{GLIBC_MAX}") } else { String::new() };
    let mut cargo = workspace.cargo(&["zigbuild", "--profile", "addon", "-p", "terrane-node"]);
    cargo.args(["--target-dir", "target/node", "--target", &format!("{triple}{glibc}")]);
    if triple.ends_with("musl") {
        // A library that is loaded must not bring a C library of its own.
        cargo.env("RUSTFLAGS", "-C target-feature=-crt-static");
    }
    if platform.is_windows() {
        cargo.env("LIBNODE_PATH", empty_library_of_node(workspace)?);
    }
    progress::run(&format!("cargo zigbuild of the addon for {name}"), cargo).context(
        "it needs cargo-zigbuild with zig (pip install cargo-zigbuild ziglang), and rustup target add",
    )?;
    let file = workspace.path(&format!("target/node/{triple}/addon/{}", platform.file()));
    let addon = fs::read(&file).with_context(|| format!("{}", file.display()))?;
    check(&addon).with_context(|| format!("{}", file.display()))?;
    let found = addon.len();
    progress::say(&format!("  addon of {name}: {found} bytes"));
    ensure!(found <= BYTES_MAX, "expected at most {BYTES_MAX} bytes, found {found}");
    let folder = workspace.path(&format!("target/node/packages/{name}"));
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("terrane.node"), addon)?;
    fs::write(folder.join("package.json"), platform.package(env!("CARGO_PKG_VERSION")))?;
    for license in ["LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(workspace.path(license), folder.join(license))?;
    }
    Ok(())
}

/// Writes a library without functions where napi-build wants that of Node to link with, and returns its folder.
fn empty_library_of_node(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.path("target/node/libnode");
    fs::create_dir_all(&folder)?;
    // napi-build looks for the first, the linker takes the second: an archive of no files.
    fs::write(folder.join("libnode.dll"), "")?;
    fs::write(folder.join("libnode.a"), "!<arch>\n")?;
    Ok(folder)
}

/// Fails if Node could not load an addon, or only with a later glibc.
fn check(addon: &[u8]) -> Result<()> {
    let file = object::File::parse(addon)?;
    let exports: Vec<_> = file.exports()?.iter().map(|export| name_of(export.name())).collect();
    ensure!(exports.contains(&EXPORT), "expected the export {EXPORT}, found {exports:?}");
    for import in file.imports()? {
        let name = name_of(import.name());
        let of_node = name.starts_with("napi_") || name.starts_with("node_api_");
        ensure!(!of_node, "expected that functions of Node are looked up, found the import {name}");
    }
    // The names of versions stand beside those of symbols.
    let strings = file.section_by_name(".dynstr").map(|section| section.data()).transpose()?;
    for string in strings.unwrap_or_default().split(|byte| *byte == 0) {
        let text = String::from_utf8_lossy(string);
        let Some(version) = text.strip_prefix("GLIBC_2.") else { continue };
        let minor = version.split('.').next().and_then(|minor| minor.parse::<u32>().ok());
        ensure!(
            minor.is_some_and(|minor| minor <= GLIBC_MAX),
            "expected glibc 2.{GLIBC_MAX} at most, found {text}"
        );
    }
    Ok(())
}

/// Returns a symbol's name without the underscore that macOS has before it.
fn name_of(symbol: &[u8]) -> &str {
    let name = std::str::from_utf8(symbol).unwrap_or_default();
    name.strip_prefix('_').unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_names_its_platform() {
        let package = Platform::LinuxArm64Musl.package("1.2.3");
        for part in [
            r#""name": "terrane-node-linux-arm64-musl""#,
            r#""version": "1.2.3""#,
            r#""os": ["linux"]"#,
            r#""cpu": ["arm64"]"#,
            r#""libc": ["musl"]"#,
        ] {
            assert!(package.contains(part), "{part} in {package}");
        }
        assert!(Platform::LinuxX64.package("1.2.3").contains(r#""libc": ["glibc"]"#));
        assert!(!Platform::DarwinX64.package("1.2.3").contains("libc"));
    }

    #[test]
    fn a_file_that_is_no_addon_is_refused() {
        assert!(check(b"text").is_err());
        // A program, which exports nothing to Node.
        let program = fs::read(std::env::current_exe().unwrap()).unwrap();
        let refused = check(&program).unwrap_err().to_string();
        assert!(refused.starts_with("expected the export"), "{refused}");
    }
}
