use super::*;
use crate::error::Stall;
use crate::executor::SliceExecutor;
use crate::jobs::Progress;
use crate::keyspace::KeyspaceId;
use crate::schedule;
use crate::schedule::JobFilter;
use crate::storage::Directory;
use crate::storage::vfs::MemoryVfs;
use crate::write::Condition;
use crate::write::commit::commit;
use crate::write::condition::Evaluated;
use crate::write::prepared::TRIES_MAX;
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
    let db = open(Options { memtable_bytes: 1, max_immutable_memtables: 1, ..Options::small() });
    let first = tickets(KeyspaceId(0), &[1]);
    assert_eq!(written(&commit_group(db.engine(), &first, &|| Ok(()))), [Some(1)]);
    db
}

/// The sequence numbers of the batches that were written.
fn written(results: &[Result<Decision>]) -> Vec<Option<Seq>> {
    let written = |result: &Result<Decision>| match result {
        Ok(Decision::Decided(Outcome::Written(seq))) => Some(*seq),
        _ => None,
    };
    results.iter().map(written).collect()
}

/// Tickets that put values of these lengths into a keyspace.
fn tickets(keyspace: KeyspaceId, lens: &[usize]) -> Vec<Ticket> {
    let ticket = |(number, len): (u64, &usize)| {
        let mut batch = WriteBatch::new();
        batch.put(keyspace, number.to_be_bytes(), vec![7; *len]).unwrap();
        let writes = vec![Write { batch, prepared: None }];
        Ticket { number, writes, durability: Durability::Buffered }
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
    assert_eq!(written(&results), [Some(1), None, Some(2), Some(3)]);
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
        assert_eq!(written(&results), [Some(1), Some(2)]);
        assert_eq!(db.engine().log.syncs.synced(), if syncs { 2 } else { 0 }, "{durabilities:?}");
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
    let is_stalled = |result: &Result<Decision>| {
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
        let mut flush = schedule::next_job(db.engine(), JobFilter::Flush).unwrap();
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

/// Flushes, so that the stall of a [`stalled`] store ends.
fn end_stall(db: &Db) -> Result<()> {
    let mut flush = schedule::next_job(db.engine(), JobFilter::Flush).unwrap();
    while flush.run_for(u64::MAX)? == Progress::More {}
    Ok(())
}

/// Writes a value of `len` bytes to a key of a [`stalled`] store, whose stall it ends first and last.
fn overtake(db: &Db, key: u8, len: usize) -> Result<()> {
    end_stall(db)?;
    let mut batch = WriteBatch::new();
    batch.put(KeyspaceId(0), [key], vec![7; len]).unwrap();
    commit(db.engine(), &[&batch], Durability::Buffered, &|| end_stall(db))?;
    end_stall(db)
}

/// Puts key 1 if key 2 is absent, once `catch_up` has ended the stall.
fn put_if_absent(db: &Db, catch_up: &CatchUp<'_>) -> Outcome {
    let checks = Checks::new(db.engine(), vec![Condition::absent(KeyspaceId(0), [2])]).unwrap();
    let mut batch = WriteBatch::new();
    batch.put(KeyspaceId(0), [1], "value").unwrap();
    let group = GroupCommit::default();
    let outcomes =
        group.write_group(db.engine(), vec![(checks, batch)], Durability::Buffered, catch_up);
    outcomes.unwrap().pop().unwrap().unwrap()
}

#[test]
fn a_write_that_overtakes_a_conditional_batch_counts() {
    // The last is longer than what is kept, so that the condition is evaluated again.
    for len in [10, 2 << 20] {
        for (key, is_written) in [(3, true), (2, false)] {
            let (db, calls) = (stalled(), Cell::new(0));
            let outcome = put_if_absent(&db, &|| match calls.replace(calls.get() + 1) {
                0 => overtake(&db, key, len),
                _ => end_stall(&db),
            });
            match outcome {
                Outcome::Written(seq) => assert!(is_written && seq == 3),
                Outcome::Refused(refusals) => {
                    let found = refusals[0].found.as_ref().unwrap();
                    assert_eq!((found.seq, found.value.len(), is_written), (2, len, false));
                }
            }
            assert_eq!(db.engine().snapshots.visible(), 2 + u64::from(is_written));
        }
    }
}

#[test]
fn a_batch_that_is_always_outrun_is_decided_under_the_lock() {
    let db = open(Options::small());
    db.default_keyspace().put([2], "value", Durability::Buffered).unwrap();
    for (tries, is_decided) in [(TRIES_MAX - 1, false), (TRIES_MAX, true)] {
        let conditions = vec![Condition::absent(KeyspaceId(0), [2])];
        let checks = Checks::new(db.engine(), conditions).unwrap();
        // Evaluated before the key was written, which is not among the recent batches.
        let evaluated = Evaluated { until: u64::MAX, ..Evaluated::default() };
        let prepared = Prepared { checks, evaluated, tries };
        let mut group = tickets(KeyspaceId(0), &[1]);
        group[0].writes[0].prepared = Some(prepared);
        match commit_group(db.engine(), &group, &|| Ok(())).pop().unwrap().unwrap() {
            Decision::Outrun => assert!(!is_decided),
            Decision::Decided(outcome) => {
                assert!(is_decided && matches!(outcome, Outcome::Refused(_)), "{outcome:?}");
            }
        }
    }
}
