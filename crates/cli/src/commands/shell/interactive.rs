//! Lines typed on a terminal: a prompt, history and completion.

use super::command::{self, Next};
use super::complete::Completion;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::message;
use crate::store::Opened;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};
use std::env;
use std::io;
use std::path::PathBuf;

/// Names the history file; empty for none.
const HISTORY: &str = "TERRANE_HISTORY";

/// Runs each line until the input ends; failures are printed and do not end it.
pub fn run(opened: &mut Opened) -> Result<(), Failure> {
    interrupt::listen_in_shell()?;
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .auto_add_history(true)
        .history_ignore_space(true)
        .build();
    let mut editor = Editor::<Completion, FileHistory>::with_config(config).map_err(failed)?;
    let history = history_file();
    if let Some(file) = &history {
        // There is none yet, or it cannot be read: the shell works without.
        let _ = editor.load_history(file);
    }
    message::note("`help` lists the commands, Tab completes them, Ctrl-D leaves");
    loop {
        editor.set_helper(Some(Completion::new(opened)));
        let line = match editor.readline(&prompt(opened)) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => return Ok(()),
            Err(e) => return Err(failed(e)),
        };
        if let Some(file) = &history {
            // As above.
            let _ = editor.append_history(file);
        }
        interrupt::reset();
        match command::execute(opened, &line) {
            Ok(Next::Exit) => return Ok(()),
            Ok(Next::Continue) => {}
            Err(failure) => failure.print(),
        }
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

fn history_file() -> Option<PathBuf> {
    match env::var_os(HISTORY) {
        Some(file) => Some(PathBuf::from(file)).filter(|file| !file.as_os_str().is_empty()),
        None => env::home_dir().map(|home| home.join(".terrane_history")),
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
