//! The `terrane` command: loads, reads, checks, copies and measures Terrane stores.
//!
//! * `args` - what can be asked for, and the bytes that an argument stands for.
//! * `exit` - exit codes, and the sentence that goes with each failure.
//! * `store` - opening stores and keyspaces, or making them.
//! * `load` - rows of a file, in batches.
//! * `get`, `put`, `delete`, `scan` - single keys, and ranges of them.
//! * `stats`, `levels`, `check` - what a store holds, and whether it is sound.
//! * `keyspaces`, `policies`, `compact` - what there is beside rows, and its care.
//! * `copy` - whole stores: checkpoint, export, import. * `repair` - what is left of damaged ones.
//!   `set_aside` - what recovery discarded.
//! * `bench` - measurements. * `simulate` - simulations.
//! * `escape`, `output`, `meter` - bytes as text, where the text goes, and progress.
//! * `interrupt` - Ctrl-C and the like. * `memory` - when there is none left. * `waits` - what writes
//!   waited for.

mod args;
mod bench;
mod check;
mod compact;
mod copy;
mod delete;
mod escape;
mod exit;
mod get;
mod interrupt;
mod keyspaces;
mod levels;
mod load;
mod memory;
mod meter;
mod output;
mod policies;
mod put;
mod repair;
mod scan;
mod set_aside;
mod simulate;
mod stats;
mod store;
mod waits;

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
        Command::Levels(args) => levels::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Keyspaces(args) => keyspaces::run(&args),
        Command::Policies(args) => policies::list(&args),
        Command::Policy(args) => policies::run(&args),
        Command::Compact(args) => compact::run(&args),
        Command::Checkpoint(args) => copy::into_directory(&args.dir, &args.target),
        Command::Export(args) => copy::into_file(&args.dir, &args.file),
        Command::Import(args) => copy::import(&args.file, &args.dir),
        Command::Repair(args) => repair::run(&args),
        Command::SetAside(args) => set_aside::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Simulate(args) => simulate::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
