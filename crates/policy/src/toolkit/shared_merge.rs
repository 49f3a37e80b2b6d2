//! Shared merges: the keys at which a merge of level 0 into the next level is divided among workers, as
//! RocksDB's subcompactions are.
//!
//! 1. The inputs' histograms, sampled from their indexes, give keys and the bytes up to each.
//! 2. Each part ends at the first of these keys at which it has its equal share. So parts are as even as
//!    the histograms are fine, and the largest one decides when the merge is done.
//! 3. A part has at least as many bytes as a table.

use super::group_builder::bytes;
use super::refine::{Refine, refined};
use crate::context::PlanContext;
use crate::policy::Policy;
use std::sync::Arc;
use terrane_types::{Action, Compaction, TableInfo, mul_div, sort_by};

/// Returns the keys that divide a merge of these tables into at most `parts` parts: each starts a part.
#[must_use]
pub fn parting_keys(tables: &[&Arc<TableInfo>], parts: u64) -> Vec<Vec<u8>> {
    let mut points = Vec::new();
    for table in tables {
        let mut before = 0;
        for point in table.histogram.iter() {
            points.push((&point.key, point.bytes.saturating_sub(before)));
            before = point.bytes;
        }
    }
    sort_by(&mut points, |(a, _), (b, _)| a.cmp(b));
    let total = points.iter().fold(0u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
    let (mut sum, mut next, mut keys) = (0u64, 1u64, Vec::new());
    for (key, bytes) in points {
        sum = sum.saturating_add(bytes);
        if sum < total
            && u128::from(sum) * u128::from(parts) >= u128::from(total) * u128::from(next)
        {
            // A part ends with this key: the next starts with the first after it.
            keys.push([key, &[0][..]].concat());
            next = mul_div(sum, parts, total).saturating_add(1);
        }
    }
    keys.dedup();
    keys
}

/// Merges of level 0 are shared.
struct Shared {
    max_subcompactions: u64,
    target_file_bytes: u64,
}

/// Returns the policy with merges of level 0 into the next level shared by at most `max_subcompactions` workers.
pub(crate) fn shared(
    policy: Box<dyn Policy>,
    max_subcompactions: u64,
    target_file_bytes: u64,
) -> Box<dyn Policy> {
    match max_subcompactions {
        0 | 1 => policy,
        _ => refined(policy, Shared { max_subcompactions, target_file_bytes }),
    }
}

impl Refine for Shared {
    fn compaction(&self, context: &PlanContext, plan: &mut Compaction) {
        for group in plan.groups.iter_mut().filter(|group| group.action != Action::Move) {
            let inputs = context.shape.find(group.inputs.clone());
            let is_from_level0 = inputs.first().is_some_and(|newest| newest.place.level == 0);
            if is_from_level0 && group.destination.level > 0 {
                let tables: Vec<_> = inputs.iter().map(|input| input.table).collect();
                let most = bytes(&tables) / self.target_file_bytes.max(1);
                group.parts = parting_keys(&tables, most.min(self.max_subcompactions));
            }
        }
    }

    fn reads_histograms(&self) -> bool {
        true
    }
}
