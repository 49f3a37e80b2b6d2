//! The `terrane` command: loads, reads and checks Terrane stores.
//!
//! * `args` - what can be asked for, and the bytes that an argument stands for.
//! * `exit` - exit codes, and the sentence that goes with each failure.
//! * `store` - opening a store, or making one.
//! * `load` - rows of a file, in batches.
//! * `get`, `put`, `delete`, `scan` - single keys, and ranges of them.
//! * `stats`, `check` - what a store holds, and whether it is sound.
//! * `escape`, `output` - bytes as text, and where the text goes.

mod args;
mod check;
mod delete;
mod escape;
mod exit;
mod get;
mod load;
mod output;
mod put;
mod scan;
mod stats;
mod store;

use args::{Cli, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Load(args) => load::run(&args),
        Command::Get(args) => get::run(&args),
        Command::Put(args) => put::run(&args),
        Command::Delete(args) => delete::run(&args),
        Command::Scan(args) => scan::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Check(args) => check::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
