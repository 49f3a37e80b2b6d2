//! Checks of a command before it runs: its name, its arguments, the peer's rights, lengths of keys. Within MULTI, a
//! command that passes them is queued.

use super::commands::{self, Command, Local, Run};
use super::executor::Executor;
use super::failure::Failure;
use super::request::Arguments;
use crate::tokens::Grant;
use std::sync::Arc;

/// Bytes that are shown of an unknown command and its arguments.
const SHOWN_BYTES: usize = 128;

/// A command that passed its checks.
pub(super) enum Admitted {
    Local(Local),
    Store(&'static Command, Arc<Grant>),
    /// A command within MULTI.
    Queued,
    /// A request of another protocol.
    Foreign,
}

impl Executor {
    /// Checks a command, and queues it within MULTI.
    pub(super) fn admit(&mut self, arguments: Arguments<'_>) -> Result<Admitted, Failure> {
        let name = arguments.at(0);
        let Some(command) = commands::find(name) else {
            if commands::is(name, "POST") || commands::is(name, "HOST:") {
                // A page makes a browser send HTTP: none of its lines may run as a command.
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
        if command.name == "select" {
            let selected = super::databases::parse(arguments.at(1));
            queue.database = selected.unwrap_or(queue.database);
        }
        Ok(Admitted::Queued)
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
        if let Some(replica) = &self.shared.replica {
            if command.writes() {
                return Err(Failure::READ_ONLY.into());
            }
            if replica.sequence().is_none() && !matches!(command.run, Run::Local(_)) {
                return Err(Failure::LOADING.into());
            }
        }
        if command.writes() && self.shared.fenced().is_some() {
            return Err(Failure::FENCED.into());
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
}

/// Returns the failure of an unknown command, with the start of its arguments.
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
