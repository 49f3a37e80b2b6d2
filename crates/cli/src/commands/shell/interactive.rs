//! Lines typed on a terminal: a prompt, history and completion.
//!
//! 1. Pasted text may have several lines. Each is a command, unless quotes hold lines together.
//! 2. Each command is kept in the history. Its failure, or a signal while it runs, is printed; a signal also
//!    drops the lines that were pasted after the command.
//! 3. Bytes that are not UTF-8 are refused, together with what was typed after them: it could mean
//!    something else alone.

use super::command::{self, Next};
use super::complete::Completion;
use super::history::HistoryFile;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::message;
use crate::store::Opened;
use rustyline::error::{ReadlineError, Signal};
use rustyline::history::MemHistory;
use rustyline::{CompletionType, Config, Editor};
use std::io::{self, ErrorKind};

/// Runs each line until the input ends; failures are printed and do not end it.
pub fn run(opened: &mut Opened) -> Result<(), Failure> {
    interrupt::listen_in_shell()?;
    let config =
        Config::builder().completion_type(CompletionType::List).history_ignore_space(true).build();
    let entries = MemHistory::with_config(&config);
    let mut editor = Editor::<Completion, _>::with_history(config, entries).map_err(failed)?;
    let mut history = HistoryFile::find();
    for line in history.iter_mut().flat_map(HistoryFile::lines) {
        editor.add_history_entry(line).map_err(failed)?;
    }
    message::note(
        "`help` lists the commands, Tab completes them, Ctrl-C interrupts one, Ctrl-D leaves",
    );
    loop {
        editor.set_helper(Some(Completion::new(opened)));
        let text = match editor.readline(&prompt(opened)) {
            Ok(text) => text,
            Err(ReadlineError::Interrupted | ReadlineError::Signal(Signal::Interrupt)) => continue,
            Err(ReadlineError::Eof) => return Ok(()),
            Err(ReadlineError::Io(e)) if e.kind() == ErrorKind::InvalidData => {
                discard_input();
                let sentence = "expected UTF-8, found another byte; for example: put --hex 00ff 2a";
                Failure::new(Exit::Usage, sentence).print();
                continue;
            }
            Err(e) => return Err(failed(e)),
        };
        interrupt::reset();
        for line in commands(&text) {
            if editor.add_history_entry(line).map_err(failed)?
                && let Some(history) = &mut history
            {
                history.append(line);
            }
            match command::execute(opened, line) {
                Ok(Next::Exit) => return Ok(()),
                Ok(Next::Continue) => {}
                Err(failure) => failure.print(),
            }
            if interrupt::check().is_err() {
                break;
            }
        }
    }
}

/// Returns the commands in a text: its lines, unless quotes hold several together.
fn commands(text: &str) -> Vec<&str> {
    let (mut found, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let ends = rest.match_indices('\n').map(|(at, _)| at).chain([rest.len()]);
        let mut parts = ends.map(|end| rest.split_at(end));
        let whole = parts.find(|(line, _)| shlex::split(line).is_some());
        let (line, after) = whole.unwrap_or((rest, ""));
        found.push(line);
        rest = after.strip_prefix('\n').unwrap_or(after);
    }
    found
}

/// Discards typed bytes that were not read yet, where the system can.
fn discard_input() {
    #[cfg(unix)]
    {
        use rustix::termios::{QueueSelector, tcflush};
        // Where that fails, the rest is read as a line.
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    }
}

/// The store's name, and the keyspace's if it is not the default.
fn prompt(opened: &Opened) -> String {
    let name = opened.at.dir.file_name().unwrap_or(opened.at.dir.as_os_str());
    let name = crate::escape::printable(&name.to_string_lossy());
    match opened.at.keyspace.as_str() {
        terrane::keyspace::DEFAULT_KEYSPACE => format!("{name}> "),
        keyspace => format!("{name}:{}> ", crate::escape::printable(keyspace)),
    }
}

fn failed(error: ReadlineError) -> Failure {
    match error {
        ReadlineError::Io(e) => Failure::io("read the terminal", &e),
        e => {
            Failure::new(Exit::Io, format!("could not read the terminal: {}", io::Error::other(e)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pasted_lines_are_commands_unless_quotes_join_them() {
        for (text, expected) in [
            ("", vec![]),
            ("get a", vec!["get a"]),
            ("put a 1\nput b 2\n", vec!["put a 1", "put b 2"]),
            ("# don't\nget a", vec!["# don't", "get a"]),
            ("put a 'two\nlines'\nget a", vec!["put a 'two\nlines'", "get a"]),
            ("put a 'x\nget b", vec!["put a 'x\nget b"]),
        ] {
            assert_eq!(commands(text), expected);
        }
    }
}
