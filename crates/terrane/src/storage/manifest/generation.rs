//! A generation of the manifest: its id, and what it inherits.

use crate::entry::Seq;
use crate::storage::StoreId;
use crate::storage::format::Format;

/// The alignment of frames, in bytes: no sector is larger.
pub(crate) const FRAME_ALIGN: u64 = 16 << 10;

/// Identifies a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManifestId {
    /// The store.
    pub store: StoreId,
    /// The generation.
    pub generation: u64,
}

impl ManifestId {
    /// The checksum seed of the frames of the record at `index`.
    #[must_use]
    pub fn seed(self, index: u64) -> u64 {
        self.store.salt() ^ self.generation.rotate_left(32) ^ index
    }
}

/// State that a generation inherits from the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inherited {
    /// The store's format, including features that this release may not know.
    pub format: Format,
    /// Number of commits that the store had made.
    pub commits: u64,
    /// The closing claim: batches through this sequence number were durable when the store was closed.
    pub synced: Seq,
}

impl Inherited {
    /// For a store's first generation.
    pub(crate) const NONE: Inherited = Inherited { format: Format::CURRENT, commits: 0, synced: 0 };
}
