//! The body of a change: the fields that it always had, then those that later releases added.
//!
//! Each of the latter is `number varint, length varint, bytes`, in ascending order. A reader skips a
//! field with an even number that it does not know (optional), and refuses an odd one (required).
//! This release adds none.

use self::Unread::Malformed;
use crate::codec::Decoder;
use crate::keyspace::KeyspaceId;

/// Why a change cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// Its bytes are none that a release writes.
    Malformed,
    /// This release does not know changes of its kind.
    Change,
    /// This release does not know this part of it: what the part is, and its number.
    Part(&'static str, u64),
}

/// Takes fields from the front of a body.
pub(super) struct Body<'a>(Decoder<'a>);

impl<'a> Body<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Body(Decoder::new(bytes))
    }

    pub fn u8(&mut self) -> Result<u8, Unread> {
        self.0.u8().ok_or(Malformed)
    }

    pub fn u64(&mut self) -> Result<u64, Unread> {
        self.0.u64().ok_or(Malformed)
    }

    /// Kept out of the decoders of changes, which call it dozens of times: code that browsers load.
    #[inline(never)]
    pub fn varint(&mut self) -> Result<u64, Unread> {
        self.0.varint().ok_or(Malformed)
    }

    pub fn length(&mut self) -> Result<usize, Unread> {
        self.0.length().ok_or(Malformed)
    }

    pub fn bytes(&mut self) -> Result<&'a [u8], Unread> {
        self.0.bytes().ok_or(Malformed)
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

    /// Takes the fields that later releases added, to the end.
    pub fn end(mut self) -> Result<(), Unread> {
        let mut last = 0;
        while !self.0.is_empty() {
            let (number, _) = (self.varint()?, self.bytes()?);
            if number <= last {
                return Err(Malformed);
            }
            if !number.is_multiple_of(2) {
                return Err(Unread::Part("field", number));
            }
            last = number;
        }
        Ok(())
    }
}
