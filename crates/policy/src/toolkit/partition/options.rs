//! The parameters of partitioning, which policies share.

use crate::toolkit::parameter::{Choose, Conflict, PARTITIONING, ParameterRef, hexadecimal};

/// Cuts of merges' outputs, and the tables that are merged together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partitioning {
    /// Cuts of outputs.
    pub partitioner: Partitioner,
    /// Neighbouring partitions, and neighbouring groups, that together reach at most this percentage of
    /// the size of a table are joined; 0 joins none.
    pub join_percent: u64,
    /// The least key of the key space that is halved.
    pub domain_least: Vec<u8>,
    /// Its greatest key; empty for no end.
    pub domain_greatest: Vec<u8>,
    /// Bytes below which neighbouring partitions of a flush stay together; 0 if flushes are not cut.
    pub flush_floor_bytes: u64,
    /// The most groups of one compaction that run at once; 0 keeps the policy's order.
    pub subcompactions: u64,
}

/// Rule by which outputs are cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Partitioner {
    /// The policy's own way: by size, and neighbouring groups that fit into one table are joined.
    #[default]
    Default,
    /// One table a run.
    None,
    /// A table ends when it has its size.
    Size,
    /// The key range of the output run is halved until each part fits into a table.
    LocalRange,
    /// The key range of each group is halved likewise.
    LocalRangeByGroup,
    /// The whole key space, from `domain_least` to `domain_greatest`, is halved likewise.
    GlobalRange,
}

impl Partitioner {
    const NAMES: [&str; 6] =
        ["default", "none", "size", "local-range", "local-range-by-group", "global-range"];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.get(self as usize).copied().unwrap_or_default()
    }

    /// Whether it halves a key range.
    pub(crate) fn halves(self) -> bool {
        matches!(self, Self::LocalRange | Self::LocalRangeByGroup | Self::GlobalRange)
    }
}

impl Choose for Partitioner {
    fn among(&self) -> &'static [&'static str] {
        &Partitioner::NAMES
    }

    fn at(&self) -> usize {
        *self as usize
    }

    fn choose(&mut self, at: usize) {
        *self = match at {
            1 => Self::None,
            2 => Self::Size,
            3 => Self::LocalRange,
            4 => Self::LocalRangeByGroup,
            5 => Self::GlobalRange,
            _ => Self::Default,
        };
    }
}

impl Partitioning {
    /// The default, as a constant.
    pub const DEFAULT: Self = Partitioning {
        partitioner: Partitioner::Default,
        join_percent: 0,
        domain_least: Vec::new(),
        domain_greatest: Vec::new(),
        flush_floor_bytes: 0,
        subcompactions: 0,
    };

    /// Adds its parameters, with references to their values.
    pub(crate) fn tuning<'a>(&'a mut self, parameters: &mut Vec<ParameterRef<'a>>) {
        let [partitioner, join, least, greatest, floor, subcompactions] = PARTITIONING;
        parameters.extend([
            ParameterRef::choice(
                partitioner,
                "cuts of outputs into tables, and of inputs into groups",
                &mut self.partitioner,
            ),
            ParameterRef::number(
                join,
                "share of target-file-bytes, in percent, up to which a partitioner puts neighbours together",
                (0, 100),
                &mut self.join_percent,
            ),
            ParameterRef::key(
                least,
                "the least key of the space that global-range halves, in hexadecimal digits",
                &mut self.domain_least,
            ),
            ParameterRef::key(
                greatest,
                "the greatest key of that space, in hexadecimal digits; empty for no end",
                &mut self.domain_greatest,
            ),
            ParameterRef::number(
                floor,
                "bytes below which neighbouring partitions of a flush stay together; 0 for whole \
                 flushes; needs a range partitioner",
                (0, 1 << 40),
                &mut self.flush_floor_bytes,
            ),
            ParameterRef::number(
                subcompactions,
                "most groups of a compaction that run at once; 0 keeps the policy's order",
                (0, 255),
                &mut self.subcompactions,
            ),
        ]);
    }

    /// Returns a conflict between options.
    pub(crate) fn conflict(&self, target_file_bytes: u64) -> Option<Conflict> {
        let Partitioning { domain_least, domain_greatest, flush_floor_bytes, .. } = self;
        let [_, _, least, greatest, floor, _] = PARTITIONING;
        if !domain_greatest.is_empty() && domain_greatest <= domain_least {
            return Some(Conflict {
                parameter: greatest,
                expected: format!("a key after `{least}`: {}", hexadecimal(domain_least)),
                found: hexadecimal(domain_greatest),
            });
        }
        (*flush_floor_bytes > target_file_bytes).then(|| Conflict {
            parameter: floor,
            expected: format!("at most `{}`: {target_file_bytes}", ParameterRef::TARGET_FILE_BYTES),
            found: flush_floor_bytes.to_string(),
        })
    }
}
