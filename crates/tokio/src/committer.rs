//! The committer: one thread that writes what tasks request.
//!
//! 1. Requests wait in a bounded queue. The thread takes all that are there.
//! 2. Batches in a row are committed as one record, with one sync if one of them asks for it. An update runs between
//!    them, buffered.
//! 3. If an update asks for it, one sync follows, and then all updates are answered.

use crate::Condition;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use terrane::{
    Closed, ConditionalBatch, Db, Durability, Error, Outcome, Result, Transaction, WriteBatch,
};
use tokio::sync::{mpsc, oneshot};

/// Requests that wait; a task that has another waits for room.
const QUEUE: usize = 1024;
/// Bytes of batches at which a record takes no more.
const RECORD_BYTES: usize = 4 << 20;

/// A panic of an update.
type Panic = Box<dyn Any + Send>;
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
}

impl Committer {
    pub fn start(db: Db) -> Self {
        let (requests, received) = mpsc::channel(QUEUE);
        let thread = std::thread::Builder::new().name("terrane-commit".to_owned());
        // Without a thread nothing is received, and every request fails.
        let _ = thread.spawn(move || serve(&db, received));
        Committer { requests }
    }

    /// Queues a request; waits while the queue is full.
    pub async fn send(&self, request: Request) -> Result<()> {
        self.requests.send(request).await.map_err(|_| Closed::Store.into())
    }
}

fn serve(db: &Db, mut received: mpsc::Receiver<Request>) {
    let mut requests = Vec::new();
    while received.blocking_recv_many(&mut requests, QUEUE) > 0 {
        // A listener of the store may panic: the requests of this turn get no answer then.
        let _ = catch_unwind(AssertUnwindSafe(|| serve_all(db, requests.drain(..))));
        requests.clear();
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
        answer(if durability == Durability::Sync { synced.clone() } else { Ok(()) });
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
