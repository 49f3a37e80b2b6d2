//! Keys, whatever their value.

use super::{Command, Context, Done, Run, is};
use crate::resp::access::Value;
use crate::resp::databases;
use crate::resp::failure::Failure;
use crate::resp::request::Arguments;
use crate::tokens::Role;
use ::terrane::Keyspace;

pub(super) fn commands() -> Vec<Command> {
    use Run::{Read, Update};
    let rows = [
        Command::new("del", -2, Update(del), "Removes keys.").keys(1, -1, 1),
        Command::new("unlink", -2, Update(del), "Removes keys.").keys(1, -1, 1),
        Command::new("exists", -2, Read(exists), "Counts the keys that are there.").keys(1, -1, 1),
        Command::new("touch", -2, Read(exists), "Counts the keys that are there.").keys(1, -1, 1),
        Command::new("type", 2, Read(kind), "Returns the type of a value.").keys(1, 1, 1),
        Command::new("rename", 3, Update(rename), "Renames a key.").keys(1, 2, 1),
        Command::new("renamenx", 3, Update(renamenx), "Renames a key to one that is not there.")
            .keys(1, 2, 1),
        Command::new("copy", -3, Update(copy), "Copies a value to another key.").keys(1, 2, 1),
        Command::new("move", 3, Update(move_), "Moves a key to another database.").keys(1, 1, 1),
    ];
    rows.map(|command| command.group("generic")).into()
}

fn del(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let mut count = 0;
    for key in arguments.from(1) {
        if context.access.get(context.keyspace, key)?.is_some() {
            context.access.delete(context.keyspace, key)?;
            count += 1;
        }
    }
    context.reply.integer(count);
    Ok(())
}

fn exists(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let mut count = 0;
    for key in arguments.from(1) {
        count += i64::from(context.access.get(context.keyspace, key)?.is_some());
    }
    context.reply.integer(count);
    Ok(())
}

fn kind(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let found = context.access.get(context.keyspace, arguments.at(1))?;
    context.reply.simple(if found.is_some() { "string" } else { "none" });
    Ok(())
}

fn rename(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    rename_unless(context, arguments, false)?;
    context.reply.ok();
    Ok(())
}

fn renamenx(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let is_renamed = rename_unless(context, arguments, true)?;
    context.reply.integer(i64::from(is_renamed));
    Ok(())
}

/// Renames a key, unless a key of the new name exists and must not be replaced. Returns whether it did.
fn rename_unless(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    keeps_present: bool,
) -> Result<bool, Failure> {
    let (from, to) = (arguments.at(1), arguments.at(2));
    let found = context.access.get(context.keyspace, from)?;
    let Value { bytes, expires_at, .. } = found.ok_or("ERR no such key")?;
    if keeps_present && context.access.get(context.keyspace, to)?.is_some() {
        return Ok(false);
    }
    if from != to {
        context.access.put(context.keyspace, to, &bytes, expires_at)?;
        context.access.delete(context.keyspace, from)?;
    }
    Ok(true)
}

/// The options of COPY.
struct CopyOptions {
    database: Option<usize>,
    replaces: bool,
}

impl CopyOptions {
    fn parse(arguments: Arguments<'_>) -> Result<Self, Failure> {
        let mut options = CopyOptions { database: None, replaces: false };
        let mut rest = arguments.from(3);
        while let Some(option) = rest.next() {
            if is(option, "REPLACE") {
                options.replaces = true;
            } else if is(option, "DB") {
                options.database = Some(number(rest.next().ok_or(Failure::SYNTAX)?)?);
            } else {
                return Err(Failure::SYNTAX.into());
            }
        }
        Ok(options)
    }
}

/// Parses the number of a database.
fn number(argument: &[u8]) -> Result<usize, Failure> {
    super::integer(argument)?;
    databases::parse(argument).ok_or("ERR DB index is out of range".into())
}

/// Returns the other database that a command names, if it names one.
pub(crate) fn other_database(command: &Command, arguments: Arguments<'_>) -> Option<usize> {
    match command.name {
        "copy" => CopyOptions::parse(arguments).ok()?.database,
        "move" => databases::parse(arguments.at(2)),
        _ => None,
    }
}

/// Returns the keyspace of another database, if it exists.
///
/// # Errors
/// A key that the peer may not write there.
fn keyspace_of<'a>(
    context: &Context<'a>,
    database: usize,
    key: &[u8],
) -> Result<Option<&'a Keyspace>, Failure> {
    if !context.grant.allows_key(Role::Write, &databases::name(database), key) {
        return Err(Failure::NO_KEY_PERMISSION.into());
    }
    // It was opened before the command ran.
    Ok(context.shared.resp.databases.get(database).map(terrane_tokio::Keyspace::inner))
}

/// Returns whether a key of another database has no value.
fn is_free(
    context: &mut Context<'_>,
    target: Option<&Keyspace>,
    key: &[u8],
) -> Result<bool, Failure> {
    let Some(target) = target else { return Ok(true) };
    Ok(context.access.get(target, key)?.is_none())
}

fn copy(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let (from, to) = (arguments.at(1), arguments.at(2));
    let options = CopyOptions::parse(arguments)?;
    let database = options.database.unwrap_or(context.database);
    if database == context.database && from == to {
        return Err("ERR source and destination objects are the same".into());
    }
    let target = keyspace_of(context, database, to)?;
    let found = context.access.get(context.keyspace, from)?;
    let is_free = options.replaces || is_free(context, target, to)?;
    let copied = found.filter(|_| is_free);
    if let Some(value) = &copied {
        let target = target.ok_or(Failure::NoDatabase(database))?;
        context.access.put(target, to, &value.bytes, value.expires_at)?;
    }
    context.reply.integer(i64::from(copied.is_some()));
    Ok(())
}

fn move_(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let key = arguments.at(1);
    let database = number(arguments.at(2))?;
    if database == context.database {
        return Err("ERR source and destination objects are the same".into());
    }
    let target = keyspace_of(context, database, key)?;
    let found = context.access.get(context.keyspace, key)?;
    let is_free = is_free(context, target, key)?;
    let moved = found.filter(|_| is_free);
    if let Some(value) = &moved {
        let target = target.ok_or(Failure::NoDatabase(database))?;
        context.access.put(target, key, &value.bytes, value.expires_at)?;
        context.access.delete(context.keyspace, key)?;
    }
    context.reply.integer(i64::from(moved.is_some()));
    Ok(())
}
