//! Transactions: the commands between MULTI and EXEC, which take effect as one batch.
//!
//! 1. Commands are queued with their arguments. A command that would be refused makes EXEC fail.
//! 2. EXEC runs the commands that use the store in one transaction of the store, each on the database that was selected
//!    before it.
//! 3. The transaction fails if a watched key has another sequence number than at WATCH, since it was written, was
//!    removed or expired. A key without a value has no number: the transaction fails if it was written since, even if
//!    it was removed again.
//! 4. Commands of the connection itself run afterwards. All replies are put in the order of their commands.

use super::access::{Access, Changes};
use super::commands::{Body, Command, check_reply, keys};
use super::databases::{self, DATABASES};
use super::executor::in_database;
use super::failure::Failure;
use super::reply::{Encoded, Protocol, Reply};
use super::request::{Arguments, OwnedArguments, SPAN_BYTES};
use crate::limits::Held;
use crate::shared::Shared;
use crate::tokens::Grant;
use std::collections::HashMap;
use terrane::Snapshot;
use terrane::entry::Seq;

/// The most commands of a transaction.
const COMMANDS_MAX: usize = 1 << 20;
/// Approximate memory of a queued command and its step, in bytes beside its arguments.
const COMMAND_BYTES: usize = 192;
/// Approximate memory of a watched key, in bytes beside the key.
const WATCHED_BYTES: usize = 192;

/// The keys that a connection watches, with their databases, and what WATCH found.
#[derive(Default)]
pub(crate) struct Watched {
    pub keys: HashMap<(usize, Box<[u8]>), AtWatch>,
    memory: usize,
    held: Option<Held>,
}

impl Watched {
    /// Takes memory for another key. Returns whether enough was left.
    #[must_use]
    pub fn cover(&mut self, key: &[u8], shared: &Shared) -> bool {
        self.memory += key.len() + WATCHED_BYTES;
        let held = self.held.get_or_insert_with(|| shared.limits.hold_nothing());
        held.cover(self.memory)
    }
}

/// A watched key at WATCH.
pub(crate) enum AtWatch {
    /// It had a value with this sequence number.
    Value(Seq),
    /// It had no value at this moment.
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
    /// Bytes of all arguments.
    bytes: usize,
    /// Bytes of memory, with that of the commands themselves.
    memory: usize,
    held: Held,
    /// The database of the next command.
    pub database: usize,
    /// Whether a command was refused.
    pub is_broken: bool,
}

impl Queue {
    pub fn new(database: usize, shared: &Shared) -> Self {
        let held = shared.limits.hold_nothing();
        Queue { commands: Vec::new(), bytes: 0, memory: 0, held, database, is_broken: false }
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
        let memory = self.memory + bytes + arguments.len() * SPAN_BYTES + COMMAND_BYTES;
        if !self.held.cover(memory) {
            return Err(Failure::NO_MEMORY.into());
        }
        (self.bytes, self.memory) = (self.bytes + bytes, memory);
        self.commands.push(Queued { command, arguments: arguments.to_owned() });
        Ok(())
    }
}

/// A command of a transaction, with all that it needs.
enum Step {
    /// A command of the connection itself, which runs later.
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
    watched: Watched,
    /// Whether each database is used.
    uses: [bool; DATABASES],
    bytes: usize,
    _held: Held,
}

/// The replies of a transaction, and the end of each; `None` if a watched key has changed.
pub(crate) type Executed = Option<(Encoded, Vec<usize>)>;

impl Execution {
    /// Assigns a database to each command, as SELECT among them demands.
    pub fn new(queue: Queue, watched: Watched, database: usize) -> Self {
        let mut database = database;
        let mut uses = [false; DATABASES];
        let mut note = |database: usize| {
            if let Some(is_used) = uses.get_mut(database) {
                *is_used = true;
            }
        };
        watched.keys.keys().for_each(|(database, _)| note(*database));
        let Queue { commands, bytes, held, .. } = queue;
        let step = |queued: Queued| match queued.command.run.body() {
            None => {
                let arguments = queued.arguments.as_arguments();
                let selected = databases::parse(arguments.at(1));
                if let ("select", Some(selected)) = (queued.command.name, selected) {
                    database = selected;
                }
                Step::Local(queued)
            }
            Some(body) => {
                let (command, arguments) = (queued.command, queued.arguments);
                let other = keys::other_database(command, arguments.as_arguments());
                other.into_iter().for_each(&mut note);
                // FLUSHALL uses the databases that exist, and the selected one need not be among them.
                let is_flush = command.name == "flushall";
                if is_flush {
                    (0..DATABASES).for_each(&mut note);
                }
                let database = if is_flush { 0 } else { database };
                note(database);
                Step::Store { body, arguments, database }
            }
        };
        let steps = commands.into_iter().map(step).collect();
        Execution { steps, watched, uses, bytes, _held: held }
    }

    /// Returns the databases of its commands and of watched keys.
    pub fn databases(&self) -> impl Iterator<Item = usize> {
        self.uses.iter().enumerate().filter_map(|(number, is_used)| is_used.then_some(number))
    }

    /// Returns the bytes of all arguments, and the number of commands.
    pub fn size(&self) -> (usize, usize) {
        (self.bytes, self.steps.len())
    }

    /// Whether no command uses the store.
    pub fn is_local(&self) -> bool {
        self.watched.keys.is_empty() && self.steps.iter().all(|step| matches!(step, Step::Local(_)))
    }

    /// Runs the commands that use the store.
    ///
    /// # Errors
    /// An error of the store, which leaves nothing written.
    pub fn run(
        &self,
        mut access: Changes<'_>,
        shared: &Shared,
        grant: &Grant,
        protocol: Protocol,
    ) -> Result<Executed, Failure> {
        for ((database, key), found) in &self.watched.keys {
            // In a database that does not exist, a watched key had no value, and has none.
            let Some(keyspace) = shared.resp.databases.get(*database) else { continue };
            let has_changed = match found {
                AtWatch::Nothing(then) => {
                    access.transaction.has_changed(keyspace.inner(), key, then)?
                }
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
            let start = reply.len();
            let done = in_database(&mut access, shared, grant, *database, &mut reply, |context| {
                body(context, arguments.as_arguments()).map(|()| check_reply(context))
            })?;
            match done {
                Ok(checked) => checked?,
                // As in Redis, the other commands run all the same.
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

    /// Returns the commands of the connection itself, with `None` in the places of the others.
    pub fn into_locals(self) -> impl Iterator<Item = Option<Queued>> {
        self.steps.into_iter().map(|step| match step {
            Step::Local(queued) => Some(queued),
            Step::Store { .. } => None,
        })
    }
}
