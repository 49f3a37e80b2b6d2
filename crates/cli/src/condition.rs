//! Conditions on the key that `put`, `merge` and `delete` write.

use crate::args;
use crate::escape::shown;
use crate::exit::{Exit, Failure};
use crate::store::Opened;
use clap::Args;
use std::ffi::OsString;
use terrane::{Condition, Durability, Keyspace, Outcome, WriteBatch};

/// A condition for the key to be written; otherwise nothing is, and the exit code is 1.
#[derive(Args)]
#[group(multiple = false)]
pub struct ConditionArgs {
    /// Write only if the key does not exist
    #[arg(long)]
    pub if_absent: bool,
    /// Write only if the key exists
    #[arg(long)]
    pub if_exists: bool,
    /// Write only if the value was set by the write with this sequence number (`get --sequence`)
    #[arg(long, value_name = "N")]
    pub if_sequence: Option<u64>,
    /// Write only if the key has this value
    #[arg(long, value_name = "VALUE")]
    pub if_value: Option<OsString>,
}

impl ConditionArgs {
    /// Whether a condition is given.
    pub fn is_given(&self) -> bool {
        let Self { if_absent, if_exists, if_sequence, if_value } = self;
        *if_absent || *if_exists || if_sequence.is_some() || if_value.is_some()
    }

    /// Parses the condition, before a store is opened for it. `hex` says that its value is given as hexadecimal
    /// digits.
    pub fn parse(&self, hex: bool) -> Result<(), Failure> {
        self.if_value.as_ref().map(|value| args::bytes(value, hex)).transpose().map(drop)
    }

    fn on(
        &self,
        keyspace: &Keyspace,
        key: &[u8],
        hex: bool,
    ) -> Result<Option<Condition<'static>>, Failure> {
        Ok(if self.if_absent {
            Some(Condition::absent(keyspace, key))
        } else if self.if_exists {
            Some(Condition::present(keyspace, key))
        } else if let Some(seq) = self.if_sequence {
            Some(Condition::version(keyspace, key, seq))
        } else if let Some(value) = &self.if_value {
            Some(Condition::value(keyspace, key, args::bytes(value, hex)?))
        } else {
            None
        })
    }

    /// Writes a batch that changes `key`, durably, if the condition holds.
    pub fn write(
        &self,
        opened: &Opened,
        key: &[u8],
        hex: bool,
        batch: WriteBatch,
    ) -> Result<(), Failure> {
        let condition = self.on(&opened.keyspace, key, hex)?;
        let Outcome::Refused(refusals) = opened.db.write_if(condition, batch, Durability::Sync)?
        else {
            return Ok(());
        };
        let found = match refusals.into_iter().find_map(|refusal| refusal.found) {
            Some(found) => {
                format!("the value {}, of sequence {}", shown(&found.value, 200), found.seq)
            }
            None => "no value".to_owned(),
        };
        let sentence =
            format!("nothing was written: the condition on {} found {found}", shown(key, 200));
        Err(Failure::new(Exit::NotFound, sentence))
    }
}
