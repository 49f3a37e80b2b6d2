//! `cargo xtask`: every set-up, build and test step of this repository, so that one command is
//! enough on a fresh machine.
//!
//! Each command first brings what it needs (see [`setup`]), does only what is out of date, and says
//! what it is doing and for how long.

mod addon;
mod api;
mod bench;
mod browser;
mod browser_tests;
mod debian;
mod demo;
mod doctor;
mod failures;
mod foreign;
mod fresh;
mod function_order;
mod glue;
mod import_names;
mod lanes;
mod mutants;
mod need;
mod node;
mod peers;
mod platforms;
mod processes;
mod program;
mod progress;
mod prose;
mod rust;
mod serve;
mod setup;
mod stress;
mod test;
mod test_counts;
mod tidy;
mod wasm;
mod wasm_bytes;
mod webkit;
mod workspace;

use anyhow::Result;
use clap::{Parser, Subcommand};
use platforms::Platform;
use std::process::ExitCode;
use workspace::Workspace;

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    about = "Builds, tests and shows Terrane"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build the browser demo, serve it on localhost and open it
    Demo {
        /// The port on localhost
        #[arg(long, default_value_t = 8080)]
        port: u16,
        /// Only print the address
        #[arg(long)]
        no_open: bool,
    },
    /// Run every check: format, lints, Rust tests, the browser build and its tests, documentation
    Test {
        /// Exhaustive and long runs as well (sets TERRANE_FULL=1)
        #[arg(long)]
        full: bool,
        /// The short round for daily work: lints, unit tests, the model and crash suites, npm's tests
        #[arg(long, conflicts_with = "full")]
        quick: bool,
        /// One part alone
        #[arg(long, value_enum)]
        only: Option<test::Part>,
        /// Run the suites alone, round after round beside busy processes, and list the tests that ever failed
        #[arg(long, value_name = "ROUNDS", conflicts_with_all = ["full", "quick"])]
        stress: Option<u32>,
    },
    /// Keep a processor busy until the standard input ends
    #[command(hide = true)]
    Busy,
    /// Build the Wasm module and the npm package around it, and the modules of the site
    Wasm {
        /// Optimised for speed, the default
        #[arg(long, conflicts_with = "dev")]
        release: bool,
        /// Quick to build, with function names and assertions
        #[arg(long)]
        dev: bool,
    },
    /// Build the addon of Node for this machine, and test it with the npm packages around it
    Node {
        /// Build the packages of these platforms instead, by cargo-zigbuild
        #[arg(long, value_enum, value_delimiter = ',')]
        target: Vec<Platform>,
    },
    /// Measure: the engine's parts, or the engine next to other stores
    Bench {
        /// Subject of the measurement
        #[arg(value_enum)]
        subject: bench::Subject,
        /// Options of what is run: `native --engines terrane --help` lists its own; for micro part of a
        /// benchmark's name, and options of criterion, such as --quick; for the browser --contenders LIST|all,
        /// --browser chromium|firefox, --rounds N, --entries N and --json FILE
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Simulate the figures of the papers and write their reports: of the full scale under docs/papers, of ci
    /// under target/papers
    Papers {
        /// Scale of the simulation: ci takes about a minute, full about twenty minutes
        #[arg(long, default_value = "ci", value_parser = ["ci", "full"])]
        scale: String,
        /// Only this paper, by the name of its folder
        #[arg(long)]
        paper: Option<String>,
        /// Only this figure of it, by its name or number; the report keeps its others
        #[arg(long, requires = "paper")]
        figure: Option<String>,
        /// Write only the configurations of their simulations, beside the reports that are there
        #[arg(long)]
        configurations: bool,
    },
    /// Break the code in one place after another: a test must fail each time
    Mutants {
        /// One crate alone
        #[arg(value_enum)]
        target: Option<mutants::Target>,
        /// Options for cargo-mutants, such as --file crates/table/src/read/*
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Write the lists of the crates' public APIs again: crates/*/public-api.txt
    Api,
    /// Install everything that the other commands need
    Setup,
    /// Show what is installed, what is wanted and how to get what is missing
    Doctor,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    let workspace = Workspace::find();
    match command {
        Command::Demo { port, no_open } => demo::run(&workspace, port, !no_open)?,
        Command::Test { only, stress: Some(rounds), .. } => {
            return test::stress(&workspace, rounds, only);
        }
        Command::Busy => return Ok(processes::spin()),
        Command::Test { full, quick, only, stress: None } => {
            let extent = match (full, quick) {
                (true, _) => test::Extent::Full,
                (_, true) => test::Extent::Quick,
                _ => test::Extent::Every,
            };
            return test::run(&workspace, extent, only);
        }
        Command::Node { target } if !target.is_empty() => {
            for platform in target {
                platforms::build(&workspace, platform)?;
            }
        }
        Command::Node { .. } => {
            addon::build(&workspace)?;
            addon::test(&workspace, false)?;
        }
        Command::Wasm { release: _, dev } => {
            let profile = if dev { wasm::Profile::Dev } else { wasm::Profile::Release };
            wasm::build(&workspace, profile)?;
            wasm::site(&workspace, profile)?;
        }
        Command::Bench { subject, arguments } => bench::run(&workspace, subject, &arguments)?,
        Command::Papers { scale, paper, figure, configurations } => {
            let (paper, figure) = (paper.as_deref(), figure.as_deref());
            bench::papers(&workspace, &scale, paper, figure, configurations)?;
        }
        Command::Mutants { target, arguments } => mutants::run(&workspace, target, &arguments)?,
        Command::Api => api::write(&workspace)?,
        Command::Setup => setup::ensure_all(&workspace)?,
        Command::Doctor => return doctor::run(&workspace),
    }
    Ok(ExitCode::SUCCESS)
}
