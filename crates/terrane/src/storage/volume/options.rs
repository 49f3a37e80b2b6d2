//! The options of a volume.

use crate::storage::StoreId;

/// Options of a volume.
#[derive(Clone, Debug)]
pub struct VolumeOptions {
    /// Names the volume in messages.
    pub name: String,
    /// The id of a store that is created here, drawn at random. The default, all zeros, is no id, and
    /// creating a store fails.
    pub new_id: StoreId,
    /// The smallest growth of a backing file, in bytes.
    pub min_growth: u64,
    /// The largest growth of a backing file, in bytes. In between it grows by an eighth.
    pub max_growth: u64,
    /// Opens the volume read-only: nothing is repaired, and every change is refused.
    pub read_only: bool,
}

impl Default for VolumeOptions {
    fn default() -> Self {
        VolumeOptions {
            name: "volume".to_owned(),
            new_id: StoreId::default(),
            min_growth: 256 << 10,
            max_growth: 64 << 20,
            read_only: false,
        }
    }
}
