//! Tokens: who may do what. Without a file of them, everyone may do everything.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use terrane::KeyRange;

/// Extent of what a token allows; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Gets and scans.
    Read,
    /// Writes.
    Write,
    /// Everything: checkpoints, flushes, statistics, and the end of the server.
    Admin,
}

/// What the bearer of a token may do. A connection keeps it, and asks it at each request.
#[derive(Debug)]
pub struct Grant {
    /// Name of the token, for messages.
    pub name: String,
    /// Most that is allowed.
    pub role: Role,
    keyspace: String,
    prefix: Vec<u8>,
    revoked: AtomicBool,
}

impl Grant {
    fn everything() -> Self {
        Grant {
            name: "default".to_owned(),
            role: Role::Admin,
            keyspace: "*".to_owned(),
            prefix: Vec::new(),
            revoked: AtomicBool::new(false),
        }
    }

    /// Returns whether the token was removed or changed since; its bearer has to authenticate again.
    #[must_use]
    pub fn is_revoked(&self) -> bool {
        self.revoked.load(Ordering::Relaxed)
    }

    /// Returns whether `role` is allowed at all: for what concerns no keyspace.
    #[must_use]
    pub fn allows(&self, role: Role) -> bool {
        !self.is_revoked() && role <= self.role
    }

    /// Returns whether `role` is allowed on a key of a keyspace.
    #[must_use]
    pub fn allows_key(&self, role: Role, keyspace: &str, key: &[u8]) -> bool {
        self.allows(role) && self.covers(keyspace) && key.starts_with(&self.prefix)
    }

    /// Returns whether `role` is allowed on all keys of a range of a keyspace.
    #[must_use]
    pub fn allows_range(&self, role: Role, keyspace: &str, range: &KeyRange) -> bool {
        let _ = range;
        self.allows(role) && self.covers(keyspace) && self.prefix.is_empty()
    }

    fn covers(&self, keyspace: &str) -> bool {
        self.keyspace == "*" || self.keyspace == keyspace
    }
}

/// The tokens that are accepted.
pub struct Tokens {
    everyone: Option<Arc<Grant>>,
}

impl Tokens {
    /// No tokens: everyone may do everything.
    pub(crate) fn none() -> Self {
        Tokens { everyone: Some(Arc::new(Grant::everything())) }
    }

    /// Returns what a peer without a token may do; `None` if it needs one.
    #[must_use]
    pub fn anonymous(&self) -> Option<Arc<Grant>> {
        self.everyone.clone()
    }

    /// Returns what the bearer of a token may do; `None` if there is no such token, or none of this `name`.
    #[must_use]
    pub fn authenticate(&self, name: Option<&str>, secret: &[u8]) -> Option<Arc<Grant>> {
        let _ = (name, secret);
        None
    }
}
