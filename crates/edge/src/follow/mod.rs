//! A read replica: follows the changes of another server into a store of its own.
//!
//! * `source` - the server that is followed: its address, and requests to it.
//! * `lines` - parsing of the lines of a stream.
//! * `exchange` - the requests to it and what their lines do, without the network.
//! * `apply` - writing of lines into the replica's store, each with the cursor after it.
//! * `progress` - the state of the replica, for replies, readiness and waits.
//! * `record` - the record of the source in the replica's store.
//!
//! 1. A store without a cursor is emptied, and loads a snapshot of the source. The last batch of the snapshot has its
//!    cursor.
//! 2. Then each batch of the changes is one batch here, with its cursor in a reserved keyspace. So a replica that is
//!    killed at any moment, or loses power, has a cursor that fits its rows, and continues there.
//! 3. If the source refuses the cursor, the cursor is deleted first. Then the store is emptied, as in step 1.
//! 4. If the connection fails, it is tried again after pauses that double up to five seconds.
//!
//! `model` plays schedules of failures on steps 1 to 3.

mod apply;
mod exchange;
mod lines;
#[cfg(test)]
mod model;
mod progress;
mod record;
mod source;

pub use progress::Replica;
pub use record::{is_replica, promote};
pub use source::Source;

use exchange::{Exchange, Next};
use lines::{Line, Lines};
use std::sync::Arc;
use std::time::Duration;
use terrane_tokio::Db;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// The first pause before another connection.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// Time without a line after which a connection counts as dead.
const SILENCE: Duration = Duration::from_secs(20);

/// Reason why a connection to the source ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Ended {
    /// The source refuses the cursor.
    #[error("the source no longer has the changes after the replica's cursor")]
    Gone,
    /// The source failed, or the connection to it.
    #[error("{0}")]
    Source(String),
    /// The replica's store failed.
    #[error(transparent)]
    Store(#[from] terrane::Error),
}

/// Follows the source until the server stops.
pub(crate) async fn run(
    db: Db,
    source: Source,
    replica: Arc<Replica>,
    stopping: CancellationToken,
) {
    let mut pause = PAUSE;
    loop {
        let ended = tokio::select! {
            ended = follow(&db, &source, &replica) => ended,
            () = stopping.cancelled() => return,
        };
        let Err(ended) = ended;
        if replica.ended(&ended) {
            pause = PAUSE;
        }
        tokio::select! {
            () = sleep(pause) => {}
            () = stopping.cancelled() => return,
        }
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// Follows the source until an error.
async fn follow(
    db: &Db,
    source: &Source,
    replica: &Arc<Replica>,
) -> Result<std::convert::Infallible, Ended> {
    let (name, replica) = (source.to_string(), replica.clone());
    let mut exchange = db.run(move |db| Exchange::start(db, &name, replica)).await?;
    loop {
        let mut lines = match source.get(&exchange.request()).await? {
            Ok(body) => Lines::new(body),
            Err(status) => return db.run(move |_| Err(exchange.refused(status))).await,
        };
        loop {
            let line = next(&mut lines).await?;
            let handled = db.run(move |_| exchange.line(&line).map(|wanted| (wanted, exchange)));
            let wanted;
            (wanted, exchange) = handled.await?;
            if wanted == Next::Request {
                break;
            }
        }
    }
}

/// Waits for a line.
async fn next(lines: &mut Lines) -> Result<Line, Ended> {
    match timeout(SILENCE, lines.next()).await {
        Ok(line) => line,
        Err(_) => Err(Ended::Source("the source sent no line within 20 seconds".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};
    use tokio::runtime::Runtime;

    #[test]
    fn a_runtime_that_shuts_down_ends_the_exchange() {
        let dir = tempfile::tempdir().unwrap();
        let db = terrane::Db::open(dir.path().join("db"), terrane::Options::default()).unwrap();
        let source = Source::parse("http://127.0.0.1:1", None, None).unwrap();
        let replica = Arc::new(Replica::new(Duration::MAX));
        let runtime = Runtime::new().unwrap();
        let handle = runtime.handle().clone();
        runtime.shutdown_background();
        let _entered = handle.enter();
        let db = Db::from(db);
        let polled =
            pin!(follow(&db, &source, &replica)).poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(Err(ended)) = polled else { panic!("{polled:?}") };
        assert!(matches!(ended, Ended::Store(_)), "{ended}");
    }
}
