//! Transactions: the commands between MULTI and EXEC, which take effect as one batch.
//!
//! 1. Commands are queued with their arguments. A command that would be refused makes EXEC fail.
//! 2. EXEC runs those that use the store in one transaction of the store, each with the database that it has by then.
//! 3. The transaction fails if a watched key has another sequence number than at WATCH: a key that was written, that
//!    expired, or that was removed. A key without a value has no number: it fails if it was written since, even if it
//!    was removed again.
//! 4. Commands of the connection run afterwards; all replies are put in order.

use super::access::{Access, Changes};
use super::commands::{Body, Command, Context, Run};
use super::databases;
use super::failure::Failure;
use super::reply::{Protocol, Reply};
use super::request::{Arguments, OwnedArguments};
use crate::limits::Held;
use crate::shared::Shared;
use crate::tokens::Grant;
use terrane::entry::Seq;
use terrane::{Snapshot, Transaction};

/// The most commands of a transaction.
const COMMANDS_MAX: usize = 1 << 20;

/// A watched key, and what WATCH found.
pub(crate) struct Watched {
    pub database: usize,
    pub key: Box<[u8]>,
    pub found: AtWatch,
}

/// A watched key at WATCH.
pub(crate) enum AtWatch {
    /// It had a value, with this number.
    Value(Seq),
    /// It had none at this moment.
    Nothing(Snapshot),
}

/// A command that waits for EXEC.
pub(crate) struct Queued {
    pub command: &'static Command,
    pub arguments: OwnedArguments,
}

/// The commands since MULTI.
pub(crate) struct Queue {
    commands: Vec<Queued>,
    bytes: usize,
    held: Held,
    /// The database of the next command.
    pub database: usize,
    /// Whether a command was refused.
    pub is_broken: bool,
}

impl Queue {
    pub fn new(database: usize, shared: &Shared) -> Self {
        let held = shared.limits.hold_nothing();
        Queue { commands: Vec::new(), bytes: 0, held, database, is_broken: false }
    }

    /// Queues a command.
    ///
    /// # Errors
    /// More bytes or commands than a transaction or the server takes.
    pub fn push(
        &mut self,
        command: &'static Command,
        arguments: Arguments<'_>,
        shared: &Shared,
    ) -> Result<(), Failure> {
        let (bytes, limit) = (arguments.size(), shared.limits.batch_bytes);
        if self.bytes + bytes > limit {
            return Err(Failure::too_long("transaction", self.bytes + bytes, limit));
        }
        if self.commands.len() >= COMMANDS_MAX {
            return Err(format!("ERR a transaction has at most {COMMANDS_MAX} commands").into());
        }
        if !self.held.grow(bytes) {
            return Err("OOM command not allowed: too many bytes of requests are held".into());
        }
        self.bytes += bytes;
        self.commands.push(Queued { command, arguments: arguments.to_owned() });
        Ok(())
    }
}

/// A command of a transaction, with all that it needs.
enum Step {
    /// One of the connection, which runs later.
    Local(Queued),
    Store {
        body: Body,
        arguments: OwnedArguments,
        database: usize,
    },
}

/// A transaction that is executed.
pub(crate) struct Execution {
    steps: Vec<Step>,
    watched: Vec<Watched>,
    bytes: usize,
    _held: Held,
}

/// The replies of a transaction, and the end of each; `None` if a watched key has changed.
pub(crate) type Executed = Option<(Vec<u8>, Vec<usize>)>;

impl Execution {
    /// Assigns databases to the commands, as SELECT among them asks.
    pub fn new(queue: Queue, watched: Vec<Watched>, database: usize) -> Self {
        let mut database = database;
        let Queue { commands, bytes, held, .. } = queue;
        let step = |queued: Queued| match queued.command.run {
            Run::Local(_) => {
                let arguments = queued.arguments.as_arguments();
                let selected = databases::parse(arguments.at(1));
                if let ("select", Some(selected)) = (queued.command.name, selected) {
                    database = selected;
                }
                Step::Local(queued)
            }
            Run::Read(body)
            | Run::Scan(body)
            | Run::Write(body)
            | Run::Update(body)
            | Run::UpdateUnless(body, _) => {
                Step::Store { body, arguments: queued.arguments, database }
            }
        };
        let steps = commands.into_iter().map(step).collect();
        Execution { steps, watched, bytes, _held: held }
    }

    /// Returns the bytes of all arguments, and the number of commands.
    pub fn size(&self) -> (usize, usize) {
        (self.bytes, self.steps.len())
    }

    /// Whether nothing of it uses the store.
    pub fn is_local(&self) -> bool {
        self.watched.is_empty() && self.steps.iter().all(|step| matches!(step, Step::Local(_)))
    }

    /// Runs the commands that use the store.
    ///
    /// # Errors
    /// An error of the store, which leaves nothing written.
    pub fn run(
        &self,
        transaction: &mut Transaction,
        shared: &Shared,
        grant: &Grant,
        protocol: Protocol,
    ) -> Result<Executed, Failure> {
        let mut access = Changes(transaction);
        for Watched { database, key, found } in &self.watched {
            let keyspace = shared.resp.databases.get(*database).ok_or("ERR no such database")?;
            let has_changed = match found {
                AtWatch::Nothing(then) => access.0.has_changed(keyspace.inner(), key, then)?,
                AtWatch::Value(seq) => {
                    let value = access.get(keyspace.inner(), key)?;
                    value.and_then(|value| value.seq) != Some(*seq)
                }
            };
            if has_changed {
                return Ok(None);
            }
        }
        let (mut reply, mut ends) = (Reply::new(protocol), Vec::new());
        for step in &self.steps {
            let Step::Store { body, arguments, database } = step else { continue };
            let keyspace = shared.resp.databases.get(*database).ok_or("ERR no such database")?;
            let start = reply.len();
            let mut context = Context {
                access: &mut access,
                database: *database,
                keyspace: keyspace.inner(),
                shared,
                grant,
                reply: &mut reply,
            };
            match body(&mut context, arguments.as_arguments()) {
                Ok(()) => super::commands::check_reply(&context)?,
                // The others run all the same.
                Err(failure @ Failure::Words(_)) => {
                    reply.truncate(start);
                    reply.failure(&failure);
                }
                Err(failure) => return Err(failure),
            }
            ends.push(reply.len());
        }
        Ok(Some((reply.take(), ends)))
    }

    /// Returns the number of replies.
    pub fn replies(&self) -> usize {
        self.steps.len()
    }

    /// Returns the commands of the connection, each with its place among all.
    pub fn into_locals(self) -> impl Iterator<Item = Option<Queued>> {
        self.steps.into_iter().map(|step| match step {
            Step::Local(queued) => Some(queued),
            Step::Store { .. } => None,
        })
    }
}
