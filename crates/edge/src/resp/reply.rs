//! Replies, in the version of the protocol that the peer chose by HELLO.

use super::failure::Failure;
use crate::limits::{FREE_BYTES, Held, Limits};

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Resp2,
    Resp3,
}

/// Bytes of capacity that stay when a reply is truncated.
const SPARE_BYTES: usize = 64 << 10;

/// Replies, as they are sent.
pub(crate) struct Reply {
    bytes: Vec<u8>,
    /// Start of the latest reply.
    start: usize,
    /// Memory of long replies.
    held: Option<Held>,
    /// Version of the replies that follow.
    pub protocol: Protocol,
}

/// Encoded replies, and their part of the memory.
#[derive(Default)]
pub(crate) struct Encoded {
    pub bytes: Vec<u8>,
    pub held: Option<Held>,
}

impl Reply {
    pub fn new(protocol: Protocol) -> Self {
        Reply { bytes: Vec::new(), start: 0, held: None, protocol }
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Drops the bytes after the first `length`, and frees the memory of a long reply.
    pub fn truncate(&mut self, length: usize) {
        self.bytes.truncate(length);
        if self.bytes.capacity() > SPARE_BYTES {
            self.bytes.shrink_to(SPARE_BYTES);
        }
    }

    /// Starts the reply to another command.
    pub fn begin(&mut self) {
        self.start = self.bytes.len();
    }

    /// Takes memory if the latest reply is long. Returns whether enough was left.
    #[must_use]
    pub fn cover_latest(&mut self, limits: &Limits) -> bool {
        self.bytes.len().saturating_sub(self.start) <= FREE_BYTES || self.cover_all(limits)
    }

    /// Takes memory for all replies. Returns whether enough was left.
    #[must_use]
    pub fn cover_all(&mut self, limits: &Limits) -> bool {
        let bytes = self.bytes.len();
        bytes <= FREE_BYTES
            || self.held.get_or_insert_with(|| limits.hold_nothing()).cover_reply(bytes)
    }

    /// Returns the bytes with their memory, and leaves an empty reply.
    pub fn take(&mut self) -> Encoded {
        Encoded { bytes: std::mem::take(&mut self.bytes), held: self.held.take() }
    }

    /// Appends encoded replies with their memory.
    pub fn append(&mut self, encoded: Encoded) {
        if self.bytes.is_empty() {
            self.bytes = encoded.bytes;
        } else {
            self.bytes.extend_from_slice(&encoded.bytes);
        }
        self.absorb(encoded.held);
    }

    /// Adds memory for appended bytes.
    pub fn absorb(&mut self, more: Option<Held>) {
        match (&mut self.held, more) {
            (Some(held), Some(more)) => held.absorb(more),
            (held @ None, more) => *held = more,
            (Some(_), None) => {}
        }
    }

    /// Appends encoded replies.
    pub fn raw(&mut self, encoded: &[u8]) {
        if self.bytes.is_empty() {
            self.bytes.reserve_exact(encoded.len());
        }
        self.bytes.extend_from_slice(encoded);
    }

    pub fn ok(&mut self) {
        self.raw(b"+OK\r\n");
    }

    /// Appends a line of text.
    pub fn simple(&mut self, text: &str) {
        self.line(b'+', text);
    }

    /// Appends an error: its code and its words.
    pub fn error(&mut self, words: &str) {
        self.line(b'-', words);
    }

    pub fn failure(&mut self, failure: &Failure) {
        self.error(&failure.words());
    }

    pub fn integer(&mut self, number: i64) {
        self.number(b':', number);
    }

    /// Appends a count.
    pub fn count(&mut self, count: usize) {
        self.integer(i64::try_from(count).unwrap_or(i64::MAX));
    }

    pub fn bulk(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        self.bytes.reserve(bytes.len() + 16);
        self.number(b'$', i64::try_from(bytes.len()).unwrap_or(i64::MAX));
        self.bytes.extend_from_slice(bytes);
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// Appends a value, or a null if there is none.
    pub fn bulk_or_null(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.bulk(bytes),
            None => self.null(),
        }
    }

    /// Appends text for people.
    pub fn verbatim(&mut self, text: &str) {
        match self.protocol {
            Protocol::Resp2 => self.bulk(text),
            Protocol::Resp3 => {
                self.number(b'=', i64::try_from(text.len() + 4).unwrap_or(i64::MAX));
                self.raw(b"txt:");
                self.raw(text.as_bytes());
                self.raw(b"\r\n");
            }
        }
    }

    pub fn null(&mut self) {
        match self.protocol {
            Protocol::Resp2 => self.raw(b"$-1\r\n"),
            Protocol::Resp3 => self.raw(b"_\r\n"),
        }
    }

    /// Appends the reply of a transaction that was not executed.
    pub fn null_array(&mut self) {
        match self.protocol {
            Protocol::Resp2 => self.raw(b"*-1\r\n"),
            Protocol::Resp3 => self.raw(b"_\r\n"),
        }
    }

    /// Starts an array of `length` replies.
    pub fn array(&mut self, length: usize) {
        self.number(b'*', i64::try_from(length).unwrap_or(i64::MAX));
    }

    /// Starts a map of `pairs` pairs of replies.
    pub fn map(&mut self, pairs: usize) {
        match self.protocol {
            Protocol::Resp2 => self.array(pairs * 2),
            Protocol::Resp3 => self.number(b'%', i64::try_from(pairs).unwrap_or(i64::MAX)),
        }
    }

    /// Starts a set of `length` replies.
    pub fn set(&mut self, length: usize) {
        match self.protocol {
            Protocol::Resp2 => self.array(length),
            Protocol::Resp3 => self.number(b'~', i64::try_from(length).unwrap_or(i64::MAX)),
        }
    }

    fn number(&mut self, sign: u8, number: i64) {
        let mut digits = [0; 20];
        let mut first = digits.len();
        let mut rest = number.unsigned_abs();
        loop {
            first -= 1;
            if let Some(digit) = digits.get_mut(first) {
                *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            }
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.bytes.push(sign);
        if number < 0 {
            self.bytes.push(b'-');
        }
        self.bytes.extend_from_slice(digits.get(first..).unwrap_or_default());
        self.bytes.extend_from_slice(b"\r\n");
    }

    fn line(&mut self, sign: u8, text: &str) {
        self.bytes.push(sign);
        // The end of a line would end the reply.
        let safe = |byte: u8| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte };
        self.bytes.extend(text.bytes().map(safe));
        self.raw(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(protocol: Protocol, write: impl FnOnce(&mut Reply)) -> String {
        let mut reply = Reply::new(protocol);
        write(&mut reply);
        String::from_utf8(reply.take().bytes).unwrap()
    }

    #[test]
    fn a_long_reply_that_is_truncated_keeps_no_memory() {
        let mut reply = Reply::new(Protocol::Resp2);
        reply.ok();
        let start = reply.len();
        reply.bulk(vec![7; 1 << 20]);
        reply.truncate(start);
        assert!(reply.bytes.capacity() <= SPARE_BYTES);
        assert_eq!(reply.take().bytes, b"+OK\r\n");
    }

    #[test]
    fn replies_differ_by_protocol_where_they_should() {
        type Row = (fn(&mut Reply), &'static str, &'static str);
        let rows: [Row; 10] = [
            (Reply::ok, "+OK\r\n", "+OK\r\n"),
            (|r| r.error("ERR a\r\nb"), "-ERR a  b\r\n", "-ERR a  b\r\n"),
            (|r| r.integer(i64::MIN), ":-9223372036854775808\r\n", ":-9223372036854775808\r\n"),
            (|r| r.bulk("a\r\n"), "$3\r\na\r\n\r\n", "$3\r\na\r\n\r\n"),
            (Reply::null, "$-1\r\n", "_\r\n"),
            (Reply::null_array, "*-1\r\n", "_\r\n"),
            (|r| r.array(10), "*10\r\n", "*10\r\n"),
            (|r| r.map(2), "*4\r\n", "%2\r\n"),
            (|r| r.set(2), "*2\r\n", "~2\r\n"),
            (|r| r.verbatim("ab"), "$2\r\nab\r\n", "=6\r\ntxt:ab\r\n"),
        ];
        for (write, resp2, resp3) in rows {
            assert_eq!(encoded(Protocol::Resp2, write), resp2);
            assert_eq!(encoded(Protocol::Resp3, write), resp3);
        }
    }
}
