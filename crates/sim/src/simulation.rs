//! The simulation: clients, their store, and the machine below.
//!
//! 1. Time goes from event to event: a thread's burst on the processor ends (`cores.rs`), or something
//!    that it waits for is there (the agenda of `clock.rs`); at equal times the latter comes first.
//! 2. An event of a client is a step of its operation: `clients.rs`. One of a job is a chunk:
//!    `background.rs`; after it stalled writes continue if they may.
//! 3. A phase ends when its clients are done. Before phases that ask for it, and after the last one,
//!    the memtable is flushed, and compactions run until the tree is idle.

use crate::bit_set::BitSet;
use crate::cache::Cache;
use crate::clients::{Arrivals, Client};
use crate::clock::{Agenda, Thread, Time, micros, nanos, seconds};
use crate::config::{Config, SimulationError};
use crate::cores::Cores;
use crate::device::Queue;
use crate::entry::Sizes;
use crate::flash::Flash;
use crate::job::{Job, Merge, Part};
use crate::memory::Memory;
use crate::meter::{Grouped, Levels, Machine, Meters};
use crate::operations::Sampled;
use crate::page_cache::PageCache;
use crate::report::{LevelReport, PhaseReport, Report, Window};
use crate::schedule::Scheduler;
use crate::trace::{Header, KEYSPACE};
use crate::tree::Tree;
use crate::writes::Stalled;
use std::collections::{BTreeMap, VecDeque};
#[cfg(test)]
use terrane_policy::Policy;
use terrane_policy::event::Event;
use terrane_policy::{PolicyOptions, Shape};
use terrane_workload::{Latencies, Operations, Phase};

/// Receives every event, with its virtual time in microseconds.
pub type Listener = Box<dyn FnMut(u64, &Event)>;

/// Space amplification means nothing before the store holds this many buffers.
const GROWN_BUFFERS: u64 = 32;

/// The name of the phases in which the tree becomes idle.
pub(crate) const WAIT: &str = "wait-until-idle";

/// Current activity.
enum Stage {
    /// Nothing yet, or nothing.
    Between,
    /// A phase.
    Phase,
    /// The tree becomes idle; then this phase starts, if there is one.
    Settling(Option<Phase>),
}

/// A store under simulation.
pub struct Simulation {
    pub(crate) config: Config,
    pub(crate) sizes: Sizes,
    /// The time of the last event.
    pub(crate) time: Time,
    stage: Stage,
    pub(crate) agenda: Agenda,
    pub(crate) cores: Cores,
    pub(crate) operations: Operations,
    pub(crate) clients: Vec<Client>,
    pub(crate) arrivals: Vec<Arrivals>,
    /// Clients that are not done with the phase, and those that read blocks.
    pub(crate) active: usize,
    pub(crate) reading: usize,
    /// Operations done.
    pub(crate) completed: u64,
    pub(crate) stalled: Stalled,
    /// Level-0 count that stalls writes.
    pub(crate) level0_waiting: usize,
    /// Bytes that wait to be compacted, if writes depend on that.
    pub(crate) pending_bytes: u64,
    /// Time until which writes are slowed down.
    pub(crate) delayed_until: Time,
    pub(crate) memory: Memory,
    pub(crate) tree: Tree,
    pub(crate) scheduler: Scheduler,
    /// The last id assigned to a table, a run or a compaction.
    pub(crate) last_id: u64,
    pub(crate) jobs: BTreeMap<u64, Job>,
    pub(crate) last_job: u64,
    pub(crate) merges: BTreeMap<u64, Merge>,
    pub(crate) last_merge: u64,
    /// Figures of each compaction's groups so far.
    pub(crate) grouped: BTreeMap<u64, Grouped>,
    /// Parts of merges that no worker has taken.
    pub(crate) parts: VecDeque<Part>,
    /// Jobs that pause, and since when.
    pub(crate) paused: VecDeque<u64>,
    pub(crate) flushing: bool,
    /// Workers that merge.
    pub(crate) merging: usize,
    pub(crate) queue: Queue,
    pub(crate) flash: Option<Flash>,
    /// Bytes of all tables and of unfinished outputs, and the number of the latter.
    pub(crate) store_bytes: u64,
    pub(crate) half_written: usize,
    /// The first and the last memtable that still has a log; the last is the active one.
    pub(crate) logs: (u64, u64),
    /// Bytes that are not yet logged.
    pub(crate) unlogged: u64,
    pub(crate) cache: Cache,
    pub(crate) page_cache: PageCache,
    pub(crate) live: BitSet,
    pub(crate) meters: Meters,
    /// Operations that events report.
    pub(crate) sampled: Sampled,
    phases: Vec<PhaseReport>,
    /// Whether the first phase has started.
    begun: bool,
    /// The name of the current phase.
    phase: String,
    pub(crate) timeline: Vec<Window>,
    pub(crate) listener: Option<Listener>,
}

impl Simulation {
    /// An empty store at time 0.
    ///
    /// # Errors
    /// An option outside its range.
    pub fn new(config: Config) -> Result<Self, SimulationError> {
        config.validate()?;
        Ok(Simulation {
            sizes: config.stored_sizes(),
            time: 0,
            stage: Stage::Between,
            agenda: Agenda::default(),
            cores: Cores::new(config.cores),
            operations: Operations::new(&config.workload, config.seed),
            clients: Vec::new(),
            arrivals: Vec::new(),
            active: 0,
            reading: 0,
            completed: 0,
            stalled: Stalled::default(),
            level0_waiting: 0,
            pending_bytes: 0,
            delayed_until: 0,
            memory: Memory::new(config.workload.has_gets()),
            tree: Tree::default(),
            scheduler: Scheduler::new(&config)?,
            last_id: 0,
            jobs: BTreeMap::new(),
            last_job: 0,
            merges: BTreeMap::new(),
            last_merge: 0,
            grouped: BTreeMap::new(),
            parts: VecDeque::new(),
            paused: VecDeque::new(),
            flushing: false,
            merging: 0,
            queue: Queue::new(config.device.clone()),
            flash: config.flash.as_ref().map(Flash::new),
            store_bytes: 0,
            half_written: 0,
            logs: (0, 0),
            unlogged: 0,
            cache: Cache::new(config.cache_bytes / config.block_bytes),
            page_cache: PageCache::new(config.page_cache_bytes, config.block_bytes),
            live: BitSet::default(),
            meters: Meters::new(config.window),
            sampled: Sampled::default(),
            phases: Vec::new(),
            begun: false,
            phase: String::new(),
            timeline: Vec::new(),
            listener: None,
            config,
        })
    }

    /// Passes every event from now on to a listener.
    pub fn listen(&mut self, listener: Listener) {
        self.listener = Some(listener);
    }

    /// Returns the first line of a trace of it.
    #[must_use]
    pub fn header(&self) -> Header<'_> {
        Header::new(&self.config)
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

    /// Puts another policy around the present one, to look at its plans.
    #[cfg(test)]
    pub(crate) fn watch_plans(&mut self, wrap: impl FnOnce(Box<dyn Policy>) -> Box<dyn Policy>) {
        self.scheduler.wrap(wrap);
    }

    /// Gives the store another policy at this moment: compactions that have started continue to their ends.
    ///
    /// # Errors
    /// A parameter of the policy is outside its range, or as [`Simulation::advance`].
    pub fn set_policy(&mut self, options: &PolicyOptions) -> Result<(), SimulationError> {
        self.scheduler.set_policy(options, self.tree.shape())?;
        let (keyspace, policy, now) = (KEYSPACE, options.clone(), self.time);
        self.emit(now, || Event::PolicyChanged { keyspace, policy });
        self.report_policy(now);
        self.dispatch(now)?;
        self.resume_writes(now)
    }

    fn go(&mut self, operations: u64, last: Time) -> Result<bool, SimulationError> {
        let until = self.completed.saturating_add(operations);
        if !std::mem::replace(&mut self.begun, true) {
            self.begin_next()?;
        }
        loop {
            let next = self.agenda.next().min(self.cores.next());
            if next == Time::MAX {
                match std::mem::replace(&mut self.stage, Stage::Between) {
                    Stage::Settling(phase) => {
                        self.end_phase();
                        let Some(phase) = phase else { return Ok(false) };
                        self.begin_phase(phase)?;
                    }
                    Stage::Between => return Ok(false),
                    Stage::Phase => {
                        return Err(SimulationError::Stuck { seconds: seconds(self.time) });
                    }
                }
            } else if next > last || self.completed >= until && next > self.time {
                return Ok(true);
            } else {
                self.step()?;
                if self.active == 0 && matches!(self.stage, Stage::Phase) {
                    self.end_phase();
                    self.begin_next()?;
                }
            }
        }
    }

    /// The next event.
    fn step(&mut self) -> Result<(), SimulationError> {
        if self.agenda.next() <= self.cores.next() {
            let Some((now, thread)) = self.agenda.pop() else { return Ok(()) };
            self.time = now;
            match thread {
                Thread::Job(job) => {
                    self.go_on(job, now)?;
                    self.resume_writes(now)
                }
                Thread::Client(client) => self.wake(client, now),
            }
        } else {
            let Some((now, thread)) = self.cores.pop() else { return Ok(()) };
            self.time = now;
            match thread {
                Thread::Job(job) => {
                    self.computed(job, now)?;
                    self.resume_writes(now)
                }
                Thread::Client(client) => self.wake(client, now),
            }
        }
    }

    /// Starts what follows a phase.
    fn begin_next(&mut self) -> Result<(), SimulationError> {
        match self.operations.next_phase() {
            Some(phase) if !phase.wait_until_idle => self.begin_phase(phase),
            next => {
                WAIT.clone_into(&mut self.phase);
                self.stage = Stage::Settling(next);
                self.seal(self.time)
            }
        }
    }

    fn begin_phase(&mut self, phase: Phase) -> Result<(), SimulationError> {
        self.operations.begin(&phase);
        self.phase = phase.name;
        self.stage = Stage::Phase;
        self.enter_clients(phase.clients)
    }

    fn machine(&self) -> Machine {
        let (device, cores) = (self.queue.busy(self.time), self.cores.busy());
        Machine { workers: self.config.workers, device, cores }
    }

    fn end_phase(&mut self) {
        let figures = self.meters.end_phase(self.time, self.machine());
        self.phases.push(PhaseReport { name: self.phase.clone(), figures });
    }

    /// Operations done, and their total.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.completed, self.config.workload.operations())
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
        let levels = self.tree.shape().levels();
        let mut table_bytes = Latencies::default();
        let tables = levels.iter().flat_map(|level| level.tables());
        tables.for_each(|table| table_bytes.add(table.bytes));
        let levels = levels.iter().map(|level| LevelReport {
            runs: level.runs.len(),
            tables: level.tables().count(),
            bytes: level.bytes(),
        });
        Report {
            policy: self.scheduler.policy(),
            seed: self.config.seed,
            whole: self.meters.figures(self.time, self.machine()),
            phases: self.phases.clone(),
            levels: levels.collect(),
            table_bytes: table_bytes.distribution(),
            timeline: self.timeline.clone(),
        }
    }

    /// Updates the meters after a change of the tree.
    pub(crate) fn observe(&mut self, now: Time) {
        let row_bytes = self.config.live_sizes().put();
        let logical_bytes = self.live_bytes();
        let half_load = self.config.workload.load.saturating_mul(row_bytes) / 2;
        let grown = half_load.min(GROWN_BUFFERS * self.config.buffer_bytes).max(1);
        let tables = self.tree.len();
        let levels = Levels {
            runs: self.tree.runs(),
            tables,
            files: tables + self.half_written,
            store_bytes: self.store_bytes,
            logical_bytes,
            merging: self.merging,
        };
        self.meters.set(now, levels, logical_bytes >= grown);
    }

    /// Bytes of the newest versions of all live keys.
    pub(crate) fn live_bytes(&self) -> u64 {
        self.live.count().saturating_mul(self.config.live_sizes().put())
    }

    /// Notifies the listener.
    pub(crate) fn emit(&mut self, at: Time, event: impl FnOnce() -> Event) {
        if let Some(listener) = &mut self.listener {
            listener(micros(at), &event());
        }
    }
}
