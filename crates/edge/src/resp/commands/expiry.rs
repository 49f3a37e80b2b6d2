//! The times at which keys expire.

use super::{Command, Context, Done, Run, integer, is};
use crate::resp::failure::Failure;
use crate::resp::request::Arguments;
use ::terrane::entry::Millis;

pub(super) fn commands() -> Vec<Command> {
    use Run::{Read, Update};
    let rows = [
        Command::new("expire", -3, Update(expire), "Sets a time to live, in seconds."),
        Command::new("pexpire", -3, Update(pexpire), "Sets a time to live, in milliseconds."),
        Command::new("expireat", -3, Update(expireat), "Sets a time of expiry, in seconds."),
        Command::new("pexpireat", -3, Update(pexpireat), "Sets a time of expiry, in milliseconds."),
        Command::new("ttl", 2, Read(ttl), "Returns the time to live, in seconds."),
        Command::new("pttl", 2, Read(pttl), "Returns the time to live, in milliseconds."),
        Command::new("expiretime", 2, Read(expiretime), "Returns the expiry, in seconds."),
        Command::new("pexpiretime", 2, Read(pexpiretime), "Returns the expiry, in milliseconds."),
        Command::new("persist", 2, Update(persist), "Removes the time of expiry."),
    ];
    rows.map(|command| command.keys(1, 1, 1).group("generic")).into()
}

fn expire(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    set_expiry(context, arguments, 1000, true, "expire")
}

fn pexpire(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    set_expiry(context, arguments, 1, true, "pexpire")
}

fn expireat(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    set_expiry(context, arguments, 1000, false, "expireat")
}

fn pexpireat(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    set_expiry(context, arguments, 1, false, "pexpireat")
}

/// The conditions of EXPIRE on the present expiry: that there is none, or one, or an earlier one, or a later one.
#[derive(Default)]
struct Conditions {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
}

impl Conditions {
    fn parse(arguments: Arguments<'_>) -> Result<Self, Failure> {
        let mut found = Conditions::default();
        for option in arguments.from(3) {
            let flag = match option {
                _ if is(option, "NX") => &mut found.nx,
                _ if is(option, "XX") => &mut found.xx,
                _ if is(option, "GT") => &mut found.gt,
                _ if is(option, "LT") => &mut found.lt,
                _ => {
                    let option = String::from_utf8_lossy(option);
                    return Err(format!("ERR Unsupported option {option}").into());
                }
            };
            *flag = true;
        }
        if found.nx && (found.xx || found.gt || found.lt) {
            let words = "ERR NX and XX, GT or LT options at the same time are not compatible";
            return Err(words.into());
        }
        if found.gt && found.lt {
            return Err("ERR GT and LT options at the same time are not compatible".into());
        }
        Ok(found)
    }

    /// Whether they hold for the present expiry. A missing expiry counts as later than any other.
    fn hold(&self, present: Option<Millis>, asked: i64) -> bool {
        let present = present.map(|at| i64::try_from(at).unwrap_or(i64::MAX));
        let is_later = present.is_some_and(|present| asked > present);
        let is_earlier = present.is_none_or(|present| asked < present);
        !(self.nx && present.is_some() || self.xx && present.is_none())
            && (!self.gt || is_later)
            && (!self.lt || is_earlier)
    }
}

fn set_expiry(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    unit: i64,
    is_relative: bool,
    name: &str,
) -> Done {
    let key = arguments.at(1);
    let number = integer(arguments.at(2))?;
    let conditions = Conditions::parse(arguments)?;
    let now = i64::try_from(context.access.now()).unwrap_or(i64::MAX);
    let base = if is_relative { now } else { 0 };
    let at = number.checked_mul(unit).and_then(|asked| asked.checked_add(base));
    let at = at.ok_or_else(|| format!("ERR invalid expire time in '{name}' command"))?;
    let found = context.access.get(context.keyspace, key)?;
    let found = found.filter(|value| conditions.hold(value.expires_at, at));
    match (&found, Millis::try_from(at)) {
        (None, _) => {}
        (Some(value), Ok(expires_at)) if at > now => {
            context.access.put(context.keyspace, key, &value.bytes, Some(expires_at))?;
        }
        (Some(_), _) => context.access.delete(context.keyspace, key)?,
    }
    context.reply.integer(i64::from(found.is_some()));
    Ok(())
}

fn ttl(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let now = context.access.now();
    // Rounds to the nearest second.
    reply_time(context, arguments, |at| (at.saturating_sub(now) + 500) / 1000)
}

fn pttl(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let now = context.access.now();
    reply_time(context, arguments, |at| at.saturating_sub(now))
}

fn expiretime(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    reply_time(context, arguments, |at| at.saturating_add(500) / 1000)
}

fn pexpiretime(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    reply_time(context, arguments, |at| at)
}

/// Replies with `time` of a key's expiry, with -1 for a key without expiry, or with -2 for a missing key.
fn reply_time(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    time: impl Fn(Millis) -> Millis,
) -> Done {
    let found = context.access.get(context.keyspace, arguments.at(1))?;
    let number = match found.map(|value| value.expires_at) {
        None => -2,
        Some(None) => -1,
        Some(Some(at)) => i64::try_from(time(at)).unwrap_or(i64::MAX),
    };
    context.reply.integer(number);
    Ok(())
}

fn persist(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let key = arguments.at(1);
    let found = context.access.get(context.keyspace, key)?;
    let found = found.filter(|value| value.expires_at.is_some());
    if let Some(value) = &found {
        context.access.put(context.keyspace, key, &value.bytes, None)?;
    }
    context.reply.integer(i64::from(found.is_some()));
    Ok(())
}
