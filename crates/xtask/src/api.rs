//! The public API of the crates that are published, kept as lists: no change of it goes unnoticed.
//!
//! 1. `cargo rustdoc` writes a crate's documentation as JSON, which stable compilers do only for `RUSTC_BOOTSTRAP`;
//!    in a folder of its own, since that variable has build scripts run again.
//! 2. `public-api`, the library of cargo-public-api, lists every public item with its signature, and every
//!    implementation that is written out. Items marked `doc(hidden)` are no part of it.
//! 3. The list is compared with the crate's `public-api.txt`, which `cargo xtask api` writes again.

use crate::progress;
use crate::workspace::Workspace;
use anyhow::{Context, Result, ensure};
use public_api::Builder;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

/// The published libraries: their names, and their folders in `crates`.
const CRATES: [(&str, &str); 7] = [
    ("terrane-types", "types"),
    ("terrane-policy", "policy"),
    ("terrane-table", "table"),
    ("terrane-platform", "platform"),
    ("terrane", "terrane"),
    ("terrane-opfs", "opfs"),
    ("terrane-tokio", "tokio"),
];

/// Compares the public API of each crate with its list.
///
/// # Errors
/// Every difference, a line each; documentation that cannot be written.
pub fn check(workspace: &Workspace) -> Result<()> {
    let mut differences = String::new();
    for (name, folder) in CRATES {
        let (found, path) = (public(workspace, name)?, list_of(folder));
        let kept = fs::read_to_string(workspace.path(&path)).unwrap_or_default();
        let mut add = |mark: char, of: &str, other: &str| {
            for line in of.lines().filter(|line| !other.lines().any(|kept| kept == *line)) {
                let _ = write!(differences, "\n  {path}: {mark} {line}");
            }
        };
        add('-', &kept, &found);
        add('+', &found, &kept);
    }
    ensure!(
        differences.is_empty(),
        "the public API differs from its lists; `cargo xtask api` writes them again:{differences}"
    );
    Ok(())
}

/// Writes the lists again.
///
/// # Errors
/// Documentation or a list that cannot be written.
pub fn write(workspace: &Workspace) -> Result<()> {
    for (name, folder) in CRATES {
        let path = list_of(folder);
        fs::write(workspace.path(&path), public(workspace, name)?)
            .with_context(|| format!("write {path}"))?;
    }
    Ok(())
}

fn list_of(folder: &str) -> String {
    format!("crates/{folder}/public-api.txt")
}

/// Returns the public API of a crate, an item a line.
fn public(workspace: &Workspace, name: &str) -> Result<String> {
    let target = workspace.path("target/api");
    let mut rustdoc = workspace.cargo(&["rustdoc", "--package", name, "--lib", "--target-dir"]);
    rustdoc.arg(&target).args(["--", "-Z", "unstable-options", "--output-format", "json"]);
    rustdoc.env("RUSTC_BOOTSTRAP", "1");
    progress::run(&format!("cargo rustdoc --package {name}"), rustdoc)?;
    let json: PathBuf = target.join("doc").join(format!("{}.json", name.replace('-', "_")));
    let api = Builder::from_rustdoc_json(&json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .build()
        .with_context(|| format!("read {}, which this compiler's rustdoc wrote", json.display()))?;
    Ok(list(api.items().map(|item| item.to_string())))
}

/// Returns the items, a line each, without the methods of traits that other crates declare: the implementation says
/// that they are there.
fn list(items: impl Iterator<Item = String>) -> String {
    let (mut lines, mut is_foreign) = (String::new(), false);
    for item in items {
        let is_method =
            ["pub fn ", "pub unsafe fn ", "pub const fn "].map(|of| item.starts_with(of));
        if !is_method.contains(&true) {
            let of_trait = item.strip_prefix("impl").and_then(|rest| rest.split_once(" for "));
            is_foreign = match of_trait {
                Some((of, _)) => !of.contains("terrane"),
                None => is_foreign && item.starts_with("pub type "),
            };
        }
        if !(is_foreign && is_method.contains(&true)) {
            lines.push_str(&item);
            lines.push('\n');
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::list;

    #[test]
    fn methods_of_foreign_traits_are_left_out_of_the_list() {
        let items = [
            "pub struct terrane::Scan",
            "impl terrane::Scan",
            "pub fn terrane::Scan::len(&self) -> usize",
            "impl core::iter::Iterator for terrane::Scan",
            "pub type terrane::Scan::Item = u8",
            "pub fn terrane::Scan::next(&mut self) -> core::option::Option<Self::Item>",
            "impl terrane::File for terrane::Scan",
            "pub fn terrane::Scan::sync(&self)",
            "pub fn terrane::open()",
        ];
        let listed = list(items.iter().map(|item| (*item).to_owned()));
        let expected = items.iter().enumerate().filter(|(at, _)| *at != 5);
        assert!(listed.lines().eq(expected.map(|(_, item)| *item)));
    }
}
