//! Group commit: writers that arrive while another one commits go together in the next record.
//!
//! 1. A writer that finds nobody commits its batch. While another one leads, it first spins for some
//!    microseconds, unless its write is synced or there is one thread. Then it queues its batch: if nobody
//!    leads, it becomes the leader; otherwise it waits.
//! 2. The leader takes the whole queue, commits it as one record with one sync if any of it asks
//!    for one, hands out the results and wakes everybody.
//! 3. A writer that finds its result returns; otherwise the first to wake leads the next group.
//!
//! On one thread there is no queue: each batch is committed alone, right after its conditions were evaluated.
//!
//! With threads a batch with conditions queues once they were evaluated. If it was outrun, since more was written
//! meanwhile than is kept, that is repeated, the last time under the lock.

use super::CatchUp;
use super::announce::{announce, combined, is_announced};
use super::commit::{commit, commit_if, commit_nothing, try_commit, try_update};
use super::condition::{Checks, Outcome};
use super::prepared::{Decision, Prepared, Write};
use super::sampled::Sampled;
use crate::batch::WriteBatch;
use crate::engine::{Engine, Wait};
use crate::entry::Seq;
use crate::error::{Closed, Error, ErrorKind, Result};
use crate::options::Durability;
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::sync::{lock, try_lock};
use crate::vec_map::VecMap;
use std::sync::PoisonError;
use terrane_platform::{BROWSER, THREADS};

/// Bytes of batches beyond which a group takes no more.
const GROUP_BYTES_MAX: usize = 1 << 20;
/// Spinning of a writer before it queues: rounds, each of which checks whether the leader is done, and
/// spin-loop hints of a round. Some ten microseconds in all.
const SPIN_ROUNDS: u32 = 8;
const SPINS_PER_ROUND: u32 = 64;

#[derive(Default)]
struct Queue {
    waiting: Vec<Ticket>,
    results: VecMap<u64, Served>,
    next_ticket: u64,
    led: bool,
}

/// The batches of one call.
struct Ticket {
    number: u64,
    writes: Vec<Write>,
    durability: Durability,
}

/// A ticket's batches and the decision about each.
struct Served {
    writes: Vec<Write>,
    results: Vec<Result<Decision>>,
}

/// The queue of writers.
#[derive(Default)]
pub(crate) struct GroupCommit {
    queue: Mutex<Queue>,
    turn: Condvar,
}

impl GroupCommit {
    /// Writes a batch, alone or with others, and returns its sequence. One without an entry gets none:
    /// the last one is returned.
    pub fn write(
        &self,
        engine: &Engine,
        batch: WriteBatch,
        durability: Durability,
        catch_up: &CatchUp<'_>,
    ) -> Result<Seq> {
        engine.state.owned()?;
        if batch.is_empty() {
            return commit_nothing(engine, durability);
        }
        let sampled = Sampled::start(engine, std::iter::once(&batch));
        announce(engine, &batch)?;
        let batch = combined(engine, &batch)?.unwrap_or(batch);
        let written = self.commit(engine, batch, durability, catch_up)?;
        sampled.end(engine);
        Ok(written)
    }

    /// Commits a batch, alone or with others, and returns its sequence.
    fn commit(
        &self,
        engine: &Engine,
        batch: WriteBatch,
        durability: Durability,
        catch_up: &CatchUp<'_>,
    ) -> Result<Seq> {
        if !THREADS {
            return commit(engine, &[&batch], durability, catch_up);
        }
        let mut queue = self.enter(durability);
        if !queue.led && queue.waiting.is_empty() {
            // Alone: without a ticket, a group and its results.
            queue.led = true;
            drop(queue);
            let _lead = Lead { group: Vec::new(), results: Some(Vec::new()), on: self };
            return commit(engine, &[&batch], durability, catch_up);
        }
        let writes = vec![Write { batch, prepared: None }];
        match self.serve(engine, queue, writes, durability, catch_up).results.pop() {
            Some(Ok(Decision::Decided(Outcome::Written(seq)))) => Ok(seq),
            Some(Err(e)) => Err(e),
            _ => Err(Closed::Leader.into()),
        }
    }

    /// Writes batches as one record, buffered, unless that would wait. Returns the sequence of the last if they are
    /// written.
    ///
    /// # Errors
    /// The errors of [`commit`].
    pub fn try_write(&self, engine: &Engine, batches: &[&WriteBatch]) -> Result<Option<Seq>> {
        engine.state.owned()?;
        if batches.is_empty() {
            return commit_nothing(engine, Durability::Buffered).map(Some);
        }
        let is_known =
            |batch: &&WriteBatch| is_announced(&engine.keyspaces, &engine.snapshots.clock, batch);
        if !batches.iter().all(is_known) {
            return Ok(None);
        }
        let sampled = Sampled::start(engine, batches.iter().copied());
        let Some(lead) = self.try_lead() else { return Ok(None) };
        let written = try_commit(engine, batches)?;
        drop(lead);
        if written.is_some() {
            sampled.end(engine);
        }
        Ok(written)
    }

    /// Runs `body` while nobody else can write, and writes the batch that it returns, buffered, unless that would wait.
    /// Returns what `body` returned, or `None` if nothing was written.
    ///
    /// # Errors
    /// Those of `body` and of [`commit`].
    pub fn try_update<T, E: From<Error>>(
        &self,
        engine: &Engine,
        body: impl FnOnce() -> Result<Option<(WriteBatch, T)>, E>,
    ) -> Result<Option<T>, E> {
        engine.state.owned()?;
        let Some(lead) = self.try_lead() else { return Ok(None) };
        let mut sampled = Sampled::default();
        let written = try_update(engine, || {
            body().inspect(|made| {
                sampled = Sampled::start(engine, made.iter().map(|(batch, _)| batch));
            })
        })?;
        drop(lead);
        if written.is_some() {
            sampled.end(engine);
        }
        Ok(written)
    }

    /// Leads without waiting, if nobody leads or waits.
    fn try_lead(&self) -> Option<Lead<'_>> {
        let mut queue = try_lock(&self.queue)?;
        if queue.led || !queue.waiting.is_empty() {
            return None;
        }
        queue.led = true;
        drop(queue);
        Some(Lead { group: Vec::new(), results: Some(Vec::new()), on: self })
    }

    /// Writes batches as one record, each if its conditions hold, in their order, and returns the outcome of each.
    ///
    /// # Errors
    /// A child process.
    pub fn write_group(
        &self,
        engine: &Engine,
        batches: Vec<(Checks, WriteBatch)>,
        durability: Durability,
        catch_up: &CatchUp<'_>,
    ) -> Result<Vec<Result<Outcome>>> {
        engine.state.owned()?;
        let sampled = Sampled::start(engine, batches.iter().map(|(_, batch)| batch));
        let written = self.commit_group(engine, batches, durability, catch_up)?;
        sampled.end(engine);
        Ok(written)
    }

    fn commit_group(
        &self,
        engine: &Engine,
        batches: Vec<(Checks, WriteBatch)>,
        durability: Durability,
        catch_up: &CatchUp<'_>,
    ) -> Result<Vec<Result<Outcome>>> {
        if !THREADS {
            let each = batches.into_iter();
            return Ok(each
                .map(|(checks, batch)| write_alone(engine, &checks, &batch, durability, catch_up))
                .collect());
        }
        // Before any of them is evaluated.
        let has_conditions = batches.iter().any(|(checks, _)| !checks.is_empty());
        let _under_way = has_conditions.then(|| engine.log.conditional.enter());
        let mut results: Vec<Option<Result<Outcome>>> = batches.iter().map(|_| None).collect();
        let is_alone = batches.len() == 1;
        let write = |(checks, batch)| Write { batch, prepared: Prepared::new(checks) };
        let mut open: Vec<Write> = batches.into_iter().map(write).collect();
        let mut places: Vec<usize> = (0..open.len()).collect();
        while !open.is_empty() {
            let mut ready = Vec::with_capacity(open.len());
            let mut ready_at = Vec::with_capacity(open.len());
            for (place, mut write) in places.drain(..).zip(open.drain(..)) {
                let evaluated = write.prepared.as_mut().map_or(Ok(()), |p| p.evaluate(engine));
                let decided = match (evaluated, &mut write.prepared) {
                    (Err(e), _) => Some(Err(e)),
                    // Nothing before it in its group can change that.
                    (Ok(()), Some(prepared))
                        if is_alone && !prepared.evaluated.refusals.is_empty() =>
                    {
                        let refusals = std::mem::take(&mut prepared.evaluated.refusals);
                        Some(Ok(Outcome::Refused(refusals)))
                    }
                    (Ok(()), None) if write.batch.is_empty() => {
                        Some(commit_nothing(engine, durability).map(Outcome::Written))
                    }
                    _ => None,
                };
                match (decided, results.get_mut(place)) {
                    (Some(decided), Some(result)) => *result = Some(decided),
                    _ => {
                        ready_at.push(place);
                        ready.push(write);
                    }
                }
            }
            if ready.is_empty() {
                break;
            }
            let Served { writes, results: served } =
                self.serve(engine, self.enter(durability), ready, durability, catch_up);
            for ((place, mut write), result) in ready_at.into_iter().zip(writes).zip(served) {
                match (result, results.get_mut(place)) {
                    (Ok(Decision::Decided(outcome)), Some(result)) => *result = Some(Ok(outcome)),
                    (Err(e), Some(result)) => *result = Some(Err(e)),
                    _ => {
                        write.prepared.iter_mut().for_each(|prepared| prepared.tries += 1);
                        places.push(place);
                        open.push(write);
                    }
                }
            }
        }
        let decided = |result: Option<_>| result.unwrap_or_else(|| Err(Closed::Leader.into()));
        Ok(results.into_iter().map(decided).collect())
    }

    /// Queues a ticket, and returns once somebody has served it, possibly this writer.
    fn serve<'q>(
        &'q self,
        engine: &Engine,
        mut queue: MutexGuard<'q, Queue>,
        writes: Vec<Write>,
        durability: Durability,
        catch_up: &CatchUp<'_>,
    ) -> Served {
        let number = queue.next_ticket;
        queue.next_ticket += 1;
        queue.waiting.push(Ticket { number, writes, durability });
        loop {
            if let Some(served) = queue.results.remove(&number) {
                return served;
            }
            if queue.led {
                let wait = || self.turn.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue = engine.counters.waits.time(Wait::Group, wait);
                continue;
            }
            queue.led = true;
            let mut lead = Lead { group: take_group(&mut queue.waiting), results: None, on: self };
            drop(queue);
            lead.results = Some(commit_group(engine, &lead.group, catch_up));
            drop(lead);
            queue = lock(&self.queue);
        }
    }

    /// Locks the queue, and spins first while another writer leads: a buffered commit takes less time than
    /// sleeping and being woken. A synced write waits for the device anyway, in a browser only one thread
    /// writes, and a model would explore every round.
    fn enter(&self, durability: Durability) -> MutexGuard<'_, Queue> {
        let mut queue = lock(&self.queue);
        if cfg!(shuttle) || BROWSER || durability == Durability::Sync {
            return queue;
        }
        for _ in 0..SPIN_ROUNDS {
            if !queue.led {
                break;
            }
            drop(queue);
            for _ in 0..SPINS_PER_ROUND {
                std::hint::spin_loop();
            }
            queue = lock(&self.queue);
        }
        queue
    }
}

/// The lead of a group. However it ends, everybody in the group gets a result and another may lead:
/// a listener that panics must not hang the other writers.
struct Lead<'a> {
    group: Vec<Ticket>,
    /// Results of all batches of the group.
    results: Option<Vec<Result<Decision>>>,
    on: &'a GroupCommit,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut results = self.results.take().unwrap_or_default().into_iter();
        // A wake-up is a system call, and needless where this writer is alone: everybody who waits
        // is in this group, or in the queue, or was woken for a result before.
        let is_shared = self.group.len() > 1;
        let mut queue = lock(&self.on.queue);
        queue.led = false;
        for Ticket { number, writes, .. } in self.group.drain(..) {
            let mut next = || results.next().unwrap_or_else(|| Err(Closed::Leader.into()));
            let results = writes.iter().map(|_| next()).collect();
            queue.results.insert(number, Served { writes, results });
        }
        let others = is_shared || !queue.waiting.is_empty();
        drop(queue);
        if others {
            self.on.turn.notify_all();
        }
    }
}

/// Writes a batch if its conditions hold, where nobody else can write in between.
fn write_alone(
    engine: &Engine,
    checks: &Checks,
    batch: &WriteBatch,
    durability: Durability,
    catch_up: &CatchUp<'_>,
) -> Result<Outcome> {
    let refusals = checks.evaluate(engine)?.refusals;
    Ok(if !refusals.is_empty() {
        Outcome::Refused(refusals)
    } else if batch.is_empty() {
        Outcome::Written(commit_nothing(engine, durability)?)
    } else {
        Outcome::Written(commit(engine, &[batch], durability, catch_up)?)
    })
}

/// Takes the front of the queue, up to the group's bound; at least one ticket.
fn take_group(waiting: &mut Vec<Ticket>) -> Vec<Ticket> {
    let mut bytes = 0;
    let fits = |t: &&Ticket| {
        bytes += t.writes.iter().map(|write| write.batch.bytes().len()).sum::<usize>();
        bytes <= GROUP_BYTES_MAX
    };
    let count = waiting.iter().take_while(fits).count().max(1);
    waiting.drain(..count.min(waiting.len())).collect()
}

/// Commits a group, with a result for each batch. A batch that cannot be taken must not fail its neighbours: they
/// go alone then.
fn commit_group(
    engine: &Engine,
    group: &[Ticket],
    catch_up: &CatchUp<'_>,
) -> Vec<Result<Decision>> {
    let writes: Vec<&[Write]> = group.iter().map(|ticket| ticket.writes.as_slice()).collect();
    let sync = group.iter().any(|t| t.durability == Durability::Sync);
    let durability = if sync { Durability::Sync } else { Durability::Buffered };
    let count: usize = writes.iter().map(|writes| writes.len()).sum();
    match commit_if(engine, &writes, durability, catch_up) {
        Ok(results) => results,
        Err(e) if count > 1 && is_of_a_batch(&e) => {
            let mut results = Vec::with_capacity(count);
            for ticket in group {
                // What follows one that was outrun in its call is tried again with it, in order.
                let mut is_outrun = false;
                for write in &ticket.writes {
                    let alone = std::slice::from_ref(write);
                    let decided = if is_outrun {
                        Ok(Decision::Outrun)
                    } else {
                        let decided = commit_if(engine, &[alone], ticket.durability, catch_up);
                        let last = |mut all: Vec<_>| all.pop();
                        decided.map(last).and_then(|d| d.unwrap_or(Err(Closed::Leader.into())))
                    };
                    is_outrun = matches!(decided, Ok(Decision::Outrun));
                    results.push(decided);
                }
            }
            results
        }
        Err(e) => (0..count).map(|_| Err(e.clone())).collect(),
    }
}

/// Whether a batch could not be taken: it is over a limit.
fn is_of_a_batch(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidArgument(_))
}

#[cfg(test)]
mod tests;
