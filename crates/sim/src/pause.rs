//! Merges that pause for others, as SILK schedules them (Balmau et al., ATC '19).
//!
//! 1. While a memtable is flushed, or level 0 is merged, merges from below level 0 pause between two of their
//!    chunks, and let their workers go.
//! 2. A free worker takes a merge of level 0 first, then one that pauses, then another.
//! 3. The next merge is planned while others run, to know whether it is one of level 0.
//!
//! What SILK has beyond that is left out: more bandwidth for deeper merges while clients have little to do, and
//! a merge of level 1 given up for one of level 0 that needs its tables. That one waits here.

use crate::clock::Time;
use crate::config::SimulationError;
use crate::job::{Job, Part, Work};
use crate::simulation::Simulation;

impl Simulation {
    /// Steps 2 and 3.
    pub(crate) fn dispatch_by_priority(&mut self, now: Time) -> Result<(), SimulationError> {
        loop {
            if self.parts.is_empty() && self.begin_task(now)? {
                continue;
            }
            if self.merging >= self.config.workers {
                return Ok(());
            }
            if let Some(part) = self.take_part(true) {
                self.begin_part(part, now)?;
            } else if self.deeper_pause() {
                return Ok(());
            } else if let Some(job) = self.paused.pop_front() {
                self.resume(job, now)?;
            } else if let Some(part) = self.take_part(false) {
                self.begin_part(part, now)?;
            } else {
                return Ok(());
            }
        }
    }

    /// The first part that waits for a worker, of a merge of level 0 or of a deeper one.
    fn take_part(&mut self, of_level0: bool) -> Option<Part> {
        let is_wanted = |part: &Part| self.is_of_level0(part.merge) == of_level0;
        let at = self.parts.iter().position(is_wanted)?;
        self.parts.remove(at)
    }

    fn is_of_level0(&self, merge: u64) -> bool {
        self.merges.get(&merge).is_some_and(|merge| merge.from == 0)
    }

    /// Step 1: whether deeper merges have to pause.
    fn deeper_pause(&self) -> bool {
        self.flushing || self.merges.values().any(|merge| merge.from == 0)
    }

    /// Whether a job has to pause now.
    pub(crate) fn pauses(&self, job: u64) -> bool {
        let is_deeper = |job: &Job| match job.work {
            Work::Part(merge, _) => job.has_chunk() && !self.is_of_level0(merge),
            Work::Flush(_) => false,
        };
        let waits = self.config.pause_deeper_merges && self.deeper_pause();
        waits && self.jobs.get(&job).is_some_and(is_deeper)
    }

    pub(crate) fn pause(&mut self, job: u64, now: Time) -> Result<(), SimulationError> {
        self.paused.push_back(job);
        self.merging -= 1;
        self.observe(now);
        self.dispatch(now)
    }

    fn resume(&mut self, job: u64, now: Time) -> Result<(), SimulationError> {
        self.merging += 1;
        self.observe(now);
        self.go_on(job, now)
    }
}
