//! Times of manifests and logs.

#[cfg(not(test))]
use std::time::SystemTime;
use std::time::{Duration, UNIX_EPOCH};
use terrane::entry::Millis;

/// The last time that has a form in text: the end of the year 9999.
const TIME_MAX: Millis = 253_402_300_799_999;

/// Returns a time, in milliseconds since the epoch, as text in UTC. Times after the year 9999 are its end.
#[must_use]
pub fn utc(time: Millis) -> String {
    let time = UNIX_EPOCH + Duration::from_millis(time.min(TIME_MAX));
    humantime::format_rfc3339_millis(time).to_string()
}

/// Returns the time in milliseconds since the epoch, or `last` if that is later, as after a clock was set back.
pub(crate) fn now_after(last: Millis) -> Millis {
    now().max(last)
}

#[cfg(not(test))]
fn now() -> Millis {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
thread_local! {
    /// The clock of the model on this thread.
    pub(crate) static CLOCK: std::cell::Cell<Millis> = const { std::cell::Cell::new(1) };
}

#[cfg(test)]
fn now() -> Millis {
    CLOCK.get()
}
