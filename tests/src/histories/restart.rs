//! The store is opened again.

use super::model::DEFAULT;
use super::steps::clean;
use super::{Run, Verdict, draw, is_of_a_vfs, shown};
use terrane::inspect;
use terrane::storage::vfs::fault::{Fault, SECTORS, Survivors};

/// Cuts of one recovery at most.
const CUTS_MAX: u64 = 4;
/// The approximate number of operations of an opening.
const OPENING: u64 = 40;

/// The end of a store.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Close,
    Drop,
    /// The process ends where it is.
    Kill,
    Power,
}

impl Run {
    /// Ends the store, opens it again, and judges what it shows.
    pub(super) fn restart(&mut self) -> Verdict {
        let end = match self.random.below(8) {
            0..=1 => End::Close,
            2 => End::Drop,
            3 => End::Kill,
            _ => End::Power,
        };
        self.note(format!("{end:?}"));
        self.counts.openings += 1;
        self.end(end)?;
        if self.random.one_in(2) {
            self.options = draw::options(&mut self.random);
        }
        if self.random.one_in(4) {
            self.inspect()?;
        }
        let all = end != End::Power && !self.reverted;
        self.reverted = false;
        self.troubled = false;
        if end == End::Power && self.random.one_in(2) {
            self.cut_recovery()?;
        } else if self.random.one_in(3) {
            self.fail_recovery()?;
        }
        if self.db.is_none() {
            self.open().map_err(|e| format!("opening after {end:?}: {e}"))?;
        }
        self.judge(all).map_err(|why| format!("after {end:?}: {why}"))
    }

    fn judge(&mut self, all: bool) -> Verdict {
        let db = self.db();
        let found = shown(&db).map_err(|e| format!("reading: {e}"))?;
        // What was read is durable, unless there was no space for that.
        let durable = !self.troubled || db.sync().is_ok();
        self.model.judge(&found, all, durable)?;
        let last = found.get(DEFAULT).map_or(0, std::collections::BTreeMap::len);
        self.note(format!("opened, {last} rows"));
        clean(&db)
    }

    /// Ends the store. Later failures are not its own.
    fn end(&mut self, end: End) -> Verdict {
        self.check = None;
        self.waiters.clear();
        self.snapshots.clear();
        let db = self.db.take().expect("the store is open");
        match end {
            End::Close => {
                let closed = db.close();
                if self.allow("closing", closed)?.is_some() {
                    self.model.promise();
                }
            }
            End::Drop => drop(db),
            End::Kill => {
                self.rig.vfs.fail_from(0, Fault::Killed);
                drop(db);
            }
            End::Power => {
                let survivors = self.survivors();
                self.crash(survivors)?;
                drop(db);
            }
        }
        self.storage = None;
        self.heal();
        Ok(())
    }

    fn survivors(&mut self) -> Survivors {
        let operation = self.rig.vfs.operations();
        match self.random.below(6) {
            0 => Survivors::Synced,
            1 => Survivors::All,
            2 => Survivors::Prefix { operation, sectors: self.random.below(7) },
            _ => Survivors::Random(self.random.word()),
        }
    }

    /// Cuts power, and restores it: the file system is what survives.
    fn crash(&mut self, survivors: Survivors) -> Verdict {
        self.counts.cuts += 1;
        self.note(format!("{survivors:?}"));
        self.rig.vfs.crash(survivors).map_err(|e| format!("the cut failed: {e}"))?;
        self.rig.restore_power();
        self.rig.vfs.set_sector(SECTORS[self.random.below(3) as usize]);
        Ok(())
    }

    /// Inspects the store without opening it: after a crash or a close it is sound.
    fn inspect(&mut self) -> Verdict {
        let reading = self.rig.reading().map_err(|e| format!("reading: {e}"))?;
        let report = inspect(&*reading).map_err(|e| format!("inspecting: {e}"))?;
        report.damage.first().map_or(Ok(()), |damage| Err(format!("inspect finds {damage}")))
    }

    /// Power is cut while the store is opened, again and again.
    fn cut_recovery(&mut self) -> Verdict {
        for _ in 0..1 + self.random.below(CUTS_MAX) {
            self.counts.hampered += 1;
            let cut = self.rig.vfs.operations() + self.random.below(OPENING);
            self.rig.vfs.cut_at(cut);
            self.note(format!("opening, cut at {cut}"));
            let opened = self.open();
            if let Err(e) = &opened
                && self.rig.vfs.operations() <= cut
            {
                return Err(format!("opening: {e}"));
            }
            let db = self.db.take();
            let survivors = self.survivors();
            self.crash(survivors)?;
            drop(db);
            self.storage = None;
        }
        Ok(())
    }

    /// Operations fail while the store is opened, until it opens.
    fn fail_recovery(&mut self) -> Verdict {
        for _ in 0..1 + self.random.below(3) {
            self.counts.hampered += 1;
            let fault = [Fault::Io, Fault::NoSpace, Fault::Short][self.random.below(3) as usize];
            let operation = self.rig.vfs.operations() + self.random.below(OPENING);
            self.note(format!("opening, {fault:?} at {operation}"));
            match self.random.one_in(3) {
                true => self.rig.vfs.fail_from(operation, fault),
                false => self.rig.vfs.fail_at(operation, fault),
            }
            self.troubled = true;
            match self.open() {
                Ok(()) => {
                    // Operations still fail while it is open.
                    self.heals_in = 1 + self.random.below(4);
                    return Ok(());
                }
                Err(e) if is_of_a_vfs(&e) => self.note(format!("opening: {e}")),
                Err(e) => return Err(format!("opening with {fault:?} at {operation}: {e}")),
            }
            self.heal();
            self.troubled = false;
        }
        Ok(())
    }
}
