//! Times of manifests.

use std::time::{SystemTime, UNIX_EPOCH};
use terrane::entry::Millis;

/// Returns the time, in milliseconds since the epoch, but none before `last`: a clock that is set back stands still.
pub(crate) fn now_after(last: Millis) -> Millis {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX).max(last)
}
