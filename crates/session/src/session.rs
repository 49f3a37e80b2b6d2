//! An opening of a store. The caller assigns the numbers of keyspaces and snapshots, so that it can use them before a
//! reply has arrived; 0 is the default keyspace, and no snapshot.

use crate::apart::{Reads, Write};
use crate::codec::{self, ByteStrings, ValueList, range};
use crate::feed::{self, Feed};
use crate::scan::Scan;
use crate::steps::Steps;
use crate::tree::{policy, set_policy};
use crate::watches::Waker;
use crate::writer::Writer;
use std::sync::Arc;
use terrane::batch::MAX_BATCH_BYTES;
use terrane::trace::Trace;
use terrane::vec_map::VecMap;
use terrane::{
    Closed, Db, Durability, Error, Keyspace, KeyspaceId, Lookup, Result, Snapshot, TryGet,
};

/// An opening of a store, with its own tables of keyspaces and snapshots.
pub struct Session {
    writer: Writer,
    /// The number of this opening among those of the store.
    client: u32,
    keyspaces: VecMap<u32, Keyspace>,
    snapshots: VecMap<u32, Arc<Snapshot>>,
    feed: Feed,
}

impl Session {
    /// Makes an opening of an open store.
    #[must_use]
    pub fn new(db: Db) -> Self {
        Session::over(Writer::new(db))
    }

    /// Makes another opening of the same store, with tables of its own.
    #[must_use]
    pub fn another(&self) -> Self {
        Session::over(self.writer.clone())
    }

    fn over(writer: Writer) -> Self {
        let keyspaces = VecMap::from_iter([(0, writer.db().default_keyspace())]);
        let client = writer.watches().client();
        let (snapshots, feed) = (VecMap::default(), Feed::default());
        Session { writer, client, keyspaces, snapshots, feed }
    }

    /// Returns the open store.
    #[must_use]
    pub fn db(&self) -> &Db {
        self.writer.db()
    }

    /// Returns a number of the store that was drawn at random with its id, and that JavaScript represents.
    #[must_use]
    pub fn id(&self) -> f64 {
        self.db().id().salt() as f64
    }

    /// Commits an encoded batch, which is durable after the next sync. Returns its sequence number, which JavaScript
    /// represents exactly up to 2^53.
    ///
    /// # Errors
    /// A malformed batch, an I/O error.
    pub fn write(&self, encoded: Vec<u8>) -> Result<f64> {
        let batch = self.writer.decode(encoded, &self.keyspaces)?;
        self.writer.write(batch, Durability::Buffered).map(|sequence| sequence as f64)
    }

    /// Commits an encoded batch as `write` does, if that waits for nothing. Returns its sequence number if it is
    /// committed.
    ///
    /// # Errors
    /// A malformed batch, an I/O error.
    pub fn try_write(&self, encoded: Vec<u8>) -> Result<Option<f64>> {
        let written = self.writer.try_write(self.writer.decode(encoded, &self.keyspaces)?)?;
        Ok(written.map(|sequence| sequence as f64))
    }

    /// Decodes a batch that another thread may commit.
    ///
    /// # Errors
    /// A malformed batch, a dropped keyspace.
    pub fn write_apart(&self, encoded: Vec<u8>) -> Result<Write> {
        let batch = self.writer.decode(encoded, &self.keyspaces)?;
        Ok(Write::new(self.writer.clone(), batch))
    }

    /// Returns reads of a keyspace for another thread, at a snapshot or in the present state.
    ///
    /// # Errors
    /// A dropped keyspace, a released snapshot.
    pub fn reads_apart(&self, keyspace: u32, snapshot: u32) -> Result<Reads> {
        let keyspace = self.keyspace_of(keyspace)?.clone();
        let snapshot = match snapshot {
            0 => Arc::new(self.db().snapshot()),
            _ => self.snapshot_numbered(snapshot)?.clone(),
        };
        Ok(Reads::new(keyspace, snapshot))
    }

    /// Commits an encoded batch if encoded conditions hold, and makes it durable if `sync`. Returns the encoded
    /// outcome.
    ///
    /// # Errors
    /// Malformed conditions or a malformed batch, a dropped keyspace, a released snapshot, an I/O error.
    pub fn write_if(&self, conditions: &[u8], encoded: Vec<u8>, sync: bool) -> Result<Vec<u8>> {
        let durability = if sync { Durability::Sync } else { Durability::Buffered };
        let batch = self.writer.decode(encoded, &self.keyspaces)?;
        let conditions = codec::conditions(conditions, &self.keyspaces, &self.snapshots)?;
        self.writer.write_if(conditions, batch, durability).map(codec::outcome)
    }

    /// Returns the encoded value of a key with its version; no bytes if the key does not exist.
    ///
    /// # Errors
    /// Damage or an I/O error.
    pub fn get_versioned(&self, keyspace: u32, snapshot: u32, key: &[u8]) -> Result<Vec<u8>> {
        self.lookup(keyspace, snapshot, 1)?.get_versioned(key).map(codec::versioned)
    }

    /// Appends the value of a key to `out`; returns whether the key exists.
    ///
    /// # Errors
    /// Damage or an I/O error.
    pub fn get_into(
        &self,
        keyspace: u32,
        snapshot: u32,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        self.lookup(keyspace, snapshot, 1)?.get_into(key, out)
    }

    /// Returns the value of a key if no file has to be read for it.
    ///
    /// # Errors
    /// Damage.
    pub fn try_get(&self, keyspace: u32, snapshot: u32, key: &[u8]) -> Result<TryGet> {
        self.lookup(keyspace, snapshot, 1)?.try_get(key)
    }

    /// Traces a get.
    ///
    /// # Errors
    /// Damage or an I/O error.
    pub fn trace(&self, keyspace: u32, snapshot: u32, key: &[u8]) -> Result<Trace> {
        let keyspace = self.keyspace_of(keyspace)?;
        let traced = match self.snapshot_of(snapshot)? {
            None => keyspace.trace_get(key),
            Some(snapshot) => snapshot.trace_get(keyspace, key),
        };
        traced.map(|(_, trace)| trace)
    }

    /// Traces a scan's seek to the first entry of an encoded range.
    ///
    /// # Errors
    /// Damage or an I/O error.
    pub fn trace_scan(
        &self,
        keyspace: u32,
        snapshot: u32,
        within: &[u8],
        reverse: bool,
    ) -> Result<Trace> {
        let keyspace = self.keyspace_of(keyspace)?;
        match self.snapshot_of(snapshot)? {
            None => keyspace.trace_seek(range(within)?, reverse),
            Some(snapshot) => snapshot.trace_seek(keyspace, range(within)?, reverse),
        }
    }

    /// Returns the values of encoded keys, as a list.
    ///
    /// # Errors
    /// Damage or an I/O error; values of more than 256 MiB, or of more than there is memory for.
    pub fn get_many(&self, keyspace: u32, snapshot: u32, keys: &[u8]) -> Result<Vec<u8>> {
        values_of(keys, |count| self.lookup(keyspace, snapshot, count))
    }

    /// Returns for each of the encoded keys a byte, 1 if it has a value.
    ///
    /// # Errors
    /// Damage or an I/O error.
    pub fn has_many(&self, keyspace: u32, snapshot: u32, keys: &[u8]) -> Result<Vec<u8>> {
        found_of(keys, |count| self.lookup(keyspace, snapshot, count))
    }

    /// Starts a scan of at most `limit` entries of an encoded range.
    ///
    /// # Errors
    /// A closed store.
    pub fn scan(
        &self,
        keyspace: u32,
        snapshot: u32,
        within: &[u8],
        reverse: bool,
        limit: f64,
    ) -> Result<Scan> {
        let keyspace = self.keyspace_of(keyspace)?;
        let inner = match self.snapshot_of(snapshot)? {
            None => keyspace.cursor(range(within)?),
            Some(snapshot) => snapshot.cursor(keyspace, range(within)?),
        };
        inner.map(|inner| Scan::new(inner, reverse, limit))
    }

    /// Takes a snapshot under a number.
    pub fn snapshot(&mut self, number: u32) {
        self.snapshots.insert(number, Arc::new(self.db().snapshot()));
    }

    /// Releases a snapshot.
    pub fn release(&mut self, snapshot: u32) {
        self.snapshots.remove(&snapshot);
    }

    /// Opens a keyspace under a number, and sets its policy if one is given. Returns the engine's id,
    /// for [`Session::restore_keyspace`], or `None` if there is no such keyspace and `create` is false.
    ///
    /// # Errors
    /// An invalid policy, an I/O error.
    pub fn keyspace(
        &mut self,
        number: u32,
        name: &str,
        create: bool,
        options: Option<&str>,
    ) -> Result<Option<u32>> {
        let policy = options.map(policy).transpose()?;
        let found = match create {
            true => Some(self.db().create_keyspace(name)?),
            false => self.db().open_keyspace(name)?,
        };
        let Some(keyspace) = found else { return Ok(None) };
        if let Some(policy) = policy {
            set_policy(&keyspace, &policy)?;
        }
        let id = keyspace.id().0;
        self.keyspaces.insert(number, keyspace);
        Ok(Some(id))
    }

    /// Opens the keyspace of this id under a number, if it still exists: its name may belong to
    /// another.
    ///
    /// # Errors
    /// A closed store.
    pub fn restore_keyspace(&mut self, number: u32, id: u32) -> Result<()> {
        for name in self.db().keyspaces() {
            let found = self.db().open_keyspace(&name)?;
            if let Some(keyspace) = found.filter(|keyspace| keyspace.id().0 == id) {
                self.keyspaces.insert(number, keyspace);
            }
        }
        Ok(())
    }

    /// Returns the engine's ids and the names of all keyspaces.
    ///
    /// # Errors
    /// A closed store.
    pub fn keyspaces(&self) -> Result<Vec<(KeyspaceId, String)>> {
        let names = self.db().keyspaces();
        let named = |name: String| match self.db().open_keyspace(&name) {
            Ok(found) => found.map(|keyspace| Ok((keyspace.id(), name))),
            Err(error) => Some(Err(error)),
        };
        names.into_iter().filter_map(named).collect()
    }

    /// Starts to flush the memtables.
    ///
    /// # Errors
    /// A closed store; an I/O error is returned by a step.
    pub fn flush(&self) -> Result<Steps> {
        self.db().begin_flush().map(|flush| Steps::waiter(self.db(), flush))
    }

    /// Starts to verify everything stored; the last step returns the report.
    ///
    /// # Errors
    /// A closed store. Damage is not an error here: the report lists it.
    pub fn check(&self) -> Result<Steps> {
        self.db().begin_check().map(Steps::check)
    }

    /// Closes the store, with every opening of it.
    ///
    /// # Errors
    /// An I/O error.
    pub fn close(self) -> Result<()> {
        self.db().clone().close()
    }

    /// Opens a keyspace of the store's owner, which no list shows, under a number; creates it if `create`. Returns
    /// whether there is one.
    ///
    /// # Errors
    /// An I/O error, or a closed store.
    pub fn reserved_keyspace(&mut self, number: u32, name: &str, create: bool) -> Result<bool> {
        let found = self.db().reserved_keyspace(name, create)?;
        Ok(found.map(|keyspace| self.keyspaces.insert(number, keyspace)).is_some())
    }

    /// Drops a keyspace and all its entries; returns whether it existed.
    ///
    /// # Errors
    /// The default keyspace, or an I/O error.
    pub fn drop_keyspace(&self, name: &str) -> Result<bool> {
        self.writer.drop_keyspace(name)
    }

    /// Starts a watch of encoded ranges, each after the number of its keyspace (`u32`), or asks for its next change.
    /// Where one is asked for that is not known, it starts, and changes at once, without keys.
    ///
    /// # Errors
    /// A keyspace that was dropped, malformed ranges.
    pub fn watch(&self, number: u32, ranges: &[u8], with_keys: bool, asks: bool) -> Result<()> {
        let (watches, id) = (self.writer.watches(), (self.client, number));
        if !asks || !watches.ask(id) {
            let ranges = codec::ranges(ranges, &self.keyspaces)?;
            let since = asks.then(|| self.db().latest_sequence());
            watches.add(id, ranges, with_keys, since);
        }
        Ok(())
    }

    /// Ends a watch.
    pub fn unwatch(&self, number: u32) {
        self.writer.watches().remove(self.client, Some(number));
    }

    /// Sets the function that is called, on any thread, when there are changes to take.
    pub fn set_waker(&self, waker: Option<Waker>) {
        self.writer.watches().set_waker(self.client, waker);
    }

    /// Takes the changes that were asked for: for each watch its number (`u32`), the sequence number (a double), a
    /// byte, 1 if there are keys, and their list.
    #[must_use]
    pub fn changes(&self) -> Vec<u8> {
        self.writer.watches().take(self.client)
    }

    /// Makes earlier writes durable, and returns the batches after a cursor of the change feed, as a page. A page is
    /// one batch after another: its sequence number (a double), its length (`u32`) and its bytes; a keyspace that they
    /// name stands before them, with the number 0.
    ///
    /// # Errors
    /// A malformed cursor, or one from which the feed cannot continue; damage, an I/O error.
    pub fn feed(&mut self, since: &str) -> Result<Vec<u8>> {
        self.feed.page(self.writer.db(), since)
    }

    /// Makes earlier writes durable, and returns the place in the change feed after the state of a snapshot, or after
    /// all writes.
    ///
    /// # Errors
    /// A released snapshot, an I/O error.
    pub fn feed_cursor(&self, snapshot: u32) -> Result<String> {
        let snapshot = self.snapshot_of(snapshot)?;
        feed::sync(self.db())?;
        let mut cursor = self.db().feed_cursor();
        if let Some(snapshot) = snapshot {
            cursor.sequence = snapshot.sequence();
        }
        Ok(cursor.to_string())
    }

    pub(crate) fn writer(&self) -> &Writer {
        &self.writer
    }

    /// The keyspaces by their numbers.
    pub(crate) fn numbered(&self) -> &VecMap<u32, Keyspace> {
        &self.keyspaces
    }

    /// The keyspace with that number.
    pub(crate) fn keyspace_of(&self, number: u32) -> Result<&Keyspace> {
        self.keyspaces.get(&number).ok_or_else(|| Closed::Keyspace.into())
    }

    /// The snapshot with that number; none for 0.
    fn snapshot_of(&self, number: u32) -> Result<Option<&Snapshot>> {
        match number {
            0 => Ok(None),
            _ => self.snapshot_numbered(number).map(|snapshot| Some(&**snapshot)),
        }
    }

    fn snapshot_numbered(&self, number: u32) -> Result<&Arc<Snapshot>> {
        self.snapshots.get(&number).ok_or_else(|| Closed::Snapshot.into())
    }

    fn lookup(&self, keyspace: u32, snapshot: u32, keys: usize) -> Result<Lookup<'_>> {
        let keyspace = self.keyspace_of(keyspace)?;
        match self.snapshot_of(snapshot)? {
            None => keyspace.lookup(keys),
            Some(snapshot) => snapshot.lookup(keyspace, keys),
        }
    }
}

/// The most bytes of values that are returned together: those that one batch can write.
const VALUES_BYTES_MAX: usize = MAX_BATCH_BYTES;
const EXPECTED: &str = "at most 256 MiB together, for which there is memory";

/// Returns the list of the values of encoded keys; `lookup` starts a lookup of their number.
pub(crate) fn values_of<'a>(
    keys: &[u8],
    lookup: impl FnOnce(usize) -> Result<Lookup<'a>>,
) -> Result<Vec<u8>> {
    let mut values = ValueList::new(ByteStrings::new(keys).take_while(Result::is_ok).count());
    look_up(keys, lookup, &mut |lookup, key| {
        let fits = lookup.get_with(key, |value| values.push(value, VALUES_BYTES_MAX))?;
        match fits {
            None => values.push_missing(),
            Some(true) => {}
            Some(false) => return Err(Error::invalid("values", EXPECTED, "more")),
        }
        Ok(())
    })?;
    Ok(values.into_bytes())
}

/// Returns a byte for each of the encoded keys, 1 if it has a value; `lookup` starts a lookup of their number.
pub(crate) fn found_of<'a>(
    keys: &[u8],
    lookup: impl FnOnce(usize) -> Result<Lookup<'a>>,
) -> Result<Vec<u8>> {
    let (mut found, mut value) = (Vec::new(), Vec::new());
    look_up(keys, lookup, &mut |lookup, key| {
        value.clear();
        found.push(lookup.get_into(key, &mut value)?.into());
        Ok(())
    })?;
    Ok(found)
}

/// Looks up encoded keys at one moment, each by `each`.
fn look_up<'a>(
    keys: &[u8],
    lookup: impl FnOnce(usize) -> Result<Lookup<'a>>,
    each: &mut dyn FnMut(&mut Lookup<'a>, &[u8]) -> Result<()>,
) -> Result<()> {
    let mut lookup = lookup(ByteStrings::new(keys).take_while(Result::is_ok).count())?;
    ByteStrings::new(keys).try_for_each(|key| each(&mut lookup, key?))
}

impl Drop for Session {
    fn drop(&mut self) {
        self.set_waker(None);
        self.writer.watches().remove(self.client, None);
    }
}
