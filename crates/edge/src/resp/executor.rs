//! The executor of a connection: runs its commands, in their order.
//!
//! 1. A command is checked, and within MULTI queued: see `admit`.
//! 2. A read runs in place if memory has its keys. Otherwise it is deferred, and runs on a reader's thread together
//!    with the reads that follow it: see `read`.
//! 3. Writes and updates run in place, or on the committer's thread: see `write`.
//! 4. A read, and a command of the connection itself, waits until the writes before it are finished.

use super::access::{Access, Nowhere};
use super::admit::Admitted;
use super::commands::{Body, Command, Context, Local, Run, check_reply, keys};
use super::failure::Failure;
use super::pending::Pending;
use super::read::DeferredRead;
use super::reply::{Protocol, Reply};
use super::request::Arguments;
use super::session::{Action, Replies, Session};
use super::write::Gathered;
use crate::shared::Shared;
use crate::tokens::{Grant, Role};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Pause of a connection after a reply that found no memory: the command has copied a long value for a short reply, and
/// others are served meanwhile.
pub(super) const REFUSAL_PAUSE: Duration = Duration::from_millis(250);

/// A call of a command that uses the store.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub command: &'static Command,
    pub body: Body,
    pub grant: &'a Arc<Grant>,
    pub database: usize,
    pub arguments: Arguments<'a>,
}

/// Runs the commands of a connection.
pub(super) struct Executor {
    pub session: Session,
    pub protocol: Protocol,
    pub(super) shared: Arc<Shared>,
    /// Whether the connection has written since replies were last sent.
    pub has_written: bool,
    /// Reads that follow each other and will run together.
    pub(super) deferred: Vec<DeferredRead>,
    /// Writes that follow the pending ones, and are not submitted yet.
    pub(super) gathered: Gathered,
    /// Submitted writes whose outcome is awaited, in their order.
    pub(super) pending: Vec<Pending>,
    /// Whether the latest update had long values.
    pub(super) expects_long: bool,
}

impl Executor {
    pub fn new(peer: SocketAddr, shared: Arc<Shared>) -> Self {
        let id = shared.resp.next_id.fetch_add(1, Ordering::Relaxed);
        let session = Session::new(id, peer, &shared);
        Executor {
            session,
            protocol: Protocol::Resp2,
            shared,
            has_written: false,
            deferred: Vec::new(),
            gathered: Gathered::default(),
            pending: Vec::new(),
            expects_long: false,
        }
    }

    /// Returns an empty reply in the connection's version of the protocol.
    pub fn new_reply(&self) -> Reply {
        Reply::new(self.protocol)
    }

    /// Runs a command. Returns whether the connection stays open.
    pub async fn run(&mut self, arguments: Arguments<'_>, reply: &mut Reply) -> bool {
        if self.session.replies != Replies::On {
            return self.run_quietly(arguments, reply).await;
        }
        self.run_replying(arguments, reply).await
    }

    /// Runs a command while CLIENT REPLY is off or skips: drops its reply if it is unwanted.
    async fn run_quietly(&mut self, arguments: Arguments<'_>, reply: &mut Reply) -> bool {
        self.finish_writes(reply).await;
        if self.session.replies == Replies::SkipNext {
            self.session.replies = Replies::Skip;
        }
        let start = reply.len();
        let is_open = self.run_replying(arguments, reply).await;
        while self.has_deferred() {
            self.run_deferred(reply).await;
        }
        self.finish_writes(reply).await;
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
                self.finish_writes(reply).await;
                self.run_local(local, arguments, reply).await
            }
            Ok(Admitted::Store(command, grant)) => {
                if let Err(failure) = self.run_in_store(command, &grant, arguments, reply).await {
                    self.finish_writes(reply).await;
                    self.fail(&failure, reply);
                    if failure.is_no_memory() {
                        Box::pin(tokio::time::sleep(REFUSAL_PAUSE)).await;
                    }
                }
                true
            }
            Ok(Admitted::Queued) => {
                self.finish_writes(reply).await;
                reply.raw(b"+QUEUED\r\n");
                true
            }
            Ok(Admitted::Foreign) => false,
            // A reply must follow those of the deferred reads.
            Err(failure) if self.has_deferred() => {
                self.deferred.push(Box::new(move |_| Err(failure)));
                true
            }
            Err(failure) => {
                self.finish_writes(reply).await;
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

    /// Replies with a failure, and notes an error of the store for the server's health.
    pub(super) fn fail(&self, failure: &Failure, reply: &mut Reply) {
        if let Failure::Store(error) = failure {
            self.shared.health.note(error);
        }
        reply.failure(failure);
    }

    /// Refuses a request that the parser skipped because it is too long.
    pub async fn refuse_too_long(&mut self, found: usize, limit: usize, reply: &mut Reply) {
        self.finish_writes(reply).await;
        self.refuse(&Failure::too_long("argument", found, limit), reply);
    }

    /// Opens a database if its keyspace exists. Returns whether it is open.
    pub(super) async fn open(&self, database: usize) -> Result<bool, Failure> {
        Ok(self.shared.resp.databases.open(&self.shared.db, database).await?)
    }

    /// Opens a database, and creates its keyspace if there is none.
    pub(super) async fn create(&self, database: usize) -> Result<(), Failure> {
        Ok(self.shared.resp.databases.create(&self.shared, database).await?)
    }

    /// Creates the database into which a command copies a value, if the value exists and the peer may write it there.
    async fn create_target(&self, call: Call<'_>) -> Result<(), Failure> {
        let Call { command, grant, arguments, .. } = call;
        let Some(target) = keys::other_database(command, arguments) else { return Ok(()) };
        if self.open(target).await? {
            return Ok(());
        }
        let key = arguments.at(if command.name == "copy" { 2 } else { 1 });
        let Some(keyspace) = self.shared.resp.databases.get(call.database) else { return Ok(()) };
        if grant.allows_key(Role::Write, &super::databases::name(target), key)
            && keyspace.get_versioned(arguments.at(1)).await?.is_some()
        {
            self.create(target).await?;
        }
        Ok(())
    }

    /// Runs a call on a database whose keyspace does not exist. Returns whether it is done: otherwise it has a value to
    /// write, and the keyspace exists now.
    async fn run_nowhere(&mut self, call: Call<'_>, reply: &mut Reply) -> Result<bool, Failure> {
        self.finish_writes(reply).await;
        let mut access = Nowhere::new(self.shared.db.inner(), call.database);
        match self.run_on(&mut access, call, reply) {
            Err(Failure::NoDatabase(database)) => {
                self.create(database).await?;
                Ok(false)
            }
            done => done.map(|()| true),
        }
    }

    async fn run_in_store(
        &mut self,
        command: &'static Command,
        grant: &Arc<Grant>,
        arguments: Arguments<'_>,
        reply: &mut Reply,
    ) -> Result<(), Failure> {
        // FLUSHALL uses the databases that exist, and the selected one need not be among them.
        let database = if command.name == "flushall" { 0 } else { self.session.database };
        let call = |body| Call { command, body, grant, database, arguments };
        if let Some(body) = command.run.body() {
            if !self.has_deferred()
                && !self.open(database).await?
                && self.run_nowhere(call(body), reply).await?
            {
                return Ok(());
            }
            self.create_target(call(body)).await?;
        }
        match command.run {
            Run::Local(_) => Ok(()),
            Run::Read(body) => self.read(call(body), reply).await,
            Run::Scan(body) => {
                self.finish_writes(reply).await;
                self.scan(call(body), reply).await
            }
            Run::Write(body) => self.write(call(body), reply).await,
            Run::UpdateUnless(body, is_write) if is_write(arguments) => {
                self.write(call(body), reply).await
            }
            Run::Update(body) | Run::UpdateUnless(body, _) => self.update(call(body), reply).await,
        }
    }

    /// Runs a call on an access, in place. Truncates its reply if it fails.
    pub(super) fn run_on(
        &self,
        access: &mut dyn Access,
        Call { body, grant, database, arguments, .. }: Call<'_>,
        reply: &mut Reply,
    ) -> Result<(), Failure> {
        let start = reply.len();
        let done = run_body(access, body, &self.shared, grant, database, arguments, reply);
        if done.is_err() {
            reply.truncate(start);
        }
        done
    }

    pub(super) async fn run_local(
        &mut self,
        local: Local,
        arguments: Arguments<'_>,
        reply: &mut Reply,
    ) -> bool {
        let start = reply.len();
        reply.begin();
        let action = local(&mut self.session, arguments, reply, &self.shared);
        let done = match action {
            Ok(Action::None) if reply.cover_latest(&self.shared.limits) => Ok(()),
            Ok(Action::None) => Err(Failure::NO_MEMORY.into()),
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
            Action::Execute => Box::pin(self.run_transaction(reply)).await?,
        }
        Ok(())
    }
}

pub(super) fn keyspace(shared: &Shared, database: usize) -> Result<&terrane::Keyspace, Failure> {
    let found = shared.resp.databases.get(database);
    Ok(found.ok_or("ERR DB index is out of range")?.inner())
}

/// Runs the body of a command on an access.
pub(super) fn run_body(
    access: &mut dyn Access,
    body: Body,
    shared: &Shared,
    grant: &Grant,
    database: usize,
    arguments: Arguments<'_>,
    reply: &mut Reply,
) -> Result<(), Failure> {
    reply.begin();
    in_database(access, shared, grant, database, reply, |context| {
        body(context, arguments)?;
        check_reply(context)
    })?
}

/// Runs a function in the context of a database. If its keyspace does not exist, it is empty.
pub(super) fn in_database<T>(
    access: &mut dyn Access,
    shared: &Shared,
    grant: &Grant,
    database: usize,
    reply: &mut Reply,
    run: impl FnOnce(&mut Context<'_>) -> T,
) -> Result<T, Failure> {
    let mut nowhere;
    let (access, number): (&mut dyn Access, usize) = match shared.resp.databases.get(database) {
        Some(_) => (access, database),
        None => {
            nowhere = Nowhere::new(shared.db.inner(), database);
            // Nothing of this keyspace is read or written.
            (&mut nowhere, 0)
        }
    };
    let keyspace = keyspace(shared, number)?;
    Ok(run(&mut Context { access, database, keyspace, shared, grant, reply }))
}
