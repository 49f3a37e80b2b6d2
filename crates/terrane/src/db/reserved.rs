//! Keyspaces that no list shows, for records of the store's owner.

use crate::db::{Db, Keyspace};
use crate::error::Result;
use crate::install;
use crate::keyspace::RESERVED;

impl Db {
    /// Returns the keyspace in which the store's owner keeps records of its own, created if `create`, or `None` if
    /// there is none. Its name, after U+0000, is in no list, and the other methods refuse it.
    ///
    /// # Errors
    /// An I/O error, or a closed store.
    #[doc(hidden)]
    pub fn reserved_keyspace(&self, name: &str, create: bool) -> Result<Option<Keyspace>> {
        let name = format!("{RESERVED}{name}");
        let engine = self.engine();
        let id = match create {
            true => Some(install::create_keyspace(engine, &name)?),
            false => install::find_keyspace(&engine.state, &name)?,
        };
        Ok(id.map(|id| Keyspace { db: self.clone(), id, name: name.into() }))
    }
}
