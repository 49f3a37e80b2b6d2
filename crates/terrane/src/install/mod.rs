//! Installation: the outcomes of jobs take effect, one edit each. Nothing else changes which tables
//! readers see.
//!
//! * `flush` installs only when (1) the log is durable through its last sequence, since a batch over
//!   two keyspaces would tear otherwise, (2) every older flush of its keyspace is installed, and (3) its
//!   tables are durable.
//! * `group` - a group of a compaction installs alone, in any order: the validator has seen to it that
//!   every order is sound.
//! * `reshape` - a change of levels installs when nothing writes into what it shifts.
//! * `keyspaces` - keyspaces are created, are dropped, and change their policy.
//! * `logs` - log files are made, replaced and retired.
//! * `tree` - the tree that an edit leads to.
//! * `policy_state` - what the keyspace's policy remembers goes into the same edit.
//!
//! Each decides under the state lock what changes, commits without it (`engine/store_state.rs`), and
//! takes effect under it again, in one step.

mod flush;
mod group;
mod keyspaces;
mod logs;
mod policy_state;
mod reshape;
mod tree;

pub(crate) use flush::abandon_flush;
pub(crate) use group::{abandon_group, end_group};
pub(crate) use keyspaces::{
    adopt_keyspace, create_keyspace, drop_keyspace, find_keyspace, forget_keyspace, policy,
    reserve_drop, set_policy,
};
pub(crate) use logs::{add_spare_log, trim_logs, want_spare_log};
pub(crate) use reshape::abandon_reshape;

use crate::engine::Engine;
use crate::error::Result;
use crate::jobs::Outcome;
use flush::install_flushed;
use group::install_group;
use reshape::install_reshape;

/// Installs what a job has made. Returns `false`, and changes nothing, if the keyspace is gone.
pub(crate) fn install(engine: &Engine, outcome: Outcome) -> Result<bool> {
    match outcome {
        Outcome::Flushed { keyspace, through, flushed } => {
            install_flushed(engine, keyspace, through, flushed)
        }
        Outcome::Merged { keyspace, compaction, group, outputs, read_bytes } => {
            engine.counters.merged(read_bytes, &outputs);
            install_group(engine, compaction, keyspace, &group, &outputs)
        }
        Outcome::Moved { keyspace, compaction, group } => {
            install_group(engine, compaction, keyspace, &group, &[])
        }
        Outcome::Reshaped { keyspace } => install_reshape(engine, keyspace).map(|()| true),
        Outcome::NeedsSpareLog => add_spare_log(engine, 0).map(|()| true),
        Outcome::Nothing => Ok(true),
    }
}
