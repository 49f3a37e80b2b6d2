//! WATCH and EXEC on a connection.

use super::access::Changes;
use super::commands::Run;
use super::executor::Executor;
use super::failure::Failure;
use super::reply::{Protocol, Reply};
use super::request::Arguments;
use super::transaction::{AtWatch, Executed, Execution};
use super::write::{IN_PLACE_BYTES, LONG_BYTES, Tried};
use crate::tokens::Grant;
use std::sync::Arc;

/// The longest transaction that runs in place: some ten microseconds of work.
const IN_PLACE_COMMANDS: usize = 64;

impl Executor {
    /// Watches keys: notes their versions.
    pub(super) async fn watch(&mut self, arguments: Arguments<'_>) -> Result<(), Failure> {
        let database = self.session.database;
        self.open(database).await?;
        let keyspace = self.shared.resp.databases.get(database);
        for key in arguments.from(1) {
            let place = (database, key.into());
            if self.session.watched.keys.contains_key(&place) {
                continue;
            }
            if !self.session.watched.cover(key, &self.shared) {
                return Err(Failure::NO_MEMORY.into());
            }
            let value = match keyspace {
                Some(keyspace) => keyspace.get_versioned(key).await?,
                None => None,
            };
            let found = match value {
                Some(value) => AtWatch::Value(value.seq),
                None => AtWatch::Nothing(self.shared.db.inner().snapshot()),
            };
            self.session.watched.keys.insert(place, found);
            // Between many keys, the thread serves its other connections.
            tokio::task::consume_budget().await;
        }
        Ok(())
    }

    /// Runs the commands since MULTI.
    pub(super) async fn run_transaction(&mut self, reply: &mut Reply) -> Result<(), Failure> {
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
            self.run_transaction_in_store(&execution, &grant, reply.protocol).await?
        };
        self.has_written = true;
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
            let end = ends.next().unwrap_or(encoded.bytes.len());
            reply.raw(encoded.bytes.get(start..end).unwrap_or_default());
            start = end;
        }
        reply.absorb(encoded.held);
        Ok(())
    }

    /// Runs the commands of a transaction that use the store. A value for a database that does not exist creates its
    /// keyspace, and the transaction runs again.
    async fn run_transaction_in_store(
        &self,
        execution: &Arc<Execution>,
        grant: &Arc<Grant>,
        protocol: Protocol,
    ) -> Result<Executed, Failure> {
        loop {
            let mut creations = None;
            if !self.open_all(execution).await? {
                // Keyspaces that are absent stay so until the transaction is written.
                creations = Some(self.shared.creations.read().await);
                self.open_all(execution).await?;
            }
            match self.try_transaction(execution, grant, protocol).await {
                Err(Failure::NoDatabase(database)) => {
                    drop(creations);
                    self.create(database).await?;
                }
                done => return done,
            }
        }
    }

    /// Opens the databases of a transaction that exist. Returns whether all do.
    async fn open_all(&self, execution: &Execution) -> Result<bool, Failure> {
        let mut are_open = true;
        for database in execution.databases() {
            are_open &= self.open(database).await?;
        }
        Ok(are_open)
    }

    async fn try_transaction(
        &self,
        execution: &Arc<Execution>,
        grant: &Arc<Grant>,
        protocol: Protocol,
    ) -> Result<Executed, Failure> {
        let (bytes, commands) = execution.size();
        let mut is_long = bytes > LONG_BYTES;
        if bytes <= IN_PLACE_BYTES && commands <= IN_PLACE_COMMANDS {
            let run = |access: Changes<'_>| execution.run(access, &self.shared, grant, protocol);
            match self.try_transact(run)? {
                Tried::Done(executed) => return Ok(executed),
                Tried::Waits => {}
                Tried::Long => is_long = true,
            }
        }
        let (shared, grant, running) = (self.shared.clone(), grant.clone(), execution.clone());
        self.transact(is_long, move |transaction| {
            running.run(Changes::new(transaction), &shared, &grant, protocol)
        })
        .await
    }
}
