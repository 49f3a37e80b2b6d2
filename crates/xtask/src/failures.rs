//! Names of failed tests, found in what test runners print, and in errors of commands that ran them.
//!
//! 1. Cargo and Node name a test on a line of its own when it has failed; so does vitest.
//! 2. Playwright has a reporter for this in `tests/e2e`. A test that passed when it was tried again is *flaky*:
//!    its step has passed, but the test is named.
//! 3. Cargo reports a test that runs for over a minute. One that has no result when its command is ended hangs.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::process::ExitStatus;
use std::time::Duration;

/// A command that ended with anything but success, or was ended.
#[derive(Debug)]
pub struct CommandFailed {
    /// The name under which it ran.
    pub label: String,
    /// Exit status; `None` if the command was ended because it printed nothing for the duration of `silence`.
    pub status: Option<ExitStatus>,
    /// The longest time for which it might print nothing.
    pub silence: Duration,
    /// All of its output.
    pub output: String,
}

impl Error for CommandFailed {}

impl Display for CommandFailed {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let Self { label, status, silence, output } = self;
        let Some(status) = status else {
            let minutes = silence.as_secs() / 60;
            write!(f, "{label}: hangs: it printed nothing for {minutes} minutes and was ended")?;
            return running(output).iter().try_for_each(|test| write!(f, "\n  running: {test}"));
        };
        write!(f, "{label}: {status}")
    }
}

/// Returns the names of tests that failed or hang, from an error of a command.
pub fn of_error(error: &anyhow::Error) -> Vec<String> {
    let Some(CommandFailed { status, output, .. }) = error.downcast_ref() else { return vec![] };
    let mut names = of_output(output);
    if status.is_none() {
        names.extend(running(output).into_iter().map(|test| format!("{test} (hangs)")));
    }
    names
}

/// Returns the names of tests that failed, or failed at first, each once, in their order.
pub fn of_output(output: &str) -> Vec<String> {
    let mut names = Vec::new();
    for name in output.lines().filter_map(of_line) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn of_line(line: &str) -> Option<String> {
    let line = without_colours(line);
    let line = line.trim();
    let cargo = || line.strip_prefix("test ")?.strip_suffix(" ... FAILED");
    let tap = || line.strip_prefix("not ok ")?.split_once(" - ").map(|(_, name)| name);
    let spec = || Some(line.strip_prefix("✖ ")?).filter(|name| *name != "failing tests:");
    let vitest = || line.strip_prefix("FAIL  ");
    let browser = || line.strip_prefix("failed test: ").or(line.strip_prefix("flaky test: "));
    let name = cargo().or_else(tap).or_else(spec).or_else(vitest).or_else(browser)?;
    // Node writes the time that a test took behind its name.
    let timed = name.strip_suffix("ms)").and_then(|name| name.rsplit_once(" ("));
    Some(timed.map_or(name, |(name, _)| name).to_owned())
}

/// Returns the tests that cargo reported as long-running and that have no result.
fn running(output: &str) -> Vec<String> {
    let mut running: Vec<&str> = Vec::new();
    for line in output.lines() {
        let Some(rest) = line.strip_prefix("test ") else { continue };
        if let Some((name, _)) = rest.split_once(" has been running for over ") {
            running.push(name);
        } else if let Some((name, _)) = rest.rsplit_once(" ... ") {
            running.retain(|test| *test != name);
        }
    }
    running.into_iter().map(String::from).collect()
}

/// Returns the line without the escape sequences of a terminal.
fn without_colours(line: &str) -> String {
    let mut parts = line.split('\x1b');
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.split_once('m').map_or(part, |(_, text)| text));
    std::iter::once(first).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::{CommandFailed, of_error, of_output};
    use anyhow::anyhow;
    use std::time::Duration;

    #[test]
    fn failed_tests_of_each_runner_are_named_once() {
        let output = "test a::passes ... ok\n\
            test a::fails ... FAILED\n\
            test crates/a/src/lib.rs - (line 3) ... FAILED\n\
            failures:\n    a::fails\n\
            ok 1 - works\nnot ok 2 - a store, closed\n    not ok 1 - a part\n\
            ✔ works (1.5ms)\n✖ fails in colour (21.25ms)\n✖ failing tests:\n✖ fails in colour (21.25ms)\n\
            \x1b[31m FAIL \x1b[39m test/keys.test.ts > keys > are sorted\n\
            failed test: [firefox] › a.spec.ts › b (c)\n  ✘  7 [firefox] › a.spec.ts:1:1 › b (c) (2.0s)\n\
            flaky test: [chromium] › a.spec.ts › d\nfailed test: [firefox] › a.spec.ts › b (c)\n";
        let expected = [
            "a::fails",
            "crates/a/src/lib.rs - (line 3)",
            "a store, closed",
            "a part",
            "fails in colour",
            "test/keys.test.ts > keys > are sorted",
            "[firefox] › a.spec.ts › b (c)",
            "[chromium] › a.spec.ts › d",
        ];
        assert_eq!(of_output(output), expected);
    }

    #[test]
    fn a_command_that_was_ended_names_the_tests_that_hang() {
        let output = "test a::slow has been running for over 60 seconds\n\
            test a::stuck has been running for over 60 seconds\n\
            test a::slow ... ok\ntest a::fails ... FAILED\n";
        let silence = Duration::from_secs(1800);
        let label = "cargo test".to_owned();
        let hung = CommandFailed { label, status: None, silence, output: output.to_owned() };
        let error = anyhow!(hung).context("a step");
        assert_eq!(of_error(&error), ["a::fails", "a::stuck (hangs)"]);
        let said = format!("{error:#}");
        assert!(said.contains("hangs: it printed nothing for 30 minutes"), "{said}");
        assert!(said.ends_with("running: a::stuck"), "{said}");
        assert_eq!(of_error(&anyhow!("no toolchain")), [""; 0]);
    }
}
