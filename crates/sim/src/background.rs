//! Background work: flushes and merges, in chunks.
//!
//! 1. A free worker takes a part of a merge that has started, or asks the scheduler for a group: a move
//!    takes effect at once, a merge starts. It is shared among workers as its plan says, or else among
//!    as many as the options allow, each with at least [`crate::Config::subcompaction_bytes`] to read.
//!    One flush runs at a time, in addition to the workers.
//! 2. A job reads and writes chunk by chunk. It reads from the device what the page cache did not hold when its merge
//!    started. A chunk is done when the device has transferred it and
//!    the processor has merged it, whichever is later: reading, merging and writing overlap. The first of a merge, or
//!    of a part of one, takes the time to set it up as well.
//! 3. Writes reach flash in the order in which chunks start. Garbage collection's reads and writes
//!    take device time.
//! 4. After its last chunk, and when the other parts of its merge are done, a job takes effect:
//!    outputs enter the tree, inputs leave it (`install.rs`).

use crate::clock::{Thread, Time, micros, nanos, seconds};
use crate::config::SimulationError;
use crate::entry::Entry;
use crate::flash::Full;
use crate::job::{Chunk, Job, Merge, Part, Work};
use crate::merge::{at_or_above, cut, merge};
use crate::schedule::{Next, Scheduler, Situation, Task};
use crate::share::{bytes_between, part, part_bytes};
use crate::simulation::Simulation;
use crate::trace::KEYSPACE;
use crate::tree::Table;
use std::sync::Arc;
use terrane_policy::event::{Event, MAX_PROGRESS};
use terrane_policy::{
    Action, FilterBits, Group, Observed, PrefixRule, Reason, Reshape, TableId, parting_keys,
};

impl Simulation {
    /// Step 1.
    pub(crate) fn dispatch(&mut self, now: Time) -> Result<(), SimulationError> {
        if !self.flushing && !self.memory.sealed.is_empty() {
            self.begin_flush(now)?;
        }
        if self.config.pause_deeper_merges {
            return self.dispatch_by_priority(now);
        }
        while self.merging < self.config.workers {
            if let Some(part) = self.parts.pop_front() {
                self.begin_part(part, now)?;
            } else if !self.begin_task(now)? {
                break;
            }
        }
        Ok(())
    }

    pub(crate) fn begin_part(&mut self, part: Part, now: Time) -> Result<(), SimulationError> {
        self.merging += 1;
        self.observe(now);
        self.begin(Work::Part(part.merge, part.index), part.reads, part.outputs, now)
    }

    /// Takes the scheduler's next task: its parts wait for workers if it is a merge. Returns whether there was one.
    pub(crate) fn begin_task(&mut self, now: Time) -> Result<bool, SimulationError> {
        match self.next(now) {
            None => return Ok(false),
            Some(Next::Reshape(change, observed)) => self.reshape(change, observed, now)?,
            Some(Next::Group(task)) => {
                self.tell_begun(&task, now);
                match &task.group.action {
                    Action::Move => self.move_group(&task, now)?,
                    Action::Merge { .. } => self.begin_merge(task, now),
                }
            }
        }
        Ok(true)
    }

    /// Asks the scheduler what to do next, counts it and emits its events.
    fn schedule<T>(&mut self, now: Time, ask: impl FnOnce(&mut Scheduler, Situation) -> T) -> T {
        let (listener, meters) = (&mut self.listener, &mut self.meters);
        let mut emit = |event: Event| {
            meters.add(|sums| match event {
                Event::CompactionBegun { groups, .. } => {
                    sums.compactions += 1;
                    sums.groups += groups as u64;
                }
                _ => sums.refused_plans += 1,
            });
            if let Some(listener) = listener {
                listener(micros(now), &event);
            }
        };
        let (shape, last_id) = (self.tree.shape(), &mut self.last_id);
        ask(&mut self.scheduler, Situation { shape, last_id, emit: &mut emit })
    }

    fn tell_begun(&mut self, task: &Task, now: Time) {
        let Group { inputs, destination, action, .. } = &*task.group;
        self.emit(now, || Event::GroupBegun {
            keyspace: KEYSPACE,
            compaction: task.compaction,
            inputs: inputs.clone(),
            level: destination.level,
            run: destination.run,
            cuts: action.cuts().to_vec(),
            moved: *action == Action::Move,
        });
    }

    fn next(&mut self, now: Time) -> Option<Next> {
        self.schedule(now, |scheduler, situation| scheduler.next(situation))
    }

    fn reshape(
        &mut self,
        reshape: Reshape,
        observed: Observed,
        now: Time,
    ) -> Result<(), SimulationError> {
        let Reshape { change, reason } = reshape;
        let before = self.tree.reshape(change)?;
        self.scheduler.reshaped(&before, &observed, change);
        let keyspace = KEYSPACE;
        let Reason { text: reason, terms } = reason;
        self.emit(now, || Event::LevelChanged { keyspace, change, reason, terms, observed });
        self.report_policy(now);
        Ok(())
    }

    fn move_group(&mut self, task: &Task, now: Time) -> Result<(), SimulationError> {
        let bytes: u64 = self.tree.inputs(&task.group).iter().map(|t| t.info.bytes).sum();
        let grouped = self.grouped.entry(task.compaction).or_default();
        grouped.moves += task.group.inputs.len() as u64;
        grouped.moved_bytes += bytes;
        self.meters.add(|sums| {
            sums.trivial_moves += 1;
            sums.moved_bytes += bytes;
        });
        self.install_group(task, Vec::new(), now)
    }

    /// Tables of these entries, with new ids, and the sets of their prefixes by a rule.
    fn tables(
        &mut self,
        parts: Vec<Arc<[Entry]>>,
        bits: FilterBits,
        prefixes: Option<PrefixRule>,
    ) -> Vec<Table> {
        let sizes = self.sizes;
        let mut tables = Vec::with_capacity(parts.len());
        for entries in parts {
            self.last_id += 1;
            tables.extend(Table::new(TableId(self.last_id), entries, sizes, bits, prefixes));
        }
        tables
    }

    fn begin_flush(&mut self, now: Time) -> Result<(), SimulationError> {
        let Some(memtable) = self.memory.sealed.front() else { return Ok(()) };
        let merged = merge([memtable.entries.as_slice()], None);
        let size = (memtable.entries.len() as u64, memtable.bytes);
        self.scheduler.learn(&merged);
        let plan =
            self.schedule(now, |scheduler, situation| scheduler.flush(situation, size, &merged));
        let parts = cut(&merged, &plan.cuts, None, u64::MAX, self.sizes);
        let bits = plan.filter_bits.unwrap_or(self.config.filter_bits());
        let outputs = self.tables(parts, bits, None);
        self.flushing = true;
        self.begin(Work::Flush(plan), 0, outputs, now)
    }

    /// A merge starts; its parts wait for workers.
    fn begin_merge(&mut self, task: Task, begun: Time) {
        let inputs = self.tree.inputs(&task.group);
        let reads: u64 = inputs.iter().map(|t| t.info.bytes).sum();
        let missing = self.page_cache.missing(&inputs);
        let has_tombstones = inputs.iter().any(|t| t.info.tombstones > 0);
        let mut rule =
            has_tombstones.then(|| self.scheduler.tombstones(self.tree.shape(), &task.group));
        let merged = merge(inputs.iter().map(|t| &*t.entries), rule.as_mut());
        let Action::Merge { cuts, target_file_bytes, filter_bits, split } = &task.group.action
        else {
            return;
        };
        let most = reads / self.config.subcompaction_bytes;
        let keys = match most.min(self.config.subcompactions as u64) {
            count if count > 1 && task.group.parts.is_empty() => {
                let infos: Vec<_> = inputs.iter().map(|table| &table.info).collect();
                parting_keys(&infos, count)
            }
            _ => task.group.parts.clone(),
        };
        let keys: Vec<_> = keys.iter().filter_map(|key| at_or_above(key)).collect();
        let bytes = part_bytes(&inputs, &keys, self.sizes);
        let bits = filter_bits.unwrap_or(self.config.filter_bits());
        self.last_merge += 1;
        self.grouped.entry(task.compaction).or_default().merges += 1;
        let merge = self.last_merge;
        // A part ends where the next starts: what is left of it are its inputs below that key.
        let ends = keys.iter().copied().map(Some).chain([None]);
        let inputs: Vec<_> = inputs.iter().map(|table| table.entries.clone()).collect();
        let sizes = self.sizes;
        for (index, ((part, reads), end)) in
            part(&merged, &keys).into_iter().zip(&bytes).zip(ends).enumerate()
        {
            let left = |key| bytes_between(&inputs, key, end, sizes);
            let split = split.map(|split| (split, &left as &dyn Fn(u64) -> u64));
            let tables = cut(part, cuts, split, *target_file_bytes, sizes);
            let outputs = self.tables(tables, bits, split.map(|(split, _)| split.rule));
            self.parts.push_back(Part { merge, index, reads: *reads, outputs });
        }
        let outputs = bytes.iter().map(|_| Vec::new()).collect();
        let open = bytes.len();
        let placed = self.tree.shape().find(task.group.inputs.clone());
        let from = placed.first().map_or(0, |newest| newest.place.level);
        let (read_so_far, written_so_far) = (0, 0);
        self.merges.insert(
            merge,
            Merge { task, begun, from, reads, missing, read_so_far, written_so_far, open, outputs },
        );
    }

    fn begin(
        &mut self,
        work: Work,
        reads: u64,
        outputs: Vec<Table>,
        now: Time,
    ) -> Result<(), SimulationError> {
        self.last_job += 1;
        let job = Job::new(work, reads, outputs, self.config.device.request_bytes, now);
        self.jobs.insert(self.last_job, job);
        self.go_on(self.last_job, now)
    }

    /// Steps 2 and 4: a job has finished a chunk, and continues.
    pub(crate) fn go_on(&mut self, number: u64, now: Time) -> Result<(), SimulationError> {
        if self.pauses(number) {
            return self.pause(number, now);
        }
        let Some(job) = self.jobs.get_mut(&number) else { return Ok(()) };
        let is_first = job.is_new();
        let Some(chunk) = job.next_chunk() else {
            let Some(job) = self.jobs.remove(&number) else { return Ok(()) };
            return self.end(job, now);
        };
        let device = &self.config.device;
        let of_flush = device.flush_nanos_per_byte.filter(|_| matches!(job.work, Work::Flush(_)));
        let nanos_per_byte = of_flush.unwrap_or(device.merge_nanos_per_byte);
        let merged = job.merged(&chunk) as f64;
        let (mut missing, mut set_up) = (1.0, 0.0);
        if let Work::Part(merge, _) = job.work {
            set_up = if is_first { device.merge_micros * 1e-6 } else { 0.0 };
            missing = self.merges.get(&merge).map_or(missing, |merge| merge.missing);
            self.tell_progress(merge, &chunk, now);
        }
        let moved = self.write_chunk(&chunk, now)?;
        let read = (chunk.read as f64 * missing) as u64;
        let transferred = self.queue.chunk(now, read + moved, chunk.written() + moved);
        if let Some(job) = self.jobs.get_mut(&number) {
            job.transferred = transferred;
        }
        let burst = nanos(merged * nanos_per_byte * 1e-9 + set_up);
        self.cores.begin(now, burst, Thread::Job(number));
        Ok(())
    }

    /// A job has computed its chunk, which the device may still transfer.
    pub(crate) fn computed(&mut self, number: u64, now: Time) -> Result<(), SimulationError> {
        match self.jobs.get(&number).map(|job| job.transferred) {
            Some(transferred) if transferred > now => {
                self.agenda.enter(transferred, Thread::Job(number));
                Ok(())
            }
            _ => self.go_on(number, now),
        }
    }

    /// Reports how far a merge is, if this chunk completes a share of it.
    fn tell_progress(&mut self, merge: u64, chunk: &Chunk, now: Time) {
        let Some(merge) = self.merges.get_mut(&merge) else { return };
        let shares = |read: u64| read.saturating_mul(MAX_PROGRESS) / merge.reads.max(1);
        let before = shares(merge.read_so_far);
        merge.read_so_far += chunk.read;
        merge.written_so_far += chunk.written();
        let (read_bytes, total_bytes) = (merge.read_so_far, merge.reads);
        let (compaction, written_bytes) = (merge.task.compaction, merge.written_so_far);
        let is_due = shares(read_bytes) > before;
        let group = merge.task.group.inputs.first().copied().filter(|_| is_due);
        let Some(group) = group else { return };
        self.emit(now, || Event::MergeProgress {
            compaction,
            group,
            read_bytes,
            total_bytes,
            written_bytes,
        });
    }

    /// Step 3; returns the bytes that garbage collection moved.
    fn write_chunk(&mut self, chunk: &Chunk, now: Time) -> Result<u64, SimulationError> {
        let mut moved = 0;
        for piece in &chunk.pieces {
            self.store_bytes += piece.bytes;
            self.half_written += usize::from(piece.from == 0);
            self.page_cache.write(piece.file, piece.from, piece.bytes);
            moved += self.append(piece.file.0, piece.bytes, piece.ends, now)?;
        }
        self.observe(now);
        Ok(moved)
    }

    /// Writes the log of the active memtable; returns the bytes that garbage collection moved.
    pub(crate) fn append_log(
        &mut self,
        bytes: u64,
        ends: bool,
        now: Time,
    ) -> Result<u64, SimulationError> {
        self.append(log_file(self.logs.1), bytes, ends, now)
    }

    fn append(
        &mut self,
        file: u64,
        bytes: u64,
        ends: bool,
        now: Time,
    ) -> Result<u64, SimulationError> {
        let Some(flash) = &mut self.flash else { return Ok(0) };
        let (host, moved) = (flash.host_bytes(), flash.moved_bytes());
        let appended = flash.append(file, bytes, ends);
        let (host, moved) = (flash.host_bytes() - host, flash.moved_bytes() - moved);
        let device = self.config.flash.as_ref();
        appended.map_err(|_: Full| SimulationError::FlashFull {
            seconds: seconds(now),
            capacity_bytes: device.map_or(0, |flash| flash.capacity_bytes),
            store_bytes: self.store_bytes,
            page_bytes: device.map_or(0, |flash| flash.page_bytes),
        })?;
        self.meters.add(|sums| {
            sums.flash_host_bytes += host;
            sums.flash_moved_bytes += moved;
        });
        Ok(moved)
    }

    pub(crate) fn remove_file(&mut self, file: u64) {
        if let Some(flash) = &mut self.flash {
            flash.remove(file);
        }
    }
}

/// The file number of a memtable's log, above all table ids.
pub(crate) fn log_file(number: u64) -> u64 {
    u64::MAX - number
}
