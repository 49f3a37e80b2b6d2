//! Writes: the memtable, the log, and stalls.
//!
//! 1. A write stalls while there are as many sealed memtables, or runs in level 0 (by some policies
//!    tables over one key), as the options allow; or while as many bytes wait to be compacted, and some
//!    are. Stalled writes continue in the order in which they came, when background work lets them.
//! 2. It is logged and enters the memtable. The log is written asynchronously, a chunk at a time. Where values are
//!    separated it is the log of values, which stays.
//! 3. While many bytes wait to be compacted, or many runs in level 0, all writes together take effect
//!    at a limited rate.
//! 4. A full memtable is sealed with its log, and waits for its flush.

use crate::clock::{Time, micros, nanos};
use crate::config::SimulationError;
use crate::simulation::Simulation;
use crate::trace::KEYSPACE;
use std::collections::VecDeque;
use terrane_policy::event::Event;
use terrane_types::Stall;
use terrane_workload::Operation;

/// Writes that wait, and why the first one does, since when; and since when that was reported.
#[derive(Default)]
pub(crate) struct Stalled {
    writes: VecDeque<(usize, Operation)>,
    cause: Option<(Stall, Time)>,
    reported: Time,
}

impl Stalled {
    pub(crate) fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }
}

impl Simulation {
    /// Step 1.
    pub(crate) fn write_or_wait(
        &mut self,
        client: usize,
        write: Operation,
        now: Time,
    ) -> Result<(), SimulationError> {
        match self.blocked() {
            Some(reason) => {
                if self.stalled.is_empty() {
                    self.begin_stall(reason, now);
                    self.stalled.cause = Some((reason, now));
                }
                self.stalled.writes.push_back((client, write));
                Ok(())
            }
            None => self.write(client, write, now),
        }
    }

    fn begin_stall(&mut self, reason: Stall, now: Time) {
        self.stalled.reported = now;
        self.emit(now, || Event::Stalled { reason });
    }

    fn end_stall(&mut self, reason: Stall, now: Time) {
        let lasted_micros = micros(now - self.stalled.reported);
        self.emit(now, || Event::StallEnded { reason, lasted_micros });
    }

    /// Returns the reason why a write would stall.
    fn blocked(&self) -> Option<Stall> {
        if self.memory.sealed.len() >= self.config.max_immutable_memtables {
            Some(Stall::Memtables)
        } else {
            let full = self.level0_waiting >= self.config.l0_stop_trigger;
            let stall = full.then_some(Stall::Level0);
            stall.or_else(|| self.is_behind().then_some(Stall::CompactionBytes))
        }
    }

    /// Whether more bytes wait to be compacted than may, and some are: where the policy leaves them as
    /// they are, waiting would not end.
    fn is_behind(&self) -> bool {
        let most = self.config.hard_pending_compaction_bytes;
        most > 0 && self.pending_bytes >= most && (self.merging > 0 || !self.parts.is_empty())
    }

    /// Resumes stalled writes, as many as may proceed.
    pub(crate) fn resume_writes(&mut self, now: Time) -> Result<(), SimulationError> {
        while let Some((reason, since)) = self.stalled.cause.take() {
            // What writes were delayed for before they stopped is counted already.
            let since = since.max(self.delayed_until);
            self.meters.add(|sums| sums.stall(reason, now.saturating_sub(since)));
            if let Some(next) = self.blocked() {
                if next != reason {
                    self.end_stall(reason, now);
                    self.begin_stall(next, now);
                }
                self.stalled.cause = Some((next, now));
                return Ok(());
            }
            let Some((client, write)) = self.stalled.writes.pop_front() else { return Ok(()) };
            let is_last = self.stalled.is_empty();
            if is_last {
                self.end_stall(reason, now);
            }
            self.write(client, write, now)?;
            if !is_last {
                self.stalled.cause = Some((reason, now));
            }
        }
        Ok(())
    }

    /// Step 2.
    fn write(&mut self, client: usize, write: Operation, now: Time) -> Result<(), SimulationError> {
        let (number, delete) = match write {
            Operation::Delete(number) => (number, true),
            Operation::Put(number) | Operation::ReadModifyWrite(number) => (number, false),
            Operation::Get(_) | Operation::GetMissing(_) | Operation::Scan { .. } => return Ok(()),
        };
        let (key, sizes) = (self.operations.key(number), self.config.buffered_sizes());
        let entry = self.memory.write(key, delete, |entry| sizes.of(entry));
        let bytes = self.config.written_sizes().of(entry);
        self.live.set(number, !delete);
        self.meters.add(|sums| sums.user_bytes += bytes);
        self.log(bytes, now)?;
        self.take_time(client, bytes, now);
        if self.memory.active.bytes >= self.config.buffer_bytes {
            self.seal(now)?;
        }
        Ok(())
    }

    /// Step 3.
    fn take_time(&mut self, client: usize, bytes: u64, now: Time) {
        let (soft, most) =
            (self.config.soft_pending_compaction_bytes, self.config.l0_slowdown_trigger);
        let is_behind = soft > 0 && self.pending_bytes >= soft;
        if !is_behind && (most == 0 || self.level0_waiting < most) {
            return self.compute_write(client, now);
        }
        let time = nanos(bytes as f64 / self.config.delayed_write_rate as f64);
        self.delayed_until = self.delayed_until.max(now) + time;
        self.meters.add(|sums| {
            *if is_behind { &mut sums.slowed } else { &mut sums.slowed_level0 } += time;
        });
        self.delay_write(client, self.delayed_until);
    }

    fn log(&mut self, bytes: u64, now: Time) -> Result<(), SimulationError> {
        if self.config.separates_values() {
            self.store_bytes += bytes;
            self.meters.add(|sums| sums.value_log_bytes += bytes);
        }
        let is_logged = self.config.log || self.config.separates_values();
        self.unlogged += if is_logged { bytes } else { 0 };
        if self.unlogged >= self.config.device.request_bytes {
            self.write_log(false, now)?;
        }
        Ok(())
    }

    fn write_log(&mut self, ends: bool, now: Time) -> Result<(), SimulationError> {
        let bytes = std::mem::take(&mut self.unlogged);
        let moved = self.append_log(bytes, ends, now)?;
        self.queue.load(now, moved, bytes + moved);
        if !self.config.separates_values() {
            self.meters.add(|sums| sums.wal_bytes += bytes);
        }
        Ok(())
    }

    /// Step 4.
    pub(crate) fn seal(&mut self, now: Time) -> Result<(), SimulationError> {
        self.scheduler.updated(self.memory.active.entries.len() as u64);
        let Some(bytes) = self.memory.seal() else { return self.dispatch(now) };
        self.write_log(true, now)?;
        self.logs.1 += 1;
        let through = self.memory.seq;
        self.emit(now, || Event::MemtableSealed { keyspace: KEYSPACE, bytes, through });
        let bytes = self.live_bytes();
        self.emit(now, || Event::LiveBytes { keyspace: KEYSPACE, bytes });
        self.dispatch(now)
    }
}
