//! Running the commands of a connection, in their order.
//!
//! 1. A command is looked up and checked: arguments, authentication, rights, lengths of keys. Within MULTI it is queued.
//! 2. Where nothing has to be waited for, it runs in place: reads of what memory has, buffered writes and updates.
//! 3. Other reads, and all scans, run on a reader's thread, at one moment of the store.
//! 4. Other writes and updates go to the committer. Those that follow each other are all submitted before the first
//!    outcome is awaited, so that they share records and syncs.

use super::access::{Blind, Changes, Held, Present};
use super::commands::{self, Body, Command, Context, Local, Run};
use super::failure::Failure;
use super::pending::Pending;
use super::reply::{Protocol, Reply};
use super::request::Arguments;
use super::session::{Action, Replies, Session};
use super::transaction::{Execution, Watched};
use crate::shared::Shared;
use crate::tokens::{Grant, Role};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use terrane::{Durability, TryWrite, WriteBatch};

/// Tries of a write in place while another thread writes, and spins between them: some microseconds in all.
const TRIES: u32 = 20;
const SPINS: u32 = 40;
/// The longest request whose update runs in place, and the longest transaction: some ten microseconds of work.
const IN_PLACE_BYTES: usize = 16 << 10;
const IN_PLACE_COMMANDS: usize = 64;
/// Writes that are submitted before the first is awaited.
const PENDING_MAX: usize = 256;
/// Arguments that are shown of an unknown command, and bytes of each.
const SHOWN_BYTES: usize = 128;

/// Runs the commands of a connection.
pub(super) struct Executor {
    pub session: Session,
    pub protocol: Protocol,
    shared: Arc<Shared>,
    /// Writes whose outcome is awaited, in their order.
    pending: Vec<Pending>,
}

impl Executor {
    pub fn new(peer: SocketAddr, shared: Arc<Shared>) -> Self {
        let id = shared.resp.next_id.fetch_add(1, Ordering::Relaxed);
        let session = Session::new(id, peer, &shared);
        Executor { session, protocol: Protocol::Resp2, shared, pending: Vec::new() }
    }

    /// Returns an empty reply in the connection's version of the protocol.
    pub fn new_reply(&self) -> Reply {
        Reply::new(self.protocol)
    }

    /// Runs a command; returns whether the connection stays open.
    pub async fn run(&mut self, arguments: Arguments<'_>, reply: &mut Reply) -> bool {
        self.shared.metrics.resp_commands.add(1);
        if self.session.replies != Replies::On {
            return self.run_quietly(arguments, reply).await;
        }
        self.run_replying(arguments, reply).await
    }

    /// Runs a command whose reply the peer may not want.
    async fn run_quietly(&mut self, arguments: Arguments<'_>, reply: &mut Reply) -> bool {
        self.settle(reply).await;
        if self.session.replies == Replies::SkipNext {
            self.session.replies = Replies::Skip;
        }
        let start = reply.len();
        let is_open = self.run_replying(arguments, reply).await;
        self.settle(reply).await;
        match self.session.replies {
            Replies::On => {}
            Replies::Off | Replies::SkipNext => reply.truncate(start),
            Replies::Skip => {
                reply.truncate(start);
                self.session.replies = Replies::On;
            }
        }
        is_open
    }

    async fn run_replying(&mut self, arguments: Arguments<'_>, reply: &mut Reply) -> bool {
        match self.admit(arguments) {
            Ok(Admitted::Local(local)) => {
                self.settle(reply).await;
                self.run_local(local, arguments, reply).await
            }
            Ok(Admitted::Store(command, grant)) => {
                if let Err(failure) = self.run_in_store(command, &grant, arguments, reply).await {
                    self.settle(reply).await;
                    self.fail(&failure, reply);
                }
                true
            }
            Ok(Admitted::Queued(other)) => {
                self.settle(reply).await;
                match self.open_other(other).await {
                    Ok(()) => reply.raw(b"+QUEUED\r\n"),
                    Err(failure) => self.refuse(&failure, reply),
                }
                true
            }
            Ok(Admitted::Foreign) => false,
            Err(failure) => {
                self.settle(reply).await;
                self.refuse(&failure, reply);
                true
            }
        }
    }

    /// Refuses a command, and the transaction that it would be part of.
    fn refuse(&mut self, failure: &Failure, reply: &mut Reply) {
        if let Some(queue) = &mut self.session.queue {
            queue.is_broken = true;
        }
        self.fail(failure, reply);
    }

    /// Replies a failure, and notes it if others would fail alike.
    fn fail(&self, failure: &Failure, reply: &mut Reply) {
        if let Failure::Store(error) = failure {
            self.shared.health.note(error);
        }
        reply.failure(failure);
    }

    /// Replies to a request that was skipped since it is too long.
    pub async fn refuse_too_long(&mut self, found: usize, limit: usize, reply: &mut Reply) {
        self.settle(reply).await;
        self.refuse(&Failure::too_long("argument", found, limit), reply);
    }

    /// Checks a command, and queues it within MULTI.
    fn admit(&mut self, arguments: Arguments<'_>) -> Result<Admitted, Failure> {
        let name = arguments.at(0);
        let Some(command) = commands::find(name) else {
            if commands::is(name, "POST") || commands::is(name, "HOST:") {
                // A page makes a browser send HTTP: nothing of it is to be run.
                return Ok(Admitted::Foreign);
            }
            return Err(unknown(arguments));
        };
        if !command.takes(arguments.len()) {
            return Err(Failure::arity(command.name));
        }
        let grant = match (self.session.rights(&self.shared), command.run) {
            (Some(grant), _) => grant,
            (None, Run::Local(local)) if command.is_open => return Ok(Admitted::Local(local)),
            (None, _) => return Err(Failure::NO_AUTH.into()),
        };
        self.check(command, &grant, arguments)?;
        let runs_at_once =
            matches!(command.name, "multi" | "exec" | "discard" | "watch" | "quit" | "reset");
        let Some(queue) = self.session.queue.as_mut().filter(|_| !runs_at_once) else {
            return Ok(match command.run {
                Run::Local(local) => Admitted::Local(local),
                _ => Admitted::Store(command, grant),
            });
        };
        if command.is_alone {
            return Err("ERR Command not allowed inside a transaction".into());
        }
        queue.push(command, arguments, &self.shared)?;
        let other = match command.name {
            "select" => {
                let selected = super::databases::parse(arguments.at(1));
                queue.database = selected.unwrap_or(queue.database);
                selected
            }
            _ => commands::keys::other_database(command, arguments),
        };
        Ok(Admitted::Queued(Other { database: other, is_flush: command.name == "flushall" }))
    }

    /// Checks rights and lengths of keys.
    fn check(
        &self,
        command: &Command,
        grant: &Grant,
        arguments: Arguments<'_>,
    ) -> Result<(), Failure> {
        let role = command.role();
        if !command.is_open && !grant.allows(role) {
            let words = "NOPERM this user has no permissions to run the";
            return Err(format!("{words} '{}' command", command.name).into());
        }
        if command.keys.is_none() {
            return Ok(());
        }
        let limit = self.shared.limits.key_bytes;
        let queued = self.session.queue.as_ref().map(|queue| queue.database);
        let keyspace = super::databases::name(queued.unwrap_or(self.session.database));
        for key in command.keys_of(arguments) {
            if key.len() > limit {
                return Err(Failure::too_long("key", key.len(), limit));
            }
            if !grant.allows_key(role, &keyspace, key) {
                return Err(Failure::NO_KEY_PERMISSION.into());
            }
        }
        Ok(())
    }

    /// Opens the databases that a command names.
    async fn open_other(&self, other: Other) -> Result<(), Failure> {
        if let Some(database) = other.database {
            self.open(database).await?;
        }
        if other.is_flush {
            self.shared.resp.databases.open_existing(&self.shared.db).await?;
        }
        Ok(())
    }

    /// Opens a database; creates it if there is none and the peer may write.
    async fn open(&self, database: usize) -> Result<(), Failure> {
        let may_write = |grant: &Arc<Grant>| grant.allows(Role::Write);
        let creates = self.session.grant.as_ref().is_some_and(may_write);
        let databases = &self.shared.resp.databases;
        if databases.open(&self.shared.db, database, creates).await? {
            Ok(())
        } else {
            Err("NOPERM this user has no permissions to create the database".into())
        }
    }

    async fn run_in_store(
        &mut self,
        command: &'static Command,
        grant: &Arc<Grant>,
        arguments: Arguments<'_>,
        reply: &mut Reply,
    ) -> Result<(), Failure> {
        match command.run {
            Run::Local(_) => Ok(()),
            Run::Read(body) => self.read(body, command, grant, arguments, reply).await,
            Run::Scan(body) => {
                self.settle(reply).await;
                self.read_elsewhere(body, grant, arguments, reply).await
            }
            Run::Write(body) => self.write(body, command, grant, arguments, reply).await,
            Run::UpdateUnless(body, is_write) if is_write(arguments) => {
                self.write(body, command, grant, arguments, reply).await
            }
            Run::Update(body) | Run::UpdateUnless(body, _) => {
                self.update(body, command, grant, arguments, reply).await
            }
        }
    }

    /// Awaits the outcomes of the writes that were submitted, and replies them.
    pub async fn settle(&mut self, reply: &mut Reply) {
        for pending in std::mem::take(&mut self.pending) {
            match pending.outcome().await {
                Ok(encoded) => reply.raw(&encoded),
                Err(failure) => self.fail(&failure, reply),
            }
        }
    }

    /// Runs a body on an access, in place; what it replied is taken back if it fails.
    fn call(
        &self,
        access: &mut dyn super::access::Access,
        body: Body,
        grant: &Grant,
        arguments: Arguments<'_>,
        reply: &mut Reply,
    ) -> Result<(), Failure> {
        let start = reply.len();
        let done = call(access, body, &self.shared, grant, self.session.database, arguments, reply);
        if done.is_err() {
            reply.truncate(start);
        }
        done
    }

    async fn read(
        &mut self,
        body: Body,
        command: &Command,
        grant: &Arc<Grant>,
        arguments: Arguments<'_>,
        reply: &mut Reply,
    ) -> Result<(), Failure> {
        self.settle(reply).await;
        let done = {
            let shared = &*self.shared;
            let keyspace = keyspace(shared, self.session.database)?;
            let keys = if command.arity == 2 { 1 } else { arguments.len() - 1 };
            let mut access = Present::new(shared.db.inner(), keyspace, keys)?;
            self.call(&mut access, body, grant, arguments, reply)
        };
        match done {
            Err(Failure::WouldWait) => self.read_elsewhere(body, grant, arguments, reply).await,
            done => done,
        }
    }

    /// Reads on a reader's thread.
    async fn read_elsewhere(
        &self,
        body: Body,
        grant: &Arc<Grant>,
        arguments: Arguments<'_>,
        reply: &mut Reply,
    ) -> Result<(), Failure> {
        let (owned, shared, grant) = (arguments.to_owned(), self.shared.clone(), grant.clone());
        let (database, protocol) = (self.session.database, reply.protocol);
        let read = self.shared.db.read(move |db| {
            let mut reply = Reply::new(protocol);
            let arguments = owned.as_arguments();
            call(&mut Held::new(db), body, &shared, &grant, database, arguments, &mut reply)?;
            Ok::<_, Failure>(reply.take())
        });
        reply.raw(&read.await?);
        Ok(())
    }

    async fn write(
        &mut self,
        body: Body,
        command: &Command,
        grant: &Arc<Grant>,
        arguments: Arguments<'_>,
        reply: &mut Reply,
    ) -> Result<(), Failure> {
        if command.name == "flushall" {
            self.open_other(Other { database: None, is_flush: true }).await?;
        }
        let batch = {
            let mut access = Blind::new(self.shared.db.inner());
            // Its reply follows those of the writes that are pending.
            if self.pending.is_empty() && self.durability() == Durability::Buffered {
                let start = reply.len();
                self.call(&mut access, body, grant, arguments, reply)?;
                let Some(batch) =
                    self.try_write(access.batch).inspect_err(|_| reply.truncate(start))?
                else {
                    return Ok(());
                };
                reply.truncate(start);
                batch
            } else {
                let mut discarded = Reply::new(reply.protocol);
                self.call(&mut access, body, grant, arguments, &mut discarded)?;
                access.batch
            }
        };
        // Such a command replies OK whatever it writes.
        let submitted = self.shared.db.submit(Vec::new(), batch, self.durability()).await?;
        self.await_later(Pending::Write(submitted), reply).await;
        Ok(())
    }

    fn durability(&self) -> Durability {
        self.shared.durability
    }

    /// Awaits a write later, with others.
    async fn await_later(&mut self, pending: Pending, reply: &mut Reply) {
        self.pending.push(pending);
        if self.pending.len() >= PENDING_MAX {
            self.settle(reply).await;
        }
    }

    /// Writes a batch in place; returns it if that would wait.
    fn try_write(&self, batch: WriteBatch) -> Result<Option<WriteBatch>, Failure> {
        if batch.bytes().len() > IN_PLACE_BYTES {
            return Ok(Some(batch));
        }
        let mut batch = batch;
        for _ in 0..TRIES {
            match self.shared.db.inner().try_write(batch)? {
                TryWrite::Written(_) => return Ok(None),
                TryWrite::WouldWait(returned) => batch = returned,
            }
            spin();
        }
        Ok(Some(batch))
    }

    async fn update(
        &mut self,
        body: Body,
        command: &Command,
        grant: &Arc<Grant>,
        arguments: Arguments<'_>,
        reply: &mut Reply,
    ) -> Result<(), Failure> {
        let other = commands::keys::other_database(command, arguments);
        self.open_other(Other { database: other, is_flush: false }).await?;
        let is_in_place = self.pending.is_empty()
            && self.durability() == Durability::Buffered
            && arguments.size() <= IN_PLACE_BYTES;
        if is_in_place && self.try_update(body, grant, arguments, reply)? {
            return Ok(());
        }
        self.warm(command, arguments).await?;
        if is_in_place && self.try_update(body, grant, arguments, reply)? {
            return Ok(());
        }
        let (owned, shared, grant) = (arguments.to_owned(), self.shared.clone(), grant.clone());
        let (database, protocol) = (self.session.database, reply.protocol);
        let run = move |transaction: &mut terrane::Transaction| {
            let mut reply = Reply::new(protocol);
            let arguments = owned.as_arguments();
            call(
                &mut Changes(transaction),
                body,
                &shared,
                &grant,
                database,
                arguments,
                &mut reply,
            )?;
            Ok::<_, Failure>(reply.take())
        };
        let submitted = self.shared.db.submit_update(self.durability(), run).await?;
        self.await_later(Pending::Update(submitted), reply).await;
        Ok(())
    }

    /// Runs an update in place; returns whether that waited for nothing.
    fn try_update(
        &self,
        body: Body,
        grant: &Grant,
        arguments: Arguments<'_>,
        reply: &mut Reply,
    ) -> Result<bool, Failure> {
        let start = reply.len();
        for _ in 0..TRIES {
            let tried = self.shared.db.inner().try_transact(|transaction| {
                self.call(&mut Changes(transaction), body, grant, arguments, reply)
            });
            match tried {
                Ok(Some(())) => return Ok(true),
                Ok(None) => reply.truncate(start),
                Err(failure) => {
                    reply.truncate(start);
                    return Err(failure);
                }
            }
            spin();
        }
        Ok(false)
    }

    /// Reads the keys of a command, so that the committer finds them in the cache.
    async fn warm(&self, command: &Command, arguments: Arguments<'_>) -> Result<(), Failure> {
        if let Some(keyspace) = self.shared.resp.databases.get(self.session.database) {
            for key in command.keys_of(arguments) {
                keyspace.get_versioned(key).await?;
            }
        }
        Ok(())
    }

    async fn run_local(
        &mut self,
        local: Local,
        arguments: Arguments<'_>,
        reply: &mut Reply,
    ) -> bool {
        let start = reply.len();
        let action = local(&mut self.session, arguments, reply, &self.shared);
        let done = match action {
            Ok(Action::None) => Ok(()),
            Ok(Action::Close) => return false,
            Ok(action) => self.act(action, arguments, reply).await,
            Err(failure) => Err(failure),
        };
        if let Err(failure) = done {
            reply.truncate(start);
            self.fail(&failure, reply);
        }
        true
    }

    async fn act(
        &mut self,
        action: Action,
        arguments: Arguments<'_>,
        reply: &mut Reply,
    ) -> Result<(), Failure> {
        match action {
            Action::None | Action::Close => {}
            Action::Select(database) => {
                self.open(database).await?;
                self.session.database = database;
                reply.ok();
            }
            Action::Sync(synced) => {
                self.shared.db.sync().await?;
                self.shared.resp.note_sync();
                synced(reply);
            }
            Action::SyncLater => {
                let shared = self.shared.clone();
                tokio::spawn(async move {
                    match shared.db.sync().await {
                        Ok(()) => shared.resp.note_sync(),
                        Err(error) => shared.health.note(&error),
                    }
                });
            }
            Action::Watch => {
                self.watch(arguments).await?;
                reply.ok();
            }
            Action::Execute => Box::pin(self.execute(reply)).await?,
        }
        Ok(())
    }

    async fn watch(&mut self, arguments: Arguments<'_>) -> Result<(), Failure> {
        let database = self.session.database;
        let Some(keyspace) = self.shared.resp.databases.get(database) else { return Ok(()) };
        for key in arguments.from(1) {
            let is_same = |watched: &Watched| watched.database == database && *watched.key == *key;
            if !self.session.watched.iter().any(is_same) {
                let seq = keyspace.get_versioned(key).await?.map(|found| found.seq);
                self.session.watched.push(Watched { database, key: key.into(), seq });
            }
        }
        Ok(())
    }

    async fn execute(&mut self, reply: &mut Reply) -> Result<(), Failure> {
        let grant = self.session.rights(&self.shared).ok_or(Failure::NO_AUTH)?;
        let watched = std::mem::take(&mut self.session.watched);
        let Some(queue) = self.session.queue.take() else { return Ok(()) };
        if queue.is_broken {
            return Err("EXECABORT Transaction discarded because of previous errors.".into());
        }
        let execution = Arc::new(Execution::new(*queue, watched, self.session.database));
        let executed = if execution.is_local() {
            Some(Default::default())
        } else {
            self.execute_in_store(&execution, &grant, reply.protocol).await?
        };
        let Some((encoded, ends)) = executed else {
            reply.null_array();
            return Ok(());
        };
        reply.array(execution.replies());
        let (mut start, mut ends) = (0, ends.into_iter());
        for local in Arc::into_inner(execution).into_iter().flat_map(Execution::into_locals) {
            if let Some(queued) = local {
                if let Run::Local(local) = queued.command.run {
                    let arguments = queued.arguments.as_arguments();
                    Box::pin(self.run_local(local, arguments, reply)).await;
                }
                continue;
            }
            let end = ends.next().unwrap_or(encoded.len());
            reply.raw(encoded.get(start..end).unwrap_or_default());
            start = end;
        }
        Ok(())
    }

    /// Runs the part of a transaction that uses the store.
    async fn execute_in_store(
        &self,
        execution: &Arc<Execution>,
        grant: &Arc<Grant>,
        protocol: Protocol,
    ) -> Result<super::transaction::Executed, Failure> {
        let (bytes, commands) = execution.size();
        if self.durability() == Durability::Buffered
            && bytes <= IN_PLACE_BYTES
            && commands <= IN_PLACE_COMMANDS
        {
            for _ in 0..TRIES {
                let tried = self.shared.db.inner().try_transact(|transaction| {
                    execution.run(transaction, &self.shared, grant, protocol)
                })?;
                if let Some(executed) = tried {
                    return Ok(executed);
                }
                spin();
            }
        }
        let (shared, grant, running) = (self.shared.clone(), grant.clone(), execution.clone());
        self.shared
            .db
            .update(self.durability(), move |transaction| {
                running.run(transaction, &shared, &grant, protocol)
            })
            .await
    }
}

/// A command that passed its checks.
enum Admitted {
    Local(Local),
    Store(&'static Command, Arc<Grant>),
    /// One within MULTI, and the databases that it names.
    Queued(Other),
    /// A request of another protocol.
    Foreign,
}

/// Databases that a command uses beside the selected one.
struct Other {
    database: Option<usize>,
    /// Whether it uses all that exist.
    is_flush: bool,
}

fn keyspace(shared: &Shared, database: usize) -> Result<&terrane::Keyspace, Failure> {
    let found = shared.resp.databases.get(database);
    Ok(found.ok_or("ERR DB index is out of range")?.inner())
}

/// Runs a body on an access.
fn call(
    access: &mut dyn super::access::Access,
    body: Body,
    shared: &Shared,
    grant: &Grant,
    database: usize,
    arguments: Arguments<'_>,
    reply: &mut Reply,
) -> Result<(), Failure> {
    let keyspace = keyspace(shared, database)?;
    body(&mut Context { access, database, keyspace, shared, grant, reply }, arguments)
}

fn spin() {
    for _ in 0..SPINS {
        std::hint::spin_loop();
    }
}

/// Returns the failure of a command that there is not, with the start of its arguments.
fn unknown(arguments: Arguments<'_>) -> Failure {
    let text = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes.get(..SHOWN_BYTES).unwrap_or(bytes)).into_owned()
    };
    let mut shown = String::new();
    for argument in arguments.from(1) {
        if shown.len() >= SHOWN_BYTES {
            break;
        }
        shown += &format!("'{}' ", text(argument));
    }
    let name = text(arguments.at(0));
    format!("ERR unknown command '{name}', with args beginning with: {shown}").into()
}
