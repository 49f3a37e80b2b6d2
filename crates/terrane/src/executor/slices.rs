//! One thread: jobs run in slices, when the owner of the thread says so.

use super::{Executor, no_relief};
use crate::engine::Engine;
use crate::error::Result;
use crate::jobs::Progress;
use crate::schedule;
use crate::schedule::{Job, JobFilter};
use crate::sync::lock;
use crate::sync::{Mutex, MutexGuard};
use crate::write::Throttle;
use std::sync::Arc;

/// Bytes of the slice that a stalled writer runs.
const SLICE_BYTES: u64 = 1 << 20;
/// Jobs that move no bytes and that one slice runs as well.
const LIGHT_MAX: usize = 8;

/// Runs jobs on the caller's thread, in slices, flushes before merges. A write runs slices, in
/// proportion to its bytes, and more the closer it is to a stall.
#[derive(Default)]
pub struct SliceExecutor {
    state: Mutex<State>,
    clock: Option<fn() -> u64>,
}

#[derive(Default)]
struct State {
    /// Jobs started; the last is run first.
    jobs: Vec<Job>,
    throttle: Throttle,
}

impl State {
    /// Runs one slice, and before it what takes no bytes; returns whether there was anything to run.
    fn slice(&mut self, engine: &Arc<Engine>, bytes: u64) -> Result<bool> {
        for light in 0.. {
            let jobs = &mut self.jobs;
            if !jobs.last().is_some_and(Job::is_flush) {
                let wanted = if jobs.is_empty() { JobFilter::Any } else { JobFilter::Flush };
                if let Some(job) = schedule::next_job(engine, wanted) {
                    jobs.push(job);
                }
            }
            let Some(mut job) = jobs.pop() else { return Ok(light > 0) };
            let whole = !job.is_light() || light == LIGHT_MAX;
            if job.run_for(bytes)? == Progress::More {
                jobs.push(job);
            }
            if whole {
                break;
            }
        }
        Ok(true)
    }
}

impl SliceExecutor {
    /// With a clock, which shows microseconds since any moment.
    #[must_use]
    pub fn with_clock(clock: fn() -> u64) -> Self {
        SliceExecutor { clock: Some(clock), ..SliceExecutor::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Executor for SliceExecutor {
    fn start(&self, engine: &Arc<Engine>) {
        if let Some(clock) = self.clock {
            engine.set_clock(clock);
        }
    }

    fn wake(&self, engine: &Arc<Engine>) {
        let mut state = self.state();
        let due = state.throttle.due(engine);
        if due > 0 {
            // The engine keeps the error, and the next write that stalls returns it.
            let _ = state.slice(engine, due);
        }
    }

    fn wait_for_progress(&self, engine: &Arc<Engine>) -> Result<()> {
        if self.state().slice(engine, SLICE_BYTES)? {
            Ok(())
        } else {
            Err(no_relief(&engine.state))
        }
    }

    fn wait_until_idle(&self, engine: &Arc<Engine>, done: &dyn Fn(&Engine) -> bool) -> Result<()> {
        while !done(engine) && self.state().slice(engine, SLICE_BYTES)? {}
        engine.state.failure().map_or(Ok(()), Err)
    }

    fn run(&self, engine: &Arc<Engine>, bytes: u64) -> Result<bool> {
        self.state().slice(engine, bytes)
    }

    fn stop(&self, _engine: &Arc<Engine>) {
        self.state().jobs.clear();
    }
}
