//! The time at which a value expires, as options and in words.

use crate::exit::Failure;
use crate::store::Opened;
use clap::Args;
use std::time::{Duration, SystemTime};
use terrane::entry::check_limits;
use terrane::{KeyspaceId, Millis, WriteBatch};

/// Expiry of a value that is put; a value without expiry stays.
#[derive(Args)]
#[group(multiple = false)]
pub struct ExpiryArgs {
    /// Keep the value for this long, such as 90s, 5m or "1day 12h"; then the key does not exist
    ///
    /// `m` is a minute and `M` a month. Without this or --expires-at the value stays, whatever was put before.
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true)]
    pub ttl: Option<Duration>,
    /// Keep the value until this time in UTC, such as 2030-01-31T12:00:00Z; one that is past deletes the key
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub expires_at: Option<SystemTime>,
}

impl ExpiryArgs {
    /// Refuses a value over its limit, which is lower with an expiry.
    pub fn check(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        check_limits(key, value)?;
        if self.ttl.is_some() || self.expires_at.is_some() {
            WriteBatch::new().put_expiring_at(KeyspaceId(0), key, value, 0)?;
        }
        Ok(())
    }

    /// Returns the time of the expiry, if one is given.
    pub fn time(&self, opened: &Opened) -> Result<Option<Millis>, Failure> {
        if let Some(ttl) = self.ttl {
            return Ok(Some(opened.db.expires_in(ttl)?));
        }
        let since_epoch = |at: SystemTime| at.duration_since(SystemTime::UNIX_EPOCH);
        let millis = |at| since_epoch(at).map_or(0, |since| since.as_millis() as Millis);
        Ok(self.expires_at.map(millis))
    }
}

fn duration(given: &str) -> Result<Duration, String> {
    let expected = "expected a duration, for example 90s, 5m or \"1day 12h\"";
    humantime::parse_duration(given).map_err(|_| expected.to_owned())
}

fn time(given: &str) -> Result<SystemTime, String> {
    let expected = "expected a time in UTC since 1970, for example 2030-01-31T12:00:00Z";
    humantime::parse_rfc3339_weak(given).map_err(|_| expected.to_owned())
}

/// A time of an expiry in words.
pub fn words(expires_at: Option<Millis>) -> String {
    let Some(at) = expires_at else { return "never".to_owned() };
    match SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(at)) {
        // The year 9999 is the last that can be formatted.
        Some(time) if at < 253_402_300_800_000 => {
            humantime::format_rfc3339_millis(time).to_string()
        }
        _ => format!("{at} ms after 1970"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_has_words() {
        assert_eq!(words(None), "never");
        assert_eq!(words(Some(0)), "1970-01-01T00:00:00.000Z");
        assert_eq!(words(Some(253_402_300_799_999)), "9999-12-31T23:59:59.999Z");
        assert_eq!(words(Some(253_402_300_800_000)), "253402300800000 ms after 1970");
        assert_eq!(words(Some(Millis::MAX)), "18446744073709551615 ms after 1970");
    }
}
