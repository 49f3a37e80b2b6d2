//! Checks of the server by foreign tools: Redis's own test suite, and Prometheus's checker of metrics.
//!
//! 1. Redis's source is in the folder that `TERRANE_REDIS_SOURCE` names, or below `target/debian`. `promtool` is on
//!    `PATH`, or below `target/debian`.
//! 2. A full run fetches the tools that are missing. Other runs leave their checks out and say so, so that they need no
//!    network.

use crate::debian::{self, Folder};
use crate::progress;
use crate::test::{Extent, Run};
use crate::workspace::{Workspace, on_path};
use anyhow::{Context, Result, ensure};
use std::env;
use std::path::PathBuf;

/// The version of Redis whose suite is run.
const REDIS: &str = "7.0.15";

/// Runs those of Redis's own tests that concern the server, if they are there.
///
/// # Errors
/// Tests that fail.
pub fn redis_suite(run: &Run) -> Result<String> {
    let source = redis_source(run.workspace, run.extent == Extent::Full);
    let arguments = ["--test", "redis", "--", "--ignored"];
    test_with(run, "Redis's suite", "TERRANE_REDIS_SOURCE", source, &arguments)
}

/// Checks metrics by Prometheus's tool, if it is there.
///
/// # Errors
/// Metrics that it refuses.
pub fn promtool(run: &Run) -> Result<String> {
    let tool = prometheus_tool(run.workspace, run.extent == Extent::Full);
    let arguments = ["--test", "http", "--", "admin::metrics"];
    test_with(run, "metrics by promtool", "TERRANE_PROMTOOL", tool, &arguments)
}

/// Runs tests that find what they need by `variable`. If it is missing, says that they are left out.
fn test_with(
    run: &Run,
    label: &str,
    variable: &str,
    needed: Result<PathBuf>,
    arguments: &[&str],
) -> Result<String> {
    match needed {
        Ok(path) => {
            let mut command = run.tests(arguments);
            command.env(variable, path);
            run.with(&[], &format!("cargo test of {label}"), command)
        }
        Err(missing) => {
            progress::say(&format!("  left out: {missing:#}"));
            Ok(String::new())
        }
    }
}

/// Returns the source of Redis, if `tclsh` is there as well. Fetches both if `fetches`.
fn redis_source(workspace: &Workspace, fetches: bool) -> Result<PathBuf> {
    if on_path(&["tclsh"]).next().is_none() {
        let missing = "there is no tclsh: Debian's package tcl has it";
        may_fetch(fetches).and_then(|()| debian::install(workspace, &["tcl"])).context(missing)?;
    }
    if let Some(source) = env::var_os("TERRANE_REDIS_SOURCE") {
        return Ok(source.into());
    }
    let folder = Folder::new(workspace);
    let source = folder.path.join(format!("redis-{REDIS}"));
    if !source.join("tests").exists() {
        let missing = format!("there is no source of Redis {REDIS}: see TERRANE_REDIS_SOURCE");
        may_fetch(fetches).and_then(|()| fetch_redis(workspace, &folder)).context(missing)?;
    }
    Ok(source)
}

fn fetch_redis(workspace: &Workspace, folder: &Folder) -> Result<()> {
    folder.fetch(&["source", "--download-only", "redis"])?;
    let archive = folder.file(&format!("redis_{REDIS}"), ".orig.tar.gz")?;
    let mut unpack = workspace.command("tar");
    unpack.arg("-xzf").arg(archive).current_dir(&folder.path);
    progress::run("tar -xzf of Redis's source", unpack).map(drop)
}

/// Returns the path of `promtool`. Fetches it if `fetches`.
fn prometheus_tool(workspace: &Workspace, fetches: bool) -> Result<PathBuf> {
    if let Some(found) = on_path(&["promtool"]).next() {
        return Ok(found);
    }
    let folder = Folder::new(workspace);
    let tool = folder.path.join("prometheus/usr/bin/promtool");
    if !tool.exists() {
        let missing = "there is no promtool: Debian's package prometheus has it";
        may_fetch(fetches).and_then(|()| fetch_prometheus(workspace, &folder)).context(missing)?;
    }
    Ok(tool)
}

fn fetch_prometheus(workspace: &Workspace, folder: &Folder) -> Result<()> {
    folder.fetch(&["download", "prometheus"])?;
    let package = folder.file("prometheus_", ".deb")?;
    let mut unpack = workspace.command("dpkg-deb");
    unpack.arg("-x").arg(package).arg("prometheus").current_dir(&folder.path);
    progress::run("dpkg-deb -x of Prometheus", unpack).map(drop)
}

fn may_fetch(fetches: bool) -> Result<()> {
    ensure!(fetches, "a run with --full fetches it");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{prometheus_tool, redis_source};
    use crate::workspace::Workspace;

    #[test]
    #[ignore = "fetches packages from Debian"]
    fn missing_tools_are_fetched() {
        let workspace = Workspace::find();
        assert!(redis_source(&workspace, true).unwrap().join("tests/test_helper.tcl").exists());
        assert!(prometheus_tool(&workspace, true).unwrap().exists());
        assert!(redis_source(&workspace, false).is_ok());
    }
}
