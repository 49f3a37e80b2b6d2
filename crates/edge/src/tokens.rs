//! Tokens: the rights of clients. Without a file of tokens everyone may do everything.
//!
//! A line of the file is `NAME SHA256 read|write|admin KEYSPACE [PREFIX]`: the SHA-256 of the token in hexadecimal
//! digits; a keyspace, where a `*` at its end stands for any rest; the start of the keys, percent-encoded. Empty lines
//! and those that start with `#` are skipped.
//!
//! 1. A token is compared with every line in constant time.
//! 2. When the file is read again, grants that it still has stay, and all others are revoked: connections notice at
//!    their next request.

use crate::Error;
use arc_swap::ArcSwap;
use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use std::fmt;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use subtle::ConstantTimeEq;
use terrane::KeyRange;

/// Form of a line.
const EXPECTED: &str = "NAME SHA256 read|write|admin KEYSPACE [PREFIX]";

/// Extent of what a token allows; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Gets and scans.
    Read,
    /// Writes.
    Write,
    /// Everything: checkpoints, flushes, and the end of the server.
    Admin,
}

impl Role {
    fn parse(name: &str) -> Option<Self> {
        [Role::Read, Role::Write, Role::Admin].into_iter().find(|role| role.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Write => "write",
            Role::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Rights of the bearer of a token. A connection keeps them, and checks them at each request.
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
        self.allows(role) && self.covers(keyspace) && self.encloses(range)
    }

    /// Returns whether `role` is allowed on all keys of all keyspaces.
    #[must_use]
    pub fn allows_store(&self, role: Role) -> bool {
        self.allows(role) && self.keyspace == "*" && self.prefix.is_empty()
    }

    fn covers(&self, keyspace: &str) -> bool {
        match self.keyspace.strip_suffix('*') {
            Some(start) => keyspace.starts_with(start),
            None => self.keyspace == keyspace,
        }
    }

    fn encloses(&self, range: &KeyRange) -> bool {
        let starts_within = match &range.from {
            Bound::Included(key) | Bound::Excluded(key) => *key >= self.prefix,
            Bound::Unbounded => self.prefix.is_empty(),
        };
        let ends_within = match (&range.to, KeyRange::prefix(&self.prefix).to) {
            (_, Bound::Unbounded) => true,
            (Bound::Included(key), Bound::Excluded(end)) => *key < end,
            (Bound::Excluded(key), Bound::Excluded(end)) => *key <= end,
            _ => false,
        };
        starts_within && ends_within
    }

    fn is_same(&self, other: &Grant) -> bool {
        (&self.name, self.role, &self.keyspace, &self.prefix)
            == (&other.name, other.role, &other.keyspace, &other.prefix)
    }
}

/// A line of the file.
struct Entry {
    digest: [u8; SHA256_OUTPUT_LEN],
    grant: Arc<Grant>,
}

/// The tokens that are accepted.
pub struct Tokens {
    /// Rights of peers without a token; `None` if there is a file.
    everyone: Option<Arc<Grant>>,
    file: PathBuf,
    entries: ArcSwap<Vec<Entry>>,
}

impl Tokens {
    /// Accepts the tokens of a file; without one, everyone may do everything.
    pub(crate) fn open(file: Option<&Path>) -> Result<Self, Error> {
        let everyone = file.is_none().then(|| Arc::new(Grant::everything()));
        let file = file.map(Path::to_owned).unwrap_or_default();
        let entries = if everyone.is_some() { Vec::new() } else { read(&file)? };
        Ok(Tokens { everyone, file, entries: ArcSwap::from_pointee(entries) })
    }

    /// Reads the file again. If it is malformed, all stays as it is.
    pub(crate) fn reload(&self) -> Result<(), Error> {
        if self.everyone.is_some() {
            return Ok(());
        }
        let mut entries = read(&self.file)?;
        let before = self.entries.load();
        for old in before.iter() {
            let same = |new: &&mut Entry| new.digest == old.digest && new.grant.is_same(&old.grant);
            if let Some(new) = entries.iter_mut().find(same) {
                new.grant = old.grant.clone();
            } else {
                old.grant.revoked.store(true, Ordering::Relaxed);
            }
        }
        self.entries.store(Arc::new(entries));
        Ok(())
    }

    /// Returns rights of a peer without a token; `None` if it needs one.
    #[must_use]
    pub fn anonymous(&self) -> Option<Arc<Grant>> {
        self.everyone.clone()
    }

    /// Returns rights of the bearer of a token; `None` if there is no such token, or none of this `name`.
    #[must_use]
    pub fn authenticate(&self, name: Option<&str>, secret: &[u8]) -> Option<Arc<Grant>> {
        let found = digest(&SHA256, secret);
        let mut granted = None;
        for entry in self.entries.load().iter() {
            let is_token = bool::from(entry.digest.ct_eq(found.as_ref()));
            if is_token && name.is_none_or(|name| name == entry.grant.name) {
                granted = Some(entry.grant.clone());
            }
        }
        granted
    }
}

fn read(file: &Path) -> Result<Vec<Entry>, Error> {
    let text = std::fs::read_to_string(file)
        .map_err(|source| Error::File { file: file.to_owned(), source })?;
    let mut entries = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let entry = parse(line).map_err(|sentence| {
            let place = format!("{}, line {number}", file.display());
            Error::Malformed { place, sentence }
        })?;
        entries.push(entry);
    }
    Ok(entries)
}

fn parse(line: &str) -> Result<Entry, String> {
    let mut fields = line.split_whitespace();
    let mut field = || fields.next();
    let (Some(name), Some(sha256), Some(role), Some(keyspace)) =
        (field(), field(), field(), field())
    else {
        return Err(format!("expected {EXPECTED}, found fewer fields"));
    };
    let prefix = field().unwrap_or_default();
    let prefix = crate::percent::decode(prefix)
        .ok_or_else(|| format!("expected percent-encoded bytes, found {prefix}"))?;
    if field().is_some() {
        return Err(format!("expected {EXPECTED}, found more fields"));
    }
    let role =
        Role::parse(role).ok_or_else(|| format!("expected read, write or admin, found {role}"))?;
    // A token in clear text in the place of its digest is not repeated.
    let digest = from_hex(sha256).ok_or("expected 64 hexadecimal digits, found another text")?;
    let (name, keyspace) = (name.to_owned(), keyspace.to_owned());
    let revoked = AtomicBool::new(false);
    Ok(Entry { digest, grant: Arc::new(Grant { name, role, keyspace, prefix, revoked }) })
}

fn from_hex(digits: &str) -> Option<[u8; SHA256_OUTPUT_LEN]> {
    let (pairs, odd) = digits.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let bytes =
        pairs.iter().map(|[high, low]| u8::try_from(digit(*high)? << 4 | digit(*low)?).ok());
    let bytes: Option<Vec<u8>> = bytes.collect();
    bytes.filter(|_| odd.is_empty())?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The SHA-256 of `secret`.
    const SECRET: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

    fn grant(keyspace: &str, prefix: &str) -> Arc<Grant> {
        parse(&format!("ann {SECRET} write {keyspace} {prefix}")).unwrap().grant
    }

    #[test]
    fn a_grant_covers_its_keyspaces_and_its_prefix() {
        let grant = grant("db-*", "user%3A");
        assert!(grant.allows_key(Role::Read, "db-7", b"user:1"));
        assert!(grant.allows_key(Role::Write, "db-", b"user:"));
        assert!(!grant.allows_key(Role::Admin, "db-7", b"user:1"));
        assert!(!grant.allows_key(Role::Read, "default", b"user:1"));
        assert!(!grant.allows_key(Role::Read, "db-7", b"user"));
        assert!(!grant.allows_store(Role::Read));
    }

    #[test]
    fn a_grant_covers_the_ranges_within_its_prefix() {
        let prefixed = grant("a", "b");
        let allows = |range: KeyRange| prefixed.allows_range(Role::Read, "a", &range);
        assert!(allows(KeyRange::prefix(b"b")));
        assert!(allows(KeyRange::prefix(b"bc")));
        assert!(allows(KeyRange::from("b".."c")));
        assert!(!allows(KeyRange::from("b"..="c")));
        assert!(!allows(KeyRange::from("a".."c")));
        assert!(!allows(KeyRange::from("b"..)));
        assert!(!allows(KeyRange::from(.."c")));
        let all = grant("a", "");
        assert!(all.allows_range(Role::Read, "a", &KeyRange::default()));
        // No key follows those that start with the greatest byte.
        let last = grant("a", "%FF");
        assert!(last.allows_range(Role::Read, "a", &KeyRange::prefix(b"\xff")));
    }

    #[test]
    fn a_malformed_line_is_named_and_its_digest_is_not_repeated() {
        for line in ["ann", "ann secret read *", &format!("ann {SECRET} all *")] {
            let sentence = parse(line).err().unwrap();
            assert!(sentence.starts_with("expected "), "{sentence}");
            assert!(!sentence.contains("secret"), "{sentence}");
        }
        assert!(parse(&format!("ann {SECRET} read * a b")).is_err());
        assert!(parse(&format!("ann {SECRET} read * 100%")).is_err());
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tokens");
        fs::write(&file, format!("# people\n\nann {SECRET} read\n")).unwrap();
        let sentence = Tokens::open(Some(&file)).err().unwrap().to_string();
        assert!(sentence.contains("tokens, line 3: expected NAME SHA256"), "{sentence}");
    }

    #[test]
    fn a_reload_revokes_grants_that_the_file_lacks() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tokens");
        fs::write(&file, format!("ann {SECRET} read *\n")).unwrap();
        let tokens = Tokens::open(Some(&file)).unwrap();
        assert!(tokens.anonymous().is_none());
        assert!(tokens.authenticate(None, b"other").is_none());
        assert!(tokens.authenticate(Some("bob"), b"secret").is_none());
        let ann = tokens.authenticate(Some("ann"), b"secret").unwrap();
        tokens.reload().unwrap();
        assert!(!ann.is_revoked());
        fs::write(&file, "malformed").unwrap();
        assert!(tokens.reload().is_err());
        assert!(!ann.is_revoked());
        fs::write(&file, format!("ann {SECRET} write *\n")).unwrap();
        tokens.reload().unwrap();
        assert!(ann.is_revoked() && !ann.allows(Role::Read));
        assert!(tokens.authenticate(None, b"secret").unwrap().allows(Role::Write));
    }
}
