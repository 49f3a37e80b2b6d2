//! The suites, round after round, beside processes that keep every processor busy: finds the tests that fail then,
//! and how often.
//!
//! 1. Busy processes are started, two for each processor, which leave the suites a third of it.
//! 2. Each round runs one suite after the other, whatever failed before.
//! 3. Every test that ever failed is listed, including tests that passed when they were tried again.

use crate::failures;
use crate::processes::Busy;
use anyhow::Result;
use std::num::NonZero;
use std::process::ExitCode;
use std::thread;

/// A suite: its name, and the work of a round, which returns its output.
pub type Suite<'a> = (&'static str, Box<dyn Fn() -> Result<String> + 'a>);

/// Runs `rounds` rounds of the suites. Success when no test ever failed.
///
/// # Errors
/// A busy process that cannot be started.
pub fn run(rounds: u32, suites: &[Suite]) -> Result<ExitCode> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let busy = Busy::start(2 * processors)?;
    let mut tally = Tally::default();
    for round in 1..=rounds {
        for (name, suite) in suites {
            println!("\n[round {round} of {rounds}] {name}");
            let outcome = suite();
            if let Err(error) = &outcome {
                println!("  {error:#}");
            }
            tally.add(name, &outcome);
        }
    }
    drop(busy);
    println!("\n{rounds} rounds beside {} busy processes", 2 * processors);
    println!("{}", tally.lines(rounds).join("\n"));
    Ok(if tally.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The failures of tests, counted.
#[derive(Default)]
struct Tally {
    /// Suite, test, and the number of rounds in which it failed; in the order of the first failures.
    failures: Vec<(String, String, u32)>,
}

impl Tally {
    /// Counts the failed tests of one round of a suite.
    fn add(&mut self, suite: &str, outcome: &Result<String>) {
        let mut tests = match outcome {
            Ok(output) => failures::of_output(output),
            Err(error) => failures::of_error(error),
        };
        if tests.is_empty() && outcome.is_err() {
            tests.push("failed without naming a test".to_owned());
        }
        for test in tests {
            match self.failures.iter_mut().find(|(of, name, _)| of == suite && *name == test) {
                Some((.., count)) => *count += 1,
                None => self.failures.push((suite.to_owned(), test, 1)),
            }
        }
    }

    /// The summary: the tests that failed most often first.
    fn lines(&self, rounds: u32) -> Vec<String> {
        let mut sorted: Vec<_> = self.failures.iter().collect();
        sorted.sort_by_key(|(.., count)| u32::MAX - count);
        let line = |(suite, test, count): &&(String, String, u32)| {
            format!("  failed in {count} of {rounds}: {suite}: {test}")
        };
        let mut lines: Vec<String> = sorted.iter().map(line).collect();
        lines.push(match lines.len() {
            0 => "no test failed".to_owned(),
            1 => "1 test failed".to_owned(),
            count => format!("{count} tests failed"),
        });
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;
    use crate::failures::CommandFailed;
    use std::process::Command;
    use std::time::Duration;

    fn failed(output: &str) -> anyhow::Error {
        let status = Some(Command::new("false").status().unwrap());
        let (label, output) = ("cargo test".to_owned(), output.to_owned());
        CommandFailed { label, status, silence: Duration::ZERO, output }.into()
    }

    #[test]
    fn a_tally_lists_each_failed_test_with_its_rounds() {
        let mut tally = Tally::default();
        assert_eq!(tally.lines(3), ["no test failed"]);
        tally.add("Rust tests", &Err(failed("test a ... FAILED\ntest b ... FAILED\n")));
        tally.add("Rust tests", &Err(failed("test b ... FAILED\ntest c ... ok\n")));
        tally.add("browser", &Ok("flaky test: b\n".to_owned()));
        tally.add("clippy", &Err(anyhow::anyhow!("no clippy")));
        let expected = [
            "  failed in 2 of 3: Rust tests: b",
            "  failed in 1 of 3: Rust tests: a",
            "  failed in 1 of 3: browser: b",
            "  failed in 1 of 3: clippy: failed without naming a test",
            "4 tests failed",
        ];
        assert_eq!(tally.lines(3), expected);
    }
}
