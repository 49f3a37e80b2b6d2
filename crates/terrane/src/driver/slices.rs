//! One thread: jobs run in slices, when the owner of the thread says so.

use super::{Driver, no_relief};
use crate::compaction::{Job, Progress};
use crate::db::{Engine, Wanted};
use crate::error::Result;
use crate::sync::lock;
use crate::sync::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes of a slice that a waiting writer has run.
const SLICE_BYTES: u64 = 1 << 20;

/// Runs jobs on the caller's thread, in slices, flushes before merges.
#[derive(Default)]
pub struct SliceDriver {
    /// Jobs begun; the front is run first.
    jobs: Mutex<VecDeque<Job>>,
}

impl SliceDriver {
    fn jobs(&self) -> MutexGuard<'_, VecDeque<Job>> {
        lock(&self.jobs)
    }

    /// Runs one slice; answers whether there was anything to run.
    fn slice(&self, engine: &Arc<Engine>, bytes: u64) -> Result<bool> {
        let mut jobs = self.jobs();
        if !jobs.front().is_some_and(Job::is_flush) {
            let wanted = if jobs.is_empty() { Wanted::Any } else { Wanted::Flush };
            if let Some(job) = engine.next_job(wanted) {
                jobs.push_front(job);
            }
        }
        let Some(mut job) = jobs.pop_front() else { return Ok(false) };
        if job.run_for(bytes)? == Progress::More {
            jobs.push_front(job);
        }
        Ok(true)
    }
}

impl Driver for SliceDriver {
    fn wake(&self, _engine: &Arc<Engine>) {}

    fn relieve(&self, engine: &Arc<Engine>) -> Result<()> {
        if self.slice(engine, SLICE_BYTES)? { Ok(()) } else { Err(no_relief(engine)) }
    }

    fn settle(&self, engine: &Arc<Engine>, done: &dyn Fn(&Engine) -> bool) -> Result<()> {
        while !done(engine) && self.slice(engine, SLICE_BYTES)? {}
        engine.failure().map_or(Ok(()), Err)
    }

    fn run(&self, engine: &Arc<Engine>, bytes: u64) -> Result<bool> {
        self.slice(engine, bytes)
    }

    fn stop(&self, _engine: &Arc<Engine>) {
        self.jobs().clear();
    }
}
