//! The move of a table within a volume.

use super::file::VolumeFile;
use crate::storage::FileId;
use std::sync::Arc;

/// A table that is being moved.
pub(super) struct Move {
    pub id: FileId,
    pub from: Arc<VolumeFile>,
    pub to: Arc<VolumeFile>,
    pub copied: u64,
}
