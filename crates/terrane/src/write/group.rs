//! Group commit: writers that arrive while another one commits go together in the next record.
//!
//! 1. A writer that finds nobody commits its batch. While another one leads, it first spins for some
//!    microseconds, unless its write is synced or there is one thread. Then it queues its batch: if nobody
//!    leads, it becomes the leader; otherwise it waits.
//! 2. The leader takes the whole queue, commits it as one record with one sync if any of it asks
//!    for one, hands out the results and wakes everybody.
//! 3. Who finds its result returns; otherwise the first to wake leads the next group.
//!
//! On one thread there is no queue: each batch is committed alone.

use super::CatchUp;
use crate::batch::WriteBatch;
use crate::engine::{Engine, Wait};
use crate::entry::Seq;
use crate::error::{Closed, Error, ErrorKind, Result};
use crate::options::Durability;
use crate::sync::lock;
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::vec_map::VecMap;
use std::sync::PoisonError;

/// Bytes of batches beyond which a group takes no more.
const GROUP_BYTES_MAX: usize = 1 << 20;
/// Spinning of a writer before it queues: rounds, each of which checks whether the leader is done, and
/// spin-loop hints of a round. Some ten microseconds in all.
const SPIN_ROUNDS: u32 = 8;
const SPINS_PER_ROUND: u32 = 64;

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
    /// Writes a batch, alone or with others, and returns its sequence. One without an entry gets none:
    /// the last one is returned.
    pub fn write(
        &self,
        engine: &Engine,
        batch: WriteBatch,
        durability: Durability,
        catch_up: &CatchUp<'_>,
    ) -> Result<Seq> {
        engine.owned()?;
        if batch.is_empty() {
            return engine.commit_nothing(durability);
        }
        if cfg!(all(target_arch = "wasm32", not(target_feature = "atomics"))) {
            // On one thread nobody else can be committing.
            return engine.commit(&[&batch], durability, catch_up);
        }
        let mut queue = self.enter(durability);
        if !queue.led && queue.waiting.is_empty() {
            // Alone: without a ticket, a group and its results.
            queue.led = true;
            drop(queue);
            let _lead = Lead { group: Vec::new(), results: Some(Vec::new()), on: self };
            return engine.commit(&[&batch], durability, catch_up);
        }
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
        if cfg!(any(shuttle, target_arch = "wasm32")) || durability == Durability::Sync {
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
    results: Option<Vec<Result<Seq>>>,
    on: &'a GroupCommit,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let failed = || vec![Err(Closed::Leader.into()); self.group.len()];
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
fn commit_group(engine: &Engine, group: &[Ticket], catch_up: &CatchUp<'_>) -> Vec<Result<Seq>> {
    match commit(engine, group, catch_up) {
        Ok(last) => (last + 1 - group.len() as u64..=last).map(Ok).collect(),
        Err(e) if group.len() > 1 && is_of_a_batch(&e) => {
            group.iter().map(|t| commit(engine, std::slice::from_ref(t), catch_up)).collect()
        }
        Err(e) => vec![Err(e); group.len()],
    }
}

/// Whether a batch could not be taken: its keyspace is dropped, or it is over a limit.
fn is_of_a_batch(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Closed(_) | ErrorKind::InvalidArgument(_))
}

/// Commits batches as one record, which is synced if any of them asks for that.
fn commit(engine: &Engine, group: &[Ticket], catch_up: &CatchUp<'_>) -> Result<Seq> {
    let batches: Vec<&WriteBatch> = group.iter().map(|t| &t.batch).collect();
    let sync = group.iter().any(|t| t.durability == Durability::Sync);
    let durability = if sync { Durability::Sync } else { Durability::Buffered };
    engine.commit(&batches, durability, catch_up)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Stall;
    use crate::executor::SliceExecutor;
    use crate::jobs::Progress;
    use crate::keyspace::KeyspaceId;
    use crate::schedule::JobFilter;
    use crate::storage::Directory;
    use crate::storage::vfs::MemoryVfs;
    use crate::{Db, Options};
    use std::cell::Cell;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    fn open(options: Options) -> Db {
        let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
        Db::open_storage(storage, options, Arc::new(SliceExecutor::default())).unwrap()
    }

    /// A store in which every commit fills a memtable, and the next one stalls until that is flushed. One
    /// commit is done.
    fn stalled() -> Db {
        let db =
            open(Options { memtable_bytes: 1, max_immutable_memtables: 1, ..Options::small() });
        let first = tickets(KeyspaceId(0), &[1]);
        assert_eq!(commit(db.engine(), &first, &|| Ok(())).unwrap(), 1);
        db
    }

    /// Tickets that put values of these lengths into a keyspace.
    fn tickets(keyspace: KeyspaceId, lens: &[usize]) -> Vec<Ticket> {
        let ticket = |(number, len): (u64, &usize)| {
            let mut batch = WriteBatch::new();
            batch.put(keyspace, number.to_be_bytes(), vec![7; *len]).unwrap();
            Ticket { number, batch, durability: Durability::Buffered }
        };
        (0..).zip(lens).map(ticket).collect()
    }

    #[test]
    fn a_group_has_batches_up_to_its_bound_and_at_least_one() {
        const HALF: usize = GROUP_BYTES_MAX / 2;
        for (lens, taken) in [
            (&[1, 1, 1][..], 3),
            (&[HALF - 100, HALF - 100, 1, 200, 1], 3),
            (&[HALF, HALF], 1),
            (&[GROUP_BYTES_MAX + 1, 1], 1),
        ] {
            let mut waiting = tickets(KeyspaceId(0), lens);
            let numbers: Vec<_> = take_group(&mut waiting).iter().map(|t| t.number).collect();
            assert_eq!(numbers, (0..taken).collect::<Vec<_>>(), "{lens:?}");
            assert_eq!(waiting.len(), lens.len() - taken as usize);
        }
    }

    #[test]
    fn a_batch_that_cannot_be_taken_fails_alone() {
        let db = open(Options::small());
        let unknown = tickets(KeyspaceId(99), &[1]).pop();
        let mut group = tickets(KeyspaceId(0), &[1, 2, 3]);
        group.insert(1, unknown.unwrap());
        let results = commit_group(db.engine(), &group, &|| Ok(()));
        let written: Vec<_> = results.iter().map(|result| result.as_ref().ok()).collect();
        assert_eq!(written, [Some(&1), None, Some(&2), Some(&3)]);
        let alone = commit_group(db.engine(), &group[1..2], &|| Ok(()));
        assert!(matches!(&alone[..], [Err(e)] if matches!(e.kind(), ErrorKind::Closed(_))));
        assert_eq!(db.default_keyspace().scan(..).unwrap().count(), 3);
    }

    #[test]
    fn a_group_is_synced_if_any_of_its_batches_is() {
        use Durability::{Buffered, Sync};
        for (durabilities, syncs) in [
            ([Buffered; 2], false),
            ([Buffered, Sync], true),
            ([Sync, Buffered], true),
            ([Sync; 2], true),
        ] {
            let db = open(Options::small());
            let mut group = tickets(KeyspaceId(0), &[1, 2]);
            for (ticket, durability) in group.iter_mut().zip(durabilities) {
                ticket.durability = durability;
            }
            let results = commit_group(db.engine(), &group, &|| Ok(()));
            let written: Vec<_> = results.iter().map(|result| result.as_ref().ok()).collect();
            assert_eq!(written, [Some(&1), Some(&2)]);
            assert_eq!(
                db.engine().log_sync.synced(),
                if syncs { 2 } else { 0 },
                "{durabilities:?}"
            );
        }
    }

    #[test]
    fn a_stall_that_no_job_can_end_fails_the_whole_group() {
        let (db, calls) = (stalled(), Cell::new(0));
        let catch_up = || {
            calls.set(calls.get() + 1);
            Err(ErrorKind::Stalled(Stall::Memtables).into())
        };
        let group = tickets(KeyspaceId(0), &[1, 1]);
        let results = commit_group(db.engine(), &group, &catch_up);
        let is_stalled = |result: &Result<Seq>| {
            matches!(result.as_ref().map_err(Error::kind), Err(ErrorKind::Stalled(_)))
        };
        assert!(results.iter().all(is_stalled));
        assert_eq!((results.len(), calls.get()), (2, 1));
    }

    #[test]
    fn queued_writers_commit_together_with_a_sequence_each() {
        let (db, commits, leads) = (stalled(), GroupCommit::default(), AtomicUsize::new(0));
        let catch_up = || {
            let goes_on = || match leads.load(Ordering::Relaxed) {
                // The two others wait for the one that came first.
                1 => lock(&commits.queue).waiting.len() == 2,
                // One of them leads both, and the other was woken for nothing and waits again.
                _ => db.stats().unwrap().waits.group.count >= 2,
            };
            leads.fetch_add(1, Ordering::Relaxed);
            while !goes_on() {
                thread::yield_now();
            }
            let mut flush = db.engine().next_job(JobFilter::Flush).unwrap();
            while flush.run_for(u64::MAX)? == Progress::More {}
            Ok(())
        };
        let write = |key: u8| {
            let mut batch = WriteBatch::new();
            batch.put(KeyspaceId(0), [key], "value").unwrap();
            commits.write(db.engine(), batch, Durability::Buffered, &catch_up).unwrap()
        };
        let write = &write;
        let mut written: Vec<_> = thread::scope(|threads| {
            let writers = [1, 2, 3].map(|key| threads.spawn(move || write(key)));
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        written.sort_unstable();
        assert_eq!((written, leads.into_inner()), (vec![2, 3, 4], 2));
        assert_eq!(db.default_keyspace().scan(..).unwrap().count(), 4);
    }
}
