//! Steps of the tests that run in browsers.

use crate::browser::{Browser, CHROMIUM, FIREFOX};
use crate::need::Need;
use crate::node::{self, BUNDLERS, CHECKS, E2E, LEVEL};
use crate::setup;
use crate::test::{Run, SKIPPED, command_line};
use crate::webkit::{self, WebKit};
use anyhow::Result;

/// Tests the packed package in projects that install it.
pub fn of_package(run: &Run) -> Result<String> {
    for package in [CHECKS].iter().chain(&BUNDLERS) {
        setup::ensure(run.workspace, &[&node::Node, &node::Npm, package])?;
    }
    in_browser(run, &CHROMIUM, "packages")
}

pub fn in_chromium(run: &Run) -> Result<String> {
    in_browser(run, &CHROMIUM, "test")
}

pub fn of_visualizer(run: &Run) -> Result<String> {
    in_browser(run, &CHROMIUM, "visualizer")
}

pub fn in_firefox(run: &Run) -> Result<String> {
    in_browser(run, &FIREFOX, "firefox")
}

/// Runs a script of `tests/e2e` in a browser.
fn in_browser(run: &Run, browser: &Browser, script: &str) -> Result<String> {
    setup::ensure(run.workspace, &[&node::Node, &node::Npm, &LEVEL, &E2E, browser])?;
    let mut command = run.workspace.npm(E2E.folder, &["run", script]);
    command.env(browser.variable, browser.executable(run.workspace)?);
    command.env("TERRANE", command_line(run)?);
    run.with(&[], &format!("npm run {script} in tests/e2e"), command)
}

/// Runs the tests in WebKit. Few systems have it: without it the step is skipped and says what is missing.
pub fn in_webkit(run: &Run) -> Result<String> {
    if let Err(missing) = WebKit.found(run.workspace) {
        return Ok(format!("{SKIPPED}{missing}; {}", WebKit.remedy(run.workspace)));
    }
    let mut command = run.workspace.npm(E2E.folder, &["run", "webkit"]);
    command.env(webkit::VARIABLE, webkit::driver());
    run.with(&[&node::Node, &node::Npm, &E2E], "npm run webkit in tests/e2e", command)
}
