//! Commands of the shell, and running them.

use crate::commands::{
    check, compact, count, delete, get, keyspaces, levels, load, merge, policies, policy, put,
    scan, stats,
};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::store::{self, Opened};
use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

/// A line: a command of `terrane`, without DIR.
#[derive(Parser)]
#[command(
    multicall = true,
    help_template = "{subcommands}{after-help}",
    after_help = "A value with spaces is quoted: put key 'two words'. `help COMMAND` lists options.\n\
                  Ctrl-C interrupts a command; Ctrl-D or `exit` leaves."
)]
pub struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Get(get::GetArgs),
    Put(put::PutArgs),
    Merge(merge::MergeArgs),
    Delete(delete::DeleteArgs),
    Scan(scan::ScanArgs),
    Count(count::CountArgs),
    Stats(stats::StatsArgs),
    Levels(levels::LevelsArgs),
    Check(check::CheckArgs),
    Keyspaces(keyspaces::KeyspacesArgs),
    /// Switch to another keyspace
    Use {
        /// Switch to this keyspace
        keyspace: String,
        /// Create it if it does not exist
        #[arg(long)]
        create: bool,
    },
    Policies(policies::PoliciesArgs),
    Policy(policy::PolicyArgs),
    Compact(compact::CompactArgs),
    Load(load::LoadArgs),
    /// Leave the shell
    #[command(alias = "quit")]
    Exit,
}

/// Outcome of a line.
pub enum Next {
    Continue,
    Exit,
}

/// Runs a line; an empty one, or a `#` comment, does nothing.
pub fn execute(opened: &mut Opened, line: &str) -> Result<Next, Failure> {
    let Some(words) = shlex::split(line) else {
        let sentence = "expected quotes in pairs; for example: put key 'two words'";
        return Err(Failure::new(Exit::Usage, sentence));
    };
    if words.is_empty() {
        return Ok(Next::Continue);
    }
    match Line::try_parse_from(words) {
        Ok(line) => line.command.run(opened),
        Err(error) if error.kind() == ErrorKind::InvalidSubcommand => {
            let error = error.to_string();
            let sentence = error.lines().next().and_then(|line| line.strip_prefix("error: "));
            let sentence = sentence.unwrap_or("unrecognized command");
            Err(Failure::new(Exit::Usage, format!("{sentence}; `help` lists the commands")))
        }
        Err(error) if error.use_stderr() => {
            let error = error.to_string();
            let sentence = error.strip_prefix("error: ").unwrap_or(&error).trim_end();
            Err(Failure::new(Exit::Usage, sentence))
        }
        // It is help.
        Err(help) => {
            let mut out = Output::new();
            out.line(help.to_string().trim_end())?;
            out.finish()?;
            Ok(Next::Continue)
        }
    }
}

impl Command {
    fn run(self, opened: &mut Opened) -> Result<Next, Failure> {
        match self {
            // The value must stand apart from the output of the next line, on a terminal or not.
            Self::Get(args) => get::get(opened, &args, true),
            Self::Put(args) => put::put(opened, &args),
            Self::Merge(args) => merge::merge(opened, &args),
            Self::Delete(args) => delete::delete(opened, &args),
            Self::Scan(args) => scan::scan(opened, &args),
            Self::Count(args) => count::count(opened, &args),
            Self::Stats(args) => stats::stats(&opened.at.dir, &opened.db, &args),
            Self::Levels(args) => levels::levels(opened, &args),
            Self::Check(args) => check::check(&opened.at.dir, &opened.db, &args),
            Self::Keyspaces(args) => keyspaces::keyspaces(&opened.at.dir, &opened.db, &args),
            Self::Use { keyspace, create } => use_keyspace(opened, keyspace, create),
            Self::Policies(args) => policies::run(&args),
            Self::Policy(args) => policy::policy(opened, &args),
            Self::Compact(args) => compact::compact(opened, &args),
            Self::Load(args) => load::load(opened, &args),
            Self::Exit => return Ok(Next::Exit),
        }
        .map(|()| Next::Continue)
    }
}

fn use_keyspace(opened: &mut Opened, name: String, create: bool) -> Result<(), Failure> {
    let mut at = opened.at.clone();
    at.keyspace = name;
    opened.keyspace = match create {
        true => opened.db.create_keyspace(&at.keyspace)?,
        false => store::keyspace(&opened.db, &at)?,
    };
    opened.at = at;
    Ok(())
}
