//! One phase: threads that work through their streams, against the clock.

use crate::engine::Engine;
use crate::workload::{Phase, Workload};
use anyhow::{Error, Result, anyhow, ensure};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use terrane_measure::{Moved, Session, Timed, Worker};
use terrane_workload::{Latencies, Operation};

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
#[derive(Default)]
pub struct Tally {
    pub latencies: Latencies,
    /// Those of puts and of gets among them.
    puts: Latencies,
    gets: Latencies,
    pub moved: Moved,
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
            let (ready, stop, phase) = (&ready, &stop, &phase);
            scope.spawn(move || {
                let session: Result<Box<dyn Session<Error>>> = match phase.workload.is_nothing() {
                    true => Ok(Box::new(NoStore)),
                    false => engine.session(),
                };
                ready.wait();
                let begun = Instant::now();
                let tally = session.and_then(|mut session| match thread < phase.threads {
                    true => work(&mut *session, phase, thread, pace, begun),
                    false => accompany(&mut *session, phase, thread, stop),
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
    let (mut sum, mut counts) = (Tally::default(), Vec::new());
    for (tally, _, _) in results {
        let tally = tally?;
        counts.push(tally.operations);
        sum.latencies.join(&tally.latencies);
        sum.puts.join(&tally.puts);
        sum.gets.join(&tally.gets);
        sum.moved.add(tally.moved);
        sum.inserts = sum.inserts.max(tally.inserts);
    }
    Ok(Done { phase, counts, tally: sum, seconds })
}

impl Done {
    /// Operations of the threads that count, and those of a full scan by its rows.
    pub fn operations(&self) -> u64 {
        if self.phase.workload == Workload::ReadSeq {
            return self.tally.moved.rows;
        }
        self.counts.iter().take(self.phase.threads as usize).sum()
    }

    /// Rows that the next phase must take as inserted.
    pub fn inserted(&self) -> u64 {
        self.phase.inserted + self.tally.inserts * self.phase.threads
    }
}

impl Tally {
    /// The latencies of puts and of gets, if there were some of each.
    pub fn both(&self) -> Option<(&Latencies, &Latencies)> {
        let Tally { puts, gets, .. } = self;
        puts.figures().and(gets.figures()).map(|_| (puts, gets))
    }

    /// Counts an operation, which must have found the row that it read.
    fn count(&mut self, timed: &Timed) -> Result<()> {
        self.latencies.add(timed.nanos);
        self.moved.add(timed.moved);
        match timed.operation {
            Operation::Put(_) => self.puts.add(timed.nanos),
            Operation::Get(_) => self.gets.add(timed.nanos),
            _ => {}
        }
        match timed.operation {
            Operation::Get(number) | Operation::ReadModifyWrite(number) => {
                ensure!(timed.moved.rows == 1, "row {number} is missing");
            }
            Operation::GetMissing(_) => {
                ensure!(timed.moved.rows == 0, "found a key that was never put");
            }
            Operation::Put(_) | Operation::Delete(_) | Operation::Scan { .. } => {}
        }
        Ok(())
    }
}

/// Runs the operations of a thread.
fn work(
    session: &mut dyn Session<Error>,
    phase: &Phase,
    thread: u64,
    pace: Pace,
    begun: Instant,
) -> Result<Tally> {
    let (mut stream, mut tally) = (phase.stream(thread), Tally::default());
    let end = (!phase.workload.is_whole()).then(|| begun + pace.limit);
    let interval = pace.rate.map(|rate| phase.threads as f64 / rate as f64);
    let pace = terrane_measure::Pace { begun, interval, end, batch: phase.workload.batch() };
    let mut worker = Worker::new(session, &phase.data);
    let ended = |timed: Timed| tally.count(&timed);
    (tally.operations, _) = worker.run(pace, u64::MAX, stream.stamped(), ended)?;
    tally.inserts = stream.inserts();
    Ok(tally)
}

/// Runs the operations of the companion, of which neither number nor latency counts.
fn accompany(
    session: &mut dyn Session<Error>,
    phase: &Phase,
    thread: u64,
    stop: &AtomicBool,
) -> Result<Tally> {
    let (mut stream, mut tally) = (phase.stream(thread), Tally::default());
    let mut worker = Worker::new(session, &phase.data);
    for (operation, stamp) in stream.stamped().take_while(|_| !stop.load(Ordering::Relaxed)) {
        tally.moved.add(worker.execute(operation, stamp)?);
        tally.operations += 1;
    }
    Ok(tally)
}

/// No store: whatever is read is there.
struct NoStore;

impl Session<Error> for NoStore {
    fn put(&mut self, _: &[u8], _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn batch(&mut self, _: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        Ok(())
    }

    fn delete(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn get(&mut self, _: &[u8], _: &mut dyn FnMut(&[u8])) -> Result<bool> {
        Ok(true)
    }

    fn scan(&mut self, _: &[u8], _: u64, _: &mut dyn FnMut(&[u8], &[u8])) -> Result<u64> {
        Ok(0)
    }
}
