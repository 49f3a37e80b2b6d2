//! One thread, any order: jobs interleave as a seed decides, so that a test can try many orders and
//! repeat each.

use super::{Executor, no_relief};
use crate::engine::Engine;
use crate::error::Result;
use crate::jobs::Progress;
use crate::schedule;
use crate::schedule::{Job, JobFilter};
use crate::sync::lock;
use crate::sync::{Mutex, MutexGuard};
use std::sync::Arc;

/// Jobs that may be under way at once.
const JOBS_MAX: usize = 4;

/// Runs slices of randomly chosen jobs, some after each write. The same seed and the same calls
/// make the same history.
pub struct SeededExecutor {
    state: Mutex<State>,
}

struct State {
    random: u64,
    jobs: Vec<Job>,
}

impl State {
    /// The next number below `bound` (splitmix64).
    fn below(&mut self, bound: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    /// Starts a job or runs a slice of one; returns whether there was anything to do.
    fn step(&mut self, engine: &Arc<Engine>) -> Result<bool> {
        if self.jobs.len() < JOBS_MAX
            && (self.jobs.is_empty() || self.below(2) == 0)
            && let Some(job) = schedule::next_job(engine, JobFilter::Any)
        {
            self.jobs.push(job);
        }
        if self.jobs.is_empty() {
            return Ok(false);
        }
        let at = self.below(self.jobs.len() as u64) as usize;
        let mut job = self.jobs.swap_remove(at);
        let bytes = 1 << self.below(14);
        if job.run_for(bytes)? == Progress::More {
            self.jobs.push(job);
        }
        Ok(true)
    }
}

impl SeededExecutor {
    /// An executor whose choices follow from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        SeededExecutor { state: Mutex::new(State { random: seed, jobs: Vec::new() }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Executor for SeededExecutor {
    fn wake(&self, engine: &Arc<Engine>) {
        let mut state = self.state();
        for _ in 0..state.below(4) {
            // The engine keeps the error, and the next write that stalls returns it.
            if !state.step(engine).unwrap_or(false) {
                break;
            }
        }
    }

    fn wait_for_progress(&self, engine: &Arc<Engine>) -> Result<()> {
        if self.state().step(engine)? { Ok(()) } else { Err(no_relief(&engine.state)) }
    }

    fn wait_until_idle(&self, engine: &Arc<Engine>, done: &dyn Fn(&Engine) -> bool) -> Result<()> {
        while !done(engine) && self.state().step(engine)? {}
        engine.state.failure().map_or(Ok(()), Err)
    }

    fn run(&self, engine: &Arc<Engine>, _bytes: u64) -> Result<bool> {
        self.state().step(engine)
    }

    fn stop(&self, _engine: &Arc<Engine>) {
        self.state().jobs.clear();
    }
}
