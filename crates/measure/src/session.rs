//! Operations of every store.

/// One thread's access to a store. Values are lent to a closure, so that a store that can lend its own bytes need not
/// copy them.
pub trait Session<E> {
    /// Writes a row.
    ///
    /// # Errors
    /// Those of the store.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), E>;

    /// Writes all of these rows, or none.
    ///
    /// # Errors
    /// Those of the store.
    fn batch(&mut self, rows: &[(Vec<u8>, Vec<u8>)]) -> Result<(), E>;

    /// Deletes a row, if it is there.
    ///
    /// # Errors
    /// Those of the store.
    fn delete(&mut self, key: &[u8]) -> Result<(), E>;

    /// Lends the value of `key` to `found`, if there is one; returns whether there is.
    ///
    /// # Errors
    /// Those of the store.
    fn get(&mut self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool, E>;

    /// Lends at most `rows` rows from `key` on to `each`. Returns their number.
    ///
    /// # Errors
    /// Those of the store.
    fn scan(&mut self, key: &[u8], rows: u64, each: &mut dyn FnMut(&[u8], &[u8]))
    -> Result<u64, E>;
}
