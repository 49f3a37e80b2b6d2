//! A connection: reads requests, runs them in their order, and writes their replies.
//!
//! 1. Bytes arrive in a buffer of the thread: an idle connection has none of its own.
//! 2. All complete requests run. Their replies are written together, or earlier if they are long.
//! 3. If writes are durable, they are synced before their replies are written. A sync that fails ends the connection
//!    without these replies, since it is unknown which writes are durable; later writes are refused in words.
//! 4. A long request that is incomplete holds memory, and must arrive at the least pace.
//! 5. While requests run or replies are written nothing is read: a peer that sends without reading has to wait.
//! 6. When the server stops, the requests that were read are answered before the connection closes.

use super::executor::Executor;
use super::reply::Reply;
use super::request::{Bounds, Next, Parser};
use super::session::Replies;
use crate::limits::{FREE_BYTES, Held};
use crate::pace::{Pace, RATE};
use crate::shared::Shared;
use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::{timeout, timeout_at};

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;
/// Bytes of replies at which they are written before further requests run.
pub(super) const REPLY_BYTES: usize = 64 << 10;
/// Bytes of replies after which the thread serves its other connections: some hundred microseconds of work.
const YIELD_BYTES: usize = 512 << 10;
/// Commands after which the thread serves its other connections: some hundred microseconds of work.
const YIELD_COMMANDS: u64 = 500;
/// Time for writing replies for which no memory was left.
const UNHELD_TIME: Duration = Duration::from_secs(1);

thread_local! {
    static ARRIVING: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES].into());
}

/// A peer's connection.
pub(super) struct Connection<S> {
    stream: S,
    shared: Arc<Shared>,
    parser: Parser,
    /// Present while a long request is incomplete.
    long: Option<Box<LongRequest>>,
    executor: Executor,
}

/// Memory and pace of a long request that is incomplete.
struct LongRequest {
    held: Held,
    pace: Pace,
}

/// Whether a connection stays open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Open,
    Closing,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub fn new(stream: S, peer: SocketAddr, shared: Arc<Shared>) -> Self {
        let executor = Executor::new(peer, shared.clone());
        Connection { stream, shared, parser: Parser::default(), long: None, executor }
    }

    /// Serves the peer until one side closes the connection.
    ///
    /// # Errors
    /// A failure of the stream.
    pub async fn run(mut self) -> io::Result<()> {
        let stopping = self.shared.stopping.clone();
        let mut stopped = std::pin::pin!(stopping.cancelled());
        loop {
            self.parser.release();
            let read = std::future::poll_fn(|context| {
                match poll_fill(&mut self.stream, &mut self.parser, context) {
                    Poll::Pending => stopped.as_mut().poll(context).map(|()| Ok(0)),
                    ready => ready,
                }
            });
            let arrived = match &mut self.long {
                None => read.await?,
                Some(long) => {
                    let Ok(arrived) = Box::pin(timeout_at(long.pace.deadline(), read)).await else {
                        self.refuse_slow().await?;
                        break;
                    };
                    let arrived = arrived?;
                    long.pace.arrived(arrived);
                    arrived
                }
            };
            if arrived == 0 {
                break;
            }
            let fate = self.serve().await?;
            if fate == Fate::Closing || self.shared.stopping.is_cancelled() {
                break;
            }
        }
        self.stream.shutdown().await
    }

    /// Runs the requests that have arrived.
    async fn serve(&mut self) -> io::Result<Fate> {
        let mut reply = self.executor.new_reply();
        let mut commands = 0;
        let mut fate = loop {
            let bounds = Bounds {
                argument_bytes: self.shared.limits.value_bytes,
                request_bytes: self.shared.limits.batch_bytes,
                is_trusted: self.executor.session.grant.is_some(),
            };
            match self.parser.next(&bounds) {
                Ok(Next::Incomplete) => break Fate::Open,
                Ok(Next::Request(arguments)) => {
                    commands += 1;
                    if self.executor.runs_deferred_before(arguments) {
                        run_deferred(&mut self.stream, &mut self.executor, &mut reply).await?;
                    }
                    if !self.executor.run(arguments, &mut reply).await {
                        break Fate::Closing;
                    }
                }
                Ok(Next::TooLong { found, limit }) => {
                    run_deferred(&mut self.stream, &mut self.executor, &mut reply).await?;
                    self.executor.refuse_too_long(found, limit, &mut reply).await;
                }
                Err(broken) => {
                    run_deferred(&mut self.stream, &mut self.executor, &mut reply).await?;
                    self.executor.finish_writes(&mut reply).await;
                    reply.error(&format!("ERR {broken}"));
                    break Fate::Closing;
                }
            }
            if reply.len() >= REPLY_BYTES {
                let is_long = reply.len() >= YIELD_BYTES;
                write(&mut self.stream, &mut self.executor, &mut reply).await?;
                if is_long {
                    tokio::task::yield_now().await;
                }
            }
        };
        run_deferred(&mut self.stream, &mut self.executor, &mut reply).await?;
        self.shared.metrics.resp_commands.add(commands);
        self.executor.finish_writes(&mut reply).await;
        if fate == Fate::Open && !self.hold_incomplete() {
            reply.error("OOM too many bytes of requests are held");
            fate = Fate::Closing;
        }
        write(&mut self.stream, &mut self.executor, &mut reply).await?;
        if commands > YIELD_COMMANDS {
            tokio::task::yield_now().await;
        }
        self.executor.protocol = reply.protocol;
        Ok(fate)
    }

    /// Takes memory for a request that is incomplete, if it is long. Returns whether enough was left.
    fn hold_incomplete(&mut self) -> bool {
        let bytes = self.parser.incomplete_bytes();
        if bytes <= FREE_BYTES {
            self.long = None;
            return true;
        }
        let limits = &self.shared.limits;
        let start = || Box::new(LongRequest { held: limits.hold_nothing(), pace: limits.pace() });
        let is_left = self.long.get_or_insert_with(start).held.cover(bytes);
        if !is_left {
            self.long = None;
        }
        is_left
    }

    /// Refuses a long request that arrives too slowly.
    async fn refuse_slow(&mut self) -> io::Result<()> {
        let mut reply = self.executor.new_reply();
        reply.error(&format!("ERR the request arrives too slowly: expected {RATE} bytes a second"));
        write(&mut self.stream, &mut self.executor, &mut reply).await
    }
}

/// Runs the deferred reads, and writes replies as they get long.
async fn run_deferred(
    stream: &mut (impl AsyncWrite + Unpin),
    executor: &mut Executor,
    reply: &mut Reply,
) -> io::Result<()> {
    while executor.has_deferred() {
        executor.run_deferred(reply).await;
        if reply.len() >= REPLY_BYTES {
            write(stream, executor, reply).await?;
        }
    }
    Ok(())
}

/// Writes the replies; if writes are durable, after a sync of all that they show.
async fn write(
    stream: &mut (impl AsyncWrite + Unpin),
    executor: &mut Executor,
    reply: &mut Reply,
) -> io::Result<()> {
    if reply.is_empty() {
        return Ok(());
    }
    let is_held = reply.cover_all(&executor.shared.limits);
    let encoded = reply.take();
    let has_written = std::mem::take(&mut executor.has_written);
    if let Err(error) = executor.shared.wait_durable(has_written).await {
        executor.shared.health.note(&error);
        return Err(io::Error::other(error));
    }
    if executor.session.replies != Replies::Off {
        let write = stream.write_all(&encoded.bytes);
        if is_held {
            write.await?;
        } else {
            // The memory of many short replies is taken only here. A peer that reads at once gets them all the same.
            Box::pin(timeout(UNHELD_TIME, write)).await??;
        }
    }
    stream.flush().await
}

/// Appends bytes that have arrived to the parser's input. Returns their number, 0 at the end of the stream.
fn poll_fill(
    stream: &mut (impl AsyncRead + Unpin),
    parser: &mut Parser,
    context: &mut Context<'_>,
) -> Poll<io::Result<usize>> {
    ARRIVING.with_borrow_mut(|arriving| {
        let mut buffer = ReadBuf::new(arriving);
        ready!(Pin::new(stream).poll_read(context, &mut buffer))?;
        parser.fill(buffer.filled());
        Poll::Ready(Ok(buffer.filled().len()))
    })
}
