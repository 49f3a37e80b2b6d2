//! Commands that walk through keys, and the cursors of SCAN.
//!
//! 1. A cursor is a number for a place: the key at which the next page starts. A table holds the newest of them.
//! 2. A cursor stays valid after its use, until newer ones take its place. One that is not in the table is refused.
//! 3. Numbers start at the time of the server's start, so those of an earlier process are not mistaken for new ones.

use super::commands::{Command, Context, Done, Run, check_reply, integer, is};
use super::databases;
use super::failure::Failure;
use super::glob::{literal_prefix, matches};
use super::request::Arguments;
use crate::tokens::Role;
use std::collections::VecDeque;
use std::ops::{Bound, ControlFlow};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use terrane::KeyRange;

/// The most cursors, and the most bytes of their keys.
const CURSORS_MAX: usize = 10_000;
const CURSOR_BYTES_MAX: usize = 16 << 20;
/// The most keys that DBSIZE counts, and KEYS looks at.
const KEYS_MAX: usize = 1_000_000;
/// Keys that a page of SCAN looks at without COUNT.
const PAGE_KEYS: usize = 10;
/// Bytes of keys at which a page ends, whatever its COUNT.
const PAGE_BYTES: usize = 1 << 20;
/// The most keys that RANDOMKEY skips.
const SKIPPED_MAX: u64 = 64;

pub(super) fn commands() -> Vec<Command> {
    use Run::Scan;
    let rows = [
        Command::new("keys", 2, Scan(keys), "Returns the keys that match a pattern."),
        Command::new("scan", -2, Scan(scan), "Returns a page of keys, and a cursor for the next."),
        Command::new("randomkey", 1, Scan(randomkey), "Returns a key by chance."),
        Command::new("dbsize", 1, Scan(dbsize), "Counts the keys; estimates beyond a million."),
    ];
    rows.map(|command| command.group("generic")).into()
}

/// The cursors of all connections.
pub(crate) struct Cursors(Mutex<Table>);

struct Table {
    /// The number of the oldest place.
    first: u64,
    places: VecDeque<(usize, Vec<u8>)>,
    bytes: usize,
}

impl Default for Cursors {
    fn default() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let first = u64::try_from(since.as_micros()).unwrap_or(1).max(1);
        Cursors(Mutex::new(Table { first, places: VecDeque::new(), bytes: 0 }))
    }
}

impl Cursors {
    /// Keeps a place: a database and a key. Returns its number.
    fn keep(&self, database: usize, key: Vec<u8>) -> u64 {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.bytes += key.len();
        table.places.push_back((database, key));
        while table.places.len() > CURSORS_MAX || table.bytes > CURSOR_BYTES_MAX {
            let Some((_, forgotten)) = table.places.pop_front() else { break };
            table.bytes -= forgotten.len();
            table.first += 1;
        }
        table.first + table.places.len() as u64 - 1
    }

    /// Returns the key of a place, if it is known.
    fn find(&self, database: usize, cursor: u64) -> Option<Vec<u8>> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = usize::try_from(cursor.checked_sub(table.first)?).ok()?;
        let (of, key) = table.places.get(index)?;
        (*of == database).then(|| key.clone())
    }
}

/// Refuses a range of which the peer may not read every key.
fn check_range(context: &Context<'_>, range: &KeyRange) -> Done {
    let keyspace = databases::name(context.database);
    if context.grant.allows_range(Role::Read, &keyspace, range) {
        Ok(())
    } else {
        Err(Failure::NO_KEY_PERMISSION.into())
    }
}

fn keys(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let pattern = arguments.at(1);
    let range = KeyRange::prefix(literal_prefix(pattern));
    check_range(context, &range)?;
    let (mut looked_at, mut bytes, mut found) = (0, 0, Vec::new());
    let most = context.shared.limits.batch_bytes;
    context.access.scan(context.keyspace, range, false, &mut |key, _| {
        looked_at += 1;
        if looked_at > KEYS_MAX || bytes > most {
            return ControlFlow::Break(());
        }
        if matches(pattern, key) {
            bytes += key.len();
            found.push(key.to_vec());
        }
        ControlFlow::Continue(())
    })?;
    if looked_at > KEYS_MAX || bytes > most {
        return Err(format!("ERR more than {KEYS_MAX} keys to look at; use SCAN").into());
    }
    context.reply.array(found.len());
    for key in found {
        context.reply.bulk(key);
    }
    check_reply(context)
}

/// The options of SCAN.
struct Options<'a> {
    pattern: Option<&'a [u8]>,
    count: usize,
    is_string: bool,
}

impl<'a> Options<'a> {
    fn parse(arguments: Arguments<'a>) -> Result<Self, Failure> {
        let mut options = Options { pattern: None, count: PAGE_KEYS, is_string: true };
        let mut rest = arguments.from(2);
        while let Some(option) = rest.next() {
            let value = rest.next().ok_or(Failure::SYNTAX)?;
            if is(option, "MATCH") {
                options.pattern = Some(value);
            } else if is(option, "COUNT") {
                let count = integer(value)?;
                let count = usize::try_from(count).ok().filter(|count| *count > 0);
                options.count = count.ok_or(Failure::SYNTAX)?;
            } else if is(option, "TYPE") {
                options.is_string = is(value, "string");
            } else {
                return Err(Failure::SYNTAX.into());
            }
        }
        Ok(options)
    }
}

fn scan(context: &mut Context<'_>, arguments: Arguments<'_>) -> Done {
    let cursor = std::str::from_utf8(arguments.at(1)).ok().and_then(|text| text.parse().ok());
    let cursor: u64 = cursor.ok_or("ERR invalid cursor")?;
    let options = Options::parse(arguments)?;
    let prefix = options.pattern.map(literal_prefix).unwrap_or_default();
    let mut range = KeyRange::prefix(prefix);
    if cursor != 0 {
        let from = context.shared.resp.cursors.find(context.database, cursor);
        let from = from.ok_or("ERR invalid cursor: this one was forgotten; start again from 0")?;
        if range.above_start(&from) {
            range.from = Bound::Included(from);
        }
    }
    check_range(context, &range)?;
    let (mut looked_at, mut bytes, mut found, mut next) = (0, 0, Vec::new(), None);
    context.access.scan(context.keyspace, range, false, &mut |key, _| {
        if looked_at >= options.count || bytes >= PAGE_BYTES {
            next = Some(key.to_vec());
            return ControlFlow::Break(());
        }
        looked_at += 1;
        bytes += key.len();
        if options.is_string && options.pattern.is_none_or(|pattern| matches(pattern, key)) {
            found.push(key.to_vec());
        }
        ControlFlow::Continue(())
    })?;
    let next = next.map_or(0, |key| context.shared.resp.cursors.keep(context.database, key));
    context.reply.array(2);
    context.reply.bulk(next.to_string());
    context.reply.array(found.len());
    for key in found {
        context.reply.bulk(key);
    }
    Ok(())
}

/// Seeks to a random place between the first key and the last, and skips some keys from there, since otherwise keys
/// after wide gaps would be likelier.
fn randomkey(context: &mut Context<'_>, _: Arguments<'_>) -> Done {
    check_range(context, &KeyRange::from(..))?;
    let edge = |context: &mut Context<'_>, reverse| {
        let mut edge = None;
        context.access.scan(context.keyspace, KeyRange::from(..), reverse, &mut |key, _| {
            edge = Some(key.to_vec());
            ControlFlow::Break(())
        })?;
        Ok::<_, Failure>(edge)
    };
    let (Some(first), Some(last)) = (edge(context, false)?, edge(context, true)?) else {
        context.reply.null();
        return Ok(());
    };
    let random = random();
    let mut from = Some(between(&first, &last, random));
    let mut skipped = random % SKIPPED_MAX;
    let mut chosen = first;
    // From the place to the end, then from the start.
    for _ in 0..SKIPPED_MAX {
        let lower = from.take().map_or(Bound::Unbounded, Bound::Included);
        let range = KeyRange { from: lower, to: Bound::Unbounded };
        let mut is_found = false;
        context.access.scan(context.keyspace, range, false, &mut |key, _| {
            is_found = skipped == 0;
            if is_found {
                chosen = key.to_vec();
                return ControlFlow::Break(());
            }
            skipped -= 1;
            ControlFlow::Continue(())
        })?;
        if is_found {
            break;
        }
    }
    context.reply.bulk(chosen);
    Ok(())
}

/// Returns a random place between two keys: their common prefix, and eight bytes between those that follow it.
fn between(first: &[u8], last: &[u8], random: u64) -> Vec<u8> {
    let shared = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    let number = |key: &[u8]| {
        let mut bytes = [0; 8];
        for (byte, found) in bytes.iter_mut().zip(key.get(shared..).unwrap_or_default()) {
            *byte = *found;
        }
        u64::from_be_bytes(bytes)
    };
    let (low, high) = (number(first), number(last));
    let place = low + random % (high.saturating_sub(low)).saturating_add(1);
    let mut key = first.get(..shared).unwrap_or_default().to_vec();
    key.extend(place.to_be_bytes());
    key
}

/// Returns a random number: the seed of a hash map's keys.
fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}

fn dbsize(context: &mut Context<'_>, _: Arguments<'_>) -> Done {
    check_range(context, &KeyRange::from(..))?;
    let (mut count, mut last) = (0usize, None);
    context.access.scan(context.keyspace, KeyRange::from(..), false, &mut |key, _| {
        count += 1;
        if count < KEYS_MAX {
            return ControlFlow::Continue(());
        }
        last = Some(key.to_vec());
        ControlFlow::Break(())
    })?;
    if let Some(last) = last {
        count = estimate(context, count, last)?;
    }
    context.reply.count(count);
    Ok(())
}

/// Estimates the number of keys by the bytes of the first `counted`, through `last`.
fn estimate(context: &Context<'_>, counted: usize, last: Vec<u8>) -> Result<usize, Failure> {
    let all = context.keyspace.approximate_size(..)?;
    let upper = Bound::Included(last);
    let part = context.keyspace.approximate_size(KeyRange { from: Bound::Unbounded, to: upper })?;
    if part == 0 {
        return Ok(counted);
    }
    let estimated = counted as u128 * u128::from(all) / u128::from(part);
    Ok(usize::try_from(estimated).unwrap_or(usize::MAX).max(counted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_known_until_newer_ones_take_its_place() {
        let cursors = Cursors::default();
        let first = cursors.keep(3, b"key".to_vec());
        assert_eq!(cursors.find(3, first), Some(b"key".to_vec()));
        assert_eq!(cursors.find(3, first), Some(b"key".to_vec()));
        assert_eq!(cursors.find(4, first), None);
        for _ in 1..CURSORS_MAX {
            cursors.keep(3, b"other".to_vec());
        }
        assert!(cursors.find(3, first).is_some());
        let last = cursors.keep(3, b"last".to_vec());
        assert_eq!(cursors.find(3, first), None);
        assert_eq!(cursors.find(3, last), Some(b"last".to_vec()));
        assert_eq!(cursors.find(3, last + 1), None);
    }

    #[test]
    fn long_keys_leave_room_for_fewer_cursors() {
        let cursors = Cursors::default();
        let first = cursors.keep(0, vec![0; 60_000]);
        for _ in 0..300 {
            cursors.keep(0, vec![0; 60_000]);
        }
        assert_eq!(cursors.find(0, first), None);
    }

    #[test]
    fn a_place_is_between_its_keys() {
        for random in [0, 1, 12_345, u64::MAX] {
            let place = between(b"key:001", b"key:999", random);
            assert!(place.as_slice() >= b"key:001".as_slice() && place.starts_with(b"key:"));
        }
        between(b"a", b"a", 7);
    }
}
