//! The steps of a history while the store is open.

use super::model::{DEFAULT, Operation, Rows, Shown, differ};
use super::{Run, Verdict, draw, shown};
use crate::fixtures::{Kind, Rig, named_files};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use terrane::storage::FileId;
use terrane::storage::vfs::fault::Fault;
use terrane::version::VersionSet;
use terrane::{Db, Durability, KeyRange, Result, WriteBatch};

/// Time within which files are removed in the background.
const PATIENCE: Duration = Duration::from_secs(600);

impl Run {
    /// Plays a step.
    pub(super) fn step(&mut self) -> Verdict {
        if self.heals_in > 0 {
            self.heals_in -= 1;
            if self.heals_in == 0 {
                self.note("heals");
                self.heal();
            }
        }
        match self.random.below(100) {
            0..=48 => self.write(),
            49..=52 => self.write_beside(),
            53..=57 => self.sync(),
            58..=61 => self.flush(),
            62..=65 => self.compact(),
            66..=68 => self.create(),
            69..=70 => self.drop_keyspace(),
            71..=73 => self.set_policy(),
            74..=77 => self.snapshot(),
            78..=81 => self.check(),
            82 => self.checkpoint(),
            83..=85 => self.settle(),
            86..=88 => self.look(),
            89..=92 => {
                self.trouble();
                Ok(())
            }
            93 => {
                let waiter = self.db().begin_flush();
                let waiter = self.allow("beginning a flush", waiter)?;
                self.waiters.extend(waiter);
                Ok(())
            }
            _ => self.restart(),
        }
    }

    /// A batch for the store, with its number and its operations.
    fn batch(&mut self) -> Verdict<(WriteBatch, Durability, u64, Vec<Operation>)> {
        let (number, operations) = draw::batch(&mut self.random, &mut self.model);
        let durability =
            if self.random.one_in(3) { Durability::Sync } else { Durability::Buffered };
        let (db, living) = (self.db(), self.model.living());
        let build = || -> Result<WriteBatch> {
            let mut batch = WriteBatch::new();
            for operation in &operations {
                let name = living.iter().find(|(_, keyspace)| *keyspace == operation.keyspace);
                let id = db.create_keyspace(&name.expect("a living keyspace").0)?.id();
                operation.change.add(&mut batch, id, &operation.key)?;
            }
            Ok(batch)
        };
        let batch = build().map_err(|e| format!("a batch: {e}"))?;
        Ok((batch, durability, number, operations))
    }

    fn write(&mut self) -> Verdict {
        let (batch, durability, number, operations) = self.batch()?;
        let written = self.db().write(batch, durability);
        let acknowledged = self.allow("writing", written)?.is_some();
        self.note(format!("batch {number}, {durability:?}, {acknowledged}"));
        self.model.written(number, operations, acknowledged);
        if acknowledged && durability == Durability::Sync {
            self.model.promise();
        }
        Ok(())
    }

    /// Writers and a check beside each other, where there are threads. A writer ends with its first error.
    fn write_beside(&mut self) -> Verdict {
        if self.threads == 0 {
            return self.write();
        }
        let mut batches = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let own: Verdict<Vec<_>> =
                (0..1 + self.random.below(4)).map(|_| self.batch()).collect();
            batches.push(own?);
        }
        let db = self.db();
        let write_all = |own: Vec<(WriteBatch, Durability, u64, Vec<Operation>)>| {
            let (mut results, mut failed) = (Vec::new(), false);
            for (batch, durability, number, operations) in own {
                if !failed {
                    let written = db.write(batch, durability);
                    failed = written.is_err();
                    results.push((written, durability, number, operations));
                }
            }
            results
        };
        let (results, checked) = std::thread::scope(|threads| {
            let writers: Vec<_> =
                batches.into_iter().map(|own| threads.spawn(|| write_all(own))).collect();
            let checking = threads.spawn(|| db.check());
            let results = writers.into_iter().flat_map(|w| w.join().expect("no panic"));
            (results.collect::<Vec<_>>(), checking.join().expect("no panic"))
        });
        let mut acknowledged = Vec::new();
        let mut failed = Vec::new();
        for (written, durability, number, operations) in results {
            self.note(format!(
                "beside others: batch {number}, {durability:?}, {}",
                written.is_ok()
            ));
            match self.allow("writing", written)? {
                Some(sequence) => acknowledged.push((sequence, durability, number, operations)),
                None => failed.push((number, operations)),
            }
        }
        acknowledged.sort_by_key(|(sequence, ..)| *sequence);
        for (_, durability, number, operations) in acknowledged {
            self.model.written(number, operations, true);
            if durability == Durability::Sync {
                self.model.promise();
            }
        }
        for (number, operations) in failed {
            self.model.written(number, operations, false);
        }
        let checked = self.allow("checking", checked)?;
        let damage = checked.and_then(|report| report.damage.into_iter().next());
        damage.map_or(Ok(()), |damage| Err(format!("a check beside writers finds {damage}")))
    }

    fn sync(&mut self) -> Verdict {
        let synced = self.db().sync();
        if self.allow("syncing", synced)?.is_some() {
            self.note("sync");
            self.model.promise();
        }
        Ok(())
    }

    fn flush(&mut self) -> Verdict {
        let flushed = self.db().flush();
        if self.allow("flushing", flushed)?.is_some() {
            self.note("flush");
            self.model.promise();
        }
        Ok(())
    }

    /// Asks for several ranges at once, the last of them everything, and waits for that.
    fn compact(&mut self) -> Verdict {
        let (db, living) = (self.db(), self.model.living());
        let mut waiters = Vec::new();
        for _ in 0..self.random.below(4) {
            let at = self.random.below(living.len() as u64) as usize;
            let (from, to) = (draw::key(&mut self.random), draw::key(&mut self.random));
            let asked =
                db.create_keyspace(&living[at].0).and_then(|k| k.begin_compact_range(from..to));
            waiters.extend(self.allow("asking for a range", asked)?);
        }
        // Each is started once its flush is done.
        for _ in 0..self.random.below(4) {
            for waiter in &mut waiters {
                let done = waiter.is_done();
                self.allow("waiting for a range", done)?;
            }
        }
        let at = self.random.below(living.len() as u64) as usize;
        self.note(format!("compact {}", living[at].0));
        let compacted =
            db.create_keyspace(&living[at].0).and_then(|k| k.compact_range(KeyRange::from(..)));
        self.allow("compacting a range", compacted)?;
        if self.random.one_in(2) {
            self.waiters.extend(waiters);
        }
        Ok(())
    }

    fn create(&mut self) -> Verdict {
        let name = draw::NAMES[self.random.below(draw::NAMES.len() as u64) as usize];
        if self.model.living().iter().any(|(living, _)| living == name) {
            return Ok(());
        }
        let created = self.db().create_keyspace(name);
        let acknowledged = self.allow("creating a keyspace", created)?.is_some();
        self.note(format!("create {name}, {acknowledged}"));
        self.model.created(name, acknowledged);
        Ok(())
    }

    fn drop_keyspace(&mut self) -> Verdict {
        let living = self.model.living();
        let (name, _) = &living[self.random.below(living.len() as u64) as usize];
        if name == DEFAULT {
            return Ok(());
        }
        let dropped = self.db().drop_keyspace(name);
        let acknowledged = self.allow("dropping a keyspace", dropped)?.is_some();
        self.note(format!("drop {name}, {acknowledged}"));
        self.model.dropped(name, acknowledged);
        Ok(())
    }

    fn set_policy(&mut self) -> Verdict {
        let living = self.model.living();
        let at = self.random.below(living.len() as u64) as usize;
        let policy = draw::any_policy(&mut self.random);
        self.note(format!("{} of {}", policy.name(), living[at].0));
        let set = self.db().create_keyspace(&living[at].0).and_then(|k| k.set_policy(&policy));
        self.allow("setting a policy", set).map(drop)
    }

    /// Takes a snapshot, or compares one with what it was and releases it.
    fn snapshot(&mut self) -> Verdict {
        if self.snapshots.len() < 3 && self.random.one_in(2) {
            self.snapshots.push((self.db().snapshot(), self.model.now()));
            return Ok(());
        }
        if self.snapshots.is_empty() {
            return Ok(());
        }
        let at = self.random.below(self.snapshots.len() as u64) as usize;
        let (snapshot, mut expected) = self.snapshots.swap_remove(at);
        let (db, mut found) = (self.db(), Shown::new());
        let there = db.keyspaces();
        for name in expected.keys().filter(|name| there.contains(name)) {
            let rows = db.create_keyspace(name).and_then(|k| snapshot.scan(&k, ..)?.collect());
            let rows: Rows = rows.map_err(|e| format!("reading a snapshot: {e}"))?;
            found.insert(name.clone(), rows);
        }
        // A keyspace that was dropped takes its rows with it, and another of its name has none of them.
        expected.retain(|name, _| name == DEFAULT);
        found.retain(|name, _| name == DEFAULT);
        differ(&expected, &found).map_err(|why| format!("a snapshot: {why}"))
    }

    /// A check of the store in use: starts it, does a step of it, or reads all that is left.
    fn check(&mut self) -> Verdict {
        if self.check.is_none() {
            let begun = self.db().begin_check();
            self.check = self.allow("beginning a check", begun)?;
        }
        let whole = self.random.one_in(3);
        while let Some(mut check) = self.check.take() {
            let step = check.step(1 << 10);
            match self.allow("checking", step)? {
                Some(None) => self.check = Some(check),
                Some(Some(report)) => {
                    self.note("checked");
                    report.damage.first().map_or(Ok(()), |d| Err(format!("a check finds {d}")))?;
                }
                None => {}
            }
            if !whole {
                break;
            }
        }
        Ok(())
    }

    /// A copy shows what the store shows.
    fn checkpoint(&mut self) -> Verdict {
        let kind = if self.random.one_in(2) { Kind::MemoryDirectory } else { Kind::SingleVolume };
        let place = Rig::new(kind);
        let target = place.storage().map_err(|e| format!("a place for a copy: {e}"))?;
        self.note("checkpoint");
        let begun = self.db().begin_checkpoint(&*target);
        let Some(mut copy) = self.allow("copying", begun)? else { return Ok(()) };
        loop {
            let step = copy.step(&*target);
            match self.allow("copying", step)? {
                Some(true) => {}
                Some(false) => break,
                None => return Ok(()),
            }
        }
        drop((copy, target));
        let opened = place.open(self.options.clone(), self.random.word());
        let db = opened.map_err(|e| format!("opening a copy: {e}"))?;
        let found = shown(&db).map_err(|e| format!("reading a copy: {e}"))?;
        // A batch that failed after it was appended may be in the copy.
        let judged = self.model.clone().judge(&found, true, false);
        judged.map_err(|why| format!("a copy: {why}"))?;
        clean(&db).map_err(|why| format!("a copy: {why}"))
    }

    /// The open store shows what was acknowledged.
    pub(super) fn look(&mut self) -> Verdict {
        let found = shown(&self.db()).map_err(|e| format!("reading: {e}"))?;
        differ(&self.model.now(), &found)
    }

    /// Some operation from here on fails, or many until the file system heals.
    fn trouble(&mut self) {
        let fault = match self.random.below(10) {
            0 => Fault::Reverted,
            1..=3 => Fault::NoSpace,
            4..=5 => Fault::Short,
            _ => Fault::Io,
        };
        self.reverted |= fault == Fault::Reverted;
        self.troubled = true;
        let operation = self.rig.vfs.operations() + self.random.below(40);
        self.note(format!("{fault:?} at {operation}"));
        match self.random.below(4) {
            0 => {
                self.rig.vfs.fail_from(operation, fault);
                self.heals_in = 1 + self.random.below(8);
            }
            1 => {
                self.rig.vfs.fail_at(operation, fault);
                let another = operation + 1 + self.random.below(20);
                self.rig.vfs.fail_at(another, fault);
            }
            _ => self.rig.vfs.fail_at(operation, fault),
        }
    }

    /// Waits until nothing is left to do, and compares the files with those that the manifest names.
    pub(super) fn settle(&mut self) -> Verdict {
        // A tree under a policy that proposes anything never becomes idle.
        let db = self.db();
        for (name, _) in self.model.living() {
            let keyspace = db.create_keyspace(&name).map_err(|e| format!("a keyspace: {e}"))?;
            if keyspace.policy().map_err(|e| format!("a policy: {e}"))?.name() == "adversarial" {
                let set = keyspace.set_policy(&draw::policy(&mut self.random));
                if self.allow("setting a policy", set)?.is_none() {
                    return Ok(());
                }
            }
        }
        self.snapshots.clear();
        self.check = None;
        self.waiters.clear();
        self.note("settle");
        let idle = db.wait_until_idle();
        if self.allow("waiting", idle)?.is_none() || self.heals_in > 0 {
            return Ok(());
        }
        self.compare(&db)
    }

    /// Compares the files with the manifest, again and again while background work may be left.
    fn compare(&mut self, db: &Db) -> Verdict {
        let began = Instant::now();
        loop {
            let differs = self.files_differ();
            let differs = differs.map_err(|e| format!("the manifest: {e}"))?;
            let Some(why) = differs else {
                self.counts.compared += 1;
                return Ok(());
            };
            if self.threads == 0 || began.elapsed() > PATIENCE {
                return if self.may_be_stuck(db) { Ok(()) } else { Err(why) };
            }
            std::thread::sleep(Duration::from_millis(1));
            let idle = db.wait_until_idle();
            if self.allow("waiting", idle)?.is_none() {
                return Ok(());
            }
        }
    }

    /// Whether an error may have stopped the store's background work.
    fn may_be_stuck(&self, db: &Db) -> bool {
        self.troubled && db.failure().is_some()
    }

    /// Returns how the files differ from those that the manifest names.
    fn files_differ(&self) -> Result<Option<String>> {
        let reading = self.rig.reading()?;
        let recovered = reading.recover()?.unwrap_or_default();
        let version_set = VersionSet::replay(&recovered.edits)?;
        let named = named_files(&version_set);
        let mut there: BTreeSet<FileId> = BTreeSet::new();
        if let Some(storage) = &self.storage {
            there.extend(storage.files()?);
            // What a lost commit may have named stays until the store is opened again.
            let kept = storage.orphans()?;
            let kept: Vec<_> = kept.iter().filter_map(|o| FileId::parse(&o.file)).collect();
            there.retain(|file| !kept.contains(file));
        }
        let list = |files: BTreeSet<FileId>| {
            files.iter().map(FileId::to_string).collect::<Vec<_>>().join(", ")
        };
        let (left, gone) = (&there - &named, &named - &there);
        Ok((there != named).then(|| {
            format!("idle, with files that nothing names: {}; without: {}", list(left), list(gone))
        }))
    }
}

/// A check of a store finds no damage.
pub(super) fn clean(db: &Db) -> Verdict {
    let report = db.check().map_err(|e| format!("checking: {e}"))?;
    report.damage.first().map_or(Ok(()), |damage| Err(format!("check finds {damage}")))
}
