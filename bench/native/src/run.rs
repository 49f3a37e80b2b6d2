//! One phase: threads that work through their streams, against the clock.
//!
//! 1. Closed loop: an operation starts when the one before has ended, and its latency is the time between
//!    their ends.
//! 2. Open loop: operations are due at an even rate, and latency counts from when one was due. What a
//!    store makes wait is counted too, which a closed loop leaves out.

use crate::engine::{Engine, Session};
use crate::workload::{Op, Phase, Workload};
use anyhow::{Result, anyhow, ensure};
use hdrhistogram::Histogram;
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Limits of a phase in time and rate.
#[derive(Clone, Copy)]
pub struct Pace {
    /// The end of phases that have no end of their own.
    pub limit: Duration,
    /// Operations a second in an open loop.
    pub rate: Option<u64>,
}

/// Results of a phase.
pub struct Done {
    pub phase: Phase,
    /// Operations of each thread, by which its stream can be followed again; last those of the companion
    /// thread.
    pub counts: Vec<u64>,
    pub tally: Tally,
    pub seconds: f64,
}

/// The sums of a thread.
pub struct Tally {
    /// Nanoseconds.
    pub latencies: Histogram<u64>,
    /// Those of single puts and of single gets among them.
    puts: Histogram<u64>,
    gets: Histogram<u64>,
    /// Bytes of keys and values that were put.
    pub put_bytes: u64,
    /// Rows that gets and scans returned.
    pub rows: u64,
    operations: u64,
    inserts: u64,
}

/// Runs a phase on an open store.
pub fn run(engine: &dyn Engine, phase: Phase, pace: Pace) -> Result<Done> {
    let extra = phase.workload.has_companion();
    let threads = phase.threads + u64::from(extra);
    let (ready, stop) = (Barrier::new(usize::try_from(threads)?), AtomicBool::new(false));
    let results: Vec<(Result<Tally>, Instant, Instant)> = thread::scope(|scope| {
        let spawn = |thread: u64| {
            let (ready, stop) = (&ready, &stop);
            scope.spawn(move || {
                let session = engine.session();
                ready.wait();
                let begun = Instant::now();
                let worker = session.and_then(|session| Worker::new(session, phase, thread, pace));
                let tally = worker.and_then(|mut worker| match thread < phase.threads {
                    true => worker.work(begun),
                    false => worker.work_until(stop),
                });
                // The companion ends with the first of the others.
                stop.store(true, Ordering::Relaxed);
                (tally, begun, Instant::now())
            })
        };
        let handles: Vec<_> = (0..threads).map(spawn).collect();
        let joined = handles.into_iter().map(|handle| handle.join());
        joined.map(|result| result.map_err(|_| anyhow!("a thread panicked"))).collect::<Result<_>>()
    })?;
    let begun = results.iter().map(|(_, begun, _)| *begun).min();
    let ended = results.iter().map(|(_, _, ended)| *ended).max();
    let seconds = begun.zip(ended).map_or(0.0, |(begun, ended)| (ended - begun).as_secs_f64());
    let (mut sum, mut counts) = (Tally::new()?, Vec::new());
    for (tally, _, _) in results {
        let tally = tally?;
        counts.push(tally.operations);
        sum.latencies.add(&tally.latencies)?;
        sum.puts.add(&tally.puts)?;
        sum.gets.add(&tally.gets)?;
        sum.put_bytes += tally.put_bytes;
        sum.rows += tally.rows;
        sum.inserts = sum.inserts.max(tally.inserts);
    }
    Ok(Done { phase, counts, tally: sum, seconds })
}

impl Done {
    /// Operations of the threads that count, and those of a full scan by its rows.
    pub fn operations(&self) -> u64 {
        if self.phase.workload == Workload::ReadSeq {
            return self.tally.rows;
        }
        self.counts.iter().take(self.phase.threads as usize).sum()
    }

    /// Rows that the next phase must take as inserted.
    pub fn inserted(&self) -> u64 {
        self.phase.inserted + self.tally.inserts * self.phase.threads
    }
}

impl Tally {
    fn new() -> Result<Self> {
        // Up to an hour, with three digits.
        let latencies = Histogram::new_with_bounds(1, 3_600_000_000_000, 3)?;
        let (puts, gets) = (latencies.clone(), latencies.clone());
        Ok(Tally { latencies, puts, gets, put_bytes: 0, rows: 0, operations: 0, inserts: 0 })
    }

    /// The latencies of puts and of gets, if there were some of each.
    pub fn both(&self) -> Option<(&Histogram<u64>, &Histogram<u64>)> {
        let Tally { puts, gets, .. } = self;
        (!puts.is_empty() && !gets.is_empty()).then_some((puts, gets))
    }

    fn record(&mut self, op: Option<Op>, nanos: u64) -> Result<()> {
        self.latencies.record(nanos)?;
        match op {
            Some(Op::Put(_)) => self.puts.record(nanos)?,
            Some(Op::Get(_)) => self.gets.record(nanos)?,
            _ => {}
        }
        Ok(())
    }
}

struct Worker<'a> {
    session: Box<dyn Session + 'a>,
    phase: Phase,
    thread: u64,
    pace: Pace,
    key: Vec<u8>,
    value: Vec<u8>,
    rows: Vec<(Vec<u8>, Vec<u8>)>,
    tally: Tally,
}

impl<'a> Worker<'a> {
    fn new(session: Box<dyn Session + 'a>, phase: Phase, thread: u64, pace: Pace) -> Result<Self> {
        let (key, value, rows, tally) = (Vec::new(), Vec::new(), Vec::new(), Tally::new()?);
        Ok(Worker { session, phase, thread, pace, key, value, rows, tally })
    }

    fn work(&mut self, begun: Instant) -> Result<Tally> {
        let mut stream = self.phase.stream(self.thread);
        let (most, batch) = (self.phase.share(self.thread), self.phase.workload.batch());
        let interval = self.pace.rate.map(|rate| self.phase.threads as f64 / rate as f64);
        let end = (!self.phase.workload.is_whole()).then(|| begun + self.pace.limit);
        let mut last = begun;
        while self.tally.operations < most && end.is_none_or(|end| last < end) {
            if let Some(interval) = interval {
                let due = Duration::from_secs_f64(interval * self.tally.operations as f64);
                last = wait_until(begun + due);
            }
            let mut single = None;
            if batch > 1 {
                let rows = batch.min(most - self.tally.operations);
                (0..rows).for_each(|_| self.gather(stream.next()));
                self.session.batch(&self.rows)?;
                self.rows.clear();
            } else {
                let op = stream.next();
                self.execute(op)?;
                single = Some(op);
                self.tally.operations += 1;
            }
            let now = Instant::now();
            self.tally.record(single, nanos(now - last))?;
            last = now;
        }
        self.tally.inserts = stream.inserts();
        self.end()
    }

    /// The operations of the companion, of which neither number nor latency counts.
    fn work_until(&mut self, stop: &AtomicBool) -> Result<Tally> {
        let mut stream = self.phase.stream(self.thread);
        while !stop.load(Ordering::Relaxed) {
            self.execute(stream.next_of_companion())?;
            self.tally.operations += 1;
        }
        self.end()
    }

    fn end(&mut self) -> Result<Tally> {
        Ok(std::mem::replace(&mut self.tally, Tally::new()?))
    }

    fn gather(&mut self, op: Op) {
        if let Op::Put(number) = op {
            self.write(number);
            self.rows.push((self.key.clone(), self.value.clone()));
        }
        self.tally.operations += 1;
    }

    /// Makes the key and the value of a put.
    fn write(&mut self, number: u64) {
        let data = &self.phase.data;
        let stamp = self.phase.stamp(self.thread, self.tally.operations);
        data.key(number, &mut self.key);
        data.value(number, stamp, &mut self.value);
        self.tally.put_bytes += data.row_bytes();
    }

    fn execute(&mut self, op: Op) -> Result<()> {
        match op {
            Op::Nothing => Ok(()),
            Op::Get(number) => self.get(number),
            Op::Put(number) => {
                self.write(number);
                self.session.put(&self.key, &self.value)
            }
            Op::Modify(number) => {
                self.get(number)?;
                self.write(number);
                self.session.put(&self.key, &self.value)
            }
            Op::Delete(number) => {
                self.phase.data.key(number, &mut self.key);
                self.tally.put_bytes += self.key.len() as u64;
                self.session.delete(&self.key)
            }
            Op::Missing(number) => {
                self.phase.data.missing_key(number, &mut self.key);
                let found = self.session.get(&self.key, &mut touch)?;
                ensure!(!found, "found a key that was never put");
                Ok(())
            }
            Op::Scan(number, rows) => {
                self.phase.data.key(number, &mut self.key);
                let found = self.session.scan(&self.key, rows, &mut |key, value| {
                    touch(key);
                    touch(value);
                })?;
                self.tally.rows += found;
                Ok(())
            }
        }
    }

    fn get(&mut self, number: u64) -> Result<()> {
        self.phase.data.key(number, &mut self.key);
        let found = self.session.get(&self.key, &mut touch)?;
        ensure!(found, "row {number} is missing");
        self.tally.rows += 1;
        Ok(())
    }
}

/// Reads the ends of what a store lends, so that it must be there.
fn touch(bytes: &[u8]) {
    black_box((bytes.first(), bytes.last()));
}

/// Sleeps for most of the time, since a loop would take the processor from the store.
fn wait_until(due: Instant) -> Instant {
    const IMPRECISION: Duration = Duration::from_micros(100);
    let early = due.saturating_duration_since(Instant::now());
    if early > IMPRECISION {
        thread::sleep(early - IMPRECISION);
    }
    while Instant::now() < due {
        thread::yield_now();
    }
    due
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).max(1)
}
