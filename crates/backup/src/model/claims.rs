//! Starts of writers, and who may claim the place.

use super::machine::{Machine, Process};
use super::world::{MACHINES, World, cut_off};
use super::{Verdict, text};
use crate::error::Error;
use crate::options::Options;
use crate::place::Place;
use crate::progress::Progress;
use crate::writer::Writer;
use object_store::path::Path;
use std::sync::Arc;
use std::time::Duration;
use terrane::Db;

/// Turns within which a start is cut off.
const TURNS: u64 = 64;
/// Age from which objects and moments may be removed.
const AGE: Duration = Duration::from_secs(3600);

/// The result of a start; `None` if the process died meanwhile.
type Started = Option<Result<Process, Error>>;

impl World {
    fn place(&self) -> Place {
        Place::new(Arc::new(self.cloud.clone()), Path::from("place"))
    }

    pub async fn newest_claim(&self) -> Verdict<u64> {
        Ok(self.place().claims().await.map_err(text)?.last().map_or(0, |(number, _)| *number))
    }

    /// Lets a late request take effect. If it is a claim, its store may start unasked.
    pub async fn deliver(&mut self) -> Verdict {
        let before = self.newest_claim().await?;
        self.cloud.deliver().await;
        let newest = self.newest_claim().await?;
        if newest == before {
            return Ok(());
        }
        let claim = self.place().claim(newest).await.map_err(text)?;
        let mark = claim.map_or(0, |claim| claim.mark);
        let machines = self.machines.iter_mut().enumerate();
        let tried: Vec<_> = machines.filter(|(_, machine)| machine.tried.contains(&mark)).collect();
        let is_one = tried.len() == 1;
        let mut claimant = None;
        for (at, machine) in tried {
            machine.is_successor |= self.claimant != Some(at);
            (machine.follows, claimant) = (newest, is_one.then_some(at));
        }
        self.claimant = claimant;
        Ok(())
    }

    /// Starts writers at once. With `faults` requests fail, and a process may die meanwhile.
    pub async fn start(&mut self, which: &[usize], take_over: bool, faults: u64) -> Verdict {
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
        let (before, late) = (self.newest_claim().await?, self.cloud.late_claims());
        let place = Place::new(Arc::new(self.cloud.faulty(faults)), Path::from("place"));
        let mut turns = u64::MAX;
        if faults > 0 && self.random.one_in(4) {
            turns = self.random.below(TURNS);
        } else if faults > 0 && self.random.one_in(8) {
            starts.iter().for_each(|(at, _)| self.machines[*at].plan_cut(&mut self.random));
        }
        let started = starts.iter().map(|(_, db)| start(db.clone(), &place, take_over, turns));
        let started = futures_util::future::join_all(started).await;
        let newest = self.newest_claim().await?;
        if let &[at] = which {
            let sent = self.cloud.late_claims().into_iter().filter(|mark| !late.contains(mark));
            let machine = &mut self.machines[at];
            if take_over && (machine.is_copy || machine.may_lack) {
                // If it is older, it has forgotten its earlier tries.
                machine.tried.clear();
            }
            machine.tried.extend(sent);
        }
        for ((at, db), started) in starts.into_iter().zip(started) {
            drop(db);
            self.note_start(at, started, take_over, before, newest, which.len() == 1).await?;
        }
        if newest > before && which.len() > 1 && self.started < newest {
            self.claimant = None;
        }
        Ok(())
    }

    /// Notes the result of a start. The newest claim was `before`, and is `newest` now.
    async fn note_start(
        &mut self,
        at: usize,
        started: Started,
        take_over: bool,
        before: u64,
        newest: u64,
        is_alone: bool,
    ) -> Verdict {
        let is_dead = started.is_none() || self.machines[at].is_cut();
        match started {
            Some(Ok(process)) => self.took(at, process, before, take_over)?,
            Some(Err(Error::NotOwner { expected, found }))
                if self.claimant == Some(at) && is_alone && !is_dead =>
            {
                // The store that it is a copy of may have gone on after the copy's claim, until the copy starts.
                let Machine { is_copy, may_lack, .. } = self.machines[at];
                if (is_copy || may_lack) && found.starts_with("an older copy") {
                    self.claimant = None;
                    return self.note(at);
                }
                return Err(format!("the last writer was refused: {expected}, {found}"));
            }
            // The claim may be there all the same, or arrive later.
            _ if newest > before => {
                let machine = &mut self.machines[at];
                machine.is_successor |= self.claimant != Some(at);
                if is_alone {
                    (self.claimant, machine.follows) = (Some(at), newest);
                }
            }
            _ => {}
        }
        if is_dead {
            self.machines[at].kill(&mut self.random).await?;
            return self.open(at);
        }
        self.note(at)
    }

    /// Notes that a machine's writer has started.
    fn took(&mut self, at: usize, process: Process, before: u64, take_over: bool) -> Verdict {
        let machine = &self.machines[at];
        let has = |key: &Vec<u8>| machine.rows.contains_key(&("default", key.clone()));
        if !take_over && before > machine.follows {
            return Err("a store took the place over unasked".to_owned());
        }
        let was_another = self.claimant.is_some_and(|claimant| claimant != at);
        let lineage = process.writer.db.feed_cursor().lineage.0;
        if was_another && before > machine.follows && self.has_lineage(lineage) {
            return Err("a take-over continued a lineage that copies may have".to_owned());
        }
        let is_last = self.claimant == Some(at) || !take_over && !machine.may_lack;
        if is_last && !machine.is_successor && !self.acknowledged.iter().all(has) {
            return Err("a store without acknowledged writes has started unasked".to_owned());
        }
        if process.epoch > self.started {
            self.acknowledged.retain(has);
            (self.started, self.claimant) = (process.epoch, Some(at));
        }
        let machine = &mut self.machines[at];
        (machine.follows, machine.is_successor) = (process.epoch, false);
        (machine.may_lack, machine.is_copy) = (false, false);
        machine.tried.clear();
        machine.process = Some(process);
        Ok(())
    }
}

/// Starts a writer, which dies after `turns`.
pub async fn start(db: Db, place: &Place, take_over: bool, turns: u64) -> Started {
    let mut options = Options::default().base_bytes(1 << 10).retention(AGE).take_over(take_over);
    options.removal_age = AGE;
    let progress = Arc::new(Progress::new());
    let start = Writer::start(db, place.clone(), options, progress.clone());
    let writer = cut_off(start, turns).await?;
    Some(writer.map(|writer| Process { epoch: writer.epoch, writer, progress, acknowledged: 0 }))
}
