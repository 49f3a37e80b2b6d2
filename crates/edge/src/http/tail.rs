//! The newest changes as lines, encoded once for all clients who ask for everything.
//!
//! 1. While there are such clients, a task reads the feed and appends a page of lines for each read.
//! 2. A client takes the lines after its cursor. One that is behind the pages reads the log by itself until it has
//!    caught up: nobody waits for it, and it has no queue.
//! 3. Beyond [`BYTES`] the oldest pages are forgotten. Their memory counts as that of replies until no client is being
//!    sent one.
//! 4. If the feed fails, or memory is missing, the pages are over, and each client reads the log by itself.

use super::change_lines::{Filter, Format};
use super::keys::{HeldValue, hold};
use crate::shared::Shared;
use axum::body::Bytes;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use terrane::{ChangeBatch, FeedCursor, Result, Seq};
use terrane_tokio::Changes;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Bytes of lines that are kept.
const BYTES: usize = 4 << 20;

/// The newest lines in each form, while there are clients for them.
#[derive(Default)]
pub(crate) struct Tails([Mutex<Weak<Tail>>; 2]);

/// The newest lines.
pub(crate) struct Tail {
    pages: Mutex<Pages>,
    /// The end of the lines, whose change wakes clients.
    end: watch::Sender<FeedCursor>,
    /// Guard whose drop ends the task.
    _reads: DropGuard,
}

struct Pages {
    /// Oldest first, without a gap.
    all: VecDeque<Page>,
    bytes: usize,
    /// The cursor before the first page.
    start: FeedCursor,
    is_over: bool,
}

/// Lines of consecutive batches.
struct Page {
    lines: Bytes,
    /// The end of each line, after the sequence number of its batch.
    ends: Vec<(Seq, usize)>,
    after: FeedCursor,
}

/// Lines after a cursor.
pub(super) enum Found {
    /// Lines, and the cursor after them.
    Lines(Bytes, FeedCursor),
    /// There are no lines yet.
    End,
    /// The log has them.
    Log,
    /// The pages are over.
    Over,
}

impl Tail {
    /// Returns the newest lines in a form. Starts their task if there is none.
    ///
    /// # Errors
    /// A closed store; a thread that cannot be started.
    pub fn of(shared: &Arc<Shared>, format: Format) -> Result<Arc<Tail>> {
        let [plain, events] = &shared.tails.0;
        let slot = if format.is_events { events } else { plain };
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tail) = slot.upgrade().filter(|tail| !tail.pages().is_over) {
            return Ok(tail);
        }
        let start = shared.db.inner().feed_cursor();
        let changes = shared.db.changes(start)?;
        let done = CancellationToken::new();
        let pages = Pages { all: VecDeque::new(), bytes: 0, start, is_over: false };
        let tail = Arc::new(Tail {
            pages: Mutex::new(pages),
            end: watch::Sender::new(start),
            _reads: done.clone().drop_guard(),
        });
        *slot = Arc::downgrade(&tail);
        tokio::spawn(read(slot.clone(), shared.clone(), changes, format, done));
        Ok(tail)
    }

    /// Returns the lines after a cursor.
    pub fn after(&self, cursor: FeedCursor) -> Found {
        let end = *self.end.borrow();
        let pages = self.pages();
        if pages.is_over {
            return Found::Over;
        }
        if cursor.lineage != end.lineage || cursor.sequence < pages.start.sequence {
            return Found::Log;
        }
        let at = pages.all.partition_point(|page| page.after.sequence <= cursor.sequence);
        let Some(page) = pages.all.get(at) else { return Found::End };
        let before = page.ends.partition_point(|(sequence, _)| *sequence <= cursor.sequence);
        let from = before.checked_sub(1).and_then(|line| page.ends.get(line));
        Found::Lines(page.lines.slice(from.map_or(0, |(_, end)| *end)..), page.after)
    }

    /// Waits until there may be lines after a cursor that had none.
    pub async fn moved(&self, cursor: FeedCursor) {
        let mut end = self.end.subscribe();
        let is_later = |end: &FeedCursor| {
            end.lineage != cursor.lineage || end.sequence > cursor.sequence || self.pages().is_over
        };
        // The sender lives as long as this.
        let _ = end.wait_for(is_later).await;
    }

    /// Appends the lines of batches.
    fn push(&self, shared: &Shared, format: Format, batches: &[ChangeBatch]) -> Option<()> {
        let after = batches.last()?.cursor();
        let (mut lines, mut ends) = (Vec::new(), Vec::new());
        for batch in batches {
            Filter::default().push(batch, format, &mut lines);
            ends.push((batch.cursor().sequence, lines.len()));
        }
        let held = hold(shared, lines.capacity()).ok()?;
        let mut pages = self.pages();
        pages.bytes += lines.len();
        pages.all.push_back(Page { lines: HeldValue::bytes(lines, held), ends, after });
        while pages.bytes > BYTES
            && let Some(oldest) = pages.all.pop_front()
        {
            pages.bytes -= oldest.lines.len();
            pages.start = oldest.after;
        }
        drop(pages);
        self.end.send_replace(after);
        Some(())
    }

    fn finish(&self) {
        self.pages().is_over = true;
        self.end.send_modify(|_| ());
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Appends lines while there are clients.
async fn read(
    tail: Weak<Tail>,
    shared: Arc<Shared>,
    mut changes: Changes,
    format: Format,
    done: CancellationToken,
) {
    loop {
        let next = tokio::select! {
            next = changes.next_page() => next,
            () = done.cancelled() => return,
            () = shared.stopping.cancelled() => return,
        };
        let Some(tail) = tail.upgrade() else { return };
        let pushed = next.ok().and_then(|batches| tail.push(&shared, format, &batches));
        if pushed.is_none() {
            return tail.finish();
        }
    }
}
