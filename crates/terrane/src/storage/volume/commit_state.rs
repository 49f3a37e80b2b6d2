//! The manifest that commits of a volume append to, and what is unknown after one failed.

use super::file::VolumeFile;
use crate::storage::FileId;
use crate::storage::extent::Extent;
use crate::storage::manifest::Manifest;
use crate::vec_map::VecSet;
use std::sync::Arc;

/// The manifest, and what is unknown after a failed commit.
#[derive(Default)]
pub(super) struct CommitState {
    pub(super) manifest: Option<Manifest>,
    /// Bytes written to manifests.
    pub(super) manifest_bytes: u64,
    /// The greatest generation ever started, whether a superblock came to name it or not.
    pub(super) last_generation: u64,
    /// The next commit starts a new manifest.
    pub(super) needs_rollover: bool,
    /// Number of files in the manifest's first record, for which its region was sized.
    pub(super) files_at_first: usize,
    /// Regions that a failed switch may have named.
    pub(super) regions_in_doubt: Vec<Extent>,
    /// Whether a commit that failed may have taken effect.
    pub(super) unsettled: bool,
    /// Files that a failed commit may have named, and those of them to be removed.
    pub(super) in_doubt: VecSet<FileId>,
    pub(super) removed_in_doubt: VecSet<FileId>,
    /// Copies of files that a failed move may have named.
    pub(super) moves_in_doubt: Vec<Arc<VolumeFile>>,
}
