//! Times of manifests.

use std::time::{SystemTime, UNIX_EPOCH};
use terrane::entry::Millis;

/// Returns the time in milliseconds since the epoch, or `last` if that is later, as after a clock was set back.
pub(crate) fn now_after(last: Millis) -> Millis {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX).max(last)
}
