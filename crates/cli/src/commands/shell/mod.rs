//! `shell`: runs commands on an open store, typed or piped in.
//!
//! * `command` - what a line can say, and running it: the functions of the subcommands, on the store
//!   that is open. * `interactive` - lines typed on a terminal. * `complete` - completion there.

mod command;
mod complete;
mod interactive;

use crate::args::{At, InKeyspace};
use crate::exit::{Exit, Failure};
use crate::store::{self, Opened};
use clap::Args;
use command::Next;
use std::io::{self, BufRead, IsTerminal};

pub const EXAMPLES: &str = "\
Examples:
  terrane shell db                                   `help` lists the commands
  terrane shell db --read-only
  printf 'put a 1\\nput b 2\\ncount\\n' | terrane shell db --create

A terminal has history, kept in ~/.terrane_history or the file that TERRANE_HISTORY names, and
completion with Tab. Piped input runs line by line; the first error ends it, with its exit code.";

/// Run commands on a store interactively, or from standard input
///
/// The commands are those of `terrane`, without DIR: get, put, delete, scan, count, stats and others.
/// A value with spaces is quoted as in a Unix shell. Ctrl-C interrupts a command; Ctrl-D or `exit`
/// leaves.
#[derive(Args)]
pub struct ShellArgs {
    /// Open the store read-only, beside other readers
    #[arg(long, conflicts_with = "create")]
    pub read_only: bool,
    /// Create the store and the keyspace if they do not exist
    #[arg(long)]
    pub create: bool,
}

/// Opens the store and runs commands until the input ends.
pub fn run(InKeyspace { at, args }: &InKeyspace<ShellArgs>) -> Result<(), Failure> {
    let mut opened = open(at, args)?;
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        interactive::run(&mut opened)?;
    } else {
        run_lines(&mut opened, io::stdin().lock())?;
    }
    opened.close()
}

fn open(at: &At, args: &ShellArgs) -> Result<Opened, Failure> {
    if args.create { store::create(at, None) } else { store::existing(at, args.read_only) }
}

/// Runs each line, up to the first that fails.
fn run_lines(opened: &mut Opened, input: impl BufRead) -> Result<(), Failure> {
    for (n, line) in input.lines().enumerate() {
        let at = format!("line {}", n + 1);
        let line = line.map_err(|e| match e.kind() {
            io::ErrorKind::InvalidData => Failure::new(
                Exit::Usage,
                format!("{at}: expected UTF-8; for example, other bytes: put --hex 00ff 2a"),
            ),
            _ => Failure::io("read standard input", &e),
        })?;
        if let Next::Exit = command::execute(opened, &line).map_err(|e| e.at(&at))? {
            break;
        }
    }
    Ok(())
}
