//! Parts of values.

use super::{Command, Context, Done, Run, integer};
use crate::resp::request::Arguments;

pub(super) fn commands() -> Vec<Command> {
    let rows = [
        Command::new("getrange", 4, Run::Read(getrange), "Returns a part of a value."),
        Command::new("substr", 4, Run::Read(getrange), "Returns a part of a value."),
        Command::new("setrange", 4, Run::Update(setrange), "Overwrites a part of a value."),
    ];
    rows.map(|command| command.keys(1, 1, 1).group("string")).into()
}

fn getrange(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let (start, end) = (integer(arguments.at(2))?, integer(arguments.at(3))?);
    let found = context.access.get(context.keyspace, arguments.at(1))?;
    let value = found.map(|value| value.bytes).unwrap_or_default();
    context.reply.bulk(part(&value, start, end));
    Ok(())
}

/// Returns the bytes from `start` through `end`; negative places count from the end.
fn part(value: &[u8], start: i64, end: i64) -> &[u8] {
    let length = i64::try_from(value.len()).unwrap_or(i64::MAX);
    let place = |place: i64| if place < 0 { place.saturating_add(length) } else { place };
    if start < 0 && end < 0 && start > end {
        return &[];
    }
    let (start, end) = (place(start).max(0), place(end).max(0).min(length - 1));
    let to_usize = |place: i64| usize::try_from(place).unwrap_or(0);
    if start > end || length == 0 {
        return &[];
    }
    value.get(to_usize(start)..=to_usize(end)).unwrap_or_default()
}

fn setrange(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let (key, piece) = (arguments.at(1), arguments.at(3));
    let offset = usize::try_from(integer(arguments.at(2))?);
    let offset = offset.map_err(|_| "ERR offset is out of range")?;
    let found = context.access.get(context.keyspace, key)?;
    let (mut value, at) = found.map(|value| (value.bytes, value.expires_at)).unwrap_or_default();
    if !piece.is_empty() {
        let end = offset.saturating_add(piece.len());
        if end > context.shared.limits.value_bytes {
            return Err("ERR string exceeds maximum allowed size (proto-max-bulk-len)".into());
        }
        value.resize(value.len().max(end), 0);
        if let Some(place) = value.get_mut(offset..end) {
            place.copy_from_slice(piece);
        }
        context.access.put(context.keyspace, key, &value, at)?;
    }
    context.reply.count(value.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn parts_are_those_of_redis() {
        let rows = [
            (0, 3, "Hell"),
            (0, -1, "Hello"),
            (-3, -1, "llo"),
            (3, 3, "l"),
            (5, -1, ""),
            (3, 5000, "lo"),
            (-5000, 10, "Hello"),
            (-1, -3, ""),
            (0, -100, "H"),
            (i64::MIN, i64::MAX, "Hello"),
        ];
        for (start, end, expected) in rows {
            assert_eq!(part(b"Hello", start, end), expected.as_bytes(), "{start} {end}");
        }
        assert_eq!(part(b"", 0, -1), b"");
    }
}
