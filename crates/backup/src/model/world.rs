//! The steps of a schedule.

use super::cloud::Cloud;
use super::machine::{EXTRA, Machine, shown};
use super::{Rows, Verdict, text};
use crate::error::Error;
use crate::listing::list;
use crate::names::hex64;
use crate::points::At;
use crate::restore::restore;
use crate::time::CLOCK;
use object_store::ObjectStore;
use object_store::path::Path;
use std::collections::{BTreeSet, HashMap};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use terrane::{Durability, Seq, WriteBatch};
use terrane_workload::Random;

pub const MACHINES: usize = 3;
/// Steps between two rests, at which every process ends.
const REST: u64 = 50;
/// The longest time between two steps. No process lives for an hour, after which objects may be removed.
const STEP_MILLIS: u64 = 70_000;
/// Turns within which a step of a writer is cut off.
const TURNS: u64 = 32;

pub struct World {
    pub random: Random,
    pub cloud: Cloud,
    pub machines: Vec<Machine>,
    /// Rows at each lineage and sequence number. Copies of a disk may have others there.
    history: HashMap<(u64, Seq), Vec<Rows>>,
    /// Rows with unique keys whose writes were acknowledged.
    pub acknowledged: BTreeSet<Vec<u8>>,
    /// The machine that made the newest claim, if it is still there.
    pub claimant: Option<usize>,
    /// The latest epoch of a writer that has started.
    pub started: u64,
    writes: u64,
    ids: u64,
}

impl World {
    pub fn new(seed: u64) -> Verdict<Self> {
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

    pub async fn play(&mut self, steps: u64) -> Verdict {
        for step in 1..=steps {
            let at = self.random.below(MACHINES as u64) as usize;
            self.cloud.pass(Duration::from_millis(self.random.below(STEP_MILLIS)));
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
            26..29 => self.deliver().await?,
            29 => CLOCK.set(CLOCK.get().wrapping_add(self.random.below(1 << 20)) ^ (1 << 19)),
            30 => {
                let Machine { db, noted, .. } = &self.machines[at];
                if let Some(db) = db.clone().filter(|_| *noted > 0) {
                    db.flush().map_err(text)?;
                }
            }
            31 if self.random.one_in(2) => self.begin_lineage(at)?,
            31 => self.drop_keyspace(at)?,
            32 => self.machines[at].kill(&mut self.random).await?,
            33 => self.die(at).await?,
            34..40 => {
                let take_over = self.random.one_in(8);
                let faults = if self.random.one_in(4) { 3 } else { 12 };
                self.start(&[at], take_over, faults).await?;
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
    pub fn open(&mut self, at: usize) -> Verdict {
        if self.machines[at].db.is_some() {
            return Ok(());
        }
        let db = self.machines[at].open()?;
        let (cursor, rows) = (db.feed_cursor(), shown(&db)?);
        let sequence = db.latest_sequence();
        let key = (cursor.lineage.0, sequence);
        let machine = &mut self.machines[at];
        let known = self.history.entry(key).or_default();
        // A writer that died has recorded claims, which changes no row.
        let is_record = machine.noted < sequence && rows == machine.rows;
        if !known.contains(&rows) {
            if !known.is_empty() && !is_record {
                let expected = known.last();
                return Err(format!("at {sequence} there is {rows:?}, not {expected:?}"));
            }
            known.push(rows.clone());
        }
        (machine.lineage, machine.noted, machine.rows) = (key.0, sequence, rows);
        Ok(())
    }

    /// Whether a store of the lineage was noted.
    pub fn has_lineage(&self, lineage: u64) -> bool {
        self.history.keys().any(|(of, _)| *of == lineage)
    }

    /// Adds the moments of a store since the last that was noted to the history.
    pub fn note(&mut self, at: usize) -> Verdict {
        let machine = &mut self.machines[at];
        let Some(db) = &machine.db else { return Ok(()) };
        let (lineage, last, rows) = (db.feed_cursor().lineage.0, db.latest_sequence(), shown(db)?);
        let is_other = lineage != machine.lineage;
        for sequence in machine.noted.min(last)..=last {
            let known = self.history.entry((lineage, sequence)).or_default();
            if (sequence > machine.noted || is_other) && !known.contains(&rows) {
                known.push(rows.clone());
            }
        }
        (machine.lineage, machine.noted, machine.rows) = (lineage, last, rows);
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
        let machine = &mut self.machines[at];
        machine.may_lack |= machine.is_copy;
        self.note(at).expect("nothing fails in memory");
    }

    fn drop_keyspace(&mut self, at: usize) -> Verdict {
        let Some(db) = self.machines[at].db.clone() else { return Ok(()) };
        if db.drop_keyspace(EXTRA).map_err(text)? {
            let machine = &mut self.machines[at];
            machine.may_lack |= machine.is_copy;
        }
        self.note(at)
    }

    fn begin_lineage(&mut self, at: usize) -> Verdict {
        let Some(db) = self.machines[at].db.clone() else { return Ok(()) };
        db.begin_lineage().map_err(text)?;
        let machine = &mut self.machines[at];
        machine.may_lack |= machine.is_copy;
        self.note(at)
    }

    /// Runs a step of a writer.
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

    /// Kills a process, or cuts its power, amid a step of its writer.
    async fn die(&mut self, at: usize) -> Verdict {
        let (turns, machine) = (self.random.below(TURNS), &mut self.machines[at]);
        if self.random.one_in(2) {
            machine.plan_cut(&mut self.random);
        }
        if let Some(process) = &mut machine.process {
            let _ = cut_off(process.writer.step(), turns).await;
        }
        self.reap(at).await?;
        self.machines[at].kill(&mut self.random).await
    }

    /// Checks what the writers have acknowledged since the last time, and ends those that are fenced.
    pub async fn reap(&mut self, at: usize) -> Verdict {
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
            let own = &machine.rows;
            let is_unique = |key: &&Vec<u8>| key.starts_with(b"write-") && keys.contains(key);
            let found = own.keys().map(|(_, key)| key).filter(is_unique).cloned();
            self.acknowledged.extend(found);
        }
        if is_fenced {
            machine.process = None;
        }
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
        (machine.follows, machine.may_lack) = (claim, true);
        self.put(at, machine).await
    }

    /// Replaces a machine by one with a copy of another's disk.
    async fn copy(&mut self, at: usize) -> Verdict {
        let of = (at + 1) % MACHINES;
        if self.random.one_in(2) {
            self.machines[of].kill(&mut self.random).await?;
        }
        self.ids += 1;
        let copy = self.machines[of].copy(self.ids)?;
        self.put(at, copy).await?;
        if self.random.one_in(2) && self.machines[of].process.is_some() {
            // The copy is an older one when it starts.
            self.write(of);
            self.upload(of).await;
            self.start(&[at], false, 0).await?;
        }
        Ok(())
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
        if let Some(at) = self.claimant {
            self.start(&[at], false, 0).await?;
        }
        let Some(at) = self.claimant else { return self.restored().await.map(drop) };
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

/// Runs a call until it has let others run `turns` times; returns `None` if that cut it off.
pub async fn cut_off<T>(call: impl Future<Output = T>, mut turns: u64) -> Option<T> {
    let mut call = pin!(call);
    let poll = |cx: &mut std::task::Context<'_>| match call.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending if turns == 0 => Poll::Ready(None),
        Poll::Pending => {
            turns -= 1;
            Poll::Pending
        }
    };
    std::future::poll_fn(poll).await
}
