//! Scheduling: the next job, and jobs as executors see them.
//!
//! * `next_job` - the order of jobs.
//! * `planning` - what policies are given, and what becomes of their plans; `ranges` - compactions
//!   of a range on demand, slice by slice.
//! * `job` - a piece of `work`, run in slices; at its end its outcome is installed.

mod job;
mod next_job;
mod planning;
mod ranges;
#[cfg(test)]
mod tests;
mod work;

pub use job::Job;
pub use next_job::JobFilter;

pub(crate) use next_job::next_job;
#[cfg(test)]
pub(crate) use planning::begin;
pub(crate) use ranges::{request_range, take_back_range};
