//! The state of a connection between its commands.

use super::failure::Failure;
use super::reply::Protocol;
use super::transaction::{Queue, Watched};
use crate::shared::Shared;
use crate::tokens::Grant;
use std::net::SocketAddr;
use std::sync::Arc;

/// Bytes of the longest name of a connection.
const NAME_BYTES_MAX: usize = 1024;

/// Steps that a command of the connection leaves to the task, which may wait.
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

/// Commands that are replied to.
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
            database: 0,
            grant: shared.tokens.anonymous(),
            queue: None,
            watched: Watched::default(),
            replies: Replies::On,
        }
    }

    /// Returns the rights of the peer, if it has any; those of a token that was revoked are gone.
    pub fn rights(&mut self, shared: &Shared) -> Option<Arc<Grant>> {
        if self.grant.as_ref().is_none_or(|grant| grant.is_revoked()) {
            self.grant = shared.tokens.anonymous();
        }
        self.grant.clone()
    }

    /// Names the connection.
    pub fn set_name(&mut self, name: &[u8]) -> Result<(), Failure> {
        if name.len() > NAME_BYTES_MAX {
            return Err(Failure::too_long("client name", name.len(), NAME_BYTES_MAX));
        }
        if name.iter().any(|byte| !(b'!'..=b'~').contains(byte)) {
            let words = "ERR Client names cannot contain spaces, newlines or special characters.";
            return Err(words.into());
        }
        self.name = name.into();
        Ok(())
    }

    /// Describes the connection, as CLIENT INFO does.
    pub fn describe(&self, protocol: Protocol) -> String {
        let version = if protocol == Protocol::Resp2 { 2 } else { 3 };
        let multi = self
            .queue
            .as_ref()
            .map_or(-1, |queue| i64::try_from(queue.commands()).unwrap_or(i64::MAX));
        format!(
            "id={} addr={} name={} db={} multi={multi} watch={} resp={version}\n",
            self.id,
            self.peer,
            String::from_utf8_lossy(&self.name),
            self.database,
            self.watched.keys.len(),
        )
    }
}
