//! A node of the memtable's tree: the entries of a leaf, or the children of an inner node, in order.
//!
//! 1. A node holds what lies between its bounds, the entries `low` and `high`. All keys between them share
//!    the bounds' common prefix. The four bytes after that, a key's *head*, are in the node for each slot,
//!    so that a search reads few keys. Outside the bounds a head means nothing.
//! 2. Slots are taken one after the other, and each has a link to the next in order. A new slot is written
//!    first and then linked, with Release: readers, which follow links with Acquire, see it whole or not at
//!    all. Nothing is ever moved.
//! 3. The first slots are in order from the start, and stay so. A binary search among them finds where to
//!    follow the links from.

use super::arena::Arena;
use super::stored::{Header, Stored, Target};
use crate::entry::common_prefix;
use crate::sync::lock_free::Published;
use crate::sync::lock_free::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering::*};
use std::array;
use std::cmp::Ordering as Order;
use std::mem::size_of;
use std::ptr::{self, NonNull};

/// Slots of a node; few where every interleaving is explored.
pub(super) const SLOTS: usize = if cfg!(any(loom, shuttle)) { 3 } else { 32 };

/// The number of a slot.
pub(super) type Slot = u8;
/// Position before the first in order.
pub(super) const START: Slot = SLOTS as Slot;
/// Position after the last in order.
const END: Slot = Slot::MAX;

/// A node; see the module documentation.
pub(super) struct Node {
    contents: Published,
    /// The lower bound, which belongs to the node; null for none.
    low: *mut Header,
    /// The upper bound, which does not; null for none.
    high: *mut Header,
    /// The length of the prefix that its keys have in common.
    prefix: u16,
    is_leaf: bool,
    /// A split made it full.
    was_made_full: bool,
    /// Slots taken.
    len: AtomicU8,
    /// Number of slots at the start that are in order.
    sorted: AtomicU8,
    /// For each slot, and for the start, the next in order.
    links: [AtomicU8; SLOTS + 1],
    heads: [AtomicU32; SLOTS],
    /// Pointers to entries or to nodes.
    slots: [AtomicPtr<()>; SLOTS],
}

impl Node {
    /// Makes an empty node.
    ///
    /// # Safety
    /// The arena is not dropped before `'a` ends.
    pub unsafe fn create<'a>(
        arena: &mut Arena,
        is_leaf: bool,
        low: Option<Stored<'a>>,
        high: Option<Stored<'a>>,
        was_made_full: bool,
    ) -> &'a Node {
        let prefix = match (low, high) {
            (Some(low), Some(high)) => common_prefix(low.key(), high.key()) as u16,
            _ => 0,
        };
        let bound = |at: Option<Stored<'_>>| at.map_or(ptr::null_mut(), |e| e.address().as_ptr());
        let node = arena.allocate(size_of::<Node>()).cast::<Node>();
        // SAFETY: the arena allocated enough, aligned to 8, and keeps it for `'a` by the caller's promise.
        unsafe {
            node.write(Node {
                contents: Published::new(),
                low: bound(low),
                high: bound(high),
                prefix,
                is_leaf,
                was_made_full,
                len: AtomicU8::new(0),
                sorted: AtomicU8::new(0),
                links: array::from_fn(|_| AtomicU8::new(END)),
                heads: array::from_fn(|_| AtomicU32::new(0)),
                slots: array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            });
            node.as_ref()
        }
    }

    fn read(&self) -> &Self {
        self.contents.read();
        self
    }

    pub fn is_leaf(&self) -> bool {
        self.read().is_leaf
    }

    pub fn low(&self) -> Option<Stored<'_>> {
        // SAFETY: bounds are entries of the same memtable, or null.
        NonNull::new(self.read().low).map(|at| unsafe { Stored::new(at) })
    }

    pub fn high(&self) -> Option<Stored<'_>> {
        // SAFETY: as above.
        NonNull::new(self.read().high).map(|at| unsafe { Stored::new(at) })
    }

    /// Whether a split made it full.
    pub fn was_made_full(&self) -> bool {
        self.read().was_made_full
    }

    pub fn is_full(&self) -> bool {
        usize::from(self.len.load(Relaxed)) == SLOTS
    }

    fn slot<T>(&self, slot: Slot) -> Option<NonNull<T>> {
        NonNull::new(self.slots.get(usize::from(slot))?.load(Acquire).cast())
    }

    /// The entry in a slot of a leaf.
    pub fn entry(&self, slot: Slot) -> Option<Stored<'_>> {
        debug_assert!(self.is_leaf());
        // SAFETY: slots of a leaf lead to entries of the memtable.
        self.slot(slot).map(|at| unsafe { Stored::new(at) })
    }

    /// The child in a slot of an inner node.
    pub fn child(&self, slot: Slot) -> Option<&Node> {
        debug_assert!(!self.is_leaf());
        // SAFETY: slots of an inner node lead to nodes of the same arena.
        self.slot(slot).map(|at| unsafe { at.as_ref() })
    }

    /// The child in the slot that `search` finds in this inner node. A split adds the right part of a child
    /// before its left part replaces the child: if the node has grown, the search may have missed the right
    /// part, and is repeated.
    #[inline]
    pub fn child_by(&self, search: impl Fn(&Self) -> Slot) -> Option<&Node> {
        loop {
            let len = self.len.load(Acquire);
            let child = self.child(search(self));
            if self.len.load(Relaxed) == len {
                return child;
            }
        }
    }

    /// The lower bound of what is in this slot.
    pub fn low_of(&self, slot: Slot) -> Option<Stored<'_>> {
        if self.is_leaf() { self.entry(slot) } else { self.child(slot)?.low() }
    }

    /// The next slot in order, if there is one.
    pub fn next(&self, slot: Slot) -> Option<Slot> {
        let next = self.links.get(usize::from(slot))?.load(Acquire);
        (next != END).then_some(next)
    }

    /// The last slot in order; [`START`] if there is none.
    pub fn last(&self) -> Slot {
        let mut last = START;
        while let Some(slot) = self.next(last) {
            last = slot;
        }
        last
    }

    /// The last slot that is before the target, or at it if `or_at`; [`START`] if there is none.
    #[inline]
    pub fn last_before(&self, target: Target<'_>, or_at: bool) -> Slot {
        self.around(target, or_at).0
    }

    /// The same, and the slot that followed it: to be used instead of its link, which may lead to a
    /// newer entry that is also before the target.
    #[inline]
    pub fn around(&self, target: Target<'_>, or_at: bool) -> (Slot, Option<Slot>) {
        let head = self.head(target.key);
        let is_before = |slot: Slot| {
            let of = self.heads.get(usize::from(slot)).map_or(0, |head| head.load(Relaxed));
            match of.cmp(&head) {
                Order::Equal => self.low_of(slot).is_none_or(|low| match low.compare(target) {
                    Order::Less => true,
                    Order::Equal => or_at,
                    Order::Greater => false,
                }),
                other => other == Order::Less,
            }
        };
        let (mut from, mut to) = (0, self.sorted.load(Acquire));
        while from < to {
            let middle = from.midpoint(to);
            if is_before(middle) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        let mut at = from.checked_sub(1).unwrap_or(START);
        loop {
            match self.next(at) {
                Some(next) if is_before(next) => at = next,
                next => return (at, next),
            }
        }
    }

    /// The four bytes of a key after the prefix, as a number of the same order; 0 where there are none.
    #[inline]
    fn head(&self, key: &[u8]) -> u32 {
        let rest = key.get(usize::from(self.read().prefix)..).unwrap_or_default();
        if let Some(head) = rest.first_chunk() {
            return u32::from_be_bytes(*head);
        }
        let mut head = 0;
        for at in 0..4 {
            head = head << 8 | u32::from(rest.get(at).copied().unwrap_or(0));
        }
        head
    }

    /// Adds an entry to a leaf that is not full, after the slot `before`; returns its slot.
    pub fn add_entry(&self, before: Slot, entry: Stored<'_>) -> Slot {
        self.add(before, Some(entry), entry.address().as_ptr().cast())
    }

    /// Adds a child to an inner node that is not full, after the slot `before`.
    pub fn add_child(&self, before: Slot, child: &Node) {
        self.add(before, child.low(), ptr::from_ref(child).cast_mut().cast());
    }

    fn add(&self, before: Slot, low: Option<Stored<'_>>, pointer: *mut ()) -> Slot {
        let slot = self.len.load(Relaxed);
        let at = usize::from(slot);
        let (Some(head), Some(place), Some(link), Some(link_before)) = (
            self.heads.get(at),
            self.slots.get(at),
            self.links.get(at),
            self.links.get(usize::from(before)),
        ) else {
            debug_assert!(false, "the node is full");
            return slot;
        };
        let next = link_before.load(Relaxed);
        head.store(low.map_or(0, |low| self.head(low.key())), Relaxed);
        place.store(pointer, Relaxed);
        link.store(next, Relaxed);
        link_before.store(slot, Release);
        self.len.store(slot + 1, Release);
        // Where all others are in order, what comes last follows the one before it.
        if next == END && self.sorted.load(Relaxed) == slot {
            self.sorted.store(slot + 1, Release);
        }
        slot
    }

    /// Puts an entry in the place of one with the same key and sequence number.
    pub fn replace_entry(&self, slot: Slot, entry: Stored<'_>) {
        if let Some(place) = self.slots.get(usize::from(slot)) {
            place.store(entry.address().as_ptr().cast(), Release);
        }
    }

    /// Adds the right part of a child, in a node that is not full, and then takes `left` in place of that
    /// child.
    pub fn adopt(&self, [left, right]: [&Node; 2]) {
        let Some(low) = right.low() else { return };
        let slot = self.last_before(low.into(), false);
        self.add_child(slot, right);
        if let Some(place) = self.slots.get(usize::from(slot)) {
            place.store(ptr::from_ref(left).cast_mut().cast(), Release);
        }
    }

    /// Copies this node into two: its first `count` slots in order, and the others, whose lower bound is
    /// `low`. The node itself stays as it is.
    ///
    /// # Safety
    /// The arena is that of this node, and is not dropped before `'a` ends.
    pub unsafe fn split<'a>(
        &'a self,
        arena: &mut Arena,
        count: usize,
        low: Stored<'a>,
    ) -> [&'a Node; 2] {
        let is_leaf = self.is_leaf();
        // SAFETY: the caller's promise.
        let (left, right) = unsafe {
            let left = Node::create(arena, is_leaf, self.low(), Some(low), count == SLOTS);
            (left, Node::create(arena, is_leaf, Some(low), self.high(), false))
        };
        let (mut at, mut half, mut before) = (START, left, START);
        let mut copied = 0;
        while let Some(slot) = self.next(at) {
            if copied == count {
                (half, before) = (right, START);
            }
            let pointer = self.slots.get(usize::from(slot)).map(|slot| slot.load(Relaxed));
            before = half.add(before, self.low_of(slot), pointer.unwrap_or(ptr::null_mut()));
            copied += 1;
            at = slot;
        }
        [left, right]
    }

    /// Returns the number of slots before the middle one, and its lower bound.
    pub fn middle(&self) -> Option<(usize, Stored<'_>)> {
        let mut slot = self.next(START)?;
        for _ in 0..SLOTS / 2 {
            slot = self.next(slot)?;
        }
        Some((SLOTS / 2, self.low_of(slot)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Tag;

    fn stored<'a>(arena: &mut Arena, key: &[u8]) -> Stored<'a> {
        // SAFETY: tests drop their arena last.
        unsafe { Stored::create(arena, key, Tag::at(1), b"value") }
    }

    fn leaf<'a>(arena: &mut Arena, bounds: Option<[Stored<'a>; 2]>) -> &'a Node {
        let [low, high] = bounds.map_or([None; 2], |bounds| bounds.map(Some));
        // SAFETY: as above.
        unsafe { Node::create(arena, true, low, high, false) }
    }

    #[test]
    fn a_head_is_what_follows_the_prefix_of_the_bounds() {
        let mut arena = Arena::new();
        let bounds = [b"user:1", b"user:2"].map(|key| stored(&mut arena, key));
        let node = leaf(&mut arena, Some(bounds));
        for (rest, head) in
            [("wxyz0", *b"wxyz"), ("wxyz", *b"wxyz"), ("ab", *b"ab\0\0"), ("", [0; 4])]
        {
            let key = format!("user:{rest}");
            assert_eq!(node.head(key.as_bytes()), u32::from_be_bytes(head), "{key}");
        }
    }

    #[test]
    fn the_first_slots_are_searched_while_added_in_order() {
        let mut arena = Arena::new();
        let node = leaf(&mut arena, None);
        // 8 comes last, but behind one that does not.
        for (key, sorted) in [(b"2", 1), (b"4", 2), (b"6", 3), (b"5", 3), (b"8", 3)] {
            let entry = stored(&mut arena, key);
            node.add_entry(node.last_before(entry.into(), false), entry);
            assert_eq!(node.sorted.load(Relaxed), sorted);
        }
    }
}
