//! Mutation tests: `cargo-mutants` breaks the code in one place after another, and a test must fail
//! each time. What it leaves alone is in `.cargo/mutants.toml`, with the reasons.
//!
//! 1. A crate's mutants meet the unit tests of that crate.
//! 2. Those of the engine that survive meet the tests that cross crates, which take longer.

use crate::rust::CargoMutants;
use crate::setup;
use crate::workspace::Workspace;
use anyhow::{Result, bail, ensure};
use clap::ValueEnum;
use std::fs;

/// A crate whose tests are put to the test.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// terrane-types
    Types,
    /// terrane-policy
    Policy,
    /// terrane-table
    Table,
    /// terrane-platform
    Platform,
    /// terrane
    Terrane,
}

/// Tests the mutants of one crate, or of all; `arguments` go to `cargo-mutants`.
///
/// # Errors
/// A missing tool, tests that fail without a mutant, and the crates with mutants that survived.
pub fn run(workspace: &Workspace, only: Option<Target>, arguments: &[String]) -> Result<()> {
    setup::ensure(workspace, &[&CargoMutants])?;
    let mut survived = Vec::new();
    for target in Target::value_variants().iter().filter(|t| only.is_none_or(|only| only == **t)) {
        let (package, features): (_, &[&str]) = match target {
            Target::Types => ("terrane-types", &[]),
            Target::Policy => ("terrane-policy", &["--features", "terrane-policy/testing"]),
            Target::Table => ("terrane-table", &["--features", "terrane-table/testing"]),
            Target::Platform => ("terrane-platform", &[]),
            Target::Terrane => ("terrane", &["--features", "terrane/testing"]),
        };
        let unit = [features, &["--cargo-arg=--lib"]].concat();
        let mut all_caught = caught(workspace, package, &unit, arguments)?;
        if !all_caught && *target == Target::Terrane {
            let crossing =
                ["--iterate", "--test-package=terrane-tests", "--cargo-arg=--test=engine"];
            all_caught = caught(workspace, package, &[features, &crossing].concat(), arguments)?;
        }
        if !all_caught {
            survived.push(package);
        }
    }
    ensure!(survived.is_empty(), "mutants survived in {}", survived.join(", "));
    Ok(())
}

/// Whether tests notice every mutant of a package.
fn caught(workspace: &Workspace, package: &str, how: &[&str], more: &[String]) -> Result<bool> {
    let output = workspace.path("target/mutants").join(package);
    fs::create_dir_all(&output)?;
    let mut cargo = workspace.cargo(&["mutants", "--package", package, "--output"]);
    cargo.arg(output).args(how).args(more);
    // Half of a mutant's time is its build.
    cargo.envs([("CARGO_PROFILE_DEV_DEBUG", "0"), ("CARGO_PROFILE_TEST_DEBUG", "0")]);
    match cargo.status()?.code() {
        // 3: all were noticed, some because a test did not come to its end.
        Some(0 | 3) => Ok(true),
        Some(2) => Ok(false),
        code => bail!("cargo mutants --package {package} exits with {code:?}"),
    }
}
