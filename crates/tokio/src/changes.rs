//! The change feed as a stream.
//!
//! 1. One thread waits for durable batches while there are subscribers, and wakes all of them ([`Feed`]).
//! 2. A subscriber that was woken reads a page of batches on a blocking thread. One that sleeps uses no thread.

use crate::db::Readers;
use futures_core::Stream;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::thread;
use std::time::Duration;
use terrane::{ChangeBatch, Error, FeedCursor, FeedWatch, Result};
use tokio::sync::watch::{Receiver, Sender, channel};

/// Bytes of batches at which a page ends.
const PAGE_BYTES: usize = 64 << 10;
/// Time after which the thread checks for subscribers and for another lineage.
const LOOK: Duration = Duration::from_millis(500);

/// The end of the feed, or the reason why there is none.
type End = Result<FeedCursor>;

/// The subscribers of a store, and the thread that wakes them.
#[derive(Clone, Default)]
pub(crate) struct Feed(Arc<Mutex<Weak<Receiver<End>>>>);

impl Feed {
    /// Returns a receiver of the end of the feed. Starts the thread if there is none.
    ///
    /// # Errors
    /// A thread that cannot be started.
    fn subscribe(
        &self,
        watch: impl FnOnce() -> (FeedWatch, FeedCursor),
    ) -> Result<Arc<Receiver<End>>> {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(end) = shared.upgrade() {
            return Ok(end);
        }
        let (watch, now) = watch();
        let (sender, end) = channel(Ok(now));
        let thread = thread::Builder::new().name("terrane-feed".to_owned());
        thread
            .spawn(move || wake(&watch, now, &sender))
            .map_err(|e| Error::io("start", "the thread of the change feed", 0, e))?;
        let end = Arc::new(end);
        *shared = Arc::downgrade(&end);
        Ok(end)
    }
}

/// Sends the end of the feed to subscribers until there are none.
fn wake(watch: &FeedWatch, mut now: FeedCursor, end: &Sender<End>) {
    while !end.is_closed() {
        match watch.wait(now, LOOK) {
            Ok(later) if later == now => {}
            Ok(later) => {
                now = later;
                // It fails only if there are no subscribers, which ends the loop.
                let _ = end.send(Ok(later));
            }
            Err(e) => {
                let _ = end.send(Err(e));
                return;
            }
        }
    }
}

/// The batches of a store after a cursor: by [`Changes::next_page`], or as a `Stream`. It keeps the store open.
pub struct Changes {
    state: State,
    /// Batches that were read and not returned.
    ready: VecDeque<ChangeBatch>,
}

type Read = Result<(Vec<ChangeBatch>, Box<Subscriber>)>;

enum State {
    Idle(Box<Subscriber>),
    Reading(Pin<Box<dyn Future<Output = Read> + Send>>),
    Finished,
}

struct Subscriber {
    changes: terrane::Changes,
    readers: Readers,
    end: Receiver<End>,
    /// Keeps the thread that wakes subscribers.
    _feed: Arc<Receiver<End>>,
}

impl Changes {
    pub(crate) fn new(
        changes: terrane::Changes,
        readers: Readers,
        feed: &Feed,
        watch: impl FnOnce() -> (FeedWatch, FeedCursor),
    ) -> Result<Self> {
        let shared = feed.subscribe(watch)?;
        let end = Receiver::clone(&shared);
        let subscriber = Subscriber { changes, readers, end, _feed: shared };
        Ok(Changes { state: State::Idle(Box::new(subscriber)), ready: VecDeque::new() })
    }

    /// Waits for durable batches, and returns about 64 KiB of them, or none after an error. The future may be dropped
    /// while it waits: no batch is lost.
    ///
    /// # Errors
    /// The errors of [`terrane::Changes::try_next`].
    pub async fn next_page(&mut self) -> Result<Vec<ChangeBatch>> {
        if !self.ready.is_empty() {
            return Ok(std::mem::take(&mut self.ready).into());
        }
        std::future::poll_fn(|context| self.poll_page(context)).await.unwrap_or(Ok(Vec::new()))
    }

    fn poll_page(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Vec<ChangeBatch>>>> {
        loop {
            self.state = match std::mem::replace(&mut self.state, State::Finished) {
                State::Idle(subscriber) => State::Reading(Box::pin(subscriber.page())),
                State::Reading(mut reading) => match reading.as_mut().poll(context) {
                    Poll::Pending => {
                        self.state = State::Reading(reading);
                        return Poll::Pending;
                    }
                    Poll::Ready(Err(e)) => return Poll::Ready(Some(Err(e))),
                    Poll::Ready(Ok((page, subscriber))) => {
                        self.state = State::Idle(subscriber);
                        return Poll::Ready(Some(Ok(page)));
                    }
                },
                State::Finished => return Poll::Ready(None),
            };
        }
    }
}

impl Subscriber {
    /// Waits for batches, and reads some.
    async fn page(mut self: Box<Self>) -> Read {
        loop {
            let before = self.changes.cursor();
            let is_later = |end: &End| match end {
                Ok(end) => end.lineage != before.lineage || end.sequence > before.sequence,
                Err(_) => true,
            };
            // After an error the thread has ended, and the error stays in the channel.
            if let Ok(end) = self.end.wait_for(is_later).await {
                end.clone()?;
            }
            let readers = self.readers.clone();
            let read = readers.run(move || {
                let (mut page, mut bytes) = (Vec::new(), 0);
                while bytes < PAGE_BYTES
                    && let Some(batch) = self.changes.try_next()?
                {
                    bytes += batch.bytes();
                    page.push(batch);
                }
                Ok::<_, Error>((page, self))
            });
            let (page, subscriber) = read.await?;
            self = subscriber;
            if !page.is_empty() {
                return Ok((page, self));
            }
        }
    }
}

impl Stream for Changes {
    type Item = Result<ChangeBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(batch)));
            }
            match ready!(self.poll_page(context)) {
                Some(Ok(page)) => self.ready = page.into(),
                Some(Err(e)) => return Poll::Ready(Some(Err(e))),
                None => return Poll::Ready(None),
            }
        }
    }
}
