//! A model of stores, their writers, restores, and an object store between them, over the engine and the code of this
//! crate.
//!
//! * `cloud` - requests that are lost, delayed, doubled and reordered.
//! * `machine` - files that lose power, the store on them, and its backup.
//!
//! 1. A seed draws every step: a write, a step of a writer, a kill, a start, two starts at once, an operator who takes
//!    over, a restore, a copy of a disk, a dropped keyspace, a late request, a clock that jumps.
//! 2. Each moment that is restored has the rows of the store at its cursor. The newest one has every acknowledged write
//!    that the last writer had when it took the place.
//! 3. Once a writer has started, no earlier one acknowledges anything. A store does not take a place over unasked, and
//!    the one that made the newest claim always may continue.
//! 4. Each rule of `rules`, broken, is noticed by some schedule.

mod cloud;
mod machine;

use crate::error::Error;
use crate::names::hex64;
use crate::options::Options;
use crate::place::Place;
use crate::points::{At, list};
use crate::progress::Progress;
use crate::restore::restore;
use crate::rules::Rule;
use crate::time::CLOCK;
use crate::writer::Writer;
use cloud::Cloud;
use machine::{EXTRA, Machine, Process, shown};
use object_store::ObjectStore;
use object_store::path::Path;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use terrane::{Db, Durability, Seq, WriteBatch};
use terrane_workload::Random;

/// Steps of a schedule.
const STEPS: u64 = 200;
const MACHINES: usize = 3;
/// Seeds within which each broken rule is noticed.
const SEEDS: u64 = 100;
/// Steps between two rests.
const REST: u64 = 50;

/// Verdict on a schedule; the error names a broken promise.
type Verdict<T = ()> = Result<T, String>;
type Rows = BTreeMap<(&'static str, Vec<u8>), Vec<u8>>;

fn text(error: impl ToString) -> String {
    error.to_string()
}

struct World {
    random: Random,
    cloud: Cloud,
    machines: Vec<Machine>,
    /// Rows at each lineage and sequence number. Copies of a disk may have others there.
    history: HashMap<(u64, Seq), Vec<Rows>>,
    /// Rows with unique keys whose writes were acknowledged.
    acknowledged: BTreeSet<Vec<u8>>,
    /// The machine that made the newest claim, if it is still there.
    claimant: Option<usize>,
    /// The latest epoch of a writer that has started.
    started: u64,
    writes: u64,
    ids: u64,
}

impl World {
    fn new(seed: u64) -> Verdict<Self> {
        let ids = MACHINES as u64;
        Ok(World {
            random: Random(seed),
            cloud: Cloud::new(seed),
            machines: (0..ids).map(Machine::new).collect::<Verdict<_>>()?,
            history: HashMap::new(),
            acknowledged: BTreeSet::new(),
            claimant: None,
            started: 0,
            writes: 0,
            ids,
        })
    }

    async fn play(&mut self, steps: u64) -> Verdict {
        for step in 1..=steps {
            let at = self.random.below(MACHINES as u64) as usize;
            self.step(at).await?;
            if step % REST == 0 {
                self.rest().await?;
            }
        }
        Ok(())
    }

    async fn step(&mut self, at: usize) -> Verdict {
        match self.random.below(48) {
            0..12 => self.write(at),
            12..26 => {
                self.upload(at).await;
                self.reap(at).await?;
            }
            26..29 => self.cloud.deliver().await,
            29 => CLOCK.set(CLOCK.get().wrapping_add(self.random.below(1 << 20)) ^ (1 << 19)),
            30 => {
                let Machine { db, noted, .. } = &self.machines[at];
                if let Some(db) = db.clone().filter(|_| *noted > 0) {
                    db.flush().map_err(text)?;
                }
            }
            31 => self.drop_keyspace(at)?,
            32..34 => self.machines[at].kill(&mut self.random).await?,
            34..40 => {
                let take_over = self.random.one_in(8);
                self.start(&[at], take_over, 12).await?;
            }
            40 => {
                let take_over = self.random.one_in(2);
                self.start(&[at, (at + 1) % MACHINES], take_over, 0).await?;
            }
            41 => drop(self.restored().await?),
            42 => self.replace(at).await?,
            43 => self.copy(at).await?,
            _ => self.open(at)?,
        }
        Ok(())
    }

    /// Opens the store of a machine that was killed, or makes one.
    fn open(&mut self, at: usize) -> Verdict {
        if self.machines[at].db.is_some() {
            return Ok(());
        }
        let db = self.machines[at].open()?;
        let (cursor, rows) = (db.feed_cursor(), shown(&db)?);
        let sequence = db.latest_sequence();
        let key = (cursor.lineage.0, sequence);
        match self.history.get(&key) {
            Some(known) if !known.contains(&rows) => {
                return Err(format!("a store has other rows at {sequence} than were written"));
            }
            Some(_) => {}
            None => self.history.entry(key).or_default().push(rows),
        }
        self.machines[at].noted = sequence;
        Ok(())
    }

    /// Adds the moments of a store since the last that was noted to the history.
    fn note(&mut self, at: usize) -> Verdict {
        let machine = &mut self.machines[at];
        let Some(db) = &machine.db else { return Ok(()) };
        let (lineage, last, rows) = (db.feed_cursor().lineage.0, db.latest_sequence(), shown(db)?);
        for sequence in machine.noted.min(last)..=last {
            let known = self.history.entry((lineage, sequence)).or_default();
            if (sequence > machine.noted || known.is_empty()) && !known.contains(&rows) {
                known.push(rows.clone());
            }
        }
        machine.noted = last;
        Ok(())
    }

    fn write(&mut self, at: usize) {
        self.writes += 1;
        let (write, word) = (self.writes, self.random.word());
        let Some(db) = self.machines[at].db.clone() else { return };
        let put = || {
            let mut batch = WriteBatch::new();
            let rows = db.default_keyspace();
            batch.put(&rows, format!("write-{write}"), "")?;
            batch.put(&rows, format!("row-{}", word % 8), format!("{word:x}").repeat(4))?;
            if word % 5 == 0 {
                let extra = db.create_keyspace(EXTRA)?;
                batch.put(&extra, format!("extra-{}", word % 3), format!("{write}"))?;
            }
            db.write(batch, Durability::Buffered)
        };
        put().expect("nothing fails in memory");
        self.note(at).expect("nothing fails in memory");
    }

    fn drop_keyspace(&mut self, at: usize) -> Verdict {
        let Some(db) = self.machines[at].db.clone() else { return Ok(()) };
        db.drop_keyspace(EXTRA).map_err(text)?;
        self.note(at)
    }

    /// Runs a step of a writer, and checks what it acknowledges.
    async fn upload(&mut self, at: usize) {
        let Some(process) = &mut self.machines[at].process else { return };
        let failed = process.writer.step().await.err();
        // The base that is being uploaded.
        for _ in 0..self.random.below(8) {
            tokio::task::yield_now().await;
        }
        if let Some(e) = failed {
            process.progress.failed(&e);
            if matches!(e, Error::Fenced { .. }) {
                process.progress.ended(e);
            }
        }
    }

    /// Checks what the writers have acknowledged since the last time, and ends those that are fenced.
    async fn reap(&mut self, at: usize) -> Verdict {
        let newest = self.newest_claim().await?;
        let machine = &mut self.machines[at];
        let (Some(process), Some(db)) = (&mut machine.process, &machine.db) else { return Ok(()) };
        let through = process.progress.status(0, &Default::default()).sequence;
        let is_fenced = process.progress.is_fenced();
        if is_fenced && newest <= process.epoch {
            return Err("a writer is fenced by nobody".to_owned());
        }
        if through > process.acknowledged {
            if process.epoch < self.started {
                return Err("a former writer acknowledged a write".to_owned());
            }
            process.acknowledged = through;
            let lineage = db.feed_cursor().lineage.0;
            let known = self.history.get(&(lineage, through)).into_iter().flatten();
            let keys: BTreeSet<_> = known.flat_map(Rows::keys).map(|(_, key)| key).collect();
            let own = shown(db)?;
            let is_unique = |key: &&Vec<u8>| key.starts_with(b"write-") && keys.contains(key);
            let found = own.keys().map(|(_, key)| key).filter(is_unique).cloned();
            self.acknowledged.extend(found);
        }
        if is_fenced {
            machine.process = None;
        }
        Ok(())
    }

    async fn newest_claim(&self) -> Verdict<u64> {
        let place = Place::new(Arc::new(self.cloud.clone()), Path::from("place"));
        Ok(place.claims().await.map_err(text)?.last().map_or(0, |(number, _)| *number))
    }

    /// Starts writers at once.
    async fn start(&mut self, which: &[usize], take_over: bool, faults: u64) -> Verdict {
        let mut starts = Vec::new();
        for &at in which {
            self.open(at)?;
            let Machine { db, process, .. } = &self.machines[at];
            if let (Some(db), None) = (db.clone(), process) {
                starts.push((at, db));
            }
        }
        for at in 0..MACHINES {
            self.reap(at).await?;
        }
        let before = self.newest_claim().await?;
        let place = Place::new(Arc::new(self.cloud.faulty(faults)), Path::from("place"));
        let mut options = Options::default().base_bytes(1 << 10).take_over(take_over);
        options.removal_age = std::time::Duration::MAX;
        let start = async |db: Db| {
            let progress = Arc::new(Progress::new());
            let writer = Writer::start(db, place.clone(), options, progress.clone()).await;
            writer.map(|writer| Process { epoch: writer.epoch, writer, progress, acknowledged: 0 })
        };
        let started =
            futures_util::future::join_all(starts.iter().map(|(_, db)| start(db.clone())));
        let started = started.await;
        let newest = self.newest_claim().await?;
        for ((at, _), started) in starts.into_iter().zip(started) {
            self.note(at)?;
            match started {
                Ok(process) => self.took(at, process, before, take_over)?,
                Err(Error::NotOwner { expected, found })
                    if self.claimant == Some(at) && which.len() == 1 =>
                {
                    return Err(format!("the last writer was refused: {expected}, {found}"));
                }
                // The claim may be there all the same.
                Err(_) if newest > before && which.len() == 1 => {
                    let machine = &mut self.machines[at];
                    machine.is_successor |= self.claimant != Some(at);
                    (self.claimant, machine.follows) = (Some(at), newest);
                }
                Err(_) => {}
            }
        }
        if newest > before && which.len() > 1 && self.started < newest {
            self.claimant = None;
        }
        Ok(())
    }

    /// Notes that a machine's writer has started.
    fn took(&mut self, at: usize, process: Process, before: u64, take_over: bool) -> Verdict {
        let rows = self.machines[at].db.as_ref().map(shown).transpose()?.unwrap_or_default();
        let has = |key: &Vec<u8>| rows.contains_key(&("default", key.clone()));
        if !take_over && before > self.machines[at].follows {
            return Err("a store took the place over unasked".to_owned());
        }
        let is_last = self.claimant == Some(at) && !self.machines[at].is_successor;
        if is_last && !self.acknowledged.iter().all(has) {
            return Err("the last writer has lost an acknowledged write".to_owned());
        }
        if process.epoch > self.started {
            self.acknowledged.retain(has);
            (self.started, self.claimant) = (process.epoch, Some(at));
        }
        let machine = &mut self.machines[at];
        (machine.follows, machine.is_successor) = (process.epoch, false);
        machine.process = Some(process);
        Ok(())
    }

    /// Restores the newest moment, and checks it. Returns its directory and the claim that it follows, if there is one.
    async fn restored(&mut self) -> Verdict<Option<(tempfile::TempDir, u64)>> {
        for at in 0..MACHINES {
            self.reap(at).await?;
        }
        let objects: Arc<dyn ObjectStore> = Arc::new(self.cloud.clone());
        let listed = list(objects.clone(), Path::from("place")).await.map_err(text)?;
        let damage = listed.ranges.iter().flat_map(|range| &range.damage).chain(&listed.damage);
        if let Some(damage) = damage.into_iter().next() {
            return Err(format!("the backup is damaged: {damage}"));
        }
        // Nothing here has to outlive the machine.
        let memory = std::path::Path::new("/dev/shm");
        let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let dir = dir.map_err(text)?;
        let found = match restore(objects, Path::from("place"), dir.path(), At::Newest).await {
            Ok(found) => found,
            Err(Error::Invalid { .. }) if self.acknowledged.is_empty() => return Ok(None),
            Err(e) => return Err(text(e)),
        };
        self.ids += 1;
        let db = Machine::of(self.ids, dir.path())?.open()?;
        let (lineage, rows) = (hex64(&found.lineage).unwrap_or_default(), shown(&db)?);
        let known = self.history.get(&(lineage, found.sequence));
        if !known.is_some_and(|known| known.contains(&rows)) {
            let expected = known.and_then(|known| known.last());
            return Err(format!("at {} {rows:?} were restored, not {expected:?}", found.sequence));
        }
        let has = |key: &&Vec<u8>| rows.contains_key(&("default", (*key).clone()));
        if let Some(lost) = self.acknowledged.iter().find(|key| !has(key)) {
            return Err(format!("{} is lost", String::from_utf8_lossy(lost)));
        }
        Ok(Some((dir, self.newest_claim().await?)))
    }

    /// Replaces a machine, which is gone for good, by one with the newest moment.
    async fn replace(&mut self, at: usize) -> Verdict {
        let Some((dir, claim)) = self.restored().await? else { return Ok(()) };
        self.ids += 1;
        let mut machine = Machine::of(self.ids, dir.path())?;
        machine.follows = claim;
        self.put(at, machine).await
    }

    /// Replaces a machine by one with a copy of another's disk.
    async fn copy(&mut self, at: usize) -> Verdict {
        let of = (at + 1) % MACHINES;
        self.machines[of].kill(&mut self.random).await?;
        self.ids += 1;
        let copy = self.machines[of].copy(self.ids)?;
        self.put(at, copy).await
    }

    async fn put(&mut self, at: usize, machine: Machine) -> Verdict {
        self.machines[at].kill(&mut self.random).await?;
        self.machines[at] = machine;
        self.claimant = self.claimant.filter(|claimant| *claimant != at);
        self.open(at)
    }

    /// Lets the last writer catch up without faults, and checks the promises.
    async fn rest(&mut self) -> Verdict {
        for at in 0..MACHINES {
            self.reap(at).await?;
            self.machines[at].kill(&mut self.random).await?;
        }
        let Some(at) = self.claimant else { return self.restored().await.map(drop) };
        self.start(&[at], false, 0).await?;
        self.write(at);
        let latest = self.machines[at].noted;
        for _ in 0..1000 {
            self.upload(at).await;
            let Some(process) = &self.machines[at].process else { break };
            if process.progress.status(0, &Default::default()).sequence >= latest {
                return self.restored().await.map(drop);
            }
        }
        Err("the last writer does not catch up".to_owned())
    }
}

fn play(seed: u64) -> Verdict {
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(text)?;
    CLOCK.set(1 << 30);
    runtime.block_on(async { World::new(seed)?.play(STEPS).await })
}

/// Whether the long runs were asked for.
fn full() -> bool {
    std::env::var_os("TERRANE_FULL").is_some_and(|v| v != "0")
}

#[test]
fn a_backup_keeps_its_promises() {
    let steps = if full() { 1_000_000 } else { 1_000 };
    for seed in 0..steps / STEPS {
        if let Err(why) = play(seed) {
            panic!("seed {seed}: {why}");
        }
    }
}

#[test]
fn each_broken_rule_of_backups_is_noticed() {
    let mut unnoticed = vec![Rule::OwnClaim, Rule::EndOthers, Rule::CreateOnce, Rule::NamedFirst];
    for seed in 0..SEEDS {
        unnoticed.retain(|rule| match rule.broken(|| play(seed)) {
            Ok(()) => true,
            Err(why) => {
                println!("{rule:?}, seed {seed}: {why}");
                false
            }
        });
    }
    assert_eq!(unnoticed, []);
}
