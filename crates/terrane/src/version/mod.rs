//! The durable state of the store and its live picture.
//!
//! 1. An [`Edit`] is a list of [`Change`]s of the durable state, as a manifest record.
//! 2. The [`VersionSet`] is all edits applied: keyspaces with their shapes, the live logs, counters.
//! 3. A [`Tree`] is one keyspace's shape with its tables open, immutable, shared by readers.

mod body;
mod bounds;
mod change;
mod debt;
mod edit;
mod expired;
mod hidden;
mod histograms;
mod ids;
mod level_counters;
mod plan;
mod range_deletes;
#[cfg_attr(not(feature = "all"), path = "no_samples.rs")]
mod samples;
mod sources;
mod super_version;
mod tree;
mod version_set;

pub use change::{Change, Features, Quarantine, RetainedLog};
pub use edit::Edit;
pub use ids::Ids;
pub use level_counters::{LevelCounters, LevelCounts};
pub use tree::{LiveTable, ObsoleteFile, ObsoleteFiles, Tree};
pub use version_set::{KeyspaceRecord, LogRecord, VersionSet};

pub(crate) use expired::{expired, has_expired};
pub(crate) use hidden::{DELETES_BYTES_MAX, Needs, hidden, hidden_tables, hides_any};
pub(crate) use histograms::Histograms;
pub(crate) use samples::{OperationKind, Samples, SharedSamples, draw};
pub(crate) use sources::{Run, Runs, SoughtKey, Sources};
pub(crate) use super_version::SuperVersion;
