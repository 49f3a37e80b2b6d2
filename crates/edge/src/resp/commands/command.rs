//! The table of commands, as COMMAND shows it.

use super::{COMMANDS, Command, Keys, Run, find, is};
use crate::resp::failure::Failure;
use crate::resp::glob::matches;
use crate::resp::reply::Reply;
use crate::resp::request::Arguments;
use crate::resp::session::{Action, Session};
use crate::shared::Shared;

pub(super) fn commands() -> Vec<Command> {
    let row = Command::new("command", -1, Run::Local(command), "Describes the commands.");
    vec![row.group("server")]
}

fn command(
    _: &mut Session,
    arguments: Arguments<'_>,
    reply: &mut Reply,
    _: &Shared,
) -> Result<Action, Failure> {
    let names = || arguments.from(2);
    match arguments.at(1).to_ascii_lowercase().as_slice() {
        b"" => {
            reply.array(COMMANDS.len());
            COMMANDS.iter().for_each(|command| describe(command, reply));
        }
        b"count" => reply.count(COMMANDS.len()),
        b"info" if arguments.len() > 2 => {
            reply.array(arguments.len() - 2);
            for name in names() {
                match find(name) {
                    Some(command) => describe(command, reply),
                    None => reply.null_array(),
                }
            }
        }
        b"info" => {
            reply.array(COMMANDS.len());
            COMMANDS.iter().for_each(|command| describe(command, reply));
        }
        b"docs" => {
            let found: Vec<&Command> = if arguments.len() > 2 {
                names().filter_map(find).collect()
            } else {
                COMMANDS.iter().collect()
            };
            reply.map(found.len());
            found.into_iter().for_each(|command| document(command, reply));
        }
        b"list" => list(arguments, reply)?,
        b"getkeys" if arguments.len() > 2 => get_keys(arguments, reply)?,
        _ => return Err(Failure::subcommand("COMMAND", arguments.at(1))),
    }
    Ok(Action::None)
}

fn list(arguments: Arguments<'_>, reply: &mut Reply) -> Result<(), Failure> {
    let pattern: &[u8] = match arguments.len() {
        2 => b"*",
        5 if is(arguments.at(2), "FILTERBY") && is(arguments.at(3), "PATTERN") => arguments.at(4),
        _ => return Err(Failure::SYNTAX.into()),
    };
    let pattern = pattern.to_ascii_lowercase();
    let names = COMMANDS.iter().map(|command| command.name);
    let found: Vec<&str> = names.filter(|name| matches(&pattern, name.as_bytes())).collect();
    reply.array(found.len());
    found.into_iter().for_each(|name| reply.bulk(name));
    Ok(())
}

fn get_keys(arguments: Arguments<'_>, reply: &mut Reply) -> Result<(), Failure> {
    let asked = arguments.after(2);
    let command = find(asked.at(0)).ok_or("ERR Invalid command specified")?;
    if command.keys.is_none() {
        return Err("ERR The command has no key arguments".into());
    }
    if !command.takes(asked.len()) {
        return Err("ERR Invalid number of arguments specified for command".into());
    }
    let keys: Vec<&[u8]> = command.keys_of(asked).collect();
    reply.array(keys.len());
    keys.into_iter().for_each(|key| reply.bulk(key));
    Ok(())
}

/// Replies a command as COMMAND INFO does.
fn describe(command: &Command, reply: &mut Reply) {
    let (first, last, step) = command.keys.unwrap_or((0, 0, 0));
    reply.array(10);
    reply.bulk(command.name);
    reply.integer(i64::try_from(command.arity).unwrap_or(0));
    let flags = flags(command);
    reply.set(flags.len());
    flags.into_iter().for_each(|flag| reply.simple(flag));
    reply.count(first);
    reply.integer(i64::try_from(last).unwrap_or(0));
    reply.count(step);
    // Categories, tips, specifications of keys, subcommands.
    reply.set(0);
    reply.array(0);
    reply.array(usize::from(command.keys.is_some()));
    if let Some(keys) = command.keys {
        describe_keys(command, keys, reply);
    }
    reply.array(0);
}

/// Replies how the keys of a command are found and used: from this, clients know the keys of any command.
fn describe_keys(command: &Command, (first, last, step): Keys, reply: &mut Reply) {
    // It is relative to the first key, unless it is counted from the end.
    let last = if last < 0 { last } else { last.saturating_sub_unsigned(first) };
    let access = match command.run {
        Run::Local(_) | Run::Read(_) | Run::Scan(_) => "RO",
        Run::Write(_) => "OW",
        Run::Update(_) | Run::UpdateUnless(..) => "RW",
    };
    reply.map(3);
    reply.bulk("flags");
    reply.set(1);
    reply.simple(access);
    search_step(reply, "begin_search", "index", &[("index", as_integer(first))]);
    let last = i64::try_from(last).unwrap_or(i64::MAX);
    let range = [("lastkey", last), ("keystep", as_integer(step)), ("limit", 0)];
    search_step(reply, "find_keys", "range", &range);
}

/// Replies a step of a search for keys: its name, its kind, and the numbers that it takes.
fn search_step(reply: &mut Reply, name: &str, kind: &str, numbers: &[(&str, i64)]) {
    reply.bulk(name);
    reply.map(2);
    reply.bulk("type");
    reply.bulk(kind);
    reply.bulk("spec");
    reply.map(numbers.len());
    for (name, number) in numbers {
        reply.bulk(name);
        reply.integer(*number);
    }
}

fn as_integer(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn flags(command: &Command) -> Vec<&'static str> {
    let access = match command.run {
        Run::Local(_) => None,
        Run::Read(_) | Run::Scan(_) => Some("readonly"),
        Run::Write(_) | Run::Update(_) | Run::UpdateUnless(..) => Some("write"),
    };
    let others =
        [(command.is_admin, "admin"), (command.is_open, "no_auth"), (command.is_alone, "no_multi")];
    let others = others.into_iter().filter_map(|(has, flag)| has.then_some(flag));
    access.into_iter().chain(others).collect()
}

/// Replies a command as COMMAND DOCS does.
fn document(command: &Command, reply: &mut Reply) {
    reply.bulk(command.name);
    reply.map(2);
    for (name, value) in [("summary", command.summary), ("group", command.group)] {
        reply.bulk(name);
        reply.bulk(value);
    }
}
