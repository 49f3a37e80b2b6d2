//! The writes of a transaction.

use crate::entry::Millis;
use crate::error::Result;
use crate::keyspace::KeyspaceId;
use crate::operand::{Function, MergeOperator, Operand};

/// A key with its keyspace.
pub(super) type Place = (KeyspaceId, Vec<u8>);

/// The writes of a transaction to a key, as its batch will have them.
pub(super) struct Written {
    /// The last write that is no merge; `None` if there is none, so that operands apply to the stored value.
    pub(super) base: Option<Base>,
    /// Encoded operands of the merges after it, in order.
    pub(super) operands: Vec<Vec<u8>>,
}

/// A write that hides what is stored.
pub(super) enum Base {
    Delete,
    Put(Vec<u8>),
    /// A value, and the time at which it expires.
    PutExpiring(Vec<u8>, Millis),
}

impl From<Base> for Written {
    fn from(base: Base) -> Self {
        Written { base: Some(base), operands: Vec::new() }
    }
}

impl Written {
    /// Returns the value that a transaction at the time `now` sees over a stored value, which counts only without a
    /// base.
    pub(super) fn seen(
        &self,
        stored: Option<Vec<u8>>,
        now: Millis,
        operator: Option<&MergeOperator>,
    ) -> Result<Option<Vec<u8>>> {
        let mut value = match &self.base {
            None => stored,
            Some(Base::Put(value)) => Some(value.clone()),
            Some(Base::PutExpiring(value, at)) => (*at > now).then(|| value.clone()),
            Some(Base::Delete) => None,
        };
        for operand in self.operands() {
            value = Some(Function::from(operand).apply(value.as_deref(), operator)?);
        }
        Ok(value)
    }

    /// Returns the time at which the value expires; `None` if it does not.
    pub(super) fn expires_at(&self) -> Option<Millis> {
        let Some(Base::PutExpiring(_, at)) = self.base else { return None };
        Some(at)
    }

    /// Returns the operands, in order.
    pub(super) fn operands(&self) -> impl Iterator<Item = Operand<'_>> {
        self.operands.iter().filter_map(|bytes| Operand::decode(bytes))
    }
}
