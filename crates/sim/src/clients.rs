//! Clients: threads of the application, each of which runs one operation after another.
//!
//! 1. In a closed loop a client takes its next operation when it is done with the last; in an open
//!    loop operations arrive at a rate, and each waits for the first client that is free. An
//!    operation's latency starts when it arrives, or in a closed loop when it is taken.
//! 2. An operation takes processor time, on cores that it shares ([`crate::cores`]). A write takes
//!    effect when it starts, unless it stalls: then it waits for background work (`writes.rs`).
//! 3. A read then needs its blocks, one after another; those that neither cache holds take device time.

use crate::clock::{Thread, Time, nanos, seconds};
use crate::config::SimulationError;
use crate::entry::Entry;
use crate::reads::{self, entries_per_block};
use crate::simulation::Simulation;
use terrane_workload::{Clients, Kind, Operation};

/// A client.
pub(crate) struct Client {
    /// Its place among the phase's clients.
    group: usize,
    step: Step,
    kind: Kind,
    /// Arrival of its operation, and the number of the operation's key.
    arrived: Time,
    number: u64,
}

/// Current step of a client.
#[derive(Clone, Copy)]
enum Step {
    /// It waits for an operation that arrives later.
    Waits,
    /// Its write is slowed down.
    Delayed,
    /// It writes.
    Writes,
    /// It looks for what it reads.
    Looks(Operation),
    /// It waits for blocks; afterwards it may have something to write.
    Reads(Option<Operation>),
}

/// Arrivals for the clients of a group: the time of the next one.
pub(crate) struct Arrivals {
    clients: Clients,
    next: f64,
}

impl Simulation {
    /// The clients of a phase start.
    pub(crate) fn enter_clients(&mut self, groups: Vec<Clients>) -> Result<(), SimulationError> {
        let now = self.time;
        self.clients = (groups.iter().enumerate())
            .flat_map(|(group, clients)| std::iter::repeat_n(group, clients.count))
            .map(|group| Client {
                group,
                step: Step::Waits,
                kind: Kind::Update,
                arrived: now,
                number: 0,
            })
            .collect();
        let next = seconds(now);
        self.arrivals = groups.into_iter().map(|clients| Arrivals { clients, next }).collect();
        self.active = self.clients.len();
        (0..self.clients.len()).try_for_each(|number| self.take(number, now))
    }

    /// Step 1: a client takes its next operation, or is done with the phase.
    fn take(&mut self, number: usize, now: Time) -> Result<(), SimulationError> {
        let Some(client) = self.clients.get_mut(number) else { return Ok(()) };
        let Some(arrivals) = self.arrivals.get_mut(client.group) else { return Ok(()) };
        if !self.operations.reserve() {
            self.active -= 1;
            return Ok(());
        }
        let rate = arrivals.clients.rate;
        client.arrived = now;
        if rate > 0.0 {
            client.arrived = nanos(arrivals.next);
            arrivals.next += self.operations.distance(arrivals.clients.arrivals, rate);
            if client.arrived > now {
                client.step = Step::Waits;
                self.agenda.enter(client.arrived, Thread::Client(number));
                return Ok(());
            }
        }
        self.operate(number, now)
    }

    /// Step 2.
    fn operate(&mut self, number: usize, now: Time) -> Result<(), SimulationError> {
        let Some(client) = self.clients.get_mut(number) else { return Ok(()) };
        let Some((kind, operation)) = self.operations.draw(client.group) else { return Ok(()) };
        client.kind = kind;
        client.number = number_of(operation);
        match operation {
            Operation::Put(_) | Operation::Delete(_) => {
                return self.write_or_wait(number, operation, now);
            }
            Operation::Get(_)
            | Operation::GetMissing(_)
            | Operation::Scan { .. }
            | Operation::ReadModifyWrite(_) => {}
        }
        let micros = self.config.device.read_micros;
        self.compute(number, Step::Looks(operation), micros, now);
        Ok(())
    }

    fn compute(&mut self, number: usize, step: Step, micros: f64, now: Time) {
        if let Some(client) = self.clients.get_mut(number) {
            client.step = step;
        }
        self.cores.begin(now, nanos(micros * 1e-6), Thread::Client(number));
    }

    /// A write that has taken effect takes its processor time.
    pub(crate) fn compute_write(&mut self, number: usize, now: Time) {
        self.compute(number, Step::Writes, self.config.device.write_micros, now);
    }

    /// A write that has taken effect is slowed down.
    pub(crate) fn delay_write(&mut self, number: usize, until: Time) {
        if let Some(client) = self.clients.get_mut(number) {
            client.step = Step::Delayed;
        }
        self.agenda.enter(until, Thread::Client(number));
    }

    /// A client is done with its step.
    pub(crate) fn wake(&mut self, number: usize, now: Time) -> Result<(), SimulationError> {
        let Some(client) = self.clients.get_mut(number) else { return Ok(()) };
        match client.step {
            Step::Waits => self.operate(number, now),
            Step::Delayed => {
                self.compute_write(number, now);
                Ok(())
            }
            Step::Writes => self.complete(number, now),
            Step::Looks(operation) => self.look(number, operation, now),
            Step::Reads(write) => {
                self.reading -= 1;
                match write {
                    Some(write) => self.write_or_wait(number, write, now),
                    None => self.complete(number, now),
                }
            }
        }
    }

    /// Step 3.
    fn look(
        &mut self,
        number: usize,
        operation: Operation,
        now: Time,
    ) -> Result<(), SimulationError> {
        self.reading += 1;
        let (end, write) = match operation {
            Operation::Get(number) | Operation::GetMissing(number) => {
                (self.get(number, now)?, None)
            }
            Operation::ReadModifyWrite(number) => {
                (self.get(number, now)?, Some(Operation::Put(number)))
            }
            Operation::Scan { from, entries } => {
                (self.scan(self.operations.key(from), entries, now)?, None)
            }
            Operation::Put(_) | Operation::Delete(_) => (now, None),
        };
        if let Some(client) = self.clients.get_mut(number) {
            client.step = Step::Reads(write);
        }
        if end > now {
            self.agenda.enter(end, Thread::Client(number));
            return Ok(());
        }
        self.wake(number, now)
    }

    /// An operation is done.
    fn complete(&mut self, number: usize, now: Time) -> Result<(), SimulationError> {
        let Some(client) = self.clients.get(number) else { return Ok(()) };
        self.completed += 1;
        let latency = now.saturating_sub(client.arrived);
        let (kind, of) = (client.kind, client.number);
        self.sample(kind, of, latency, now);
        let window = self.meters.complete(kind, latency, now);
        self.timeline.extend(window.filter(|_| self.config.timeline));
        self.take(number, now)
    }

    /// Reads the blocks of a point read; returns when it is done.
    fn get(&mut self, number: u64, now: Time) -> Result<Time, SimulationError> {
        let key = self.operations.key(number);
        let per_block = entries_per_block(self.config.block_bytes, self.sizes.put());
        self.meters.add(|sums| sums.gets += 1);
        let (mut blocks, mut found, mut asked) = (Vec::new(), None, Vec::new());
        let mut levels = Vec::new();
        if !self.memory.holds(key) {
            let meters = &mut self.meters;
            reads::get(&self.tree, key, per_block, |probe| {
                meters.add(|sums| sums.probe(&probe));
                blocks.extend(probe.block);
                levels.extend(probe.block.map(|_| probe.level));
                asked.push(probe.table);
                found = probe.found.or(found);
            });
        }
        let values = self.value_blocks(found.filter(|e| e.is_value()));
        let probing = nanos(self.config.device.probe_micros * 1e-6 * asked.len() as f64);
        let blocks_of = blocks.iter().chain(&values);
        let (end, read) = self.read_blocks(blocks_of, now, now + probing, &levels);
        self.meters.add(|sums| sums.get_blocks += read);
        let passed = asked.first().filter(|_| asked.len() > 1);
        let passed = passed.and_then(|table| self.tree.table(*table));
        let is_charged = passed.is_some_and(|table| self.scheduler.went_past(&table.info));
        if self.scheduler.looked_up(blocks.iter().map(|(table, _)| *table)) || is_charged {
            self.dispatch(now)?;
        }
        Ok(end)
    }

    /// Reads the blocks of a range read; returns when it is done.
    fn scan(&mut self, from: u64, entries: u64, now: Time) -> Result<Time, SimulationError> {
        let per_block = entries_per_block(self.config.block_bytes, self.sizes.put());
        let mut blocks = Vec::new();
        let how = (per_block, self.config.lazy_scans);
        let found = reads::scan(&self.tree, from, entries, how, |block| blocks.push(block));
        let mut tables: Vec<_> = blocks.iter().map(|(table, _)| *table).collect();
        tables.sort();
        tables.dedup();
        let values = self.value_blocks(found);
        let (end, read) = self.read_blocks(blocks.iter().chain(&values), now, now, &[]);
        self.meters.add(|sums| {
            sums.scans += 1;
            sums.scan_tables += tables.len() as u64;
            sums.scan_blocks += read;
        });
        if self.scheduler.scanned(tables) {
            self.dispatch(now)?;
        }
        Ok(end)
    }

    /// The blocks of the log of values that have those of entries, if values are separated.
    fn value_blocks(&self, entries: impl IntoIterator<Item = Entry>) -> Vec<reads::Block> {
        if !self.config.separates_values() {
            return Vec::new();
        }
        let row_bytes = self.config.written_sizes().put();
        let per_block = entries_per_block(self.config.block_bytes, row_bytes);
        entries.into_iter().map(|entry| reads::value_block(entry, per_block)).collect()
    }

    /// Reads blocks one after another, the first at `from`, which is `now` or later. Returns the time when all are
    /// read, and the number of those that were not in the cache. The first are those of a get in these `levels`.
    fn read_blocks<'b>(
        &mut self,
        blocks: impl Iterator<Item = &'b reads::Block>,
        now: Time,
        from: Time,
        levels: &[usize],
    ) -> (Time, u64) {
        let (mut at, mut asked, mut read) = (from, 0, 0);
        let mut levels = levels.iter();
        for (table, block) in blocks {
            asked += 1;
            let level = levels.next();
            if self.cache.read(table.0, *block) {
                continue;
            }
            self.sampled.block_read(level.copied());
            if !self.page_cache.read((*table, *block)) {
                let sharing = (self.jobs.len() + self.reading) as u64;
                at = self.queue.block(now, at, self.config.block_bytes, sharing);
                read += 1;
            }
        }
        self.meters.add(|sums| sums.blocks_asked += asked);
        (at, read)
    }
}

/// The number of the key that an operation is on, or starts at.
fn number_of(operation: Operation) -> u64 {
    match operation {
        Operation::Put(number)
        | Operation::Delete(number)
        | Operation::Get(number)
        | Operation::GetMissing(number)
        | Operation::ReadModifyWrite(number)
        | Operation::Scan { from: number, .. } => number,
    }
}
