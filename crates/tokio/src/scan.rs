//! Scans: a range page by page. Each page is read on a blocking thread, the next one when it is asked for.

use crate::db::Readers;
use futures_core::Stream;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use terrane::Result;

/// Bytes of keys and values at which a page ends.
const PAGE_BYTES: usize = 64 << 10;

/// Rows of a scan: keys and values, in order.
pub type Page = Vec<(Vec<u8>, Vec<u8>)>;

/// The rows of a range, page by page, as they were when the first page was read: by [`Scan::next_page`], or as a
/// `Stream` of pages.
///
/// It pins what it reads: drop it when done.
pub struct Scan {
    readers: Readers,
    state: State,
}

type Begin = Box<dyn FnOnce() -> Result<terrane::Scan> + Send>;
type Read = Result<(Page, terrane::Scan)>;

enum State {
    Unstarted(Begin),
    Idle(Box<terrane::Scan>),
    Reading(Pin<Box<dyn Future<Output = Read> + Send>>),
    Finished,
}

impl Scan {
    pub(crate) fn new(
        readers: Readers,
        begin: impl FnOnce() -> Result<terrane::Scan> + Send + 'static,
    ) -> Self {
        Scan { readers, state: State::Unstarted(Box::new(begin)) }
    }

    /// Returns the next rows, about 64 KiB of them; `None` at the end of the range.
    ///
    /// # Errors
    /// A keyspace that was dropped, damage, or an I/O error; the scan is at its end then.
    pub async fn next_page(&mut self) -> Result<Option<Page>> {
        std::future::poll_fn(|context| self.poll_page(context)).await.transpose()
    }

    fn poll_page(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Page>>> {
        loop {
            self.state = match std::mem::replace(&mut self.state, State::Finished) {
                State::Unstarted(begin) => {
                    let page = move || page(begin()?);
                    State::Reading(Box::pin(self.readers.clone().run(page)))
                }
                State::Idle(scan) => {
                    State::Reading(Box::pin(self.readers.clone().run(move || page(*scan))))
                }
                State::Reading(mut reading) => match reading.as_mut().poll(context) {
                    Poll::Pending => {
                        self.state = State::Reading(reading);
                        return Poll::Pending;
                    }
                    Poll::Ready(Err(e)) => return Poll::Ready(Some(Err(e))),
                    Poll::Ready(Ok((page, _))) if page.is_empty() => return Poll::Ready(None),
                    Poll::Ready(Ok((page, scan))) => {
                        self.state = State::Idle(Box::new(scan));
                        return Poll::Ready(Some(Ok(page)));
                    }
                },
                State::Finished => return Poll::Ready(None),
            };
        }
    }
}

impl Stream for Scan {
    type Item = Result<Page>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let page = ready!(self.poll_page(context));
        Poll::Ready(page)
    }
}

/// Reads a page.
fn page(mut scan: terrane::Scan) -> Read {
    let (mut page, mut bytes) = (Page::new(), 0);
    while bytes < PAGE_BYTES
        && let Some(row) = scan.next()
    {
        let (key, value) = row?;
        bytes += key.len() + value.len();
        page.push((key, value));
    }
    Ok((page, scan))
}
