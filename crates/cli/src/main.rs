//! The `terrane` command: loads, reads, checks, copies and measures Terrane stores.
//!
//! * `cli` - the command line: every command's name, in the order of `--help`.
//! * `commands` - a file, or a folder, for each command: its arguments, its examples, what it does.
//! * `exit` - every exit code, and the sentence that goes with a failure.
//! * `args` - arguments that several commands share: a keyspace, a range of keys, a policy.
//! * `store` - opens stores and keyspaces, or creates them.
//! * `copy` - writes a whole new store, or none: for `checkpoint`, `export`, `import` and `repair`.
//! * `escape`, `row`, `output`, `meter` - bytes and rows as text, where text goes, and progress.
//! * `interrupt` - Ctrl-C and SIGTERM.
//! * `pump` - rows that a thread reads, while the command listens for signals.
//! * `memory` - running out of memory.
//! * `waits` - what writes waited for.

mod args;
mod background;
mod cli;
mod commands;
mod condition;
mod copy;
mod escape;
mod exit;
mod expiry;
mod foreign;
mod interrupt;
mod memory;
mod message;
mod meter;
mod output;
mod pump;
mod row;
mod store;
mod waits;

use clap::Parser;
use exit::Failure;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    interrupt::ignore_file_limit();
    let ended = match cli::Cli::try_parse() {
        Ok(cli) => cli.command.run(),
        Err(usage) if usage.use_stderr() => usage.exit(),
        Err(help) => show(&help),
    };
    interrupt::wait_if_ending();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Prints help or the version. The parser would print them itself, but ignore a full disk.
fn show(help: &clap::Error) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    let shown = write!(out, "{}", help.render().ansi()).and_then(|()| out.flush());
    shown.map_err(|e| Failure::stdout(&e))
}
