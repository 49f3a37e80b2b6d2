//! The text of INFO.

use super::connection::REDIS_VERSION;
use super::is;
use crate::resp::failure::Failure;
use crate::resp::reply::Reply;
use crate::resp::request::Arguments;
use crate::resp::session::{Action, Session};
use crate::shared::Shared;
use crate::tokens::{Grant, Role};
use ::terrane::KeyRange;
use std::fmt::Write;
use std::sync::atomic::Ordering;

/// A section: its name, and what writes its lines.
type Section = (&'static str, fn(&mut String, &Shared, &Grant) -> std::fmt::Result);

const SECTIONS: [Section; 6] = [
    ("Server", server),
    ("Clients", clients),
    ("Persistence", persistence),
    ("Stats", stats),
    ("Replication", replication),
    ("Keyspace", keyspace),
];

pub(super) fn info(
    session: &mut Session,
    arguments: Arguments<'_>,
    reply: &mut Reply,
    shared: &Shared,
) -> Result<Action, Failure> {
    let is_all = |name: &[u8]| ["all", "default", "everything"].iter().any(|all| is(name, all));
    let is_asked = |section: &str| {
        arguments.len() == 1 || arguments.from(1).any(|name| is(name, section) || is_all(name))
    };
    let grant = session.rights(shared).ok_or(Failure::NO_AUTH)?;
    let mut text = String::new();
    for (name, write) in SECTIONS.into_iter().filter(|(name, _)| is_asked(name)) {
        let separator = if text.is_empty() { "" } else { "\r\n" };
        // Text takes whatever is written.
        let _ =
            write!(text, "{separator}# {name}\r\n").and_then(|()| write(&mut text, shared, &grant));
    }
    reply.verbatim(&text);
    Ok(Action::None)
}

fn server(text: &mut String, shared: &Shared, _: &Grant) -> std::fmt::Result {
    let uptime = shared.started.elapsed().as_secs();
    write!(text, "redis_version:{REDIS_VERSION}\r\nredis_mode:standalone\r\n")?;
    write!(text, "terrane_version:{}\r\n", env!("CARGO_PKG_VERSION"))?;
    write!(text, "process_id:{}\r\n", std::process::id())?;
    write!(text, "uptime_in_seconds:{uptime}\r\nuptime_in_days:{}\r\n", uptime / 86_400)
}

fn clients(text: &mut String, shared: &Shared, _: &Grant) -> std::fmt::Result {
    write!(text, "connected_clients:{}\r\n", shared.limits.connections())?;
    write!(text, "maxclients:{}\r\n", shared.limits.connections_max())
}

fn persistence(text: &mut String, shared: &Shared, _: &Grant) -> std::fmt::Result {
    let saved = shared.resp.saved.load(Ordering::Relaxed);
    write!(text, "loading:0\r\naof_enabled:1\r\naof_rewrite_in_progress:0\r\n")?;
    write!(text, "rdb_bgsave_in_progress:0\r\nrdb_last_save_time:{saved}\r\n")
}

fn stats(text: &mut String, shared: &Shared, _: &Grant) -> std::fmt::Result {
    write!(text, "total_connections_received:{}\r\n", shared.metrics.connections_accepted.get())?;
    write!(text, "total_commands_processed:{}\r\n", shared.metrics.resp_commands.get())?;
    write!(text, "rejected_connections:{}\r\n", shared.metrics.connections_refused.get())?;
    write!(text, "total_forks:0\r\n")
}

fn replication(text: &mut String, _: &Shared, _: &Grant) -> std::fmt::Result {
    write!(text, "role:master\r\nconnected_slaves:0\r\n")
}

/// Writes the number of entries of each database that the peer may read: keys that were overwritten count until they
/// are compacted.
fn keyspace(text: &mut String, shared: &Shared, grant: &Grant) -> std::fmt::Result {
    write!(text, "keys_are:estimated\r\n")?;
    let Ok(stats) = shared.db.inner().stats() else { return Ok(()) };
    for (number, keyspace) in shared.resp.databases.opened() {
        let name = keyspace.inner().name();
        if !grant.allows_range(Role::Read, name, &KeyRange::from(..)) {
            continue;
        }
        let Some(found) = stats.keyspaces.iter().find(|stats| stats.name == name) else { continue };
        let levels: u64 = found.levels.iter().map(|level| level.entries).sum();
        let keys = found.memtable_entries + levels;
        if keys > 0 {
            write!(text, "db{number}:keys={keys},expires=0,avg_ttl=0\r\n")?;
        }
    }
    Ok(())
}
