//! Recovery: a store is created, or opened and its log replayed.
//!
//! * `open` - the steps of opening; `recover` - logs become memtables again; `live_log` - one of these logs.
//! * `witness` - how logs show that a manifest has lost its end.
//! * `quarantine` - keeps what a crash left of the records that it cut off.

mod live_log;
mod open;
mod quarantine;
mod recover;
mod witness;

pub(crate) use open::open;
pub(crate) use quarantine::MARK;
pub(crate) use witness::{check_log_numbers, later_log};
