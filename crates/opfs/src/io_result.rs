//! The results of a handle's `read` and `write`.
//!
//! Both return the number of bytes moved as a JavaScript number. When the quota is exceeded, browsers
//! differ: some throw, some return a short count, some return a negative error code as an unsigned
//! 32-bit number. [`Count::of`] distinguishes these and can be tested without a browser.

use std::io;
use terrane_table::error::{Error, Message};

/// Chromium's code for "no space", which its handles have returned instead of a count.
const NO_SPACE: i64 = -8;

/// The meaning of the number that a read or write returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// This many bytes were moved, at most as many as requested.
    Moved(usize),
    /// The quota is exceeded.
    NoSpace,
    /// Not a valid count.
    Invalid(i64),
}

impl Count {
    /// Interprets what a call for `requested` bytes returned.
    pub(crate) fn of(returned: f64, requested: usize) -> Count {
        if returned >= 0.0 && returned <= requested as f64 && returned.fract() == 0.0 {
            return Count::Moved(returned as usize);
        }
        // A negative 32-bit code may be returned as a signed or an unsigned number.
        let code = if returned > f64::from(i32::MAX) && returned <= f64::from(u32::MAX) {
            returned as i64 - (1 << 32)
        } else {
            returned as i64
        };
        if code == NO_SPACE { Count::NoSpace } else { Count::Invalid(code) }
    }
}

/// The error for an exception called `name` that `action` on `file` threw.
pub(crate) fn thrown(
    action: &'static str,
    file: &str,
    wanted: u64,
    name: &str,
    message: &str,
) -> Error {
    let kind = match name {
        "QuotaExceededError" => io::ErrorKind::QuotaExceeded,
        "NoModificationAllowedError" => io::ErrorKind::ResourceBusy,
        "NotAllowedError" | "SecurityError" => io::ErrorKind::PermissionDenied,
        // Firefox closes the handles of an origin whose storage it clears.
        "InvalidStateError" => io::ErrorKind::StaleNetworkFileHandle,
        _ => io::ErrorKind::Other,
    };
    Error::io(action, file, wanted, io::Error::new(kind, Message(format!("{name}: {message}"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrane_table::error::ErrorKind;

    #[test]
    fn a_whole_number_up_to_the_request_is_a_count() {
        for moved in [0, 1, 4095, 4096] {
            assert_eq!(Count::of(moved as f64, 4096), Count::Moved(moved));
        }
        assert_eq!(Count::of(0.0, 0), Count::Moved(0));
    }

    #[test]
    fn no_space_is_recognized_signed_and_unsigned() {
        assert_eq!(Count::of(-8.0, 4096), Count::NoSpace);
        assert_eq!(Count::of(f64::from(0xFFFF_FFF8_u32), 4096), Count::NoSpace);
    }

    #[test]
    fn anything_else_is_never_a_count() {
        assert_eq!(Count::of(4097.0, 4096), Count::Invalid(4097));
        assert_eq!(Count::of(f64::from(u32::MAX), 4096), Count::Invalid(-1));
        assert_eq!(Count::of(-1.0, 4096), Count::Invalid(-1));
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.5] {
            assert!(matches!(Count::of(odd, 4096), Count::Invalid(_)), "{odd}");
        }
    }

    #[test]
    fn a_quota_exception_becomes_no_space() {
        let error = thrown("write", "data", 4096, "QuotaExceededError", "full");
        assert!(matches!(error.kind(), ErrorKind::NoSpace(full) if full.wanted == 4096), "{error}");
        let error = thrown("sync", "data", 0, "InvalidStateError", "gone");
        assert_eq!(error.to_string(), "could not sync data: InvalidStateError: gone");
        assert_eq!(error.io_kind(), Some(io::ErrorKind::StaleNetworkFileHandle));
    }
}
