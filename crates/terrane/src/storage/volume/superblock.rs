//! The superblock, which names the current manifest region.
//!
//! It is stored in two slots of 512 bytes at the start of backing 0, 16 KiB apart so that no sector
//! holds both. A new generation is written to the first slot and synced, then to the second and
//! synced; only then is the previous region freed. So at any time every valid slot names a complete
//! region, one damaged slot loses nothing, and if the slots differ, the greater generation is current.
//!
//! ```text
//! magic 8 bytes | version u32 | required u32 | optional u32 | backings u32 |
//! store id 16 bytes | generation u64 | manifest offset u64 | manifest length u64 | checksum u64 | zeros
//! ```
//!
//! Generation 0 marks an unfinished creation: the volume holds nothing yet.

use crate::coding::{Decoder, checksum};
use crate::storage::StoreId;
use crate::storage::format::Format;

/// The offsets of the slots in backing 0, in bytes.
pub(in crate::storage) const SLOTS: [u64; 2] = [0, 16 << 10];
/// Bytes at the start of backing 0 that are reserved for the slots.
pub(in crate::storage) const RESERVED: u64 = 32 << 10;
/// The bytes of a slot.
pub(in crate::storage) const SLOT_BYTES: usize = 512;

const MAGIC: &[u8; 8] = b"TRNVOL\r\n";
/// The bytes under the checksum.
const BODY: usize = 64;

/// The contents of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// The format of the volume.
    pub format: Format,
    /// Number of backing files.
    pub backings: u32,
    /// The store's id.
    pub id: StoreId,
    /// The manifest's generation; 0 while the volume is being created.
    pub generation: u64,
    /// The offset of the manifest's region in backing 0, in bytes.
    pub manifest_offset: u64,
    /// The region's length, in bytes.
    pub manifest_len: u64,
}

/// Content of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// A superblock, of this release's format or a later one.
    Valid(Superblock),
    /// Only zeros, or nothing.
    Blank,
    /// A superblock whose checksum fails.
    Damaged,
    /// Something else.
    Foreign,
}

impl Superblock {
    /// Encodes a slot.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        self.format.encode(&mut out);
        out.extend_from_slice(&self.backings.to_le_bytes());
        out.extend_from_slice(&self.id.bytes());
        for word in [self.generation, self.manifest_offset, self.manifest_len] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&checksum(&out, 0).to_le_bytes());
        out.resize(SLOT_BYTES, 0);
        out
    }
}

/// Decodes a slot.
#[must_use]
pub fn decode(bytes: &[u8]) -> Slot {
    if bytes.iter().all(|b| *b == 0) {
        return Slot::Blank;
    }
    if bytes.get(..MAGIC.len()) != Some(MAGIC) {
        return Slot::Foreign;
    }
    let mut d = Decoder::new(bytes);
    let read = |d: &mut Decoder<'_>| {
        let body = d.take(BODY)?;
        if d.u64()? != checksum(body, 0) {
            return None;
        }
        let mut d = Decoder::new(body);
        d.take(MAGIC.len())?;
        Some(Superblock {
            format: Format::decode(&mut d)?,
            backings: d.u32()?,
            id: StoreId::decode(&mut d)?,
            generation: d.u64()?,
            manifest_offset: d.u64()?,
            manifest_len: d.u64()?,
        })
    };
    read(&mut d).map_or(Slot::Damaged, Slot::Valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_round_trips_and_any_flipped_bit_is_detected() {
        let superblock = Superblock {
            format: Format { version: 1, required: 2, optional: 3 },
            backings: 4,
            id: StoreId::new([7; 16]),
            generation: 5,
            manifest_offset: 8192,
            manifest_len: 65536,
        };
        let mut bytes = superblock.encode();
        assert_eq!(decode(&bytes), Slot::Valid(superblock));
        for bit in 0..(BODY + 8) * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let expected = if bit < 64 { Slot::Foreign } else { Slot::Damaged };
            assert_eq!(decode(&bytes), expected);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(decode(&[0; SLOT_BYTES]), Slot::Blank);
        assert_eq!(decode(&[]), Slot::Blank);
        assert_eq!(decode(&bytes[..30]), Slot::Damaged);
    }
}
