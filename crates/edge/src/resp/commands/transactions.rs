//! Commands that run together.

use super::{Command, Run};
use crate::resp::failure::Failure;
use crate::resp::reply::Reply;
use crate::resp::request::Arguments;
use crate::resp::session::{Action, Session};
use crate::resp::transaction::{Queue, Watched};
use crate::shared::Shared;

pub(super) fn commands() -> Vec<Command> {
    use Run::Local;
    let rows = [
        Command::new("multi", 1, Local(multi), "Starts a transaction."),
        Command::new("exec", 1, Local(exec), "Runs the commands of a transaction, or none."),
        Command::new("discard", 1, Local(discard), "Forgets the commands of a transaction."),
        Command::new("watch", -2, Local(watch), "Lets the next EXEC fail if keys change.")
            .keys(1, -1, 1),
        Command::new("unwatch", 1, Local(unwatch), "Forgets the watched keys."),
    ];
    rows.map(|command| command.group("transactions")).into()
}

type Next = Result<Action, Failure>;

fn multi(session: &mut Session, _: Arguments<'_>, reply: &mut Reply, shared: &Shared) -> Next {
    if session.queue.is_some() {
        return Err("ERR MULTI calls can not be nested".into());
    }
    session.queue = Some(Box::new(Queue::new(session.database, shared)));
    reply.ok();
    Ok(Action::None)
}

fn exec(session: &mut Session, _: Arguments<'_>, _: &mut Reply, _: &Shared) -> Next {
    if session.queue.is_none() {
        return Err("ERR EXEC without MULTI".into());
    }
    Ok(Action::Execute)
}

fn discard(session: &mut Session, _: Arguments<'_>, reply: &mut Reply, _: &Shared) -> Next {
    if session.queue.take().is_none() {
        return Err("ERR DISCARD without MULTI".into());
    }
    session.watched = Watched::default();
    reply.ok();
    Ok(Action::None)
}

fn watch(session: &mut Session, _: Arguments<'_>, _: &mut Reply, _: &Shared) -> Next {
    if session.queue.is_some() {
        return Err("ERR WATCH inside MULTI is not allowed".into());
    }
    Ok(Action::Watch)
}

fn unwatch(session: &mut Session, _: Arguments<'_>, reply: &mut Reply, _: &Shared) -> Next {
    session.watched = Watched::default();
    reply.ok();
    Ok(Action::None)
}
