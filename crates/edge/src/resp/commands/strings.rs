//! Values as a whole.

use super::set::{Options, SetGet, expires_at};
use super::{Command, Context, Done, Run, check_reply, check_value, is};
use crate::resp::access::Value;
use crate::resp::failure::Failure;
use crate::resp::request::Arguments;
use crate::shared::Shared;

pub(super) fn commands() -> Vec<Command> {
    use Run::{Read, Update, UpdateUnless, Write};
    let rows = [
        Command::new("get", 2, Read(get), "Returns the value of a key.").keys(1, 1, 1),
        Command::new(
            "set",
            -3,
            UpdateUnless(set, super::set::is_plain),
            "Sets the value of a key, under conditions and with an expiry if asked.",
        )
        .keys(1, 1, 1),
        Command::new("setnx", 3, Update(setnx), "Sets the value of a key that has none.")
            .keys(1, 1, 1),
        Command::new("setex", 4, Write(setex), "Sets a value that expires, in seconds.")
            .keys(1, 1, 1),
        Command::new("psetex", 4, Write(psetex), "Sets a value that expires, in milliseconds.")
            .keys(1, 1, 1),
        Command::new("getset", 3, Update(getset), "Sets a value, and returns the one before.")
            .keys(1, 1, 1),
        Command::new("getdel", 2, Update(getdel), "Removes a key, and returns its value.")
            .keys(1, 1, 1),
        Command::new("getex", -2, Update(getex), "Returns a value, and changes its expiry.")
            .keys(1, 1, 1),
        Command::new("delifeq", 3, Update(delifeq), "Removes a key that has this value.")
            .keys(1, 1, 1),
        Command::new("delex", -2, Update(delex), "Removes a key, under a condition if asked.")
            .keys(1, 1, 1),
        Command::new("mget", -2, Read(mget), "Returns the values of keys.").keys(1, -1, 1),
        Command::new("mset", -3, Write(mset), "Sets the values of keys.").keys(1, -1, 2),
        Command::new("msetnx", -3, Update(msetnx), "Sets the values of keys that have none.")
            .keys(1, -1, 2),
        Command::new("append", 3, Update(append), "Appends to a value.").keys(1, 1, 1),
        Command::new("strlen", 2, Read(strlen), "Returns the length of a value.").keys(1, 1, 1),
    ];
    rows.map(|command| command.group("string")).into()
}

fn get(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let found = context.access.get(context.keyspace, arguments.at(1))?;
    context.reply.bulk_or_null(found.as_ref().map(|value| value.bytes.as_slice()));
    Ok(())
}

fn set(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let (key, value) = (arguments.at(1), arguments.at(2));
    check_value(context.shared, value.len())?;
    let options = Options::of_set(arguments)?;
    let now = if options.expiry.needs_now() { context.access.now() } else { 0 };
    let new_expiry = options.expiry.resolve(now, "set")?;
    if options.is_blind() {
        context.access.put(context.keyspace, key, value, new_expiry)?;
        context.reply.ok();
        return Ok(());
    }
    let found = context.access.get(context.keyspace, key)?;
    let holds = options.holds(found.as_ref());
    if holds {
        let kept = found.as_ref().and_then(|value| value.expires_at);
        let at = if options.expiry.keeps() { kept } else { new_expiry };
        context.access.put(context.keyspace, key, value, at)?;
    }
    match (options.get, holds) {
        (SetGet::Old, _) => context.reply.bulk_or_null(bytes(found.as_ref())),
        (SetGet::Status, true) => context.reply.ok(),
        (SetGet::Status, false) => context.reply.null(),
    }
    Ok(())
}

fn bytes(value: Option<&Value>) -> Option<&[u8]> {
    value.map(|value| value.bytes.as_slice())
}

fn setnx(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let (key, value) = (arguments.at(1), arguments.at(2));
    check_value(context.shared, value.len())?;
    let is_absent = context.access.get(context.keyspace, key)?.is_none();
    if is_absent {
        context.access.put(context.keyspace, key, value, None)?;
    }
    context.reply.integer(i64::from(is_absent));
    Ok(())
}

fn setex(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    put_expiring(context, arguments, 1000, "setex")
}

fn psetex(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    put_expiring(context, arguments, 1, "psetex")
}

fn put_expiring(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    unit: i64,
    name: &str,
) -> Done {
    let (key, value) = (arguments.at(1), arguments.at(3));
    check_value(context.shared, value.len())?;
    let now = context.access.now();
    let at = expires_at(super::integer(arguments.at(2))?, unit, Some(now), name)?;
    context.access.put(context.keyspace, key, value, Some(at))?;
    context.reply.ok();
    Ok(())
}

fn getset(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let (key, value) = (arguments.at(1), arguments.at(2));
    check_value(context.shared, value.len())?;
    let found = context.access.get(context.keyspace, key)?;
    context.access.put(context.keyspace, key, value, None)?;
    context.reply.bulk_or_null(bytes(found.as_ref()));
    Ok(())
}

fn getdel(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let key = arguments.at(1);
    let found = context.access.get(context.keyspace, key)?;
    if found.is_some() {
        context.access.delete(context.keyspace, key)?;
    }
    context.reply.bulk_or_null(bytes(found.as_ref()));
    Ok(())
}

fn getex(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let key = arguments.at(1);
    let options = Options::of_getex(arguments)?;
    let now = context.access.now();
    let found = context.access.get(context.keyspace, key)?;
    let at = options.expiry.resolve(now, "getex")?;
    if let Some(value) = &found {
        let is_changed = at.is_some() || options.expiry.persists() && value.expires_at.is_some();
        if at.is_some_and(|at| at <= now) {
            context.access.delete(context.keyspace, key)?;
        } else if is_changed {
            context.access.put(context.keyspace, key, &value.bytes, at)?;
        }
    }
    context.reply.bulk_or_null(bytes(found.as_ref()));
    Ok(())
}

/// Removes a key if its value fits.
fn delete_if(context: &mut Context<'_>, key: &[u8], fits: impl Fn(&[u8]) -> bool) -> Done {
    let found = context.access.get(context.keyspace, key)?;
    let is_removed = found.is_some_and(|value| fits(&value.bytes));
    if is_removed {
        context.access.delete(context.keyspace, key)?;
    }
    context.reply.integer(i64::from(is_removed));
    Ok(())
}

fn delifeq(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    delete_if(context, arguments.at(1), |value| value == arguments.at(2))
}

fn delex(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let (key, expected) = (arguments.at(1), arguments.at(3));
    match arguments.len() {
        2 => delete_if(context, key, |_| true),
        4 if is(arguments.at(2), "IFEQ") => delete_if(context, key, |value| value == expected),
        4 if is(arguments.at(2), "IFNE") => delete_if(context, key, |value| value != expected),
        _ => Err(Failure::SYNTAX.into()),
    }
}

fn mget(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    context.reply.array(arguments.len() - 1);
    for key in arguments.from(1) {
        let found = context.access.get(context.keyspace, key)?;
        context.reply.bulk_or_null(bytes(found.as_ref()));
        check_reply(context)?;
    }
    Ok(())
}

/// Returns the pairs of MSET.
fn pairs<'a>(
    shared: &Shared,
    arguments: Arguments<'a>,
    name: &'static str,
) -> Result<impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone + use<'a>, Failure> {
    if arguments.len().is_multiple_of(2) {
        return Err(Failure::arity(name));
    }
    let values = arguments.from(2).step_by(2);
    values.clone().try_for_each(|value| check_value(shared, value.len()))?;
    Ok(arguments.from(1).step_by(2).zip(values))
}

fn mset(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    for (key, value) in pairs(context.shared, arguments, "mset")? {
        context.access.put(context.keyspace, key, value, None)?;
    }
    context.reply.ok();
    Ok(())
}

fn msetnx(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let pairs = pairs(context.shared, arguments, "msetnx")?;
    for (key, _) in pairs.clone() {
        if context.access.get(context.keyspace, key)?.is_some() {
            context.reply.integer(0);
            return Ok(());
        }
    }
    for (key, value) in pairs {
        context.access.put(context.keyspace, key, value, None)?;
    }
    context.reply.integer(1);
    Ok(())
}

fn append(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let (key, suffix) = (arguments.at(1), arguments.at(2));
    let found = context.access.get(context.keyspace, key)?;
    let (mut value, at) = found.map(|value| (value.bytes, value.expires_at)).unwrap_or_default();
    check_value(context.shared, value.len() + suffix.len())?;
    value.extend_from_slice(suffix);
    context.access.put(context.keyspace, key, &value, at)?;
    context.reply.count(value.len());
    Ok(())
}

fn strlen(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let found = context.access.get(context.keyspace, arguments.at(1))?;
    context.reply.count(found.map_or(0, |value| value.bytes.len()));
    Ok(())
}
