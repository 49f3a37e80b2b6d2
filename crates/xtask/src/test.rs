//! Every check of the repository, as a list of steps.
//!
//! 1. A step first installs what it needs, then runs its commands; it fails alone.
//! 2. Three run at a time ([`lanes`]), and all are run but those that rest on one that failed.
//! 3. A table, the names of all failed tests, and one line, `N passed, N failed`, end the run.

use crate::browser_tests as browsers;
use crate::lanes::{self, Lane, Outcome, Task};
use crate::need::Need;
use crate::node::{self, BINDINGS, CLIENTS, COMPARISON, Packages};
use crate::program::{CURL, OPENSSL, REDIS_CLI};
use crate::progress::{self, seconds};
use crate::rust::{CLIPPY, CargoDeny, RUSTFMT, Toolchain, WasmTarget};
use crate::setup;
use crate::test_counts::passed_in;
use crate::workspace::Workspace;
use crate::{addon, api, demo, failures, foreign, stress, tidy, wasm};
use anyhow::Result;
use clap::ValueEnum;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

/// A part of the checks that can be run alone.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// The Rust tests
    Rust,
    /// The browser build, and the tests that npm runs: of the package, in Chromium, Firefox and WebKit, and of the
    /// server's clients
    Browser,
    /// Format, lints and documentation
    Lint,
}

/// Extent of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The checks that find most mistakes in a few minutes
    Quick,
    /// Every step
    Every,
    /// Every step, with the exhaustive and long tests
    Full,
    /// The suites, beside busy processes
    Stress,
}

impl Extent {
    /// The longest time for which a step may print nothing.
    fn silence_max(self) -> Duration {
        let hours = |hours: u64| Duration::from_secs(3600 * hours);
        match self {
            Self::Quick | Self::Every => hours(1) / 2,
            Self::Full => hours(6),
            Self::Stress => hours(3),
        }
    }
}

struct Step {
    name: &'static str,
    part: Part,
    /// The steps without which this one makes no sense.
    after: &'static [&'static str],
    /// Whether it belongs to the short round of daily work.
    quick: bool,
    /// Whether it runs a suite of tests that may depend on how busy the machine is.
    suite: bool,
    /// Returns the output in which tests are counted.
    run: fn(&Run) -> Result<String>,
}

const fn step(name: &'static str, part: Part, run: fn(&Run) -> Result<String>) -> Step {
    Step { name, part, after: &[], quick: false, suite: false, run }
}

const fn quick(name: &'static str, part: Part, run: fn(&Run) -> Result<String>) -> Step {
    Step { quick: true, ..step(name, part, run) }
}

const fn suite(step: Step) -> Step {
    Step { suite: true, ..step }
}

/// In the order in which the first two lanes take them: what others wait for, and what takes longest. The third
/// starts at the end, but not with an installation, for which the browser build would wait.
const STEPS: [Step; 24] = [
    quick("tidy", Part::Lint, tidy),
    quick("format", Part::Lint, format),
    suite(quick("Rust tests", Part::Rust, rust_tests)),
    quick("clippy", Part::Lint, clippy),
    step("clippy for the browser", Part::Lint, clippy_wasm),
    step("interleavings", Part::Rust, interleavings),
    step("Redis's suite", Part::Rust, foreign::redis_suite),
    step("promtool", Part::Rust, foreign::promtool),
    quick(BUILD, Part::Browser, wasm_build),
    Step { after: &[BUILD], ..step(DEMO, Part::Browser, demo_build) },
    Step {
        after: &[DEMO],
        ..suite(step("tests in Chromium", Part::Browser, browsers::in_chromium))
    },
    Step { after: &[DEMO], ..suite(step("tests in Firefox", Part::Browser, browsers::in_firefox)) },
    Step { after: &[DEMO], ..suite(step("visualizer", Part::Browser, browsers::of_visualizer)) },
    Step { after: &[DEMO], ..suite(step("tests in WebKit", Part::Browser, browsers::in_webkit)) },
    Step { after: &[BUILD], ..suite(step("packed package", Part::Browser, browsers::of_package)) },
    Step { after: &[BUILD], ..step("simulator", Part::Browser, site_module_tests) },
    Step { after: &[BUILD], ..suite(quick("npm package", Part::Browser, package_tests)) },
    Step { after: &[BUILD], ..suite(step("addon of Node", Part::Browser, addon_tests)) },
    Step { after: &[BUILD], ..step("browser comparison", Part::Browser, comparison_build) },
    suite(step("client libraries", Part::Browser, client_tests)),
    Step { after: &[BUILD], ..step("publishing", Part::Browser, publishing) },
    step("dependencies", Part::Lint, dependencies),
    step("documentation", Part::Lint, documentation),
    step("oldest compiler", Part::Lint, oldest_compiler),
];
/// Prefix of the output of a step that was skipped; the reason follows.
pub const SKIPPED: &str = "skipped: ";
const BUILD: &str = "browser build";
const DEMO: &str = "demo build";

/// The features under which tests can inject faults.
const TESTING: [&str; 2] = ["--features", "terrane/testing"];

/// The crates that have tests: all but one, whose dependencies take long to build.
const TESTED: [&str; 3] = ["--workspace", "--exclude", "terrane-bench"];

/// The tests of the crates themselves, and of those that cross crates the ones that find most.
const QUICK_TESTS: [&[&str]; 2] =
    [&["--lib", "--bins"], &["--test", "engine", "--", "crash::", "durability_rules::", "model::"]];

/// A package whose dependencies need all of the features that procedural macros are built with: beside
/// it, others get the macros that were built for the whole workspace.
pub const SAME_MACROS: [&str; 2] = ["--package", "terrane-opfs"];

/// Folders of other workspaces: the programs in `crates/xtask/tools`, their replacements of crates, and the
/// comparisons with other stores.
const ELSEWHERE: [&str; 7] = [
    "bench/browser/rust/src/lib.rs",
    "bench/native/src/main.rs",
    "crates/xtask/tools/wasm_pack.rs",
    "crates/xtask/tools/wasm_bindgen.rs",
    "crates/xtask/tools/binary-install/lib.rs",
    "crates/xtask/tools/human-panic/lib.rs",
    "crates/xtask/tools/ureq/lib.rs",
];

/// The GNU C library keeps what is freed. Else the kernel clears pages again and again, for a fifth of
/// the time of tests that copy whole stores.
const KEEP_MEMORY: [(&str, &str); 3] = [
    ("MALLOC_MMAP_THRESHOLD_", "33554432"),
    ("MALLOC_TOP_PAD_", "1048576"),
    ("MALLOC_TRIM_THRESHOLD_", "536870912"),
];

/// Node's tests, with an output that [`failures`] reads.
const NODE_TESTS: [&str; 2] = ["--test", "--test-reporter=tap"];

/// Crates that the tests of interleavings run seldom: compiled without optimisation.
const UNOPTIMISED: [&str; 3] = [
    "--config=profile.dev.package.terrane-policy.opt-level=0",
    "--config=profile.dev.package.terrane-tests.opt-level=0",
    "--config=profile.dev.package.terrane-concurrency.opt-level=0",
];

/// State shared by the steps.
pub struct Run<'a> {
    pub workspace: &'a Workspace,
    pub extent: Extent,
}

/// Runs the steps of `only`, or all. Success when all passed.
///
/// # Errors
/// None at present: a step that fails is counted and shown.
pub fn run(workspace: &Workspace, extent: Extent, only: Option<Part>) -> Result<ExitCode> {
    let run = Run { workspace, extent };
    progress::end_after_silence(extent.silence_max());
    let wanted = |step: &&Step| {
        only.is_none_or(|part| part == step.part) && (step.quick || extent != Extent::Quick)
    };
    let steps: Vec<&Step> = STEPS.iter().filter(wanted).collect();
    let tasks: Vec<Task> = steps.iter().map(|step| step.task(&run)).collect();
    let results = lanes::run(&tasks);
    let rows =
        steps.iter().zip(&results).map(|(step, (outcome, elapsed))| (step.name, outcome, *elapsed));
    Ok(summary(rows))
}

/// Runs the suites of `only`, or all, in `rounds` rounds beside busy processes. Success when no test ever failed.
///
/// # Errors
/// A suite that cannot be built, or a busy process that cannot be started.
pub fn stress(workspace: &Workspace, rounds: u32, only: Option<Part>) -> Result<ExitCode> {
    progress::end_after_silence(Extent::Stress.silence_max());
    let suites =
        || STEPS.iter().filter(|step| step.suite && only.is_none_or(|part| part == step.part));
    // What they test is built before anything is busy.
    let built = Run { workspace, extent: Extent::Every };
    let is_ground = |step: &&Step| suites().any(|suite| suite.after.contains(&step.name));
    if suites().any(|suite| suite.part == Part::Rust) {
        cargo_test(&built, &["--no-run"])?;
    }
    for ground in STEPS.iter().filter(is_ground) {
        (ground.run)(&built)?;
    }
    let run = Run { workspace, extent: Extent::Stress };
    let round = |step: &'static Step| -> stress::Suite {
        let run = &run;
        (step.name, Box::new(move || (step.run)(run)))
    };
    stress::run(rounds, &suites().map(round).collect::<Vec<_>>())
}

impl Step {
    fn task<'a>(&'a self, run: &'a Run) -> Task<'a> {
        let lane = if self.part == Part::Browser { Lane::Browser } else { Lane::Cargo };
        Task { name: self.name, lane, after: self.after, run: Box::new(|| (self.run)(run)) }
    }
}

fn summary<'a>(results: impl Iterator<Item = (&'a str, &'a Outcome, Duration)>) -> ExitCode {
    println!();
    let (mut passed, mut failed, mut named) = (0, 0, Vec::new());
    for (name, outcome, elapsed) in results {
        let (word, note) = match outcome {
            Outcome::Passed(output) => match output.lines().filter_map(passed_in).sum::<u64>() {
                0 if output.starts_with(SKIPPED) => ("skipped", output[SKIPPED.len()..].into()),
                0 => ("passed", String::new()),
                tests => ("passed", format!("{tests} tests")),
            },
            Outcome::Failed { .. } => ("FAILED", String::new()),
            Outcome::NotRun { because } => ("not run", format!("{because} did not pass")),
        };
        match outcome {
            Outcome::Passed(output) => {
                passed += 1;
                let flaky = failures::of_output(output).into_iter();
                named
                    .extend(flaky.map(|test| format!("  passed when tried again: {name}: {test}")));
            }
            Outcome::Failed { tests } => {
                failed += 1;
                named.extend(tests.iter().map(|test| format!("  FAILED: {name}: {test}")));
            }
            Outcome::NotRun { .. } => failed += 1,
        }
        let row = format!("  {name:<24} {word:<8} {:>12}  {note}", seconds(elapsed));
        println!("{}", row.trim_end());
    }
    if !named.is_empty() {
        println!("\n{}", named.join("\n"));
    }
    println!("\n{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Run<'_> {
    /// Installs `needs`, then runs one command.
    pub fn with(&self, needs: &[&dyn Need], label: &str, mut command: Command) -> Result<String> {
        setup::ensure(self.workspace, needs)?;
        if self.extent == Extent::Full {
            command.env("TERRANE_FULL", "1");
        }
        if self.extent == Extent::Stress {
            // The limits of browser tests are for a machine that has half of its time for them.
            command.env("TERRANE_PATIENCE", "10");
        }
        progress::run(label, command)
    }

    /// Returns a command that runs tests of the workspace.
    pub fn tests(&self, arguments: &[&str]) -> Command {
        // One failing crate must not hide the others.
        let mut command = self.workspace.cargo(&["test", "--no-fail-fast"]);
        command.args(TESTED).args(TESTING).args(arguments).envs(KEEP_MEMORY);
        command
    }

    fn is_quick(&self) -> bool {
        self.extent == Extent::Quick
    }

    fn npm(&self, package: Packages, arguments: &[&str]) -> Result<String> {
        let label = format!("npm {} in {}", arguments.join(" "), package.folder);
        let command = self.workspace.npm(package.folder, arguments);
        self.with(&[&node::Node, &node::Npm, &package], &label, command)
    }
}

fn tidy(run: &Run) -> Result<String> {
    progress::say(&format!("  {} files", tidy::check(run.workspace)?));
    Ok(String::new())
}

/// The policies' modules are declared by a macro, which the formatter does not look into; some
/// programs are in workspaces of their own.
fn format(run: &Run) -> Result<String> {
    let mut command = run.workspace.cargo(&["fmt", "--all", "--check", "--", "--color=never"]);
    for entry in fs::read_dir(run.workspace.path("crates/policy/src/policies"))? {
        let path = entry?.path();
        command.arg(if path.is_dir() { path.join("mod.rs") } else { path });
    }
    command.args(ELSEWHERE.map(|source| run.workspace.path(source)));
    run.with(&[&RUSTFMT], "cargo fmt --all --check", command)
}

/// Once as the tests compile the workspace, once as users compile the engine.
fn clippy(run: &Run) -> Result<String> {
    let mut tested = run.workspace.cargo(&["clippy", "--workspace", "--all-targets"]);
    tested.args(TESTING).args(["--", "-D", "warnings"]);
    let output = run.with(&[&CLIPPY], "cargo clippy --workspace --all-targets", tested)?;
    if run.is_quick() {
        return Ok(output);
    }
    let mut product = run.workspace.cargo(&["clippy", "-p", "terrane", "-p", "terrane-cli"]);
    product.args(SAME_MACROS).args(["--", "-D", "warnings"]);
    run.with(&[&CLIPPY], "cargo clippy, product features", product)
}

fn clippy_wasm(run: &Run) -> Result<String> {
    let mut command = wasm::cargo(run.workspace, &["clippy", "-p", "terrane-wasm"]);
    command.args(["-p", "terrane-sim-wasm", "-p", "terrane-foreign-wasm"]);
    command.args(["--", "-D", "warnings"]);
    run.with(&[&CLIPPY, &WasmTarget], "cargo clippy of the modules", command)
}

fn documentation(run: &Run) -> Result<String> {
    let mut command = run.workspace.cargo(&["doc", "--workspace", "--lib", "--no-deps"]);
    command.env("RUSTDOCFLAGS", "-D warnings");
    let output = run.with(&[], "cargo doc --workspace --no-deps", command)?;
    api::check(run.workspace)?;
    Ok(output)
}

/// Licences, sources and banned crates, as `deny.toml` says.
fn dependencies(run: &Run) -> Result<String> {
    let mut command = run.workspace.command("cargo-deny");
    command.args(["--all-features", "--locked", "check", "licenses", "bans", "sources"]);
    run.with(&[&CargoDeny], "cargo deny check", command)
}

/// The build with the oldest compiler that the manifests allow. Where that is the one in use, all
/// other steps are this check.
fn oldest_compiler(run: &Run) -> Result<String> {
    const OLDEST: &str = env!("CARGO_PKG_RUST_VERSION");
    let version = run.workspace.version("rustc", &[]).unwrap_or_default();
    if version.starts_with(&format!("{OLDEST}.")) {
        progress::say(&format!("  all steps ran with it: {version}"));
        return Ok(String::new());
    }
    let toolchain = format!("+{OLDEST}");
    let mut command = run.workspace.cargo(&[&toolchain, "check", "--workspace", "--locked"]);
    command.env("CARGO_TARGET_DIR", run.workspace.path("target/oldest"));
    run.with(&[&Toolchain(OLDEST)], &format!("cargo {toolchain} check --workspace"), command)
}

fn rust_tests(run: &Run) -> Result<String> {
    let parts: &[&[&str]] = if run.is_quick() { &QUICK_TESTS } else { &[&[]] };
    let mut output = String::new();
    for part in parts {
        output += &cargo_test(run, part)?;
    }
    Ok(output)
}

fn cargo_test(run: &Run, arguments: &[&str]) -> Result<String> {
    run.with(&[], "cargo test --workspace", run.tests(arguments))
}

/// The tests that try interleavings, each over a model of threads that takes the place of the real
/// ones in the whole build. With the target named, macros and build scripts are built once for both.
fn interleavings(run: &Run) -> Result<String> {
    let mut rustc = run.workspace.command("rustc");
    let host = rustc.args(["--print", "host-tuple"]).output()?.stdout;
    let host = String::from_utf8(host)?;
    let mut output = String::new();
    for model in ["loom", "shuttle"] {
        let mut command = run.workspace.cargo(&["test", "--package", "terrane-concurrency"]);
        command.args(SAME_MACROS).args(["--test", "concurrency"]);
        command.args(["--target", host.trim()]).args(UNOPTIMISED);
        command.env("RUSTFLAGS", format!("--cfg {model}"));
        output += &run.with(&[], &format!("cargo test of concurrency under {model}"), command)?;
    }
    Ok(output)
}

fn wasm_build(run: &Run) -> Result<String> {
    let profile = if run.is_quick() { wasm::Profile::Dev } else { wasm::Profile::Release };
    wasm::build(run.workspace, profile)?;
    // The quick run has no step that needs it.
    if !run.is_quick() {
        wasm::site(run.workspace, profile)?;
    }
    Ok(String::new())
}

/// The modules of the site against the command.
fn site_module_tests(run: &Run) -> Result<String> {
    let modules = wasm::site(run.workspace, wasm::Profile::Release)?;
    let terrane = command_line(run)?;
    let mut output = String::new();
    for (module, source) in modules.into_iter().zip(["crates/sim-wasm", "crates/foreign-wasm"]) {
        let mut command = run.workspace.command("node");
        command.args(NODE_TESTS).arg(format!("{source}/test/agreement.test.js"));
        command.env("MODULE", module).env("TERRANE", &terrane);
        output += &run.with(&[], &format!("node --test in {source}"), command)?;
    }
    Ok(output)
}

/// The command, as the Rust tests built it for its own tests: built by itself, it would have other
/// features of its dependencies, and so need another build of the engine. Beside `contract`, since
/// what procedural macros and wasm-bindgen have in common is compiled otherwise where only macros need
/// it, and with it all that has a macro.
pub fn command_line(run: &Run) -> Result<PathBuf> {
    let tests = ["test", "--no-run", "--test", "cli", "--test", "contract"];
    let mut command = run.workspace.cargo(&tests);
    command.args(TESTED).args(TESTING);
    run.with(&[], "cargo test --no-run --test cli", command)?;
    Ok(run.workspace.path("target/debug/terrane"))
}

/// `npm test` without its build, which would take the package from under the steps that use it.
fn package_tests(run: &Run) -> Result<String> {
    let output = run.npm(BINDINGS, &["run", "check"])?;
    Ok(output + &run.npm(BINDINGS, &["run", "test:built"])?)
}

fn addon_tests(run: &Run) -> Result<String> {
    addon::build(run.workspace)?;
    addon::test(run.workspace, run.extent == Extent::Full)
}

fn demo_build(run: &Run) -> Result<String> {
    demo::build(run.workspace)?;
    run.npm(node::DEMO, &["run", "check"])?;
    run.npm(node::DEMO, &["run", "test"])
}

fn comparison_build(run: &Run) -> Result<String> {
    run.npm(COMPARISON, &["run", "check"])?;
    run.npm(COMPARISON, &["run", "build"])
}

/// Runs client libraries and programs of other makers on the server.
fn client_tests(run: &Run) -> Result<String> {
    let program = command_line(run)?;
    let mut command = run.workspace.npm(CLIENTS.folder, &["test"]);
    // vitest may colour its summary even in a pipe, and the tests in it would not be counted.
    command.env("TERRANE", program).env("NO_COLOR", "1");
    let needs: [&dyn Need; 6] = [&node::Node, &node::Npm, &CLIENTS, &CURL, &OPENSSL, &REDIS_CLI];
    run.with(&needs, "npm test in tests/clients", command)
}

/// Checks the packages that registries would be sent.
fn publishing(run: &Run) -> Result<String> {
    let arguments = ["publish", "--workspace", "--dry-run", "--no-verify", "--allow-dirty"];
    run.with(&[], "cargo publish --dry-run", run.workspace.cargo(&arguments))?;
    run.npm(BINDINGS, &["publish", "--dry-run"])
}

#[cfg(test)]
mod tests {
    use super::STEPS;

    #[test]
    fn every_step_follows_those_that_it_rests_on() {
        for (index, step) in STEPS.iter().enumerate() {
            for ground in step.after {
                let position = STEPS.iter().position(|other| other.name == *ground).unwrap();
                assert!(position < index && STEPS[position].part == step.part, "{}", step.name);
            }
        }
    }
}
