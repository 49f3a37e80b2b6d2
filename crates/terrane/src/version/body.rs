//! The body of a change: the fields that it always had, then those that later releases added.
//!
//! Each of the latter is `number varint, length varint, bytes`, in ascending order. A reader skips a
//! field with an even number that it does not know (optional), and refuses an odd one (required).
//! A decoder takes the fields that this release knows with [`Body::field`].

use self::Unread::Malformed;
use crate::coding::Decoder;
use crate::keyspace::KeyspaceId;

/// Reason why a change cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// Its bytes are none that a release writes.
    Malformed,
    /// This release does not know changes of its kind.
    Change,
    /// This release does not know this part of it: what the part is, and its number.
    Part(&'static str, u64),
    /// Another build of this release knows it.
    LeftOut,
}

/// Takes fields from the front of a body.
pub(super) struct Body<'a> {
    decoder: Decoder<'a>,
    /// The number of the last field that was taken.
    last: u64,
}

impl<'a> Body<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Body { decoder: Decoder::new(bytes), last: 0 }
    }

    pub fn u8(&mut self) -> Result<u8, Unread> {
        self.decoder.u8().ok_or(Malformed)
    }

    pub fn u64(&mut self) -> Result<u64, Unread> {
        self.decoder.u64().ok_or(Malformed)
    }

    /// Kept out of the decoders of changes, which call it dozens of times: code that browsers load.
    #[inline(never)]
    pub fn varint(&mut self) -> Result<u64, Unread> {
        self.decoder.varint().ok_or(Malformed)
    }

    pub fn length(&mut self) -> Result<usize, Unread> {
        self.decoder.length().ok_or(Malformed)
    }

    pub fn bytes(&mut self) -> Result<&'a [u8], Unread> {
        self.decoder.bytes().ok_or(Malformed)
    }

    pub fn take(&mut self, bytes: usize) -> Result<&'a [u8], Unread> {
        self.decoder.take(bytes).ok_or(Malformed)
    }

    pub fn text(&mut self) -> Result<String, Unread> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| Malformed)
    }

    pub fn keyspace(&mut self) -> Result<KeyspaceId, Unread> {
        self.varint()?.try_into().map(KeyspaceId).map_err(|_| Malformed)
    }

    /// Takes a varint count and as many items. Each is a byte at least, so that a wrong count asks
    /// for no memory.
    pub fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, Unread>,
    ) -> Result<Vec<T>, Unread> {
        let mut items = Vec::new();
        for _ in 0..self.varint()? {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Takes the added field with this number, if it is there. Fields are asked for in ascending order.
    pub fn field(&mut self, number: u64) -> Result<Option<&'a [u8]>, Unread> {
        let mut ahead = self.decoder;
        if ahead.varint() != Some(number) {
            return Ok(None);
        }
        self.varint()?;
        self.last = number;
        self.bytes().map(Some)
    }

    /// Takes the fields that later releases added, to the end.
    pub fn end(mut self) -> Result<(), Unread> {
        while !self.decoder.is_empty() {
            let (number, _) = (self.varint()?, self.bytes()?);
            if number <= self.last {
                return Err(Malformed);
            }
            if !number.is_multiple_of(2) {
                return Err(Unread::Part("field", number));
            }
            self.last = number;
        }
        Ok(())
    }
}
