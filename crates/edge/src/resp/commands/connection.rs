//! The peer and its connection.

use super::{Command, Run, integer, is};
use crate::resp::databases;
use crate::resp::failure::Failure;
use crate::resp::reply::{Protocol, Reply};
use crate::resp::request::Arguments;
use crate::resp::session::{Action, Replies, Session, checked_name};
use crate::shared::Shared;

/// The version of Redis whose semantics the commands have.
pub(super) const REDIS_VERSION: &str = "7.0.15";
const WRONG_PASS: &str = "WRONGPASS invalid username-password pair or user is disabled.";

pub(super) fn commands() -> Vec<Command> {
    use Run::Local;
    let rows = [
        Command::new("ping", -1, Local(ping), "Replies PONG, or its argument.").open(),
        Command::new("echo", 2, Local(echo), "Replies its argument."),
        Command::new("auth", -2, Local(auth), "Authenticates by a token.").open(),
        Command::new("hello", -1, Local(hello), "Chooses the version of the protocol.")
            .open()
            .alone(),
        Command::new("quit", -1, Local(quit), "Closes the connection.").open(),
        Command::new("reset", 1, Local(reset), "Returns the connection to its first state.").open(),
        Command::new("select", 2, Local(select), "Chooses a database."),
        Command::new("client", -2, Local(client), "Names and describes the connection."),
    ];
    rows.map(|command| command.group("connection")).into()
}

type Next = Result<Action, Failure>;

fn ping(_: &mut Session, arguments: Arguments<'_>, reply: &mut Reply, _: &Shared) -> Next {
    match arguments.len() {
        1 => reply.simple("PONG"),
        2 => reply.bulk(arguments.at(1)),
        _ => return Err(Failure::arity("ping")),
    }
    Ok(Action::None)
}

fn echo(_: &mut Session, arguments: Arguments<'_>, reply: &mut Reply, _: &Shared) -> Next {
    reply.bulk(arguments.at(1));
    Ok(Action::None)
}

/// Takes a token: with a user's name, or without one.
fn authenticate(
    session: &mut Session,
    shared: &Shared,
    name: Option<&[u8]>,
    secret: &[u8],
) -> Result<(), Failure> {
    // A name that every token has, for clients that always send one.
    let name = name.filter(|name| *name != b"default");
    let name = name.map(std::str::from_utf8).transpose().map_err(|_| WRONG_PASS)?;
    session.grant = Some(shared.tokens.authenticate(name, secret).ok_or(WRONG_PASS)?);
    Ok(())
}

fn auth(
    session: &mut Session,
    arguments: Arguments<'_>,
    reply: &mut Reply,
    shared: &Shared,
) -> Next {
    let (name, secret) = match arguments.len() {
        2 => (None, arguments.at(1)),
        3 => (Some(arguments.at(1)), arguments.at(2)),
        _ => return Err(Failure::SYNTAX.into()),
    };
    if name.is_none() && shared.tokens.anonymous().is_some() {
        return Err(
            "ERR AUTH <password> called without any password configured for the default user. \
                    Are you sure your configuration is correct?"
                .into(),
        );
    }
    authenticate(session, shared, name, secret)?;
    reply.ok();
    Ok(Action::None)
}

fn hello(
    session: &mut Session,
    arguments: Arguments<'_>,
    reply: &mut Reply,
    shared: &Shared,
) -> Next {
    let mut protocol = reply.protocol;
    if arguments.len() > 1 {
        protocol = match super::super::request::integer(arguments.at(1)) {
            Some(2) => Protocol::Resp2,
            Some(3) => Protocol::Resp3,
            Some(_) => return Err("NOPROTO unsupported protocol version".into()),
            None => return Err("ERR Protocol version is not an integer or out of range".into()),
        };
    }
    let (mut rest, mut name) = (arguments.from(2), None);
    while let Some(option) = rest.next() {
        if is(option, "AUTH") {
            let (Some(user), Some(secret)) = (rest.next(), rest.next()) else {
                return Err(syntax_of_hello(option));
            };
            authenticate(session, shared, Some(user), secret)?;
        } else if is(option, "SETNAME") {
            name = Some(rest.next().ok_or_else(|| syntax_of_hello(option))?);
        } else {
            return Err(syntax_of_hello(option));
        }
    }
    if session.grant.is_none() {
        return Err(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise \
                    the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the \
                    client and select the RESP protocol version at the same time"
                .into(),
        );
    }
    if let Some(name) = name {
        session.set_name(name)?;
    }
    reply.protocol = protocol;
    reply.map(7);
    for (name, value) in [("server", "redis"), ("version", REDIS_VERSION)] {
        reply.bulk(name);
        reply.bulk(value);
    }
    reply.bulk("proto");
    reply.integer(if protocol == Protocol::Resp2 { 2 } else { 3 });
    reply.bulk("id");
    reply.integer(session.id);
    for (name, value) in [("mode", "standalone"), ("role", "master")] {
        reply.bulk(name);
        reply.bulk(value);
    }
    reply.bulk("modules");
    reply.array(0);
    Ok(Action::None)
}

fn syntax_of_hello(option: &[u8]) -> Failure {
    format!("ERR Syntax error in HELLO option '{}'", String::from_utf8_lossy(option)).into()
}

fn quit(_: &mut Session, _: Arguments<'_>, reply: &mut Reply, _: &Shared) -> Next {
    reply.ok();
    Ok(Action::Close)
}

fn reset(session: &mut Session, _: Arguments<'_>, reply: &mut Reply, shared: &Shared) -> Next {
    session.reset(shared);
    reply.protocol = Protocol::Resp2;
    reply.simple("RESET");
    Ok(Action::None)
}

fn select(_: &mut Session, arguments: Arguments<'_>, _: &mut Reply, _: &Shared) -> Next {
    integer(arguments.at(1)).map_err(|_| Failure::from("ERR invalid DB index"))?;
    let database = databases::parse(arguments.at(1)).ok_or("ERR DB index is out of range")?;
    Ok(Action::Select(database))
}

fn client(session: &mut Session, arguments: Arguments<'_>, reply: &mut Reply, _: &Shared) -> Next {
    let (subcommand, value) = (arguments.at(1), arguments.at(2));
    let takes = |name: &str, count: usize| {
        let fits = arguments.len() == count;
        let failure = || Failure::arity(&format!("client|{name}"));
        if fits { Ok(()) } else { Err(failure()) }
    };
    match subcommand.to_ascii_lowercase().as_slice() {
        b"id" => {
            takes("id", 2)?;
            reply.integer(session.id);
        }
        b"getname" => {
            takes("getname", 2)?;
            let name = Some(session.name.as_ref()).filter(|name| !name.is_empty());
            reply.bulk_or_null(name);
        }
        b"setname" => {
            takes("setname", 3)?;
            session.set_name(value)?;
            reply.ok();
        }
        b"setinfo" => {
            takes("setinfo", 4)?;
            set_info(session, value, arguments.at(3))?;
            reply.ok();
        }
        b"info" => reply.verbatim(&session.describe(reply.protocol, "info")),
        b"list" => reply.verbatim(&session.describe(reply.protocol, "list")),
        b"reply" => {
            takes("reply", 3)?;
            session.replies = match value.to_ascii_lowercase().as_slice() {
                b"on" => {
                    reply.ok();
                    Replies::On
                }
                b"off" => Replies::Off,
                b"skip" => Replies::SkipNext,
                _ => return Err(Failure::SYNTAX.into()),
            };
        }
        b"no-evict" | b"no-touch" => {
            takes("no-evict", 3)?;
            if !is(value, "ON") && !is(value, "OFF") {
                return Err(Failure::SYNTAX.into());
            }
            reply.ok();
        }
        _ => return Err(Failure::subcommand("CLIENT", subcommand)),
    }
    Ok(Action::None)
}

/// Notes the name or the version of the peer's library.
fn set_info(session: &mut Session, option: &[u8], value: &[u8]) -> Result<(), Failure> {
    let options = ["LIB-NAME", "LIB-VER"].into_iter().zip(&mut session.library);
    let Some((option, slot)) = options.into_iter().find(|(known, _)| is(option, known)) else {
        let found = String::from_utf8_lossy(option);
        return Err(format!("ERR Unrecognized option '{found}'").into());
    };
    *slot = checked_name(&option.to_lowercase(), value)?;
    Ok(())
}
