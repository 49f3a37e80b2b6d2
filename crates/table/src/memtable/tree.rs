//! A B+tree that one thread writes while any number read, without locks on their side.
//!
//! 1. Entries are in leaves, below inner nodes (`node`). Nothing moves: a split copies a full node into two
//!    new ones, which replace it in its parent. The old node stays as it was until the tree is freed, and
//!    is complete for readers that reached it before. Nodes are not linked to their neighbours: a reader at
//!    the end of a leaf searches the tree for the leaf's upper bound.
//! 2. A full leaf is split in the middle, unless the new entry comes after all of its entries: then that
//!    entry starts a leaf of its own, so that ascending keys, of one sequence or of several, leave full
//!    leaves behind. A leaf that such a split left full is split in the middle the next time.
//! 3. An entry with the key and sequence number of an existing one replaces it; readers do not see that
//!    sequence number yet.
//! 4. An entry that directly follows the previous one, which was the last of its leaf, needs no search.

use super::arena::Arena;
use super::node::{Node, SLOTS, START, Slot};
use super::stored::{Stored, Target};
use crate::entry::{Seq, Tag};
use crate::sync::lock_free::atomic::{AtomicPtr, Ordering::*};
use crate::sync::lock_free::{Mutex, lock};
use std::cmp::Ordering as Order;
use std::ptr::{self, NonNull};

/// The tree; see the module documentation.
pub(super) struct Tree {
    /// Null while there is no entry.
    root: AtomicPtr<Node>,
    writer: Mutex<Writer>,
}

/// The state of inserts, which run one at a time.
struct Writer {
    arena: Arena,
    /// The leaf and the slot of the entry inserted last, if it is the last of that leaf.
    end: Option<(NonNull<Node>, Slot)>,
}

// SAFETY: the pointer leads only into the arena, which moves along.
unsafe impl Send for Writer {}

/// A place in the tree.
#[derive(Clone, Copy)]
pub(super) struct Position<'a> {
    pub leaf: &'a Node,
    pub slot: Slot,
    pub entry: Stored<'a>,
}

impl Tree {
    pub fn new() -> Self {
        Tree {
            root: AtomicPtr::new(ptr::null_mut()),
            writer: Mutex::new(Writer { arena: Arena::new(), end: None }),
        }
    }

    /// Whether nothing was inserted.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.root().is_none()
    }

    #[inline]
    fn root(&self) -> Option<&Node> {
        // SAFETY: the root is a node in the arena, which lives as long as the tree. The Acquire pairs
        // with the Release of `set_root`.
        unsafe { self.root.load(Acquire).as_ref() }
    }

    fn set_root(&self, root: &Node) {
        self.root.store(ptr::from_ref(root).cast_mut(), Release);
    }

    /// Inserts an entry within the limits of [`check_limits`](crate::entry::check_limits). Still under
    /// the lock, it calls `done` with the bytes that entries and nodes take and whether an entry was
    /// replaced.
    pub fn insert(&self, key: &[u8], tag: Tag, value: &[u8], done: impl FnOnce(usize, bool)) {
        let mut writer = lock(&self.writer);
        // SAFETY: entries and nodes are used no longer than the tree, which has the arena.
        let entry = unsafe { Stored::create(&mut writer.arena, key, tag, value) };
        let mut is_replaced = false;
        // A short cut that the browser's module does without: it is code for little time.
        let is_appended = cfg!(not(target_arch = "wasm32")) && writer.append(entry);
        if !is_appended {
            let root = self.root().unwrap_or_else(|| {
                // SAFETY: as above.
                let leaf = unsafe { Node::create(&mut writer.arena, true, None, None, false) };
                self.set_root(leaf);
                leaf
            });
            if let Some([left, right]) = writer.insert(root, entry, &mut is_replaced) {
                // SAFETY: as above.
                let root = unsafe { Node::create(&mut writer.arena, false, None, None, false) };
                root.add_child(START, left);
                root.add_child(root.last(), right);
                self.set_root(root);
            }
        }
        done(writer.arena.bytes(), is_replaced);
    }

    /// The leaf that entries at the target belong to, or those right before it; without a target, the last.
    #[inline]
    fn leaf(&self, target: Option<Target<'_>>, or_at: bool) -> Option<&Node> {
        let mut node = self.root()?;
        while !node.is_leaf() {
            node = node.child_by(|node| match target {
                Some(target) => node.last_before(target, or_at),
                None => node.last(),
            })?;
        }
        Some(node)
    }

    /// The first entry at or after the target.
    #[inline]
    pub fn at_or_after(&self, target: Target<'_>) -> Option<Position<'_>> {
        let mut target = target;
        loop {
            let leaf = self.leaf(Some(target), true)?;
            match leaf.around(target, false).1 {
                Some(slot) => return Position::new(leaf, slot),
                None => target = leaf.high()?.into(),
            }
        }
    }

    /// The last entry before the target.
    pub fn before(&self, target: Target<'_>) -> Option<Position<'_>> {
        let leaf = self.leaf(Some(target), false)?;
        Position::new(leaf, leaf.last_before(target, false))
    }

    /// The first entry.
    pub fn first(&self) -> Option<Position<'_>> {
        self.at_or_after(Target { key: &[], seq: Seq::MAX })
    }

    /// The last entry.
    pub fn last(&self) -> Option<Position<'_>> {
        let leaf = self.leaf(None, false)?;
        Position::new(leaf, leaf.last())
    }

    /// The entry after this one.
    pub fn next<'a>(&'a self, at: Position<'a>) -> Option<Position<'a>> {
        match at.leaf.next(at.slot) {
            Some(slot) => Position::new(at.leaf, slot),
            None => self.at_or_after(at.leaf.high()?.into()),
        }
    }

    /// Calls `add` with an even sample of the entries, in order, the first and the last included: at least
    /// `min`, and at most a few times as many; all of them if there are fewer.
    pub fn sample<'a>(&'a self, min: usize, mut add: impl FnMut(Stored<'a>)) {
        let mut level = Vec::from_iter(self.root());
        let mut entries = Vec::new();
        // On each level, what nodes start with, until there are enough.
        while entries.len() < min && !level.is_empty() {
            entries.clear();
            let mut below = Vec::new();
            for node in level {
                let mut at = START;
                while let Some(slot) = node.next(at) {
                    at = slot;
                    entries.extend(node.low_of(slot));
                    below.extend(if node.is_leaf() { None } else { node.child(slot) });
                }
            }
            level = below;
        }
        let step = (entries.len() / min.max(1)).max(1);
        if let Some(first) = self.first() {
            add(first.entry);
        }
        for (number, entry) in entries.into_iter().enumerate() {
            if number % step == 0 {
                add(entry);
            }
        }
        if let Some(last) = self.last() {
            add(last.entry);
        }
    }
}

impl<'a> Position<'a> {
    fn new(leaf: &'a Node, slot: Slot) -> Option<Self> {
        Some(Position { leaf, slot, entry: leaf.entry(slot)? })
    }
}

impl Writer {
    /// Appends an entry to the leaf of the previous one, if that is its last and the new one belongs right
    /// after it; returns whether it did.
    fn append(&mut self, entry: Stored<'_>) -> bool {
        let Some((leaf, slot)) = self.end else { return false };
        // SAFETY: the leaf is in the arena.
        let leaf = unsafe { leaf.as_ref() };
        let is_after = |last: Stored<'_>| last.compare(entry.into()) == Order::Less;
        let is_within = |high: Stored<'_>| high.compare(entry.into()) == Order::Greater;
        let fits = !leaf.is_full()
            && leaf.entry(slot).is_some_and(is_after)
            && leaf.high().is_none_or(is_within);
        if fits {
            self.add(leaf, slot, entry);
        }
        fits
    }

    fn add(&mut self, leaf: &Node, before: Slot, entry: Stored<'_>) {
        let slot = leaf.add_entry(before, entry);
        self.end = leaf.next(slot).is_none().then_some((leaf.into(), slot));
    }

    /// Inserts an entry below a node; returns the parts to be put in its place if it had to be split.
    fn insert<'a>(
        &mut self,
        node: &'a Node,
        entry: Stored<'a>,
        is_replaced: &mut bool,
    ) -> Option<[&'a Node; 2]> {
        if !node.is_leaf() {
            let child = node.child(node.last_before(entry.into(), true))?;
            let parts = self.insert(child, entry, is_replaced)?;
            return self.adopt(node, parts);
        }
        let (before, next) = node.around(entry.into(), false);
        let is_same = |slot: &Slot| {
            node.entry(*slot).is_some_and(|other| other.compare(entry.into()) == Order::Equal)
        };
        if let Some(slot) = next.filter(is_same) {
            node.replace_entry(slot, entry);
            *is_replaced = true;
            return None;
        }
        if !node.is_full() {
            self.add(node, before, entry);
            return None;
        }
        let is_in_order = next.is_none() && !node.was_made_full();
        let (count, low) = if is_in_order { (SLOTS, entry) } else { node.middle()? };
        let parts = self.split(node, count, low);
        let leaf = part_for(parts, low, entry);
        self.add(leaf, leaf.last_before(entry.into(), false), entry);
        Some(parts)
    }

    /// Puts the parts of a child in its place; returns the parts of the node if it had to be split.
    fn adopt<'a>(&mut self, node: &'a Node, parts: [&'a Node; 2]) -> Option<[&'a Node; 2]> {
        if !node.is_full() {
            node.adopt(parts);
            return None;
        }
        let (count, low) = node.middle()?;
        let halves = self.split(node, count, low);
        let [_, right] = parts;
        part_for(halves, low, right.low()?).adopt(parts);
        Some(halves)
    }

    fn split<'a>(&mut self, node: &'a Node, count: usize, low: Stored<'a>) -> [&'a Node; 2] {
        // SAFETY: the node is in this arena, and used no longer than the tree, which has it.
        unsafe { node.split(&mut self.arena, count, low) }
    }
}

/// The part that an entry belongs to, if the right one starts with `low`.
fn part_for<'a>([left, right]: [&'a Node; 2], low: Stored<'_>, entry: Stored<'_>) -> &'a Node {
    if low.compare(entry.into()) == Order::Greater { left } else { right }
}
