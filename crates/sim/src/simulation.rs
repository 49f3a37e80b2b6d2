//! The simulation: an application, its store, and the machine below.
//!
//! 1. The application runs one operation after another. Each takes processor time, and the time of
//!    the blocks that it reads.
//! 2. Background events that are due before an operation begins happen first: `background.rs`.
//! 3. A write stalls while there are as many sealed memtables, or runs in level 0, as the options
//!    allow. Only background work ends a stall.
//! 4. After the last operation the memtable is flushed, and compactions run until the tree is idle.

use crate::bit_set::BitSet;
use crate::cache::Cache;
use crate::client::{Client, Operation};
use crate::clock::{Agenda, Time, nanos, seconds};
use crate::config::{Config, SimulationError};
use crate::device::Queue;
use crate::entry::Sizes;
use crate::flash::Flash;
use crate::job::Job;
use crate::memory::Memory;
use crate::meter::{Levels, Meters};
use crate::reads::{self, entries_per_block};
use crate::report::{LevelReport, Phase, Report, Window};
use crate::schedule::Scheduler;
use crate::trace::KEYSPACE;
use crate::tree::Tree;
use std::collections::BTreeMap;
use terrane_policy::Shape;
use terrane_policy::event::Event;
use terrane_types::Stall;

/// Receives every event, with the virtual second at which it happened.
pub type Listener = Box<dyn FnMut(f64, &Event)>;

/// Space amplification means nothing before the store holds this many buffers.
const GROWN_BUFFERS: u64 = 32;

/// A store under simulation.
pub struct Simulation {
    pub(crate) config: Config,
    pub(crate) sizes: Sizes,
    client: Client,
    /// When the application continues.
    time: Time,
    /// When its next operation may begin, if the rate is limited.
    not_before: f64,
    /// The stalled write, the reason, and since when.
    waits: Option<(Operation, Stall, Time)>,
    /// Whether the last operation is done.
    settling: bool,
    pub(crate) agenda: Agenda,
    pub(crate) memory: Memory,
    pub(crate) tree: Tree,
    pub(crate) scheduler: Scheduler,
    /// The last id assigned to a table, a run or a compaction.
    pub(crate) last_id: u64,
    pub(crate) jobs: BTreeMap<u64, Job>,
    pub(crate) last_job: u64,
    pub(crate) flushing: bool,
    pub(crate) merging: usize,
    pub(crate) queue: Queue,
    pub(crate) flash: Option<Flash>,
    /// Bytes of all tables and of unfinished outputs, and the number of the latter.
    pub(crate) store_bytes: u64,
    pub(crate) half_written: usize,
    /// The first and the last memtable that still has a log; the last is the active one.
    pub(crate) logs: (u64, u64),
    /// Bytes that are not yet logged.
    unlogged: u64,
    cache: Cache,
    live: BitSet,
    pub(crate) meters: Meters,
    phases: Vec<Phase>,
    phase: &'static str,
    timeline: Vec<Window>,
    pub(crate) listener: Option<Listener>,
}

impl Simulation {
    /// An empty store at time 0.
    ///
    /// # Errors
    /// An option outside its range.
    pub fn new(config: Config) -> Result<Self, SimulationError> {
        config.validate()?;
        let mix = &config.workload.mix;
        let reads = mix.read + mix.read_missing + mix.read_modify_write > 0.0;
        let blocks = config.cache_bytes / config.block_bytes;
        Ok(Simulation {
            sizes: Sizes { key: config.key_bytes, value: config.value_bytes },
            client: Client::new(&config.workload, config.seed),
            time: 0,
            not_before: 0.0,
            waits: None,
            settling: false,
            agenda: Agenda::default(),
            memory: Memory::new(reads),
            tree: Tree::default(),
            scheduler: Scheduler::new(&config.policy, config.l0_stop_trigger, config.workers)?,
            last_id: 0,
            jobs: BTreeMap::new(),
            last_job: 0,
            flushing: false,
            merging: 0,
            queue: Queue::new(config.device.clone()),
            flash: config.flash.as_ref().map(Flash::new),
            store_bytes: 0,
            half_written: 0,
            logs: (0, 0),
            unlogged: 0,
            cache: Cache::new(usize::try_from(blocks).unwrap_or(usize::MAX)),
            live: BitSet::default(),
            meters: Meters::default(),
            phases: Vec::new(),
            phase: "load",
            timeline: Vec::new(),
            listener: None,
            config,
        })
    }

    /// Passes every event from now on to a listener.
    pub fn listen(&mut self, listener: Listener) {
        self.listener = Some(listener);
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// As [`Simulation::advance`].
    pub fn run(mut self) -> Result<Report, SimulationError> {
        while self.advance(u64::MAX)? {}
        Ok(self.report())
    }

    /// Runs this many operations; returns whether there is more to do.
    ///
    /// # Errors
    /// The flash device is full, or writes stall and the policy has no plan.
    pub fn advance(&mut self, operations: u64) -> Result<bool, SimulationError> {
        self.go(operations, Time::MAX)
    }

    /// Runs at most this many operations, up to this virtual second; returns whether there is more to
    /// do.
    ///
    /// # Errors
    /// As [`Simulation::advance`].
    pub fn advance_until(&mut self, operations: u64, at: f64) -> Result<bool, SimulationError> {
        self.go(operations, nanos(at))
    }

    fn go(&mut self, operations: u64, last: Time) -> Result<bool, SimulationError> {
        let until = self.client.drawn().saturating_add(operations);
        loop {
            if self.next_moment().is_some_and(|moment| moment > last) {
                return Ok(true);
            }
            if self.waits.is_some() || self.settling || self.agenda.next() <= self.time {
                match self.agenda.pop() {
                    Some((at, job)) => {
                        self.go_on(job, at)?;
                        self.go_on_writing(at)?;
                    }
                    None if self.settling => {
                        self.end_phase("");
                        return Ok(false);
                    }
                    None => {
                        return Err(SimulationError::Stuck { seconds: seconds(self.time) });
                    }
                }
            } else if self.client.drawn() >= until {
                return Ok(true);
            } else {
                self.begin_phase();
                match self.client.next() {
                    Some(operation) => self.operate(operation)?,
                    None => {
                        self.settling = true;
                        self.seal()?;
                    }
                }
            }
        }
    }

    /// The time of the next event, if there is one.
    fn next_moment(&self) -> Option<Time> {
        let due = Some(self.agenda.next()).filter(|due| *due < Time::MAX);
        let goes_on = self.waits.is_none() && !self.settling;
        if goes_on { Some(due.unwrap_or(self.time).min(self.time)) } else { due }
    }

    /// Operations done, and their total.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.client.drawn(), self.client.length())
    }

    /// The virtual time, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        seconds(self.time)
    }

    /// The tree as it is.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        self.tree.shape()
    }

    /// The results so far.
    #[must_use]
    pub fn report(&self) -> Report {
        let levels = self.tree.shape().levels().iter().map(|level| LevelReport {
            runs: level.runs.len(),
            tables: level.tables().count(),
            bytes: level.bytes(),
        });
        Report {
            policy: self.config.policy.name(),
            seed: self.config.seed,
            whole: self.meters.figures(self.time, self.config.workers),
            phases: self.phases.clone(),
            levels: levels.collect(),
            timeline: self.timeline.clone(),
        }
    }

    /// Switches to the phase of the next operation.
    fn begin_phase(&mut self) {
        let left = self.client.drawn() < self.client.length();
        let phase = match (left, self.client.is_loaded()) {
            (true, false) => "load",
            (true, true) => "operations",
            (false, _) => "wait-until-idle",
        };
        self.end_phase(phase);
    }

    fn end_phase(&mut self, next: &'static str) {
        if next == self.phase {
            return;
        }
        let name = std::mem::replace(&mut self.phase, next);
        let figures = self.meters.end_phase(self.time, self.config.workers);
        if figures.operations > 0 || name == "wait-until-idle" {
            self.phases.push(Phase { name, figures });
        }
    }

    /// Runs an operation, or stalls it.
    fn operate(&mut self, operation: Operation) -> Result<(), SimulationError> {
        if self.config.rate > 0.0 {
            self.time = self.time.max(nanos(self.not_before));
            self.not_before = self.not_before.max(seconds(self.time)) + 1.0 / self.config.rate;
        }
        match operation {
            Operation::Get(key) => self.get(key)?,
            Operation::Scan { from, entries } => self.scan(from, entries)?,
            Operation::ReadModifyWrite(number) => {
                self.get(self.client.key(number))?;
                return self.write_or_wait(Operation::Put(number));
            }
            Operation::Put(_) | Operation::Delete(_) => return self.write_or_wait(operation),
        }
        self.end_operation();
        Ok(())
    }

    fn end_operation(&mut self) {
        self.meters.add(|sums| sums.operations += 1);
        let window = self.meters.end_window(self.time, self.config.window);
        self.timeline.extend(window.filter(|_| self.config.timeline));
    }

    fn write_or_wait(&mut self, operation: Operation) -> Result<(), SimulationError> {
        match self.blocked() {
            Some(reason) => {
                self.emit(self.time, || Event::Stalled { reason });
                self.waits = Some((operation, reason, self.time));
                Ok(())
            }
            None => self.write(operation),
        }
    }

    /// Why a write would stall.
    fn blocked(&self) -> Option<Stall> {
        let runs = self.tree.shape().levels().first().map_or(0, |level| level.runs.len());
        if self.memory.sealed.len() >= self.config.max_immutable_memtables {
            Some(Stall::Memtables)
        } else {
            (runs >= self.config.l0_stop_trigger).then_some(Stall::Level0)
        }
    }

    fn write(&mut self, operation: Operation) -> Result<(), SimulationError> {
        let (number, delete) = match operation {
            Operation::Delete(number) => (number, true),
            Operation::Put(number) | Operation::ReadModifyWrite(number) => (number, false),
            Operation::Get(_) | Operation::Scan { .. } => return Ok(()),
        };
        let (key, sizes) = (self.client.key(number), self.sizes);
        let bytes = self.memory.write(key, delete, |entry| sizes.of(entry));
        self.live.set(number, !delete);
        self.meters.add(|sums| sums.user_bytes += bytes);
        self.log(bytes)?;
        if self.memory.active.bytes >= self.config.buffer_bytes {
            self.seal()?;
        }
        self.time += nanos(self.config.device.write_micros * 1e-6);
        self.end_operation();
        Ok(())
    }

    /// Logs a write. The log is written asynchronously, a chunk at a time.
    fn log(&mut self, bytes: u64) -> Result<(), SimulationError> {
        self.unlogged += if self.config.log { bytes } else { 0 };
        if self.unlogged >= self.config.device.request_bytes {
            self.write_log(false)?;
        }
        Ok(())
    }

    fn write_log(&mut self, ends: bool) -> Result<(), SimulationError> {
        let bytes = std::mem::take(&mut self.unlogged);
        let moved = self.append_log(bytes, ends, self.time)?;
        self.queue.load(self.time, moved, bytes + moved);
        self.meters.add(|sums| sums.wal_bytes += bytes);
        Ok(())
    }

    /// Seals the memtable and its log.
    fn seal(&mut self) -> Result<(), SimulationError> {
        self.scheduler.updated(self.memory.active.entries.len() as u64);
        let Some(bytes) = self.memory.seal() else { return self.dispatch(self.time) };
        self.write_log(true)?;
        self.logs.1 += 1;
        let through = self.memory.seq;
        self.emit(self.time, || Event::MemtableSealed { keyspace: KEYSPACE, bytes, through });
        self.dispatch(self.time)
    }

    /// Resumes the stalled write if it may proceed.
    fn go_on_writing(&mut self, at: Time) -> Result<(), SimulationError> {
        if self.settling {
            self.time = self.time.max(at);
        }
        let Some((operation, reason, since)) = self.waits.take() else { return Ok(()) };
        self.meters.add(|sums| sums.stall(reason, at.saturating_sub(since)));
        self.time = self.time.max(at);
        match self.blocked() {
            Some(reason) => {
                self.waits = Some((operation, reason, self.time));
                Ok(())
            }
            None => self.write(operation),
        }
    }

    fn get(&mut self, key: u64) -> Result<(), SimulationError> {
        let begun = self.time;
        self.time += nanos(self.config.device.read_micros * 1e-6);
        self.meters.add(|sums| sums.gets += 1);
        let per_block = entries_per_block(self.config.block_bytes, self.sizes.put());
        let mut blocks = Vec::new();
        if !self.memory.holds(key) {
            reads::get(&self.tree, key, per_block, |block| blocks.push(block));
        }
        let read = self.read_blocks(&blocks);
        self.meters.add(|sums| sums.get_blocks += read);
        if self.scheduler.looked_up(blocks.iter().map(|(table, _)| *table)) {
            self.dispatch(begun)?;
        }
        Ok(())
    }

    fn scan(&mut self, from: u64, entries: u64) -> Result<(), SimulationError> {
        let begun = self.time;
        self.time += nanos(self.config.device.read_micros * 1e-6);
        let per_block = entries_per_block(self.config.block_bytes, self.sizes.put());
        let mut blocks = Vec::new();
        reads::scan(&self.tree, from, entries, per_block, |block| blocks.push(block));
        let read = self.read_blocks(&blocks);
        self.meters.add(|sums| {
            sums.scans += 1;
            sums.scan_blocks += read;
        });
        if self.scheduler.scanned(blocks.iter().map(|(table, _)| *table).collect()) {
            self.dispatch(begun)?;
        }
        Ok(())
    }

    /// Reads blocks one after another; returns how many were not in the cache.
    fn read_blocks(&mut self, blocks: &[reads::Block]) -> u64 {
        let mut read = 0;
        for (table, block) in blocks {
            if !self.cache.read(table.0, *block) {
                let (bytes, jobs) = (self.config.block_bytes, self.jobs.len() as u64);
                self.time = self.queue.block(self.time, bytes, jobs);
                read += 1;
            }
        }
        self.meters.add(|sums| sums.blocks_asked += blocks.len() as u64);
        read
    }

    /// Updates the meters after a change of the tree.
    pub(crate) fn observe(&mut self, now: Time) {
        let logical_bytes = self.live.count() * self.sizes.put();
        let half_load = self.config.workload.load * self.sizes.put() / 2;
        let grown = half_load.min(GROWN_BUFFERS * self.config.buffer_bytes).max(1);
        let tables = self.tree.len();
        let levels = Levels {
            runs: self.tree.runs(),
            tables,
            files: tables + self.half_written,
            store_bytes: self.store_bytes,
            logical_bytes,
        };
        self.meters.set(now, levels, logical_bytes >= grown);
    }

    /// Notifies the listener.
    pub(crate) fn emit(&mut self, at: Time, event: impl FnOnce() -> Event) {
        if let Some(listener) = &mut self.listener {
            listener(seconds(at), &event());
        }
    }
}
