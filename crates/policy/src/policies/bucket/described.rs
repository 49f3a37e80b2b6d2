//! Parameters of the bucket policy.

use super::{BucketLsm, KEPT, MOST};
use crate::toolkit::filters::Filters;
use crate::toolkit::parameter::{Conflict, Described, ParameterRef, prose};

impl Described for BucketLsm {
    fn filters(&self) -> Filters {
        self.filters
    }

    fn summary(&self) -> &'static str {
        prose(
            "Leveling below a level 0 in key-range buckets that are compacted in parallel: busy workers and \
             few stalls, even when the hot keys shift.",
        )
    }

    fn tuning(&mut self) -> Vec<ParameterRef<'_>> {
        let number = ParameterRef::number;
        vec![
            ParameterRef::size_ratio(&mut self.size_ratio),
            ParameterRef::level_base_bytes(&mut self.level_base_bytes),
            ParameterRef::target_file_bytes(&mut self.target_file_bytes),
            ParameterRef::filters(&mut self.filters),
            number(
                "l0-compaction-trigger",
                "tables of a bucket in level 0 that lie over one key before they are merged",
                (1, 64),
                &mut self.l0_compaction_trigger,
            ),
            ParameterRef::dynamic_level_bytes(&mut self.dynamic_level_bytes),
            number("buckets", "buckets of level 0 at first", (1, MOST), &mut self.buckets),
            ParameterRef::switch(
                "follow-workers",
                "whether to start with one bucket per worker if that is more than buckets",
                &mut self.follow_workers,
            ),
            number(
                "window-flushes",
                "flushes that the temperature of a bucket is measured over",
                (1, 64),
                &mut self.window,
            ),
            number(
                "split-percent",
                "temperature above which a bucket is split, in percent of a fair share",
                (1, 100_000),
                &mut self.split_percent,
            ),
            number(
                "join-percent",
                "temperature up to which a bucket is joined with its colder neighbour, in percent",
                (0, 100_000),
                &mut self.join_percent,
            ),
            number(
                "min-buckets",
                "least number of buckets that joining leaves",
                (1, MOST),
                &mut self.min_buckets,
            ),
            ParameterRef::switch(
                "join-hot",
                "whether buckets are joined that would be hot enough to be split",
                &mut self.join_hot,
            ),
            ParameterRef::switch(
                "count-present",
                "whether a fair share is 1 / the current number of buckets, not 1 / the first",
                &mut self.count_present,
            ),
            ParameterRef::switch(
                "only-empty",
                "whether only buckets that hold no table of level 0 are split and joined",
                &mut self.only_empty,
            ),
            ParameterRef::switch(
                "merge-waiting",
                "whether tables of a bucket are merged within level 0 while a merge below keeps them waiting",
                &mut self.merge_waiting,
            ),
            ParameterRef::switch(
                "level-one-waits",
                "whether level 1 sends nothing down while a bucket that is due has to wait",
                &mut self.level_one_waits,
            ),
            ParameterRef::switch(
                "eager",
                "whether all buckets are due once one is",
                &mut self.eager,
            ),
            number(
                "overlap-percent",
                "weight of what a bucket overlaps in level 1 in the choice of the next one, in percent; the \
                 rest is that of its tables",
                (0, 100),
                &mut self.overlap_percent,
            ),
        ]
    }

    fn conflict(&self) -> Option<Conflict> {
        let least = self.join_percent.saturating_mul(2);
        if self.split_percent <= least {
            let expected = format!("more than twice `join-percent`: {least}");
            return Some(Conflict {
                parameter: "split-percent",
                expected,
                found: self.split_percent.to_string(),
            });
        }
        if self.min_buckets > self.buckets {
            return Some(Conflict {
                parameter: "min-buckets",
                expected: format!("at most `buckets`: {}", self.buckets),
                found: self.min_buckets.to_string(),
            });
        }
        (self.kept(self.buckets) < KEPT).then(|| Conflict {
            parameter: "window-flushes",
            expected: format!("fewer flushes for {} buckets", self.buckets),
            found: self.window.to_string(),
        })
    }
}
