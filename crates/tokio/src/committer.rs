//! The committer: one thread that writes what tasks request.
//!
//! 1. Requests wait in a bounded queue. The thread takes all that are there.
//! 2. Batches in a row are committed as one record, with one sync if one of them asks for it. An update runs between
//!    them, buffered.
//! 3. If an update asks for it, one sync follows, and then all updates are answered.

use crate::Condition;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ThreadId;
use terrane::{
    Closed, ConditionalBatch, Db, Durability, Error, Outcome, Result, Transaction, WriteBatch,
};
use tokio::sync::{mpsc, oneshot};

/// Requests that wait; a task that has another waits for room.
const QUEUE: usize = 1024;
/// Bytes of batches at which a record takes no more.
const RECORD_BYTES: usize = 4 << 20;

/// A panic of an update.
pub(crate) type Panic = Box<dyn Any + Send>;
/// An update: runs it, and returns what answers it once the sync is done.
type Run = Box<dyn FnOnce(&Db) -> Answer + Send>;
type Answer = Box<dyn FnOnce(Result<()>) + Send>;

/// A request of a task.
pub(crate) enum Request {
    Write {
        conditions: Vec<Condition>,
        batch: WriteBatch,
        durability: Durability,
        reply: oneshot::Sender<Result<Outcome>>,
    },
    Update {
        durability: Durability,
        run: Run,
    },
    Close {
        reply: oneshot::Sender<Result<()>>,
    },
}

impl Request {
    /// Requests an update, whose result or panic is sent to `reply`.
    pub fn update<T: Send + 'static, E: From<Error> + Send + 'static>(
        durability: Durability,
        body: impl FnMut(&mut Transaction) -> Result<T, E> + Send + 'static,
        reply: oneshot::Sender<Result<Result<T, E>, Panic>>,
    ) -> Self {
        let run: Run = Box::new(move |db| {
            let updated =
                catch_unwind(AssertUnwindSafe(|| db.transact(Durability::Buffered, body)));
            Box::new(move |synced| {
                let synced = |value| synced.map(|()| value).map_err(E::from);
                // Nobody may wait for it any longer.
                let _ = reply.send(updated.map(|result| result.and_then(synced)));
            })
        });
        Request::Update { durability, run }
    }
}

/// The queue of the committer, whose thread ends when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct Committer {
    requests: mpsc::Sender<Request>,
    /// Requests that are queued, or served.
    pending: Arc<AtomicUsize>,
    thread: Option<ThreadId>,
}

impl Committer {
    pub fn start(db: Db) -> Self {
        let (requests, received) = mpsc::channel(QUEUE);
        let thread = std::thread::Builder::new().name("terrane-commit".to_owned());
        let pending = Arc::<AtomicUsize>::default();
        let left = pending.clone();
        // Without a thread nothing is received, and every request fails.
        let spawned = thread.spawn(move || serve(&db, received, &left));
        let thread = spawned.ok().map(|thread| thread.thread().id());
        Committer { requests, pending, thread }
    }

    /// Queues a request; waits while the queue is full.
    ///
    /// # Errors
    /// A call from the body of an update, which the committer would wait for.
    pub async fn send(&self, request: Request) -> Result<()> {
        if self.thread == Some(std::thread::current().id()) {
            let expected = "only calls of its transaction";
            return Err(Error::invalid("body of an update", expected, "a write of the store"));
        }
        let permit = self.requests.reserve().await.map_err(|_| Closed::Store)?;
        self.pending.fetch_add(1, Ordering::AcqRel);
        permit.send(request);
        Ok(())
    }

    /// Whether all that was requested is done.
    pub fn is_idle(&self) -> bool {
        self.pending.load(Ordering::Acquire) == 0
    }
}

fn serve(db: &Db, mut received: mpsc::Receiver<Request>, pending: &AtomicUsize) {
    let mut requests = Vec::new();
    while received.blocking_recv_many(&mut requests, QUEUE) > 0 {
        let count = requests.len();
        // A listener of the store may panic: the requests of this turn get no answer then.
        let _ = catch_unwind(AssertUnwindSafe(|| serve_all(db, requests.drain(..))));
        requests.clear();
        pending.fetch_sub(count, Ordering::AcqRel);
    }
}

/// A batch to commit.
struct Write {
    conditions: Vec<Condition>,
    batch: WriteBatch,
    reply: oneshot::Sender<Result<Outcome>>,
}

fn serve_all(db: &Db, requests: impl Iterator<Item = Request>) {
    let (mut writes, mut bytes, mut sync) = (Vec::new(), 0, false);
    let (mut answers, mut sync_updates) = (Vec::new(), false);
    let mut closing = Vec::new();
    for request in requests {
        match request {
            Request::Write { conditions, batch, durability, reply } => {
                if bytes + batch.bytes().len() > RECORD_BYTES {
                    commit(db, std::mem::take(&mut writes), std::mem::take(&mut sync));
                    bytes = 0;
                }
                bytes += batch.bytes().len();
                sync |= durability == Durability::Sync;
                writes.push(Write { conditions, batch, reply });
            }
            Request::Update { durability, run } => {
                commit(db, std::mem::take(&mut writes), std::mem::take(&mut sync));
                bytes = 0;
                sync_updates |= durability == Durability::Sync;
                answers.push((durability, run(db)));
            }
            Request::Close { reply } => closing.push(reply),
        }
    }
    commit(db, writes, sync);
    let synced = if sync_updates { db.sync() } else { Ok(()) };
    for (durability, answer) in answers {
        // A result that nobody waits for is dropped here, which may panic: the others are answered all the same.
        let synced = if durability == Durability::Sync { synced.clone() } else { Ok(()) };
        let _ = catch_unwind(AssertUnwindSafe(|| answer(synced)));
    }
    for reply in closing {
        let _ = reply.send(db.clone().close());
    }
}

/// Commits batches as one record, and answers each.
fn commit(db: &Db, writes: Vec<Write>, sync: bool) {
    if writes.is_empty() {
        return;
    }
    let mut held = Vec::with_capacity(writes.len());
    let mut replies = Vec::with_capacity(writes.len());
    for Write { conditions, batch, reply } in writes {
        held.push((conditions, batch));
        replies.push(reply);
    }
    let batches = held.iter_mut().map(|(conditions, batch)| {
        let conditions = conditions.iter().map(Condition::borrowed).collect();
        ConditionalBatch { conditions, batch: std::mem::take(batch) }
    });
    let durability = if sync { Durability::Sync } else { Durability::Buffered };
    match db.write_group(batches.collect(), durability) {
        Ok(outcomes) => {
            for (reply, outcome) in replies.into_iter().zip(outcomes) {
                // Nobody may wait for it any longer.
                let _ = reply.send(outcome);
            }
        }
        Err(e) => replies.into_iter().for_each(|reply| drop(reply.send(Err(e.clone())))),
    }
}
