//! The trees of a store's keyspaces: their shape, policy and compaction.

use crate::codec::range;
use crate::session::Session;
use crate::steps::Steps;
use std::sync::Arc;
use terrane::{Error, ErrorKind, Keyspace, Result};
use terrane_platform::BROWSER;
use terrane_policy::{ParseError, PolicyOptions};
use terrane_types::Shape;

/// Parses a policy's options: those that are left out are the defaults of the platform.
pub(crate) fn policy(json: &str) -> Result<PolicyOptions> {
    if let Some(policy) = PolicyOptions::left_out(json) {
        return Err(ErrorKind::LeftOut(policy).into());
    }
    let scale = if BROWSER { |preset| preset } else { PolicyOptions::native };
    PolicyOptions::parse_scaled(json, scale).map_err(|ParseError { expected, found }| {
        let more = if found.starts_with("unknown ") { MORE } else { "" };
        Error::invalid("policy", expected + more, found)
    })
}

/// Hint at the build with the policies and parameters that this one lacks.
const MORE: &str = if cfg!(feature = "all") { "" } else { " (policies: \"all\" has more)" };

/// Sets the policy of a keyspace, unless it is the same.
pub(crate) fn set_policy(keyspace: &Keyspace, policy: &PolicyOptions) -> Result<()> {
    if keyspace.policy()? == *policy { Ok(()) } else { keyspace.set_policy(policy) }
}

impl Session {
    /// Returns the levels of a keyspace, with their runs and tables.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    pub fn levels(&self, keyspace: u32) -> Result<Arc<Shape>> {
        self.keyspace_of(keyspace).and_then(Keyspace::shape)
    }

    /// Returns the policy of a keyspace with its parameters.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    pub fn policy(&self, keyspace: u32) -> Result<PolicyOptions> {
        self.keyspace_of(keyspace).and_then(Keyspace::policy)
    }

    /// Sets the policy of a keyspace.
    ///
    /// # Errors
    /// An unknown policy, a parameter outside its range, an I/O error.
    pub fn set_policy(&self, keyspace: u32, options: &str) -> Result<()> {
        self.keyspace_of(keyspace).and_then(|keyspace| set_policy(keyspace, &policy(options)?))
    }

    /// Estimates the size of an encoded range in tables, in bytes.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    pub fn approximate_size(&self, keyspace: u32, within: &[u8]) -> Result<f64> {
        let size = self.keyspace_of(keyspace)?.approximate_size(range(within)?)?;
        Ok(size as f64)
    }

    /// Starts to compact an encoded range into one run.
    ///
    /// # Errors
    /// A closed store; an I/O error is returned by a step.
    pub fn compact_range(&self, keyspace: u32, within: &[u8]) -> Result<Steps> {
        let compaction = self.keyspace_of(keyspace)?.begin_compact_range(range(within)?)?;
        Ok(Steps::waiter(self.db(), compaction))
    }
}

#[cfg(test)]
#[cfg(not(feature = "all"))]
mod tests {
    use super::*;

    #[test]
    fn the_other_build_is_named_for_unknown_names_not_wrong_values() {
        let refused =
            |json: &str| policy(json).err().map(|why| why.to_string()).unwrap_or_default();
        for unknown in [r#"{"policy":"best"}"#, r#"{"policy":"leveled","best":1}"#] {
            assert!(refused(unknown).contains(MORE), "{}", refused(unknown));
        }
        let wrong = refused(r#"{"policy":"leveled","pick":"newest"}"#);
        assert!(wrong.contains("least-overlap") && !wrong.contains(MORE), "{wrong}");
    }
}
