//! Store ids, and the salt of a store's checksums.

#[cfg(feature = "testing")]
use std::cell::Cell;
use std::fmt;
use std::io;
use terrane_table::coding::{Decoder, checksum};
use terrane_table::error::{Error, Result};

/// Identifies a store: 16 random bytes, drawn when the store is created. A copy gets its own id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreId([u8; StoreId::BYTES]);

impl StoreId {
    /// The length of an id, in bytes.
    pub const BYTES: usize = 16;

    /// The id with these random bytes.
    #[must_use]
    pub const fn new(random: [u8; StoreId::BYTES]) -> Self {
        StoreId(random)
    }

    /// A random id from the operating system.
    ///
    /// # Errors
    /// [`Io`](terrane_table::error::ErrorKind::Io) if the system has no randomness.
    pub fn random() -> Result<Self> {
        let mut bytes = [0; StoreId::BYTES];
        fill(&mut bytes).map_err(|e| Error::io("draw", "random bytes", 0, e))?;
        Ok(StoreId(bytes))
    }

    /// Draws the ids of this thread from a seed from now on, so that a model plays the same schedule each time.
    #[cfg(feature = "testing")]
    pub fn draw_from(seed: u64) {
        SEEDED.set(Some((seed, 0)));
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(self) -> [u8; StoreId::BYTES] {
        self.0
    }

    /// The salt in the seed of every checksum of the store, so that what another store wrote fails.
    #[must_use]
    pub fn salt(self) -> u64 {
        checksum(&self.0, 0)
    }

    /// Whether this is the default, which stands for no id.
    #[must_use]
    pub fn is_none(self) -> bool {
        self == StoreId::default()
    }

    /// Decodes an id.
    pub fn decode(d: &mut Decoder<'_>) -> Option<Self> {
        Some(StoreId(*d.take(StoreId::BYTES)?.first_chunk()?))
    }
}

#[cfg(feature = "testing")]
thread_local! {
    /// The seed that ids of this thread are drawn from, if there is one, and the number of those drawn.
    static SEEDED: Cell<Option<(u64, u64)>> = const { Cell::new(None) };
}

/// Fills `bytes` with random ones of the operating system.
#[cfg(not(target_arch = "wasm32"))]
fn fill(bytes: &mut [u8]) -> io::Result<()> {
    #[cfg(feature = "testing")]
    if let Some((seed, drawn)) = SEEDED.get() {
        SEEDED.set(Some((seed, drawn + 1)));
        for (at, word) in (0u64..).zip(bytes.chunks_mut(8)) {
            let drawn = [drawn, at].map(u64::to_le_bytes);
            let random = checksum(drawn.as_flattened(), seed).to_le_bytes();
            word.iter_mut().zip(random).for_each(|(byte, random)| *byte = random);
        }
        return Ok(());
    }
    getrandom::fill(bytes).map_err(io::Error::other)
}

/// Fails: a module has no system to ask. JavaScript draws the ids of its stores.
#[cfg(target_arch = "wasm32")]
fn fill(_: &mut [u8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_ids_differ_and_an_id_is_shown_as_hex() {
        assert_ne!(StoreId::random().unwrap(), StoreId::random().unwrap());
        let id = StoreId::new(*b"0123456789abcdef");
        assert_eq!(id.to_string(), "30313233343536373839616263646566");
        assert_ne!(id.salt(), StoreId::default().salt());
        assert!(StoreId::default().is_none() && !id.is_none());
    }
}
