//! The groups that merge levels into one, and the files that they are cut into.
//!
//! * Above X a group becomes one file.
//! * In X and below, except L, it is cut at L's *boundaries*: the first keys of the files of L's
//!   oldest run. So is a new run of a tiered L.
//! * In L's one run it is cut into parts of equal size, of at most `C_X` bytes, and neighbouring
//!   groups that fit into one such file are joined.

use super::tree::Tree;
use crate::toolkit::group_builder::{Target, build_groups_cut, bytes};
use std::sync::Arc;
use terrane_types::{Group, TableInfo, key_range, sort_by};

impl<'a> Tree<'a> {
    /// The groups that merge levels `from` to `level` into `level`: into its run, together with its
    /// other runs, or as a new run.
    pub fn groups(&self, from: usize, level: usize) -> Vec<Group> {
        let mut coming = self.view.shape.between(from, level);
        let trivial_moves = self.trivial_moves || level <= self.divided;
        let is_one_run = level == self.last && !self.holds(from, level);
        if !self.is_leveled(level) && !is_one_run {
            let target = Target { trivial_moves, ..self.view.new_run(level) };
            return self.cut_at_boundaries(coming, level, target);
        }
        coming.extend(self.view.older(level));
        let mut target = Target { trivial_moves, ..self.view.leveled(level) };
        if level < self.last {
            return self.cut_at_boundaries(coming, level, target);
        }
        let most = self.view.capacity(self.divided).min(target.target_file_bytes);
        target.target_file_bytes = most;
        build_groups_cut(coming, target, most, &|part| parts(part, most))
    }

    fn cut_at_boundaries(
        &self,
        coming: Vec<&'a Arc<TableInfo>>,
        level: usize,
        target: Target<'a>,
    ) -> Vec<Group> {
        let boundaries = if level < self.divided { Vec::new() } else { self.boundaries() };
        build_groups_cut(coming, target, 0, &|part| {
            let (smallest, largest) = key_range(part);
            within(&boundaries, smallest, largest)
        })
    }

    /// The first keys of the files of L's oldest run, without the first file.
    pub fn boundaries(&self) -> Vec<&'a [u8]> {
        let oldest = self.view.runs(self.last).last();
        let files = oldest.map(|run| run.tables().iter().skip(1));
        files.into_iter().flatten().map(|t| t.smallest.as_slice()).collect()
    }
}

/// Those of the ascending `boundaries` at which a file of this key range is cut.
pub(super) fn within(boundaries: &[&[u8]], smallest: &[u8], largest: &[u8]) -> Vec<Vec<u8>> {
    let from = boundaries.partition_point(|b| *b <= smallest);
    let to = boundaries.partition_point(|b| *b <= largest);
    let inside = boundaries.get(from..to).unwrap_or_default();
    inside.iter().map(|b| b.to_vec()).collect()
}

/// Keys that cut the contents of these tables into equal parts of at most `most` bytes, estimated
/// from their histograms; none if there is one part.
pub(super) fn parts(tables: &[&Arc<TableInfo>], most: u64) -> Vec<Vec<u8>> {
    let count = bytes(tables).div_ceil(most.max(1));
    let mut points = Vec::new();
    for table in tables {
        let mut before = 0;
        for point in table.histogram.iter() {
            points.push((point.key.as_slice(), point.bytes.saturating_sub(before)));
            before = point.bytes;
        }
    }
    sort_by(&mut points, Ord::cmp);
    let total = points.iter().map(|(_, bytes)| *bytes).fold(0, u64::saturating_add);
    let share = total as f64 / count as f64;
    let (mut sum, mut part, mut cuts) = (0, 1, Vec::<Vec<u8>>::new());
    for (key, bytes) in points {
        sum = u64::saturating_add(sum, bytes);
        if sum < total && sum as f64 >= share * part as f64 {
            part = ((sum as f64 / share) as u64).saturating_add(1);
            // The least key after this one.
            cuts.push([key, &[0]].concat());
        }
    }
    cuts.dedup();
    cuts
}
