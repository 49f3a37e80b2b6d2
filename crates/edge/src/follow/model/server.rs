//! The server: writes, and streams of a snapshot or of changes, with the lines of the routes.

use super::history::{COUNTS, EXTRA, History, IDS, shown};
use super::machine::Machine;
use super::network::{Connection, Letter, Network, Write};
use super::{Flaw, Verdict};
use crate::http::{Filter, Format, Moment};
use std::collections::BTreeMap;
use terrane::{Changes, Closed, Condition, Db, Durability, ErrorKind, FeedCursor, Outcome};
use terrane_workload::Random;

/// The form of lines that replicas read.
const FORMAT: Format = Format { is_events: false };

/// The server.
pub struct Server {
    pub machine: Machine,
    streams: BTreeMap<Connection, Sending>,
}

/// The content of a stream.
enum Sending {
    Changes(Box<Changes>),
    Snapshot(Box<Moment>),
}

impl Server {
    pub fn new(machine: Machine) -> Self {
        Server { machine, streams: BTreeMap::new() }
    }

    /// Serves a letter. Returns the reply, unless the process is dead or dies.
    pub fn serve(
        &mut self,
        letter: Letter,
        history: &mut History,
        flaw: Option<Flaw>,
    ) -> Verdict<Option<Letter>> {
        match letter {
            // The process is dying.
            _ if self.machine.is_cut() => Ok(None),
            Letter::Write(write) => self.write(&write, history, flaw),
            Letter::Request { connection, target } => self.open(connection, &target),
            _ => Ok(None),
        }
    }

    fn write(
        &self,
        write: &Write,
        history: &mut History,
        flaw: Option<Flaw>,
    ) -> Verdict<Option<Letter>> {
        let is_early = flaw == Some(Flaw::EarlyReply);
        let durability = match write.is_durable && !is_early {
            true => Durability::Sync,
            false => Durability::Buffered,
        };
        let Some(batch) = self.machine.run(|db| write.batch(db))? else { return Ok(None) };
        history.attempt(write);
        let written = self.machine.run(|db| {
            let ids = db.create_keyspace(IDS)?;
            let absent = Condition::absent(&ids, write.id());
            let is_checked = flaw != Some(Flaw::Unconditional);
            db.write_if(is_checked.then_some(absent), batch, durability)
        })?;
        match written {
            // Whether it was written shows when the server starts again.
            None => return Ok(None),
            Some(Outcome::Written(sequence)) => {
                let lineage = self.cursor().map(|cursor| cursor.lineage);
                let Some(lineage) = lineage else { return Ok(None) };
                history.committed(FeedCursor { lineage, sequence });
            }
            Some(Outcome::Refused(_)) => history.refused(),
        }
        if write.is_durable {
            history.acknowledge(write);
        }
        Ok(Some(Letter::Acknowledged { writer: write.writer, number: write.number }))
    }

    /// Returns the end of the feed.
    pub fn cursor(&self) -> Option<FeedCursor> {
        self.machine.db().map(Db::feed_cursor)
    }

    /// Starts a stream.
    fn open(&mut self, connection: Connection, target: &str) -> Verdict<Option<Letter>> {
        let since = target.split_once("since=").map(|(_, rest)| rest);
        let since = since.and_then(|rest| rest.split('&').next()?.parse::<FeedCursor>().ok());
        let Some(since) = since else {
            if let Some(moment) = self.machine.run(Moment::begin)? {
                self.streams.insert(connection, Sending::Snapshot(Box::new(moment)));
            }
            return Ok(None);
        };
        let Some(db) = self.machine.db() else { return Ok(None) };
        match db.changes(since) {
            Ok(changes) => {
                self.streams.insert(connection, Sending::Changes(Box::new(changes)));
                Ok(None)
            }
            Err(e) if matches!(e.kind(), ErrorKind::Cursor(_)) => {
                Ok(Some(Letter::Refused { connection, status: 410 }))
            }
            Err(e) => self.machine.checked(Err(e)),
        }
    }

    /// Sends the next lines of a stream.
    pub fn send(&mut self, random: &mut Random, network: &mut Network) -> Verdict {
        let at = random.below(self.streams.len() as u64) as usize;
        let Some(&connection) = self.streams.keys().nth(at) else { return Ok(()) };
        let Some(sending) = self.streams.remove(&connection) else { return Ok(()) };
        let mut lines = Vec::new();
        let left = match sending {
            Sending::Snapshot(moment) => {
                match moment.page() {
                    // A keyspace was dropped meanwhile.
                    Err(e) if matches!(e.kind(), ErrorKind::Closed(Closed::Keyspace)) => {
                        lines = br#"{"error":{"status":404,"detail":"dropped"}}"#.to_vec();
                        None
                    }
                    paged => self.machine.checked(paged)?.and_then(|(page, left)| {
                        lines = page;
                        left.map(|left| Sending::Snapshot(Box::new(left)))
                    }),
                }
            }
            Sending::Changes(mut changes) => {
                let cursor = changes.cursor();
                match changes.try_next() {
                    Ok(Some(batch)) => Filter::default().push(&batch, FORMAT, &mut lines),
                    Ok(None) => lines = FORMAT.progress(cursor, self.cursor().unwrap_or(cursor)),
                    Err(e) if matches!(e.kind(), ErrorKind::Cursor(_)) => {
                        lines = br#"{"error":{"status":410,"detail":"gone"}}"#.to_vec();
                    }
                    Err(e) => drop(self.machine.checked::<()>(Err(e))?),
                }
                Some(Sending::Changes(changes))
            }
        };
        // A cut is noticed after a while.
        let is_cut = network.streams.get(&connection).is_some_and(|stream| stream.is_cut);
        if let Some(left) = left.filter(|_| !(is_cut && random.one_in(4))) {
            self.streams.insert(connection, left);
        }
        network.send(connection, &lines);
        Ok(())
    }

    /// Does one thing besides requests: syncs, flushes, runs jobs or drops a keyspace.
    pub fn keep(&self, random: &mut Random, history: &mut History) -> Verdict {
        match random.below(12) {
            0 => {
                if self.machine.db().is_some() {
                    history.attempt_drop();
                }
                let dropped = self.machine.run(|db| {
                    let is_there = db.drop_keyspace(EXTRA)?;
                    let sequence = db.latest_sequence();
                    Ok(is_there.then(|| FeedCursor { sequence, ..db.feed_cursor() }))
                })?;
                match dropped {
                    Some(Some(at)) => history.committed(at),
                    Some(None) => history.refused(),
                    None => {}
                }
            }
            1 | 2 => drop(self.machine.run(Db::flush)?),
            3 => drop(self.machine.run(|db| db.run_jobs(64 << 10))?),
            _ => drop(self.machine.run(Db::sync)?),
        }
        Ok(())
    }

    /// Ends the process.
    pub fn kill(&mut self, random: &mut Random) -> Verdict {
        self.streams.clear();
        self.machine.kill(random)
    }

    /// Starts the process, and compares what it has with what was written.
    pub fn start(&mut self, history: &mut History) -> Verdict {
        self.machine.start()?;
        let found = self.machine.run(|db| {
            db.create_keyspace(COUNTS)?;
            Ok((shown(db)?, db.latest_sequence(), db.feed_cursor()))
        })?;
        let Some((state, sequence, cursor)) = found else { return Ok(()) };
        history.restarted(FeedCursor { sequence, ..cursor }, &state)
    }
}
