//! Streams that fail once their peer has not read for a while.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream whose writes fail if the peer takes none of their bytes for `patience`.
pub(crate) struct Progressing<S> {
    stream: S,
    patience: Duration,
    /// Runs while a write waits.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S> Progressing<S> {
    pub fn new(stream: S, patience: Duration) -> Self {
        Progressing { stream, patience, timer: None }
    }

    /// Passes the outcome of a write on, or fails if writes have waited for too long.
    fn check<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.timer = None;
            return outcome;
        }
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(self.patience)));
        match timer.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Progressing<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Progressing<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.check(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.check(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = Pin::new(&mut self.stream).poll_shutdown(context);
        self.check(context, closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    #[tokio::test]
    async fn a_write_fails_once_its_reader_makes_no_progress() {
        let (near, mut far) = duplex(4);
        let mut near = Progressing::new(near, Duration::from_millis(10));
        near.write_all(b"four").await.unwrap();
        let failed = near.write_all(b"more").await.unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::TimedOut);
        let mut read = [0; 4];
        far.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"four");
    }

    #[tokio::test]
    async fn a_reader_that_makes_progress_is_waited_for() {
        let (near, mut far) = duplex(4);
        let mut near = Progressing::new(near, Duration::from_secs(3600));
        let writer = tokio::spawn(async move { near.write_all(&[7; 1000]).await });
        let mut read = vec![0; 1000];
        far.read_exact(&mut read).await.unwrap();
        writer.await.unwrap().unwrap();
        assert_eq!(read, [7; 1000]);
    }
}
