//! Failures of backups and restores.

use terrane::entry::Seq;

/// The result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure of a backup or a restore.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] terrane::Error),
    /// A request to the object store failed.
    #[error("could not {operation} {object}: {reason}")]
    Objects {
        /// The operation.
        operation: &'static str,
        /// The object, or the folder.
        object: String,
        /// The object store's error, without credentials.
        reason: String,
    },
    /// An object is missing or damaged.
    #[error("{object}: expected {expected}, found {found}")]
    Damaged {
        /// The object.
        object: String,
        /// The expectation.
        expected: String,
        /// The finding.
        found: String,
    },
    /// An object was written by a later release.
    #[error("{object} is of format {found}, which a later release writes; this one reads {known}")]
    Newer {
        /// The object.
        object: String,
        /// Format of the object.
        found: u32,
        /// The format that this release reads.
        known: u32,
    },
    /// An argument is invalid.
    #[error("{what}: expected {expected}, found {found}")]
    Invalid {
        /// The argument.
        what: String,
        /// The expectation.
        expected: String,
        /// The finding.
        found: String,
    },
    /// Another store has written the backup last, the store's own backup is gone or its newest manifest damaged, or it
    /// has later batches than the store. With [`Options::take_over`](crate::Options::take_over) the store continues
    /// there all the same.
    #[error("backup: expected {expected}, found {found}")]
    NotOwner {
        /// The expectation.
        expected: String,
        /// The finding.
        found: String,
    },
    /// Another writer continues the backup.
    #[error(
        "another writer continues this backup, with {object}; writes after batch {last} are on this machine alone"
    )]
    Fenced {
        /// The manifest or the claim of the other writer.
        object: String,
        /// Sequence number of the last batch that this writer has uploaded.
        last: Seq,
    },
    /// A file could not be read or written.
    #[error("could not {action}: {reason}")]
    File {
        /// The action.
        action: String,
        /// The system's error.
        reason: String,
    },
    /// The backup was stopped.
    #[error("the backup was stopped")]
    Stopped,
}

impl Error {
    pub(crate) fn damaged(
        object: impl ToString,
        expected: impl ToString,
        found: impl ToString,
    ) -> Self {
        let (object, expected) = (object.to_string(), expected.to_string());
        Error::Damaged { object, expected, found: found.to_string() }
    }

    pub(crate) fn invalid(
        what: impl ToString,
        expected: impl ToString,
        found: impl ToString,
    ) -> Self {
        let (what, expected) = (what.to_string(), expected.to_string());
        Error::Invalid { what, expected, found: found.to_string() }
    }

    pub(crate) fn file(action: impl ToString, reason: &std::io::Error) -> Self {
        Error::File { action: action.to_string(), reason: reason.to_string() }
    }

    /// Returns the failure of a request, without credentials that its message has in URLs or after the status.
    pub(crate) fn objects(
        operation: &'static str,
        object: impl ToString,
        error: &object_store::Error,
    ) -> Self {
        let reason = error.to_string();
        // The body of a reply may name the key. Its status is before it.
        let ends = [": <", ": {", "\n"].map(|end| reason.find(end).unwrap_or(reason.len()));
        let end = ends.into_iter().min().unwrap_or_default();
        let reason = redacted(reason.get(..end).unwrap_or_default());
        Error::Objects { operation, object: object.to_string(), reason }
    }
}

/// Returns a text in which URLs have neither users and passwords nor queries, which may have signatures.
pub(crate) fn redacted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        out += before;
        out += "://";
        let ends = |c: char| c.is_whitespace() || "\"'<>)(,".contains(c);
        let (url, other) = after.split_at(after.find(ends).unwrap_or(after.len()));
        let (place, query) = url.split_at(url.find('?').unwrap_or(url.len()));
        let (authority, path) = place.split_at(place.find('/').unwrap_or(place.len()));
        out += authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        out += path;
        if !query.is_empty() {
            out += "?...";
        }
        rest = other;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_request_has_its_status_and_not_its_body() {
        let source = "403 Forbidden: <?xml?>\n<AWSAccessKeyId>KEY</AWSAccessKeyId>".into();
        let error = object_store::Error::Generic { store: "S3", source };
        let shown = Error::objects("read", "manifest/1", &error).to_string();
        assert_eq!(shown, "could not read manifest/1: Generic S3 error: 403 Forbidden");
    }

    #[test]
    fn urls_in_messages_have_no_credentials() {
        let text = "PUT https://key:secret@host/a/b?sig=hidden failed (see \"http://x?y=z\"), 403";
        let expected = "PUT https://host/a/b?... failed (see \"http://x?...\"), 403";
        assert_eq!(redacted(text), expected);
        assert_eq!(redacted("no URL in it"), "no URL in it");
        assert_eq!(redacted("s3://a:b@c"), "s3://c");
    }
}
