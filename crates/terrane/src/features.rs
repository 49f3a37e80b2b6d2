//! Required features of a store, a bit each: a release or a build that does not know one refuses the store.

/// Batches delete ranges.
pub(crate) const RANGE_DELETES: u32 = 1;
/// Batches have values that expire.
pub(crate) const EXPIRY: u32 = 2;
/// Batches have operands of the operators that are built in.
pub(crate) const COUNTERS: u32 = 4;
/// Batches have operands of a merge operator.
pub(crate) const MERGE_OPERATOR: u32 = 8;
/// Batches drop keyspaces.
pub(crate) const DROPS: u32 = 16;
/// Features of which a keyspace has one at most: its mode.
pub(crate) const MODES: u32 = EXPIRY | COUNTERS | MERGE_OPERATOR;
