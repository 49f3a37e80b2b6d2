//! The state of a connection between its commands.

use super::failure::Failure;
use super::reply::Protocol;
use super::transaction::{Queue, Watched};
use crate::shared::Shared;
use crate::tokens::Grant;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

/// The most bytes of a name that a connection keeps.
const NAME_BYTES_MAX: usize = 1 << 10;

/// A step that a command of the connection leaves to its task, which may wait.
pub(crate) enum Action {
    None,
    Select(usize),
    /// Syncs all writes, then replies.
    Sync(fn(&mut super::reply::Reply)),
    SyncLater,
    Watch,
    Execute,
    Close,
}

/// Whether commands are replied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replies {
    On,
    Off,
    /// All but the one under way.
    Skip,
    /// All but the next one.
    SkipNext,
}

/// The state of a connection.
pub(crate) struct Session {
    pub id: i64,
    pub peer: SocketAddr,
    pub name: Box<[u8]>,
    /// Name and version of the peer's library.
    pub library: [Box<[u8]>; 2],
    connected: Instant,
    pub database: usize,
    /// Rights of the peer; `None` before it has authenticated.
    pub grant: Option<Arc<Grant>>,
    /// The commands since MULTI.
    pub queue: Option<Box<Queue>>,
    pub watched: Watched,
    pub replies: Replies,
}

impl Session {
    pub fn new(id: i64, peer: SocketAddr, shared: &Shared) -> Self {
        Session {
            id,
            peer,
            name: Box::default(),
            library: Default::default(),
            connected: Instant::now(),
            database: 0,
            grant: shared.tokens.anonymous(),
            queue: None,
            watched: Watched::default(),
            replies: Replies::On,
        }
    }

    /// Returns the rights of the peer, if it has any: not those of a revoked token.
    pub fn rights(&mut self, shared: &Shared) -> Option<Arc<Grant>> {
        if self.grant.as_ref().is_none_or(|grant| grant.is_revoked()) {
            self.grant = shared.tokens.anonymous();
        }
        self.grant.clone()
    }

    /// Returns the connection to its first state, except for its peer and the peer's library.
    pub fn reset(&mut self, shared: &Shared) {
        let (library, connected) = (std::mem::take(&mut self.library), self.connected);
        *self = Session { library, connected, ..Session::new(self.id, self.peer, shared) };
    }

    /// Names the connection.
    pub fn set_name(&mut self, name: &[u8]) -> Result<(), Failure> {
        self.name = checked_name("Client names", name)?;
        Ok(())
    }

    /// Describes the connection for CLIENT INFO or LIST, whichever `command` is: with the fields that clients parse.
    /// Fields of what this server does not count are 0.
    pub fn describe(&self, protocol: Protocol, command: &str) -> String {
        let version = if protocol == Protocol::Resp2 { 2 } else { 3 };
        let age = self.connected.elapsed().as_secs();
        let user = self.grant.as_ref().map_or("default", |grant| &grant.name);
        let [name, library, library_version] = [&self.name, &self.library[0], &self.library[1]]
            .map(|name| String::from_utf8_lossy(name));
        format!(
            "id={} addr={} fd=0 name={name} age={age} idle=0 flags=N db={} sub=0 psub=0 ssub=0 multi=-1 watch={} \
             qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r \
             cmd=client|{command} user={user} redir=-1 resp={version} lib-name={library} \
             lib-ver={library_version}\n",
            self.id,
            self.peer,
            self.database,
            self.watched.keys.len(),
        )
    }
}

/// Copies a name, checked to fit into a line of fields.
///
/// # Errors
/// Spaces or other characters than visible ASCII; a name over its limit.
pub(crate) fn checked_name(what: &str, name: &[u8]) -> Result<Box<[u8]>, Failure> {
    if name.len() > NAME_BYTES_MAX {
        return Err(Failure::too_long(what, name.len(), NAME_BYTES_MAX));
    }
    if !name.iter().all(|byte| (b'!'..=b'~').contains(byte)) {
        let words = "cannot contain spaces, newlines or special characters.";
        return Err(format!("ERR {what} {words}").into());
    }
    Ok(name.into())
}
