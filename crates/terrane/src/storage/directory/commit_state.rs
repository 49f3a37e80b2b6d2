//! The manifest that commits of a directory append to, and what is unknown after one failed.

use crate::storage::FileId;
use crate::storage::manifest::Manifest;
use crate::vec_map::VecSet;

/// The manifest, and what is unknown after a failed commit.
#[derive(Default)]
pub(super) struct CommitState {
    pub(super) manifest: Option<Manifest>,
    /// Bytes written to manifests.
    pub(super) manifest_bytes: u64,
    /// The greatest generation ever started, whether `CURRENT` came to name it or not.
    pub(super) last_generation: u64,
    /// The next commit starts a new manifest.
    pub(super) needs_rollover: bool,
    /// Whether a commit that failed may have taken effect.
    pub(super) unsettled: bool,
    /// Files that a failed commit may have named, and those of them to be removed.
    pub(super) in_doubt: VecSet<FileId>,
    pub(super) removed_in_doubt: VecSet<FileId>,
}
