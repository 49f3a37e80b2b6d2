//! Verifies a volume, which may be in use.

use crate::error::{Corruption, Result};
use crate::storage::extent::Extent;
use crate::storage::lock;
use crate::storage::volume::Volume;
use crate::storage::volume::slots::damaged_slot;
use crate::storage::volume::superblock::{RESERVED, Slot};
use terrane_types::sort_by;

impl Volume {
    /// 1. Both superblock slots are valid and current.
    /// 2. Every copy of every manifest record is valid.
    /// 3. The extents of live files and of the manifest are within their backing and do not overlap.
    pub(super) fn check_all(&self) -> Result<Vec<Corruption>> {
        let state = lock(&self.commit_state);
        let Some(manifest) = &state.manifest else { return Ok(Vec::new()) };
        let (offset, len) = manifest.region();
        let region = Extent { offset, len };
        let name = self.backing0()?.name().to_owned();
        let mut damage = Vec::new();
        for (n, slot) in self.read_slots()?.iter().enumerate() {
            let sound = matches!(slot, Slot::Valid(found)
                if *found == self.superblock(found.format, manifest.generation(), region));
            // After a failed switch a slot may be ahead, until the next commit.
            if !sound && state.extra.in_doubt.is_empty() {
                damage.push(damaged_slot(&name, n, manifest.generation()));
            }
        }
        damage.extend(manifest.check()?);
        let mut extents = vec![
            (0, Extent { offset: 0, len: RESERVED }, "the superblocks".to_owned()),
            (0, region, "the manifest".to_owned()),
        ];
        for (id, file) in lock(&self.files).all_live() {
            let placement = file.placement();
            let of_file = placement.extents.iter();
            extents.extend(of_file.map(|e| (placement.backing, *e, id.to_string())));
        }
        sort_by(&mut extents, Ord::cmp);
        for (number, backing) in self.space.backings().iter().enumerate() {
            let (len, mut end, mut before) = (backing.file.len()?, 0, "nothing".to_owned());
            for (_, extent, what) in extents.iter().filter(|(b, ..)| usize::from(*b) == number) {
                let mut bad = |expected: String, found: String| {
                    let name = backing.file.name();
                    damage.push(Corruption::new(name, extent.offset, expected, found));
                };
                if extent.end() > len {
                    bad(format!("{} bytes of {what}", extent.len), format!("an end at {len}"));
                }
                if extent.offset < end {
                    bad(format!("only {what}"), format!("{before}, which ends at {end}"));
                }
                (end, before) = (end.max(extent.end()), what.clone());
            }
        }
        Ok(damage)
    }
}
