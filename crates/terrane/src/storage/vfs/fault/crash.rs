//! Decides what survives a crash (see [`fault`](super)).

use super::state::{NameChange, Node, State, What, index, put};
use std::collections::{BTreeMap, BTreeSet};

/// Part of the unsynced state that survives a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survivors {
    /// Nothing of it.
    Synced,
    /// All of it.
    All,
    /// A random choice, from this seed, of everything that may survive.
    Random(u64),
    /// All operations before `operation`, the first `sectors` sectors of that one, and none after.
    Prefix {
        /// The operation that is torn.
        operation: u64,
        /// Number of its sectors that survive, from its start.
        sectors: u64,
    },
}

impl State {
    /// The names after a crash.
    pub(super) fn surviving_names(
        &self,
        survivors: Survivors,
        random: &mut Random,
    ) -> BTreeMap<String, usize> {
        let mut names = self.durable.clone();
        // If a change of a name did not survive, later changes of that name do not either.
        let mut stopped = BTreeSet::new();
        let heads = random.below(4);
        for (operation, change) in &self.pending {
            let touched: &[&String] = match change {
                NameChange::Create(name, _) | NameChange::Remove(name) => &[name],
                NameChange::Rename(from, to, _) => &[from, to],
            };
            let kept = match survivors {
                Survivors::Synced => false,
                Survivors::All => true,
                Survivors::Prefix { operation: torn, sectors } => {
                    *operation < torn || (*operation == torn && sectors > 0)
                }
                Survivors::Random(_) => random.below(4) <= heads,
            };
            if !kept || touched.iter().any(|name| stopped.contains(*name)) {
                stopped.extend(touched.iter().copied());
                continue;
            }
            match change {
                NameChange::Create(name, node) => {
                    names.insert(name.clone(), *node);
                }
                NameChange::Remove(name) => {
                    names.remove(name);
                }
                NameChange::Rename(from, to, node) => {
                    names.remove(from);
                    names.insert(to.clone(), *node);
                }
            }
        }
        names
    }
}

impl Node {
    /// The file after a crash.
    pub(super) fn surviving(
        &self,
        sector_bytes: u64,
        survivors: Survivors,
        random: &mut Random,
    ) -> Vec<u8> {
        let mut out = self.synced.clone();
        let mut len = out.len() as u64;
        let mut seen_len = len;
        // Sectors that keep an older content, and so no later one. The length counts as one.
        const LENGTH: u64 = u64::MAX;
        let mut stopped = BTreeSet::new();
        for change in &self.changes {
            let fate = random.below(3);
            let mut keeps = |sector: u64, nth: u64| {
                let kept = !stopped.contains(&sector)
                    && match survivors {
                        Survivors::Synced => false,
                        Survivors::All => true,
                        Survivors::Prefix { operation, sectors } => {
                            change.operation < operation
                                || (change.operation == operation && nth < sectors)
                        }
                        Survivors::Random(_) => fate == 0 || (fate == 1 && random.below(2) == 0),
                    };
                if !kept {
                    stopped.insert(sector);
                }
                kept
            };
            let new_len = match &change.what {
                What::Write { offset, bytes } => seen_len.max(offset + bytes.len() as u64),
                What::SetLen(n) => *n,
            };
            if new_len != seen_len && keeps(LENGTH, 0) {
                len = new_len;
            }
            seen_len = new_len;
            match &change.what {
                What::Write { offset, bytes } => {
                    let (mut at, mut rest, mut nth) = (*offset, bytes.as_slice(), 0);
                    while !rest.is_empty() {
                        let n = (sector_bytes - at % sector_bytes).min(rest.len() as u64);
                        let (piece, after) = rest.split_at(index(n));
                        if keeps(at / sector_bytes, nth) {
                            put(&mut out, at, piece);
                        }
                        (at, rest, nth) = (at + n, after, nth + 1);
                    }
                }
                What::SetLen(cut) => {
                    let sectors = *cut / sector_bytes..(out.len() as u64).div_ceil(sector_bytes);
                    for (nth, sector) in sectors.enumerate() {
                        if keeps(sector, nth as u64) {
                            let from = index((sector * sector_bytes).max(*cut)).min(out.len());
                            let to = index((sector + 1) * sector_bytes).min(out.len());
                            out.get_mut(from..to).unwrap_or_default().fill(0);
                        }
                    }
                }
            }
        }
        out.resize(index(len), 0);
        out
    }
}

/// SplitMix64, from a seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The next word.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next number below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}
