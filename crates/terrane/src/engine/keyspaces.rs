//! The live keyspaces, which readers and writers find without a lock.

use crate::batch::WriteBatch;
use crate::engine::{KeyspaceInner, KeyspaceMap, KeyspaceReads, State};
use crate::error::{Closed, Result};
use crate::features::MODES;
use crate::keyspace::KeyspaceId;
use crate::memtable::Memtable;
use crate::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use crate::sync::{ArcSwap, Loaded};
use crate::version::{LiveTable, Tree};
use std::sync::Arc;
use terrane_policy::Shape;

/// The live keyspaces of a store.
pub(crate) struct Keyspaces {
    live: ArcSwap<KeyspaceMap>,
    /// The features that an edit says batches may need.
    features: AtomicU32,
    /// Keyspaces whose level 0 is half full.
    crowded: AtomicUsize,
    l0_stop_trigger: usize,
}

impl Keyspaces {
    /// The keyspaces of a store with these features. Level 0 of each is full at `l0_stop_trigger`.
    pub fn new(live: KeyspaceMap, features: u32, l0_stop_trigger: usize) -> Self {
        let crowded = live.values().filter(|k| k.tree().is_crowded(l0_stop_trigger)).count();
        Keyspaces {
            live: ArcSwap::from_pointee(live),
            features: AtomicU32::new(features),
            crowded: AtomicUsize::new(crowded),
            l0_stop_trigger,
        }
    }

    /// Borrows the keyspaces as they are now.
    pub fn load(&self) -> Loaded<KeyspaceMap> {
        self.live.load()
    }

    /// Returns the keyspaces as they are now.
    pub fn load_full(&self) -> Arc<KeyspaceMap> {
        self.live.load_full()
    }

    /// Returns a keyspace, unless it was dropped.
    pub fn get(&self, id: KeyspaceId) -> Option<Arc<KeyspaceInner>> {
        self.live.load().get(&id).cloned()
    }

    /// Returns a keyspace.
    ///
    /// # Errors
    /// [`Closed::Keyspace`] for one that was dropped.
    pub fn live(&self, id: KeyspaceId) -> Result<Arc<KeyspaceInner>> {
        self.get(id).ok_or(Closed::Keyspace.into())
    }

    /// Returns what handles of a keyspace have for its gets; what shows nothing for one that was dropped.
    pub fn reads(&self, id: KeyspaceId) -> Arc<KeyspaceReads> {
        self.live.load().get(&id).map_or_else(Arc::default, |keyspace| keyspace.reads.clone())
    }

    /// Returns the shape of a keyspace's tree as it is now.
    ///
    /// # Errors
    /// A keyspace that was dropped.
    pub fn shape(&self, id: KeyspaceId) -> Result<Arc<Shape>> {
        Ok(self.live(id)?.super_version.load().tree.shape().clone())
    }

    /// Returns the name of a keyspace that is not dropped.
    pub fn name(&self, id: KeyspaceId) -> Option<String> {
        self.live.load().get(&id).map(|keyspace| keyspace.name.clone())
    }

    /// Returns the names of the keyspaces.
    pub fn names(&self) -> Vec<String> {
        self.live.load().values().map(|k| k.name.clone()).collect()
    }

    /// Returns the tables of all keyspaces, held.
    pub fn live_tables(&self) -> Vec<Arc<LiveTable>> {
        let mut tables = Vec::new();
        for keyspace in self.live.load().values() {
            tables.extend(keyspace.super_version.load().tree.tables().cloned());
        }
        tables
    }

    /// Adds a keyspace. The caller holds the state lock, as in all that changes which there are.
    pub fn add(&self, _: &State, keyspace: KeyspaceInner) {
        let mut live = KeyspaceMap::clone(&self.live.load());
        live.insert(keyspace.id, Arc::new(keyspace));
        self.live.store(Arc::new(live));
    }

    /// Removes a keyspace.
    pub fn remove(&self, _: &State, keyspace: &KeyspaceInner) {
        if self.is_crowded(&keyspace.super_version.load().tree) {
            self.crowded.fetch_sub(1, Ordering::Relaxed);
        }
        let mut live = KeyspaceMap::clone(&self.live.load());
        live.remove(&keyspace.id);
        self.live.store(Arc::new(live));
        keyspace.reads.hide();
    }

    /// Removes all: readers find nothing, and scans under way keep what they hold.
    pub fn clear(&self) {
        let before = self.live.load_full();
        self.live.store(Arc::default());
        before.values().for_each(|keyspace| keyspace.reads.hide());
    }

    /// Gives readers a keyspace's new tree, without `flushed`.
    pub fn show(
        &self,
        _: &State,
        keyspace: &KeyspaceInner,
        tree: Option<Arc<Tree>>,
        flushed: Option<&Arc<Memtable>>,
    ) {
        let Some(tree) = tree else { return };
        let super_version = keyspace.super_version.load_full();
        let (was, is) = (self.is_crowded(&super_version.tree), self.is_crowded(&tree));
        if is && !was {
            self.crowded.fetch_add(1, Ordering::Relaxed);
        } else if was && !is {
            self.crowded.fetch_sub(1, Ordering::Relaxed);
        }
        let stays = |m: &&Arc<Memtable>| flushed.is_none_or(|f| !Arc::ptr_eq(f, m));
        let sealed = super_version.sealed.iter().filter(stays).cloned().collect();
        let next = super_version.replaced(super_version.active.clone(), sealed, tree);
        drop(super_version);
        keyspace.show(next);
    }

    /// Whether a tree's level 0 is half full: its keyspace's policy may be asked before others.
    pub fn is_crowded(&self, tree: &Tree) -> bool {
        tree.is_crowded(self.l0_stop_trigger)
    }

    /// Whether any keyspace's level 0 is half full.
    pub fn any_crowded(&self) -> bool {
        self.crowded.load(Ordering::Relaxed) > 0
    }

    /// Whether the store, and each keyspace of a batch, has every feature that the batch needs.
    pub fn have_features(&self, batch: &WriteBatch) -> bool {
        let needs = batch.features();
        if needs == 0 {
            return true;
        }
        let live = self.live.load();
        let lacks = |(id, needs): (KeyspaceId, u32)| {
            let has = |keyspace: &Arc<KeyspaceInner>| keyspace.features.load(Ordering::Acquire);
            needs & MODES & !live.get(&id).map_or(0, has) != 0
        };
        needs & !self.features.load(Ordering::Acquire) == 0
            && !batch.features_by_keyspace().any(lacks)
    }

    /// Notes that an edit gave the store, and each keyspace of a batch, the features that the batch needs.
    pub fn add_features(&self, batch: &WriteBatch) {
        self.features.fetch_or(batch.features(), Ordering::AcqRel);
        let live = self.live.load();
        for (id, needs) in batch.features_by_keyspace() {
            if let Some(keyspace) = live.get(&id) {
                keyspace.features.fetch_or(needs & MODES, Ordering::AcqRel);
            }
        }
    }
}
