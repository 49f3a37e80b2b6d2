//! One engine's turn at a case, in a process of its own.
//!
//! 1. [`Stage::Work`] runs the phases on an empty store, checks what it holds, and closes it.
//! 2. [`Stage::Open`] opens it again, up to the first get.
//! 3. [`Stage::Crash`] puts half a memtable of rows, and is killed with the store open.
//! 4. [`Stage::Recover`] opens it again, and counts the puts that were lost.

use crate::case::{Case, Debt};
use crate::check::Model;
use crate::engine::{Engine, Settings};
use crate::engines;
use crate::memory_limit;
use crate::process::{self, Counts};
use crate::run::{self, Done, Pace};
use crate::workload::{Phase, Workload};
use anyhow::{Context, Result};
use rustix::process::{Signal, getpid, kill_process};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use terrane_measure::{Micros, memory};
use terrane_workload::Rows;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    Work,
    Open,
    Crash,
    Recover,
}

/// Turn of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Turn {
    pub stage: Stage,
    pub case: Case,
    pub engine: String,
    pub path: PathBuf,
    pub seed: u64,
    pub phase_seconds: u64,
    pub cache_bytes: u64,
    pub memtable_bytes: u64,
    /// The control group that limits its memory.
    pub group: Option<PathBuf>,
}

/// Results of [`Stage::Work`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Worked {
    pub phases: Vec<Measured>,
    pub close_seconds: f64,
    /// Bytes that the files take in the end, and those of the keys and values that are there.
    pub disk_bytes: u64,
    pub live_bytes: u64,
    /// Bytes put in all phases and by closing the store.
    pub put_bytes: u64,
    pub written_bytes: u64,
}

/// Results of a phase.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    pub workload: Workload,
    pub operations: u64,
    pub seconds: f64,
    /// Time until no work was due after it, if debt is drained.
    pub settle_seconds: f64,
    /// This and what follows include that.
    pub processor_seconds: f64,
    pub put_bytes: u64,
    pub written_bytes: u64,
    pub read_bytes: u64,
    pub peak_memory_bytes: u64,
    pub anonymous_memory_bytes: u64,
    pub micros: Micros,
    /// Latencies of puts, if there are puts and gets.
    pub puts: Option<Micros>,
    pub gets: Option<Micros>,
}

/// Results of [`Stage::Open`] and [`Stage::Recover`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Opened {
    pub seconds: f64,
    /// Puts of [`Stage::Crash`] that are not there.
    pub lost: u64,
}

impl Turn {
    /// Runs the stage; what it found is printed as JSON.
    pub fn run(&self) -> Result<()> {
        self.group.as_deref().map_or(Ok(()), memory_limit::enter)?;
        match self.stage {
            Stage::Work => println!("{}", serde_json::to_string(&self.work()?)?),
            Stage::Open | Stage::Recover => {
                println!("{}", serde_json::to_string(&self.open_again()?)?)
            }
            Stage::Crash => self.crash()?,
        }
        Ok(())
    }

    fn open(&self) -> Result<Box<dyn Engine>> {
        engines::open(
            &self.engine,
            &Settings {
                path: &self.path,
                durability: self.case.suite.durability(),
                cache_bytes: self.cache_bytes,
                memtable_bytes: self.memtable_bytes,
                workers: self.case.workers,
            },
        )
    }

    fn work(&self) -> Result<Worked> {
        let engine = self.open()?;
        let begun = Counts::now();
        let (mut phases, mut dones, mut inserted) = (Vec::new(), Vec::new(), 0);
        for (index, workload) in (1..).zip(self.case.suite.phases()) {
            let Case { data, threads, .. } = self.case.clone();
            let workload = *workload;
            let phase = Phase { workload, index, data, threads, inserted, seed: self.seed };
            let measured = self.measure(&*engine, phase);
            let (done, measured) = measured.with_context(|| workload.name())?;
            inserted = done.inserted();
            dones.push(done);
            phases.push(measured);
        }
        let mut model = Model::new(self.case.data.clone());
        dones.iter().for_each(|done| model.apply(done));
        engine.session().and_then(|mut session| model.check(&mut *session)).context("check")?;
        let closing = Instant::now();
        engine.close()?;
        Ok(Worked {
            close_seconds: closing.elapsed().as_secs_f64(),
            disk_bytes: process::disk_bytes(&self.path),
            live_bytes: model.live_bytes(),
            put_bytes: phases.iter().map(|phase| phase.put_bytes).sum(),
            written_bytes: Counts::now().since(begun).written_bytes,
            phases,
        })
    }

    fn measure(&self, engine: &dyn Engine, phase: Phase) -> Result<(Done, Measured)> {
        let fills = phase.workload == Workload::FillBatch;
        let rate = self.case.rate.filter(|_| !fills);
        let pace = Pace { limit: Duration::from_secs(self.phase_seconds), rate };
        memory::reset_peak();
        let before = Counts::now();
        let done = run::run(engine, phase, pace)?;
        let ended = Instant::now();
        if self.case.debt == Debt::Drained {
            engine.settle()?;
        }
        let settle_seconds = ended.elapsed().as_secs_f64();
        let counts = Counts::now().since(before);
        let memory = |name| memory::bytes(name).unwrap_or(0);
        let measured = Measured {
            workload: done.phase.workload,
            operations: done.operations(),
            seconds: done.seconds,
            settle_seconds,
            processor_seconds: counts.processor_seconds,
            put_bytes: done.tally.moved.written_bytes,
            written_bytes: counts.written_bytes,
            read_bytes: counts.read_bytes,
            peak_memory_bytes: memory("VmHWM"),
            anonymous_memory_bytes: memory("RssAnon"),
            micros: Micros::of(&done.tally.latencies),
            puts: done.tally.both().map(|(puts, _)| Micros::of(puts)),
            gets: done.tally.both().map(|(_, gets)| Micros::of(gets)),
        };
        Ok((done, measured))
    }

    /// The puts of [`Stage::Crash`], which fit into a memtable.
    fn last_puts(&self) -> Phase {
        let rows = self.memtable_bytes / 2 / self.case.data.row_bytes();
        let data = self.case.data.clone();
        let data = Rows { entries: rows.clamp(1, data.entries), ..data };
        let (workload, index) = (Workload::FillSeq, u64::from(u16::MAX));
        Phase { workload, index, data, threads: 1, inserted: 0, seed: self.seed }
    }

    fn crash(&self) -> Result<()> {
        let engine = self.open()?;
        let pace = Pace { limit: Duration::from_secs(self.phase_seconds), rate: None };
        run::run(&*engine, self.last_puts(), pace)?;
        Ok(kill_process(getpid(), Signal::KILL)?)
    }

    fn open_again(&self) -> Result<Opened> {
        let begun = Instant::now();
        let engine = self.open()?;
        let phase = self.last_puts();
        let (mut key, mut value, mut lost) = (Vec::new(), Vec::new(), 0);
        let mut session = engine.session()?;
        phase.data.key(0, &mut key);
        session.get(&key, &mut |_| {})?;
        let seconds = begun.elapsed().as_secs_f64();
        let puts = if self.stage == Stage::Recover { phase.data.entries } else { 0 };
        for number in 0..puts {
            phase.data.key(number, &mut key);
            phase.data.value(number, phase.stamp(0, number), &mut value);
            let mut right = false;
            session.get(&key, &mut |found| right = found == value)?;
            lost += u64::from(!right);
        }
        drop(session);
        engine.close()?;
        Ok(Opened { seconds, lost })
    }
}
