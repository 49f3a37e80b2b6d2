//! The store as a whole.

use super::{Command, Context, Done, Run, integer, is};
use crate::resp::databases;
use crate::resp::failure::Failure;
use crate::resp::reply::Reply;
use crate::resp::request::Arguments;
use crate::resp::session::{Action, Session};
use crate::shared::Shared;
use crate::tokens::Role;
use ::terrane::{KeyRange, Keyspace};
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

pub(super) fn commands() -> Vec<Command> {
    use Run::{Local, Write};
    let rows = [
        Command::new("info", -1, Local(super::info::info), "Describes the server."),
        Command::new("config", -2, Local(super::config::config), "Returns settings."),
        Command::new("time", 1, Local(time), "Returns the time."),
        Command::new("flushdb", -1, Write(flushdb), "Removes all keys of the database."),
        Command::new("flushall", -1, Write(flushall), "Removes all keys of all databases."),
        Command::new("save", 1, Local(save), "Syncs all writes.").for_writers().alone(),
        Command::new("bgsave", -1, Local(bgsave), "Syncs all writes, without waiting.")
            .for_writers(),
        Command::new("lastsave", 1, Local(lastsave), "Returns the time of the latest sync."),
        Command::new("wait", 3, Local(wait), "Returns the number of replicas, which is 0."),
        Command::new("waitaof", 4, Local(waitaof), "Waits until all writes are synced."),
        Command::new("function", -2, Local(function), "Removes all functions: there are none."),
        Command::new("shutdown", -1, Local(shutdown), "Stops the server.").admin().alone(),
    ];
    rows.map(|command| command.group("server")).into()
}

type Next = Result<Action, Failure>;

/// Returns the time since the epoch.
fn since_epoch() -> std::time::Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Returns the seconds since the epoch.
pub(crate) fn seconds() -> u64 {
    since_epoch().as_secs()
}

fn time(_: &mut Session, _: Arguments<'_>, reply: &mut Reply, _: &Shared) -> Next {
    let now = since_epoch();
    reply.array(2);
    reply.bulk(now.as_secs().to_string());
    reply.bulk(now.subsec_micros().to_string());
    Ok(Action::None)
}

/// Checks the option of FLUSHDB and FLUSHALL, which changes nothing: a range delete is fast either way.
fn check_flush(arguments: Arguments<'_>) -> Done {
    let option = arguments.at(1);
    match arguments.len() {
        1 => Ok(()),
        2 if is(option, "SYNC") || is(option, "ASYNC") => Ok(()),
        _ => Err(Failure::SYNTAX.into()),
    }
}

/// Removes all keys of a database, if the peer may.
fn flush(context: &mut Context<'_>, database: usize, keyspace: &Keyspace) -> Done {
    let all = KeyRange::from(..);
    if !context.grant.allows_range(Role::Write, &databases::name(database), &all) {
        return Err(Failure::NO_KEY_PERMISSION.into());
    }
    context.access.delete_range(keyspace, all)
}

fn flushdb(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    check_flush(arguments)?;
    flush(context, context.database, context.keyspace)?;
    context.reply.ok();
    Ok(())
}

fn flushall(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    check_flush(arguments)?;
    // All databases that exist were opened before the command ran.
    for (database, keyspace) in context.shared.resp.databases.opened() {
        flush(context, database, keyspace.inner())?;
    }
    context.reply.ok();
    Ok(())
}

fn save(_: &mut Session, _: Arguments<'_>, _: &mut Reply, _: &Shared) -> Next {
    Ok(Action::Sync(Reply::ok))
}

fn bgsave(_: &mut Session, arguments: Arguments<'_>, reply: &mut Reply, _: &Shared) -> Next {
    if arguments.len() > 2 || arguments.len() == 2 && !is(arguments.at(1), "SCHEDULE") {
        return Err(Failure::SYNTAX.into());
    }
    reply.simple("Background saving started");
    Ok(Action::SyncLater)
}

fn lastsave(_: &mut Session, _: Arguments<'_>, reply: &mut Reply, shared: &Shared) -> Next {
    let saved = shared.resp.saved.load(Ordering::Relaxed);
    reply.integer(i64::try_from(saved).unwrap_or(i64::MAX));
    Ok(Action::None)
}

fn wait(_: &mut Session, arguments: Arguments<'_>, reply: &mut Reply, _: &Shared) -> Next {
    integer(arguments.at(1))?;
    if integer(arguments.at(2))? < 0 {
        return Err("ERR timeout is negative".into());
    }
    // There are no replicas to wait for.
    reply.integer(0);
    Ok(Action::None)
}

fn waitaof(_: &mut Session, arguments: Arguments<'_>, reply: &mut Reply, _: &Shared) -> Next {
    let local = integer(arguments.at(1))?;
    integer(arguments.at(2))?;
    if integer(arguments.at(3))? < 0 {
        return Err("ERR timeout is negative".into());
    }
    if !(0..=1).contains(&local) {
        return Err(Failure::NOT_AN_INTEGER.into());
    }
    if local == 0 {
        synced(reply, 0);
        return Ok(Action::None);
    }
    Ok(Action::Sync(|reply| synced(reply, 1)))
}

/// Replies how many logs were synced: that of the store, and those of replicas.
fn synced(reply: &mut Reply, local: i64) {
    reply.array(2);
    reply.integer(local);
    reply.integer(0);
}

fn function(_: &mut Session, arguments: Arguments<'_>, reply: &mut Reply, _: &Shared) -> Next {
    if !is(arguments.at(1), "FLUSH") {
        return Err(Failure::subcommand("FUNCTION", arguments.at(1)));
    }
    check_flush(arguments.after(1))?;
    reply.ok();
    Ok(Action::None)
}

fn shutdown(_: &mut Session, arguments: Arguments<'_>, _: &mut Reply, shared: &Shared) -> Next {
    let is_known =
        |option: &[u8]| ["SAVE", "NOSAVE", "NOW", "FORCE"].iter().any(|word| is(option, word));
    if !arguments.from(1).all(is_known) {
        return Err(Failure::SYNTAX.into());
    }
    // Writes are never dropped, not even by NOSAVE.
    shared.shutdown.cancel();
    Ok(Action::Close)
}
