//! The options of SET and GETEX.

use super::{integer, is};
use crate::resp::access::Value;
use crate::resp::failure::Failure;
use crate::resp::request::Arguments;
use ::terrane::entry::Millis;

/// A condition of SET.
enum Condition<'a> {
    Always,
    Absent,
    Present,
    Equal(&'a [u8]),
    Unequal(&'a [u8]),
}

/// The time of expiry that a command sets.
pub(super) enum Expiry {
    None,
    Keep,
    Persist,
    /// A number of units, each of this many milliseconds, from now or from the epoch.
    Set {
        number: i64,
        unit: i64,
        is_relative: bool,
    },
}

/// The reply to SET.
pub(super) enum SetGet {
    Status,
    Old,
}

pub(super) struct Options<'a> {
    condition: Condition<'a>,
    pub expiry: Expiry,
    pub get: SetGet,
}

/// Returns whether a SET reads nothing.
pub(super) fn is_plain(arguments: Arguments<'_>) -> bool {
    // A SET that is refused needs no read either.
    arguments.len() == 3 || Options::of_set(arguments).map_or(true, |options| options.is_blind())
}

impl<'a> Options<'a> {
    const NONE: Self =
        Options { condition: Condition::Always, expiry: Expiry::None, get: SetGet::Status };

    pub fn of_set(arguments: Arguments<'a>) -> Result<Self, Failure> {
        let mut options = Options::NONE;
        let mut rest = arguments.from(3);
        while let Some(option) = rest.next() {
            if is(option, "GET") {
                options.get = SetGet::Old;
            } else if is(option, "KEEPTTL") {
                options.expire(Expiry::Keep)?;
            } else if let Some((unit, is_relative)) = unit(option) {
                let number = integer(rest.next().ok_or(Failure::SYNTAX)?)?;
                options.expire(Expiry::Set { number, unit, is_relative })?;
            } else {
                options.condition(option, &mut rest)?;
            }
        }
        Ok(options)
    }

    pub fn of_getex(arguments: Arguments<'a>) -> Result<Self, Failure> {
        let mut options = Options::NONE;
        let mut rest = arguments.from(2);
        while let Some(option) = rest.next() {
            if is(option, "PERSIST") {
                options.expire(Expiry::Persist)?;
            } else {
                let (unit, is_relative) = unit(option).ok_or(Failure::SYNTAX)?;
                let number = integer(rest.next().ok_or(Failure::SYNTAX)?)?;
                options.expire(Expiry::Set { number, unit, is_relative })?;
            }
        }
        Ok(options)
    }

    fn expire(&mut self, expiry: Expiry) -> Result<(), Failure> {
        if !matches!(self.expiry, Expiry::None) {
            return Err(Failure::SYNTAX.into());
        }
        self.expiry = expiry;
        Ok(())
    }

    fn condition(
        &mut self,
        option: &[u8],
        rest: &mut impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), Failure> {
        if !matches!(self.condition, Condition::Always) {
            return Err(Failure::SYNTAX.into());
        }
        let mut value = || rest.next().ok_or(Failure::from(Failure::SYNTAX));
        self.condition = match option {
            _ if is(option, "NX") => Condition::Absent,
            _ if is(option, "XX") => Condition::Present,
            _ if is(option, "IFEQ") => Condition::Equal(value()?),
            _ if is(option, "IFNE") => Condition::Unequal(value()?),
            _ => return Err(Failure::SYNTAX.into()),
        };
        Ok(())
    }

    /// Whether the value is set without regard to the former one, which the reply does not have either.
    pub fn is_blind(&self) -> bool {
        matches!(self.condition, Condition::Always)
            && matches!(self.get, SetGet::Status)
            && !self.expiry.keeps()
    }

    /// Whether the condition holds.
    pub fn holds(&self, found: Option<&Value>) -> bool {
        let found = found.map(|value| value.bytes.as_slice());
        match self.condition {
            Condition::Always => true,
            Condition::Absent => found.is_none(),
            Condition::Present => found.is_some(),
            Condition::Equal(expected) => found == Some(expected),
            Condition::Unequal(expected) => found != Some(expected),
        }
    }
}

/// Returns the milliseconds of an option's unit, and whether it counts from now.
fn unit(option: &[u8]) -> Option<(i64, bool)> {
    Some(match option {
        _ if is(option, "EX") => (1000, true),
        _ if is(option, "PX") => (1, true),
        _ if is(option, "EXAT") => (1000, false),
        _ if is(option, "PXAT") => (1, false),
        _ => return None,
    })
}

impl Expiry {
    pub fn keeps(&self) -> bool {
        matches!(self, Expiry::Keep)
    }

    pub fn persists(&self) -> bool {
        matches!(self, Expiry::Persist)
    }

    pub fn needs_now(&self) -> bool {
        matches!(self, Expiry::Set { is_relative: true, .. })
    }

    /// Returns the time of expiry, if one is set.
    ///
    /// # Errors
    /// A time that is not positive, or out of range.
    pub fn resolve(&self, now: Millis, name: &str) -> Result<Option<Millis>, Failure> {
        let Expiry::Set { number, unit, is_relative } = *self else { return Ok(None) };
        expires_at(number, unit, is_relative.then_some(now), name).map(Some)
    }
}

/// Returns the time that is a number of units from `now`, or from the epoch.
///
/// # Errors
/// A time that is not positive, or out of range.
pub(super) fn expires_at(
    number: i64,
    unit: i64,
    now: Option<Millis>,
    name: &str,
) -> Result<Millis, Failure> {
    let now = now.map_or(0, |now| i64::try_from(now).unwrap_or(i64::MAX));
    let positive = Some(number).filter(|number| *number > 0);
    let at = positive.and_then(|number| number.checked_mul(unit)?.checked_add(now));
    let at = at.and_then(|at| Millis::try_from(at).ok());
    at.ok_or_else(|| format!("ERR invalid expire time in '{name}' command").into())
}
