//! Reads of a connection.
//!
//! 1. A read runs in place if memory has its keys.
//! 2. Otherwise it is deferred, and so are the reads that follow it. Deferred reads run in one call on a reader's
//!    thread, at one moment of the store. The way there and back takes as long as some ten reads of blocks that the
//!    system has in memory.
//! 3. Deferred reads run before any other command, and when they are many.
//! 4. A scan always runs on a reader's thread, by itself.

use super::access::{Access, Moment, Present};
use super::commands::{self, Run};
use super::connection::REPLY_BYTES;
use super::executor::{Call, Executor, REFUSAL_PAUSE, keyspace, run_body};
use super::failure::Failure;
use super::reply::{Encoded, Protocol, Reply};
use super::request::Arguments;

/// The most arguments of a read that runs in place: some hundred microseconds of work.
const IN_PLACE_ARGUMENTS: usize = 256;
/// The most reads that are deferred.
const DEFERRED_MAX: usize = 256;

/// A read for another thread, which runs it on an access there. Returns the reply.
pub(super) type DeferredRead =
    Box<dyn FnOnce(&mut dyn Access) -> Result<Encoded, Failure> + Send + Sync>;

impl Executor {
    pub(super) async fn read(&mut self, call: Call<'_>, reply: &mut Reply) -> Result<(), Failure> {
        self.finish_writes(reply).await;
        if self.deferred.is_empty() && call.arguments.len() <= IN_PLACE_ARGUMENTS {
            match self.read_in_place(call, reply) {
                Err(Failure::WouldWait) => {}
                done => return done,
            }
        }
        self.deferred.push(Box::new(self.detached(call, reply.protocol)));
        Ok(())
    }

    fn read_in_place(&self, call: Call<'_>, reply: &mut Reply) -> Result<(), Failure> {
        let keyspace = keyspace(&self.shared, call.database)?;
        let keys = if call.command.arity == 2 { 1 } else { call.arguments.len() - 1 };
        let mut access = Present::new(self.shared.db.inner(), keyspace, keys)?;
        self.run_on(&mut access, call, reply)
    }

    /// Whether there are deferred reads.
    pub fn has_deferred(&self) -> bool {
        !self.deferred.is_empty()
    }

    /// Whether the deferred reads must run before a command.
    pub fn runs_deferred_before(&self, arguments: Arguments<'_>) -> bool {
        let is_read = || {
            let command = commands::find(arguments.at(0));
            command.is_some_and(|command| matches!(command.run, Run::Read(_)))
        };
        self.deferred.len() >= DEFERRED_MAX || self.has_deferred() && !is_read()
    }

    /// Runs deferred reads until their replies are long; the others stay deferred.
    pub async fn run_deferred(&mut self, reply: &mut Reply) {
        let reads = std::mem::take(&mut self.deferred);
        let count = reads.len();
        let run = self.shared.db.read(move |db| {
            let mut reads = reads.into_iter();
            let (mut replies, mut bytes) = (Vec::new(), 0);
            let mut moment = Moment::new(db);
            while bytes < REPLY_BYTES
                && let Some(read) = reads.next()
            {
                let encoded = read(&mut moment);
                bytes += encoded.as_ref().map_or(0, |encoded| encoded.bytes.len());
                replies.push(encoded);
            }
            Ok((replies, reads.collect()))
        });
        match run.await {
            Ok((replies, left)) => {
                self.deferred = left;
                let mut is_refused = false;
                for encoded in replies {
                    match encoded {
                        Ok(encoded) => reply.append(encoded),
                        Err(failure) => {
                            is_refused |= failure.is_no_memory();
                            self.fail(&failure, reply);
                        }
                    }
                }
                if is_refused {
                    tokio::time::sleep(REFUSAL_PAUSE).await;
                }
            }
            Err(failure) => (0..count).for_each(|_| self.fail(&failure, reply)),
        }
    }

    /// Runs a scan on a reader's thread.
    pub(super) async fn scan(&self, call: Call<'_>, reply: &mut Reply) -> Result<(), Failure> {
        let run = self.detached(call, reply.protocol);
        let read = self.shared.db.read(move |db| run(&mut Moment::new(db)));
        reply.append(read.await?);
        Ok(())
    }

    /// Returns a function for another thread, which runs a call on an access there and returns the reply.
    pub(super) fn detached(
        &self,
        Call { body, grant, database, arguments, .. }: Call<'_>,
        protocol: Protocol,
    ) -> impl Fn(&mut dyn Access) -> Result<Encoded, Failure> + Send + Sync + 'static + use<> {
        let (owned, shared, grant) = (arguments.to_owned(), self.shared.clone(), grant.clone());
        move |access| {
            let mut reply = Reply::new(protocol);
            let arguments = owned.as_arguments();
            run_body(access, body, &shared, &grant, database, arguments, &mut reply)?;
            Ok(reply.take())
        }
    }
}
