//! The history of the server: the state after each of its batches, and the writes that it acknowledged.

use super::Verdict;
use super::network::Write;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use terrane::{Db, FeedCursor, KeyRange, Keyspace, Operand, Result, WriteBatch};
use terrane_workload::Random;

/// The keyspace with a row for each write, by which a doubled write is recognized.
pub const IDS: &str = "ids";
/// The keyspace with the number of writes, counted by merges.
pub const COUNTS: &str = "counts";
/// The keyspace that is dropped at times.
pub const EXTRA: &str = "extra";
const TOTAL: &[u8] = b"total";
const DEFAULT: &str = "default";

/// The rows of all keyspaces.
pub type State = BTreeMap<(&'static str, Vec<u8>), Vec<u8>>;

/// An operation of a write.
enum Change {
    Put(&'static str, Vec<u8>, Vec<u8>),
    Delete(&'static str, Vec<u8>),
    DeleteRange(&'static str, Vec<u8>, Vec<u8>),
    Count,
}

impl Write {
    /// Returns the key of the row that shows that the write has taken effect.
    pub fn id(&self) -> Vec<u8> {
        format!("{}-{}", self.writer, self.number).into_bytes()
    }

    fn changes(&self) -> Vec<Change> {
        let mut random = Random(self.seed);
        let mut changes = vec![Change::Put(IDS, self.id(), Vec::new()), Change::Count];
        for _ in 0..random.below(4) {
            let keyspace = if random.one_in(4) { EXTRA } else { DEFAULT };
            // Some keys are not text.
            let key = vec![b'a' + random.below(8) as u8, 0x60 + 16 * random.below(10) as u8];
            changes.push(match random.below(6) {
                0 => Change::Delete(keyspace, key),
                1 => Change::DeleteRange(keyspace, key.clone(), vec![key[0] + 2]),
                _ => {
                    let value = format!("{:x}", random.word()).repeat(1 + random.below(4) as usize);
                    Change::Put(keyspace, key, value.into_bytes())
                }
            });
        }
        changes
    }

    /// Returns the write as a batch of a store.
    pub fn batch(&self, db: &Db) -> Result<WriteBatch> {
        let mut batch = WriteBatch::new();
        let open = |name| db.create_keyspace(name);
        for change in self.changes() {
            match change {
                Change::Put(keyspace, key, value) => batch.put(&open(keyspace)?, key, value)?,
                Change::Delete(keyspace, key) => batch.delete(&open(keyspace)?, key)?,
                Change::DeleteRange(keyspace, from, to) => {
                    batch.delete_range(&open(keyspace)?, from..to)?;
                }
                Change::Count => batch.merge(&open(COUNTS)?, TOTAL, Operand::Add(1))?,
            }
        }
        Ok(batch)
    }

    fn apply(&self, state: &mut State) {
        for change in self.changes() {
            match change {
                Change::Put(keyspace, key, value) => drop(state.insert((keyspace, key), value)),
                Change::Delete(keyspace, key) => drop(state.remove(&(keyspace, key))),
                Change::DeleteRange(keyspace, from, to) => {
                    state.retain(|(of, key), _| *of != keyspace || *key < from || *key >= to);
                }
                Change::Count => {
                    let total = total(state) + 1;
                    state.insert((COUNTS, TOTAL.to_vec()), total.to_string().into_bytes());
                }
            }
        }
    }
}

/// Returns the number of writes that have taken effect, by their merges.
pub fn total(state: &State) -> u64 {
    let text = state.get(&(COUNTS, TOTAL.to_vec()));
    text.and_then(|text| std::str::from_utf8(text).ok()?.parse().ok()).unwrap_or(0)
}

/// Returns the rows of a store.
pub fn shown(db: &Db) -> Result<State> {
    let mut state = State::new();
    for name in [DEFAULT, IDS, COUNTS, EXTRA] {
        let Some(keyspace): Option<Keyspace> = db.open_keyspace(name)? else { continue };
        for row in keyspace.scan(KeyRange::default())? {
            let (key, value) = row?;
            state.insert((name, key), value);
        }
    }
    Ok(state)
}

/// The history of the server.
#[derive(Default)]
pub struct History {
    /// The state at each cursor.
    states: HashMap<FeedCursor, Arc<State>>,
    /// The last cursor, and the state there.
    last: Option<FeedCursor>,
    current: State,
    /// The state after the write or removal whose outcome is not known.
    pending: Option<State>,
    /// The rows of writes that were acknowledged as durable.
    acknowledged: BTreeSet<Vec<u8>>,
}

impl History {
    /// Notes that a write is under way.
    pub fn attempt(&mut self, write: &Write) {
        let mut after = self.current.clone();
        write.apply(&mut after);
        self.pending = Some(after);
    }

    /// Notes that the write or the removal was committed at a cursor.
    pub fn committed(&mut self, at: FeedCursor) {
        if let Some(after) = self.pending.take() {
            self.set(at, after);
        }
    }

    /// Notes that the write was refused, or that there was nothing to remove.
    pub fn refused(&mut self) {
        self.pending = None;
    }

    /// Notes that the removal of the keyspace that is dropped at times is under way.
    pub fn attempt_drop(&mut self) {
        let mut after = self.current.clone();
        after.retain(|(keyspace, _), _| *keyspace != EXTRA);
        self.pending = Some(after);
    }

    /// Notes that a durable write was acknowledged.
    pub fn acknowledge(&mut self, write: &Write) {
        self.acknowledged.insert(write.id());
    }

    fn set(&mut self, at: FeedCursor, state: State) {
        self.states.insert(at, Arc::new(state.clone()));
        (self.current, self.last) = (state, Some(at));
    }

    /// Returns the state at a cursor.
    ///
    /// # Errors
    /// A cursor that the server never had, or has lost.
    fn at(&self, cursor: FeedCursor) -> Verdict<&State> {
        let state = self.states.get(&cursor).map(|state| &**state);
        state.ok_or_else(|| format!("the server has nothing at {cursor}"))
    }

    /// Checks that a replica has the rows of the server at its cursor.
    pub fn check_replica(&self, cursor: FeedCursor, rows: &State) -> Verdict {
        let (mut found, mut wanted) = (rows.iter(), self.at(cursor)?.iter());
        loop {
            match (found.next(), wanted.next()) {
                (None, None) => return Ok(()),
                (found, wanted) if found == wanted => {}
                (found, wanted) => {
                    return Err(format!(
                        "a replica at {cursor} has {found:?}, expected {wanted:?}"
                    ));
                }
            }
        }
    }

    /// Compares the rows of a server that was started again, with the batches through `at`, and forgets lost batches.
    pub fn restarted(&mut self, at: FeedCursor, shown: &State) -> Verdict {
        let Some(last) = self.last else {
            self.set(at, State::new());
            return Ok(());
        };
        let pending = self.pending.take();
        let expected = match (last.lineage == at.lineage, at.sequence.cmp(&last.sequence)) {
            (true, std::cmp::Ordering::Greater) => {
                pending.ok_or_else(|| format!("a batch at {at} that nobody wrote"))?
            }
            (true, _) => self.at(at)?.clone(),
            // The store is new.
            (false, _) => self.current.clone(),
        };
        if *shown != expected {
            return Err(format!("the server has other rows at {at} than were written"));
        }
        self.states
            .retain(|cursor, _| cursor.lineage != at.lineage || cursor.sequence <= at.sequence);
        self.set(at, expected);
        self.check()
    }

    /// Notes that a store with the rows of an earlier moment is the server's from now on, at a cursor.
    pub fn restored(&mut self, at: FeedCursor, state: State) {
        self.pending = None;
        self.acknowledged.retain(|id| state.contains_key(&(IDS, id.clone())));
        self.set(at, state);
    }

    /// Returns the present state.
    pub fn current(&self) -> &State {
        &self.current
    }

    /// Checks that no acknowledged write is lost, and that none took effect twice.
    pub fn check(&self) -> Verdict {
        let has = |id: &&Vec<u8>| self.current.contains_key(&(IDS, (*id).clone()));
        if let Some(lost) = self.acknowledged.iter().find(|id| !has(id)) {
            return Err(format!("the write {} is lost", String::from_utf8_lossy(lost)));
        }
        let ids = self.current.keys().filter(|(keyspace, _)| *keyspace == IDS).count() as u64;
        let total = total(&self.current);
        if ids != total {
            return Err(format!("{ids} writes took effect {total} times"));
        }
        Ok(())
    }
}
