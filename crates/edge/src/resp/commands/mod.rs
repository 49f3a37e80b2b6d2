//! The commands, by family. Each is a row of a table: its name, its arguments, its keys, and the function that runs it.
//!
//! * `connection` - the peer and its connection.
//! * `server` - the store as a whole.
//! * `command` - the table itself, as COMMAND shows it.
//! * `config` - the settings that clients ask for.
//! * `info` - the text of INFO.
//! * `keys` - keys, whatever their value.
//! * `expiry` - the times at which keys expire.
//! * `strings` - values as a whole; `set` has the options of SET.
//! * `numbers` - values that are numbers.
//! * `ranges` - parts of values.
//! * `transactions` - commands that run together.
//! * `terrane` - ranges of keys, which Redis does not have.

mod command;
mod config;
mod connection;
mod expiry;
mod info;
pub(super) mod keys;
mod numbers;
mod ranges;
mod server;

mod set;
mod strings;
mod terrane;
mod transactions;

use super::access::Access;
use super::failure::Failure;
use super::reply::Reply;
use super::request::Arguments;
use super::session::{Action, Session};
use crate::shared::Shared;
use crate::tokens::{Grant, Role};
use ::terrane::Keyspace;
use std::sync::LazyLock;

/// The longest name of a command.
const NAME_MAX: usize = 24;

/// The context of a command: its access to the store, its database and its reply.
pub(crate) struct Context<'a> {
    pub access: &'a mut dyn Access,
    pub database: usize,
    pub keyspace: &'a Keyspace,
    pub shared: &'a Shared,
    pub grant: &'a Grant,
    pub reply: &'a mut Reply,
}

pub(super) use server::seconds;

pub(crate) type Done = Result<(), Failure>;
/// A command that reads or changes the store. It may run more than once, and replies last.
pub(crate) type Body = fn(&mut Context<'_>, Arguments<'_>) -> Done;
/// A command of the connection alone.
pub(crate) type Local =
    fn(&mut Session, Arguments<'_>, &mut Reply, &Shared) -> Result<Action, Failure>;

/// Access that a command needs.
#[derive(Clone, Copy)]
pub(crate) enum Run {
    /// None.
    Local(Local),
    /// Reads of its keys.
    Read(Body),
    /// Reads of ranges.
    Scan(Body),
    /// Writes, and no reads.
    Write(Body),
    /// Reads and writes of its keys.
    Update(Body),
    /// Writes, and reads unless its arguments ask for none.
    UpdateUnless(Body, fn(Arguments<'_>) -> bool),
}

impl Run {
    /// Returns the function of a command that uses the store.
    pub fn body(self) -> Option<Body> {
        match self {
            Run::Local(_) => None,
            Run::Read(body)
            | Run::Scan(body)
            | Run::Write(body)
            | Run::Update(body)
            | Run::UpdateUnless(body, _) => Some(body),
        }
    }
}

/// The keys among the arguments: the first, the last (counted from the end if negative), and the step between them.
pub(crate) type Keys = (usize, isize, usize);

/// A command.
pub(crate) struct Command {
    /// Name in lower case.
    pub name: &'static str,
    /// Number of arguments with the name; the least number if negative.
    pub arity: isize,
    pub keys: Option<Keys>,
    pub run: Run,
    pub group: &'static str,
    pub summary: &'static str,
    /// Whether it needs a token for everything.
    pub is_admin: bool,
    /// Whether it needs a token that may write, although it uses no keys.
    pub is_for_writers: bool,
    /// Whether it runs before authentication.
    pub is_open: bool,
    /// Whether it is refused within MULTI.
    pub is_alone: bool,
}

impl Command {
    pub(super) const fn new(
        name: &'static str,
        arity: isize,
        run: Run,
        summary: &'static str,
    ) -> Self {
        let (keys, group) = (None, "");
        let (is_admin, is_for_writers, is_open, is_alone) = (false, false, false, false);
        Command {
            name,
            arity,
            keys,
            run,
            group,
            summary,
            is_admin,
            is_for_writers,
            is_open,
            is_alone,
        }
    }

    const fn keys(mut self, first: usize, last: isize, step: usize) -> Self {
        self.keys = Some((first, last, step));
        self
    }

    const fn admin(mut self) -> Self {
        self.is_admin = true;
        self
    }

    const fn for_writers(mut self) -> Self {
        self.is_for_writers = true;
        self
    }

    const fn open(mut self) -> Self {
        self.is_open = true;
        self
    }

    const fn alone(mut self) -> Self {
        self.is_alone = true;
        self
    }

    pub(super) const fn group(mut self, group: &'static str) -> Self {
        self.group = group;
        self
    }

    /// Returns the keys among the arguments.
    pub fn keys_of<'a>(
        &self,
        arguments: Arguments<'a>,
    ) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (first, last, step) = self.keys.unwrap_or((1, 0, 1));
        let end = match last {
            _ if self.keys.is_none() => 0,
            0.. => last.unsigned_abs() + 1,
            _ => (arguments.len() + 1).saturating_sub(last.unsigned_abs()),
        };
        (first..end.min(arguments.len())).step_by(step).map(move |index| arguments.at(index))
    }

    /// Returns the role that the command needs.
    pub fn role(&self) -> Role {
        match self.run {
            _ if self.is_admin => Role::Admin,
            _ if self.is_for_writers => Role::Write,
            Run::Local(_) | Run::Read(_) | Run::Scan(_) => Role::Read,
            Run::Write(_) | Run::Update(_) | Run::UpdateUnless(..) => Role::Write,
        }
    }

    /// Whether the command changes the store.
    pub fn writes(&self) -> bool {
        matches!(self.run, Run::Write(_) | Run::Update(_) | Run::UpdateUnless(..))
    }

    /// Whether the number of arguments is right.
    pub fn takes(&self, arguments: usize) -> bool {
        let least = self.arity.unsigned_abs();
        if self.arity < 0 { arguments >= least } else { arguments == least }
    }
}

/// All commands, in the order of their names.
pub(crate) static COMMANDS: LazyLock<Vec<Command>> = LazyLock::new(|| {
    let families = [
        connection::commands,
        server::commands,
        command::commands,
        keys::commands,
        expiry::commands,
        strings::commands,
        numbers::commands,
        ranges::commands,
        super::scan::commands,
        transactions::commands,
        terrane::commands,
    ];
    let mut all: Vec<Command> =
        families.into_iter().flat_map(|family: fn() -> Vec<Command>| family()).collect();
    all.sort_by_key(|command| command.name);
    all
});

/// Returns the command of this name, in any case.
pub(crate) fn find(name: &[u8]) -> Option<&'static Command> {
    let mut lower = [0; NAME_MAX];
    let lower = lower.get_mut(..name.len())?;
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    let commands = &*COMMANDS;
    let found = commands.binary_search_by(|command| command.name.as_bytes().cmp(lower)).ok()?;
    commands.get(found)
}

/// Returns whether an argument is this word, in any case.
pub(crate) fn is(argument: &[u8], word: &str) -> bool {
    argument.eq_ignore_ascii_case(word.as_bytes())
}

/// Parses a number.
pub(crate) fn integer(argument: &[u8]) -> Result<i64, Failure> {
    super::request::integer(argument).ok_or(Failure::NOT_AN_INTEGER.into())
}

/// Refuses a value over its limit.
pub(crate) fn check_value(shared: &Shared, bytes: usize) -> Done {
    let limit = shared.limits.value_bytes;
    if bytes > limit { Err(Failure::too_long("value", bytes, limit)) } else { Ok(()) }
}

/// Refuses a reply beyond the limit of a batch, or beyond the memory that is left.
pub(crate) fn check_reply(context: &mut Context<'_>) -> Done {
    let (found, limits) = (context.reply.len(), &context.shared.limits);
    if found > limits.batch_bytes {
        return Err(Failure::too_long("reply", found, limits.batch_bytes));
    }
    if context.reply.cover_latest(limits) { Ok(()) } else { Err(Failure::NO_MEMORY.into()) }
}
