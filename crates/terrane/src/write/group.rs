//! Group commit: writers that arrive while another one commits go together in the next record.
//!
//! 1. A writer queues its batch. If nobody leads, it becomes the leader; otherwise it waits.
//! 2. The leader takes the whole queue, commits it as one record with one sync if any of it asks
//!    for one, hands out the results and wakes everybody.
//! 3. Who finds its result returns; otherwise the first to wake leads the next group.
//!
//! On one thread nobody ever waits: each writer leads a group of its own.

use crate::batch::WriteBatch;
use crate::engine::{Engine, Wait};
use crate::entry::Seq;
use crate::error::{Closed, Error, Result};
use crate::executor::Executor;
use crate::options::Durability;
use crate::sync::lock;
use crate::sync::{Condvar, Mutex};
use crate::vec_map::VecMap;
use std::sync::{Arc, PoisonError};

/// Bytes of batches beyond which a group takes no more.
const GROUP_BYTES_MAX: usize = 1 << 20;

#[derive(Default)]
struct Queue {
    waiting: Vec<Ticket>,
    results: VecMap<u64, Result<Seq>>,
    next_ticket: u64,
    led: bool,
}

struct Ticket {
    number: u64,
    batch: WriteBatch,
    durability: Durability,
}

/// The queue of writers.
#[derive(Default)]
pub(crate) struct GroupCommit {
    queue: Mutex<Queue>,
    turn: Condvar,
}

impl GroupCommit {
    /// Writes a batch, alone or with others, and returns its sequence.
    pub fn write(
        &self,
        engine: &Arc<Engine>,
        executor: &dyn Executor,
        batch: WriteBatch,
        durability: Durability,
    ) -> Result<Seq> {
        let mut queue = lock(&self.queue);
        let number = queue.next_ticket;
        queue.next_ticket += 1;
        queue.waiting.push(Ticket { number, batch, durability });
        loop {
            if let Some(result) = queue.results.remove(&number) {
                return result;
            }
            if queue.led {
                let wait = || self.turn.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue = engine.waits().time(Wait::Group, wait);
                continue;
            }
            queue.led = true;
            let mut lead = Lead { group: take_group(&mut queue.waiting), results: None, on: self };
            drop(queue);
            lead.results = Some(commit_group(engine, executor, &lead.group));
            drop(lead);
            queue = lock(&self.queue);
        }
    }
}

/// The lead of a group. However it ends, everybody in the group gets a result and another may lead:
/// a listener that panics must not hang the other writers.
struct Lead<'a> {
    group: Vec<Ticket>,
    results: Option<Vec<Result<Seq>>>,
    on: &'a GroupCommit,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let failed = || vec![Err(Error::Closed(Closed::Leader)); self.group.len()];
        let results = self.results.take().unwrap_or_else(failed);
        let mut queue = lock(&self.on.queue);
        queue.led = false;
        queue.results.extend(self.group.iter().map(|t| t.number).zip(results));
        // A wake-up is a system call, and needless where this writer is alone: everybody who waits
        // is in this group, or in the queue, or was woken for a result before.
        let others = self.group.len() > 1 || !queue.waiting.is_empty();
        drop(queue);
        if others {
            self.on.turn.notify_all();
        }
    }
}

/// The front of the queue, up to the group's bound; at least one.
fn take_group(waiting: &mut Vec<Ticket>) -> Vec<Ticket> {
    let mut bytes = 0;
    let fits = |t: &&Ticket| {
        bytes += t.batch.bytes().len();
        bytes <= GROUP_BYTES_MAX
    };
    let count = waiting.iter().take_while(fits).count().max(1);
    waiting.drain(..count.min(waiting.len())).collect()
}

/// Commits a group. A batch that cannot be taken must not fail its neighbours: they go alone then.
fn commit_group(
    engine: &Arc<Engine>,
    executor: &dyn Executor,
    group: &[Ticket],
) -> Vec<Result<Seq>> {
    match commit(engine, executor, group) {
        Ok(last) => {
            let gets_one = |t: &Ticket| u64::from(!t.batch.is_empty());
            let mut seq = last - group.iter().map(gets_one).sum::<u64>();
            let sequences = group.iter().map(|t| {
                seq += gets_one(t);
                Ok(seq)
            });
            sequences.collect()
        }
        Err(Error::Closed(_) | Error::InvalidArgument(_)) if group.len() > 1 => {
            group.iter().map(|t| commit(engine, executor, std::slice::from_ref(t))).collect()
        }
        Err(e) => vec![Err(e); group.len()],
    }
}

/// Commits batches as one, letting the executor catch up as often as it must.
fn commit(engine: &Arc<Engine>, executor: &dyn Executor, group: &[Ticket]) -> Result<Seq> {
    let batches: Vec<&WriteBatch> = group.iter().map(|t| &t.batch).collect();
    let sync = group.iter().any(|t| t.durability == Durability::Sync);
    let durability = if sync { Durability::Sync } else { Durability::Buffered };
    let mut relieved = Ok(());
    loop {
        match engine.commit(&batches, durability) {
            Ok(last) => {
                executor.wake(engine);
                return Ok(last);
            }
            Err(Error::Stalled(reason)) if relieved.is_ok() => {
                relieved =
                    engine.waits().time(reason.into(), || executor.wait_for_progress(engine));
            }
            // The job that ended the stall may have ended just before the executor looked for one,
            // so only a second stall without a job in between is final.
            Err(stall @ Error::Stalled(_)) => return relieved.and(Err(stall)),
            Err(e) => return Err(e),
        }
    }
}
