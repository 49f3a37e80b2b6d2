//! Ranges of keys, which Redis does not have.
//!
//! A bound is `[` and a key that belongs to the range, `(` and one that does not, `-` for the first key, or `+` for
//! the last.

use super::{Command, Context, Done, Run, check_reply, integer, is};
use crate::resp::databases;
use crate::resp::failure::Failure;
use crate::resp::request::Arguments;
use crate::tokens::Role;
use ::terrane::KeyRange;
use std::ops::{Bound, ControlFlow};

/// The most rows of a range.
const ROWS_MAX: usize = 1_000_000;

pub(super) fn commands() -> Vec<Command> {
    let rows = [
        Command::new(
            "terrane.range",
            -3,
            Run::Scan(range),
            "Returns the keys of a range, in order or against it, with their values if asked.",
        ),
        Command::new("terrane.delrange", 3, Run::Write(delrange), "Removes all keys of a range."),
    ];
    rows.map(|command| command.group("generic")).into()
}

fn bound(argument: &[u8]) -> Result<Bound<Vec<u8>>, Failure> {
    match argument {
        b"-" | b"+" => Ok(Bound::Unbounded),
        [b'[', key @ ..] => Ok(Bound::Included(key.to_vec())),
        [b'(', key @ ..] => Ok(Bound::Excluded(key.to_vec())),
        _ => Err("ERR min or max not valid string range item".into()),
    }
}

fn parse_range(
    context: &Context<'_>,
    arguments: Arguments<'_>,
    role: Role,
) -> Result<KeyRange, Failure> {
    let range = KeyRange { from: bound(arguments.at(1))?, to: bound(arguments.at(2))? };
    if arguments.at(1) == b"+" || arguments.at(2) == b"-" {
        return Err("ERR expected a range that starts before its end".into());
    }
    if context.grant.allows_range(role, &databases::name(context.database), &range) {
        Ok(range)
    } else {
        Err(Failure::NO_KEY_PERMISSION.into())
    }
}

/// The options of TERRANE.RANGE.
struct Options {
    is_reverse: bool,
    has_values: bool,
    limit: Option<usize>,
}

impl Options {
    fn parse(arguments: Arguments<'_>) -> Result<Self, Failure> {
        let mut options = Options { is_reverse: false, has_values: false, limit: None };
        let mut rest = arguments.from(3);
        while let Some(option) = rest.next() {
            if is(option, "REV") {
                options.is_reverse = true;
            } else if is(option, "WITHVALUES") {
                options.has_values = true;
            } else if is(option, "LIMIT") {
                let limit = integer(rest.next().ok_or(Failure::SYNTAX)?)?;
                let limit = usize::try_from(limit).map_err(|_| Failure::NOT_AN_INTEGER)?;
                if limit > ROWS_MAX {
                    let words = format!("expected at most {ROWS_MAX}, found {limit}");
                    return Err(format!("ERR LIMIT too high: {words}").into());
                }
                options.limit = Some(limit);
            } else {
                return Err(Failure::SYNTAX.into());
            }
        }
        Ok(options)
    }
}

fn range(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let options = Options::parse(arguments)?;
    let range = parse_range(context, arguments, Role::Read)?;
    let (mut rows, mut bytes) = (Vec::new(), 0);
    let most = context.shared.limits.batch_bytes;
    // One row more than the most shows that there are too many.
    let limit = options.limit.unwrap_or(ROWS_MAX + 1);
    context.access.scan(context.keyspace, range, options.is_reverse, &mut |key, value| {
        if rows.len() >= limit || bytes > most {
            return ControlFlow::Break(());
        }
        let value = if options.has_values { value } else { &[] };
        bytes += key.len() + value.len();
        rows.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    })?;
    if bytes > most {
        return Err(Failure::too_long("reply", bytes, most));
    }
    if rows.len() > ROWS_MAX {
        return Err(format!("ERR more than {ROWS_MAX} rows; use LIMIT").into());
    }
    context.reply.array(rows.len() * if options.has_values { 2 } else { 1 });
    for (key, value) in rows {
        context.reply.bulk(key);
        if options.has_values {
            context.reply.bulk(value);
        }
    }
    check_reply(context)
}

fn delrange(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let range = parse_range(context, arguments, Role::Write)?;
    context.access.delete_range(context.keyspace, range)?;
    context.reply.ok();
    Ok(())
}
