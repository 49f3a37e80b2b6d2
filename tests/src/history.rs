//! Writes to a store, its promises to keep them, and the judgement.

use crate::follower::Follower;
use crate::workload::{KEYSPACES, Operation};
use std::collections::BTreeMap;
use std::sync::Arc;
use terrane::{Db, Result};

/// The live entries of both keyspaces.
pub type State = [BTreeMap<Vec<u8>, Vec<u8>>; 2];

/// Every state that the batches produced.
#[derive(Clone)]
pub struct History {
    /// `states[n]` is the state after `n` batches. Shared by all copies of a history: a test makes one for
    /// each outcome that it looks at.
    states: Vec<Arc<State>>,
    /// Number of batches that were promised to be durable.
    synced: usize,
    /// A subscriber of the store's change feed.
    pub follower: Follower,
}

impl Default for History {
    fn default() -> Self {
        History { states: vec![Arc::default()], synced: 0, follower: Follower::default() }
    }
}

impl History {
    /// A batch is about to be written.
    pub fn attempt(&mut self, batch: &[Operation]) {
        let mut state = self.last().clone();
        for (keyspace, key, change) in batch {
            change.apply(&mut state[*keyspace], key);
        }
        self.states.push(Arc::new(state));
    }

    /// All batches so far are promised to be durable.
    pub fn promise(&mut self) {
        self.synced = self.states.len() - 1;
    }

    /// The number of batches.
    #[must_use]
    pub fn batches(&self) -> usize {
        self.states.len() - 1
    }

    /// The state after all batches.
    #[must_use]
    pub fn last(&self) -> &State {
        self.states.last().expect("there is always the empty state")
    }

    /// The state after `batches` batches.
    ///
    /// # Panics
    /// If there were fewer.
    #[must_use]
    pub fn state(&self, batches: usize) -> &State {
        &self.states[batches]
    }

    /// Returns the number of batches that a store shows after a crash: a prefix of history that has
    /// everything promised.
    ///
    /// # Errors
    /// What is wrong with the state.
    pub fn judge(&self, state: &State) -> std::result::Result<usize, String> {
        let Some(shown) = self.states.iter().rposition(|s| **s == *state) else {
            return Err(format!("no prefix of history: {}", self.nearest(state)));
        };
        if shown < self.synced {
            return Err(format!("{shown} batches are left of {} that were synced", self.synced));
        }
        Ok(shown)
    }

    /// Lets the subscriber deal with the batches that are durable.
    ///
    /// # Errors
    /// Errors of reading the logs.
    pub fn follow(&mut self, db: &Db) -> Result<()> {
        self.follower.follow(db, &self.states)
    }

    /// Whether the state is one that the batches produced.
    #[must_use]
    pub fn has(&self, state: &State) -> bool {
        self.states.iter().any(|s| **s == *state)
    }

    /// Forgets lost batches: the store continues after the first `shown`, which are durable.
    pub fn rewind(&mut self, shown: usize) {
        self.forget(shown);
        self.synced = shown;
    }

    /// Forgets the batches after the first `kept`, which failed.
    pub fn forget(&mut self, kept: usize) {
        self.states.truncate(kept + 1);
        self.synced = self.synced.min(kept);
    }

    fn nearest(&self, state: &State) -> String {
        let counters: Vec<_> = state.iter().map(|s| s.get(b"counter".as_slice())).collect();
        format!("counters {counters:?}, sizes {} and {}", state[0].len(), state[1].len())
    }
}

/// Checks a store.
///
/// # Errors
/// The damage that the check finds.
pub fn check(db: &Db) -> std::result::Result<(), String> {
    let report = db.check().map_err(|e| format!("checking: {e}"))?;
    report.damage.first().map_or(Ok(()), |damage| Err(format!("check finds {damage}")))
}

/// Everything that a store shows: its scans, compared with a get of each key. Nothing is written.
///
/// # Errors
/// Those of reading.
///
/// # Panics
/// If a get and a scan disagree, or a scan is out of order.
pub fn shown(db: &Db) -> Result<State> {
    let mut state = State::default();
    let names = db.keyspaces();
    for (at, name) in KEYSPACES.iter().enumerate() {
        if !names.iter().any(|n| n == name) {
            continue;
        }
        let keyspace = db.create_keyspace(name)?;
        for row in keyspace.scan(..)? {
            let (key, value) = row?;
            let last = state[at].last_key_value();
            assert!(last.is_none_or(|(last, _)| *last < key), "a scan is out of order");
            state[at].insert(key, value);
        }
        for (key, value) in &state[at] {
            let got = keyspace.get(key)?;
            assert_eq!(got.as_ref(), Some(value), "a get and a scan disagree");
        }
    }
    Ok(state)
}
