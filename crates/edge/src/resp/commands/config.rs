//! The settings that clients ask for. The command line sets them, and no command changes them.

use super::is;
use crate::resp::databases::DATABASES;
use crate::resp::failure::Failure;
use crate::resp::glob::matches;
use crate::resp::reply::Reply;
use crate::resp::request::Arguments;
use crate::resp::session::{Action, Session};
use crate::shared::Shared;
use ::terrane::Durability;

/// Returns the settings: names and values.
fn settings(shared: &Shared) -> Vec<(&'static str, String)> {
    let fsync = if shared.durability == Durability::Sync { "always" } else { "everysec" };
    vec![
        ("appendfsync", fsync.to_owned()),
        ("appendonly", "yes".to_owned()),
        ("databases", DATABASES.to_string()),
        ("maxclients", shared.limits.connections_max().to_string()),
        ("maxmemory", "0".to_owned()),
        ("maxmemory-policy", "noeviction".to_owned()),
        ("proto-max-bulk-len", shared.limits.value_bytes.to_string()),
        ("save", String::new()),
        ("timeout", "0".to_owned()),
    ]
}

pub(super) fn config(
    _: &mut Session,
    arguments: Arguments<'_>,
    reply: &mut Reply,
    shared: &Shared,
) -> Result<Action, Failure> {
    let subcommand = arguments.at(1);
    match subcommand.to_ascii_lowercase().as_slice() {
        b"get" if arguments.len() >= 3 => get(arguments, reply, shared),
        b"set" if arguments.len() >= 4 && arguments.len().is_multiple_of(2) => {
            set(arguments, reply, shared)?;
        }
        b"resetstat" if arguments.len() == 2 => reply.ok(),
        b"rewrite" if arguments.len() == 2 => {
            return Err("ERR The server is running without a config file".into());
        }
        name @ (b"get" | b"set" | b"resetstat" | b"rewrite") => {
            return Err(Failure::arity(&format!("config|{}", String::from_utf8_lossy(name))));
        }
        _ => return Err(Failure::subcommand("CONFIG", subcommand)),
    }
    Ok(Action::None)
}

fn get(arguments: Arguments<'_>, reply: &mut Reply, shared: &Shared) {
    let mut found = settings(shared);
    found.retain(|(name, _)| {
        let is_asked = |pattern: &[u8]| matches(&pattern.to_ascii_lowercase(), name.as_bytes());
        arguments.from(2).any(is_asked)
    });
    reply.map(found.len());
    for (name, value) in found {
        reply.bulk(name);
        reply.bulk(value);
    }
}

/// Accepts a setting's present value, and no other.
fn set(arguments: Arguments<'_>, reply: &mut Reply, shared: &Shared) -> Result<(), Failure> {
    let settings = settings(shared);
    let asked = arguments.from(2).step_by(2).zip(arguments.from(3).step_by(2));
    for (name, value) in asked {
        let shown = String::from_utf8_lossy(name);
        let Some((_, present)) = settings.iter().find(|(known, _)| is(name, known)) else {
            let words = "ERR Unknown option or number of arguments for CONFIG SET";
            return Err(format!("{words} - '{shown}'").into());
        };
        if present.as_bytes() != value {
            return Err(format!(
                "ERR CONFIG SET failed (possibly related to argument '{shown}') - can't set immutable config"
            )
            .into());
        }
    }
    reply.ok();
    Ok(())
}
