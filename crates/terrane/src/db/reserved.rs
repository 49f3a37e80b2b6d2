//! Keyspaces that no list shows, for records of the store's owner, and drops of keyspaces that write such a record in
//! the same batch.

use crate::WriteBatch;
use crate::db::{Db, Keyspace};
use crate::error::Result;
use crate::install;
use crate::keyspace::{RESERVED, unreserved};
use crate::write;

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
        Ok(id.map(|id| Keyspace::new(self, id, &name)))
    }

    /// Removes a keyspace as [`Db::drop_keyspace`] does, and writes a batch in the same step, which must not name that
    /// keyspace. If there is no such keyspace, nothing is written.
    ///
    /// # Errors
    /// The errors of [`Db::drop_keyspace`] and [`Db::write`].
    #[doc(hidden)]
    pub fn drop_keyspace_with(&self, name: &str, batch: &WriteBatch) -> Result<bool> {
        let engine = self.engine();
        let dropped = write::drop_keyspace(engine, unreserved(name)?, batch)?;
        self.inner.executor.wake(engine);
        Ok(dropped)
    }
}
