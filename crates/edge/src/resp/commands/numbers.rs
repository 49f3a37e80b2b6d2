//! Values that are numbers.

use super::{Command, Context, Done, Run, integer};
use crate::resp::decimal::Decimal;
use crate::resp::failure::Failure;
use crate::resp::request::Arguments;

const OVERFLOW: &str = "ERR increment or decrement would overflow";
const NO_FLOAT: &str = "ERR value is not a valid float";
const INFINITE: &str = "ERR increment would produce NaN or Infinity";

pub(super) fn commands() -> Vec<Command> {
    let rows = [
        Command::new("incr", 2, Run::Update(incr), "Adds one to a number."),
        Command::new("decr", 2, Run::Update(decr), "Subtracts one from a number."),
        Command::new("incrby", 3, Run::Update(incrby), "Adds to a number."),
        Command::new("decrby", 3, Run::Update(decrby), "Subtracts from a number."),
        Command::new("incrbyfloat", 3, Run::Update(incrbyfloat), "Adds to a decimal number."),
    ];
    rows.map(|command| command.keys(1, 1, 1).group("string")).into()
}

fn incr(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    add(context, arguments, 1)
}

fn decr(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    add(context, arguments, -1)
}

fn incrby(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    add(context, arguments, integer(arguments.at(2))?)
}

fn decrby(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let negated = integer(arguments.at(2))?.checked_neg();
    add(context, arguments, negated.ok_or("ERR decrement would overflow")?)
}

fn add(context: &mut Context<'_>, arguments: Arguments<'_>, change: i64) -> Done {
    let key = arguments.at(1);
    let found = context.access.get(context.keyspace, key)?;
    let (before, at) = match &found {
        Some(value) => (integer(&value.bytes)?, value.expires_at),
        None => (0, None),
    };
    let after = before.checked_add(change).ok_or(OVERFLOW)?;
    context.access.put(context.keyspace, key, after.to_string().as_bytes(), at)?;
    context.reply.integer(after);
    Ok(())
}

fn incrbyfloat(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let key = arguments.at(1);
    let found = context.access.get(context.keyspace, key)?;
    let (before, at) = match &found {
        Some(value) => (decimal(&value.bytes)?, value.expires_at),
        None => (Decimal::Exact(0), None),
    };
    let after = before.plus(decimal(arguments.at(2))?).ok_or(INFINITE)?.to_string();
    context.access.put(context.keyspace, key, after.as_bytes(), at)?;
    context.reply.bulk(after);
    Ok(())
}

fn decimal(text: &[u8]) -> Result<Decimal, Failure> {
    let is_infinite = || {
        let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok());
        number.is_some_and(f64::is_infinite)
    };
    match Decimal::parse(text) {
        Some(number) => Ok(number),
        None if is_infinite() => Err(INFINITE.into()),
        None => Err(NO_FLOAT.into()),
    }
}
