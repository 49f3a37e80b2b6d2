//! `shell`: runs commands on an open store, typed or piped in.
//!
//! * `command` - what a line can say, and running it: the functions of the subcommands, on the store
//!   that is open.
//! * `interactive` - lines typed on a terminal.
//! * `complete` - completion there.
//! * `history` - the file that keeps these lines.
//! * `events` - what the keyspace does meanwhile, for the visualizer.

mod command;
mod complete;
#[cfg(feature = "serve")]
mod events;
mod history;
mod interactive;

use crate::args::Working;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::store::{self, Opened};
use clap::Args;
use command::Next;
use std::io::{self, BufRead, IsTerminal, Read};
use std::thread::{self, JoinHandle};

pub const EXAMPLES: &str = "\
Examples:
  terrane shell db                                   `help` lists the commands
  terrane shell db --read-only
  printf 'put a 1\\nput b 2\\ncount\\n' | terrane shell db --create
  terrane shell db --events 127.0.0.1:4540 --allow-origin localhost   visualizer: File, Attach

A terminal has history, kept in ~/.terrane_history or the file that TERRANE_HISTORY names, unless that
is another program's, and completion with Tab. Pasted lines are a command each. Piped input runs line by
line; the first error ends it, with its exit code.";

/// The longest piped line, in bytes, with its end.
const MAX_LINE_BYTES: usize = 16 << 20;

/// Run commands on a store interactively, or from standard input
///
/// The commands are those of `terrane`, without DIR: get, put, merge, delete, scan, count, stats and others.
/// A value with spaces is quoted as in a Unix shell. Ctrl-C interrupts a command; another one, a second
/// or more later, ends the shell if the command still runs. Ctrl-D or `exit` leaves.
#[derive(Args)]
pub struct ShellArgs {
    /// Open the store read-only, beside other readers
    #[arg(long, conflicts_with = "create")]
    pub read_only: bool,
    /// Create the store and the keyspace if they do not exist
    #[arg(long)]
    pub create: bool,
    #[cfg(feature = "serve")]
    #[command(flatten)]
    pub events: events::EventsArgs,
}

/// Opens the store and runs commands until the input ends.
pub fn run(shell: &Working<ShellArgs>) -> Result<(), Failure> {
    let mut opened = open(shell)?;
    #[cfg(feature = "serve")]
    let server = events::serve(&opened, &shell.args.events)?;
    #[cfg(not(feature = "serve"))]
    let server = None;
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        interactive::run(&mut opened)?;
    } else if let Some(server) = server {
        interrupt::listen()?;
        let db = opened.db.clone();
        run_until_signal(opened, server)?;
        return Ok(db.close()?);
    } else {
        run_lines(&mut opened, io::stdin().lock())?;
    }
    opened.close()
}

/// Runs the commands of standard input beside this thread, which hears of a signal while they wait for
/// another line. Fails if a command panics or the server stops.
fn run_until_signal(mut opened: Opened, server: JoinHandle<()>) -> Result<(), Failure> {
    let lines = move || run_lines(&mut opened, io::stdin().lock());
    let mut commands = Some(interrupt::spawn("commands", lines)?);
    while interrupt::check().is_ok() {
        if server.is_finished() {
            return Err(interrupt::ended(server));
        }
        if commands.as_ref().is_some_and(JoinHandle::is_finished)
            && let Some(ended) = commands.take()
        {
            interrupt::join(ended)??;
        }
        thread::sleep(interrupt::PATIENCE);
    }
    Ok(())
}

fn open(Working { at, args, background }: &Working<ShellArgs>) -> Result<Opened, Failure> {
    match args.create {
        true => store::create(at, None, background),
        false => store::existing(at, args.read_only, background),
    }
}

/// Runs each line, up to the first that fails.
fn run_lines(opened: &mut Opened, mut input: impl BufRead) -> Result<(), Failure> {
    let mut line = Vec::new();
    for number in 1.. {
        let at = format!("line {number}");
        line.clear();
        let mut limited = (&mut input).take(MAX_LINE_BYTES as u64);
        let read = limited.read_until(b'\n', &mut line);
        if read.map_err(|e| Failure::io("read standard input", &e))? == 0 {
            break;
        }
        if line.len() == MAX_LINE_BYTES && !line.ends_with(b"\n") {
            let sentence = format!(
                "expected a line of at most {MAX_LINE_BYTES} bytes, found a longer one; `terrane \
                 put` and `terrane load` take longer values"
            );
            return Err(Failure::new(Exit::Input, sentence).at(&at));
        }
        let text = str::from_utf8(&line).map_err(|_| {
            let sentence = "expected UTF-8; for example, other bytes: put --hex 00ff 2a";
            Failure::new(Exit::Usage, sentence).at(&at)
        })?;
        let text = text.trim_end_matches(['\r', '\n']);
        if let Next::Exit = command::execute(opened, text).map_err(|e| e.at(&at))? {
            break;
        }
    }
    Ok(())
}
