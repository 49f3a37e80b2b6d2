//! A skiplist that one thread writes while any number read, without locks on their side.
//!
//! 1. A node is a header, a tower of links (one per level), the key and the value, in one allocation
//!    of the arena. Until the list is freed it is neither moved nor changed, but for its links.
//! 2. A search starts at the head's highest level, moves right while the next node is before the
//!    target, then moves one level down. A node that ended a level is not compared again below.
//! 3. An insert finds the last node before it on each level (the splice), completes the new node
//!    and links it in from the bottom up. Links are stored with Release and loaded with Acquire, so
//!    that a reader that sees a node sees all of it.
//! 4. An entry with the key and sequence number of an existing one replaces it: the new node has the
//!    same height, points to what the old node points to, and takes its place on each level. A
//!    reader on the old node continues from there; the sequence number is not visible to it, nor is
//!    what is inserted later.
//! 5. The splice is kept. An entry that falls right after the previous one, as sorted inserts do,
//!    needs no search.
//!
//! Heights come from a generator with a constant seed: a level holds a quarter of the one below,
//! and the same inserts give the same list.

use super::arena::Arena;
use crate::entry::Tag;
use crate::sync::lock_free::atomic::{AtomicPtr, AtomicUsize, Ordering::*};
use crate::sync::lock_free::{Mutex, Published, lock};
use std::array;
use std::cmp::Ordering as Order;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ptr::{self, NonNull};
use std::slice;

const MAX_HEIGHT: usize = 12;
/// One in this many nodes of a level is also on the next level.
const BRANCHING: u64 = 4;

type Link = AtomicPtr<Header>;

/// The start of a node. `height` links, the key and the value follow.
#[repr(C)]
pub(super) struct Header {
    tag: Tag,
    value_len: u32,
    key_len: u16,
    height: u8,
    contents: Published,
}

/// A node of a list that lives at least as long as `'a`.
///
/// Invariant: `0` points to a node whose header, links, key and value are initialised, in an arena
/// that is not dropped before `'a` ends; apart from the links nobody writes to it.
#[derive(Clone, Copy)]
pub(super) struct Node<'a>(NonNull<Header>, PhantomData<&'a Header>);

impl<'a> Node<'a> {
    /// # Safety
    /// `at` keeps the invariant of [`Node`] for `'a`.
    unsafe fn new(at: NonNull<Header>) -> Self {
        Node(at, PhantomData)
    }

    /// Writes a node with null links. The caller checked that the lengths fit.
    fn create(
        arena: &mut Arena,
        height: usize,
        key: &[u8],
        tag: Tag,
        value: &[u8],
    ) -> NonNull<Header> {
        debug_assert!(height <= MAX_HEIGHT);
        let head = size_of::<Header>() + height * size_of::<Link>();
        let node = arena.allocate(head + key.len() + value.len()).cast::<Header>();
        let (value_len, key_len) = (value.len() as u32, key.len() as u16);
        // SAFETY: the arena allocated enough for all parts, aligned to 8. Links follow the header at a
        // multiple of their alignment, since the header's size is a multiple of 8.
        unsafe {
            let contents = Published::new();
            node.write(Header { tag, value_len, key_len, height: height as u8, contents });
            let links = node.add(1).cast::<Link>();
            for level in 0..height {
                links.add(level).write(Link::new(ptr::null_mut()));
            }
            let bytes = links.add(height).cast::<u8>().as_ptr();
            bytes.copy_from_nonoverlapping(key.as_ptr(), key.len());
            bytes.add(key.len()).copy_from_nonoverlapping(value.as_ptr(), value.len());
        }
        node
    }

    /// The address, which is stable.
    pub(super) fn address(self) -> NonNull<Header> {
        self.0
    }

    fn header(self) -> &'a Header {
        // SAFETY: by the invariant.
        let header = unsafe { self.0.as_ref() };
        header.contents.read();
        header
    }

    #[inline]
    pub(super) fn tag(self) -> Tag {
        self.header().tag
    }

    fn links(self) -> &'a [Link] {
        // SAFETY: by the invariant `height` links follow the header; shared writes to them are
        // atomic.
        unsafe { slice::from_raw_parts(self.0.add(1).cast().as_ptr(), self.header().height.into()) }
    }

    #[inline]
    pub(super) fn key(self) -> &'a [u8] {
        let header = self.header();
        // SAFETY: by the invariant `key_len` bytes follow the links.
        unsafe {
            let bytes = self.0.add(1).cast::<Link>().add(header.height.into()).cast::<u8>();
            slice::from_raw_parts(bytes.as_ptr(), header.key_len.into())
        }
    }

    #[inline]
    pub(super) fn value(self) -> &'a [u8] {
        let key = self.key();
        // SAFETY: by the invariant `value_len` bytes follow the key. The pointer is made from the
        // node's, since the key's may reach only the key.
        unsafe {
            let links = self.0.add(1).cast::<Link>().add(self.header().height.into());
            let bytes = links.cast::<u8>().add(key.len());
            slice::from_raw_parts(bytes.as_ptr(), self.header().value_len as usize)
        }
    }

    pub(super) fn next(self) -> Option<Node<'a>> {
        // SAFETY: a link of this node leads into the same list.
        unsafe { follow(self.links(), 0) }
    }

    /// Whether the node is before every entry with this key and sequence number, whatever its kind.
    #[inline]
    fn lies_before(self, key: &[u8], tag: Tag) -> bool {
        let newer = || tag.seq().cmp(&self.tag().seq());
        self.key().cmp(key).then_with(newer) == Order::Less
    }
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

/// The node that a tower's link leads to.
///
/// # Safety
/// The links are null or lead to nodes that keep the invariant of [`Node`] for `'a`.
#[inline]
unsafe fn follow<'a>(links: &'a [Link], level: usize) -> Option<Node<'a>> {
    let next = NonNull::new(links.get(level)?.load(Acquire))?;
    // SAFETY: the caller's promise. The Acquire pairs with the Release in `insert`: the node's
    // contents are visible.
    Some(unsafe { Node::new(next) })
}

/// The skiplist; see the module documentation.
pub(super) struct SkipList {
    /// The head's tower.
    head: [Link; MAX_HEIGHT],
    /// Levels in use, at least 1. A reader that sees an old value only searches longer.
    height: AtomicUsize,
    writer: Mutex<Writer>,
}

/// The state of inserts, which run one at a time.
struct Writer {
    arena: Arena,
    /// On each level, the last node at or before the last entry inserted; `None` is the head.
    splice: [Option<NonNull<Header>>; MAX_HEIGHT],
    random: u64,
}

// SAFETY: the splice leads only into the arena, which moves along.
unsafe impl Send for Writer {}

impl SkipList {
    pub(super) fn new() -> Self {
        SkipList {
            head: array::from_fn(|_| Link::new(ptr::null_mut())),
            height: AtomicUsize::new(1),
            writer: Mutex::new(Writer {
                arena: Arena::new(),
                splice: [None; MAX_HEIGHT],
                random: 0x9e37_79b9_7f4a_7c15,
            }),
        }
    }

    /// Inserts an entry within the limits of [`check_limits`](crate::entry::check_limits). Still under
    /// the lock, it calls `done` with the bytes that all nodes take and whether an entry was
    /// replaced.
    pub(super) fn insert(
        &self,
        key: &[u8],
        tag: Tag,
        value: &[u8],
        done: impl FnOnce(usize, bool),
    ) {
        let mut writer = lock(&self.writer);
        let Writer { arena, splice, random } = &mut *writer;
        if !self.follows_splice(splice, key, tag) {
            self.search(key, tag, |level, node| {
                if let Some(slot) = splice.get_mut(level) {
                    *slot = node.map(Node::address);
                }
            });
        }
        let [bottom, ..] = *splice;
        // SAFETY: links of this list lead to its nodes, which live as long as it does.
        let after = unsafe { follow(self.tower(bottom), 0) };
        let replaced = after.filter(|node| node.tag().seq() == tag.seq() && node.key() == key);
        let height = match replaced {
            Some(node) => node.links().len(),
            None => draw_height(random),
        };
        let address = Node::create(arena, height, key, tag, value);
        // SAFETY: `create` initialised it, and the arena lives as long as the list.
        let node = unsafe { Node::new(address) };
        // Above the height so far, the splice is still the head.
        self.height.fetch_max(height, Relaxed);
        for ((level, before), link) in splice.iter_mut().enumerate().zip(node.links()) {
            if let Some(from) = self.tower(*before).get(level) {
                // On each level of its tower the replaced node is the one after the splice.
                let next = replaced.and_then(|node| node.links().get(level)).unwrap_or(from);
                link.store(next.load(Relaxed), Relaxed);
                from.store(address.as_ptr(), Release);
            }
            *before = Some(address);
        }
        done(arena.bytes(), replaced.is_some());
    }

    /// Whether (`key`, `tag`) falls between the bottom of the splice and the node after it. Then the
    /// splice is right on every level, since no node is in between.
    fn follows_splice(
        &self,
        splice: &[Option<NonNull<Header>>; MAX_HEIGHT],
        key: &[u8],
        tag: Tag,
    ) -> bool {
        let [Some(bottom), ..] = *splice else {
            return false;
        };
        // SAFETY: the splice holds nodes of this list.
        let before = unsafe { Node::new(bottom) };
        before.lies_before(key, tag) && before.next().is_none_or(|n| !n.lies_before(key, tag))
    }

    /// The links of a node of this list, or of the head.
    fn tower(&self, node: Option<NonNull<Header>>) -> &[Link] {
        match node {
            // SAFETY: only addresses from the splice come here: nodes of this list.
            Some(at) => unsafe { Node::new(at) }.links(),
            None => &self.head,
        }
    }

    /// The last node before (`key`, `tag`), and the first at or after it. Calls `passed` with the last
    /// node before on each level, from the top.
    #[inline]
    fn search<'a>(
        &'a self,
        key: &[u8],
        tag: Tag,
        mut passed: impl FnMut(usize, Option<Node<'a>>),
    ) -> (Option<Node<'a>>, Option<Node<'a>>) {
        let (mut before, mut after) = (None, None);
        let mut links: &[Link] = &self.head;
        for level in (0..self.height.load(Relaxed)).rev() {
            loop {
                // SAFETY: links of this list lead to its nodes, which live as long as it does.
                let next = unsafe { follow(links, level) };
                match next {
                    Some(node) if next != after && node.lies_before(key, tag) => {
                        before = next;
                        links = node.links();
                    }
                    _ => {
                        after = next;
                        break;
                    }
                }
            }
            passed(level, before);
        }
        (before, after)
    }

    /// The first node.
    pub(super) fn first(&self) -> Option<Node<'_>> {
        // SAFETY: links of this list lead to its nodes, which live as long as it does.
        unsafe { follow(&self.head, 0) }
    }

    /// The last node.
    pub(super) fn last(&self) -> Option<Node<'_>> {
        let mut last: Option<Node<'_>> = None;
        for level in (0..self.height.load(Relaxed)).rev() {
            // SAFETY: links of this list lead to its nodes, which live as long as it does.
            while let Some(next) =
                unsafe { follow(last.map_or(&self.head[..], Node::links), level) }
            {
                last = Some(next);
            }
        }
        last
    }

    /// The nodes of the highest level with at least `min` of them; of the lowest if there is none.
    pub(super) fn sample(&self, min: usize) -> Vec<Node<'_>> {
        let mut nodes = Vec::new();
        for level in (0..self.height.load(Relaxed)).rev() {
            nodes.clear();
            let mut links = &self.head[..];
            // SAFETY: links of this list lead to its nodes, which live as long as it does.
            while let Some(next) = unsafe { follow(links, level) } {
                nodes.push(next);
                links = next.links();
            }
            if nodes.len() >= min {
                break;
            }
        }
        nodes
    }

    /// The first node at or after (`key`, `tag`).
    #[inline]
    pub(super) fn at_or_after(&self, key: &[u8], tag: Tag) -> Option<Node<'_>> {
        self.search(key, tag, |_, _| ()).1
    }

    /// The last node before (`key`, `tag`).
    pub(super) fn before(&self, key: &[u8], tag: Tag) -> Option<Node<'_>> {
        self.search(key, tag, |_, _| ()).0
    }

    /// The node at an address.
    ///
    /// # Safety
    /// The address came from a node of this list.
    pub(super) unsafe fn node(&self, at: NonNull<Header>) -> Node<'_> {
        // SAFETY: the caller's promise, and nodes live as long as the list.
        unsafe { Node::new(at) }
    }
}

/// Draws a height: each further level with a chance of one in [`BRANCHING`].
fn draw_height(random: &mut u64) -> usize {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    let mut bits = *random;
    let mut height = 1;
    while height < MAX_HEIGHT && bits.is_multiple_of(BRANCHING) {
        bits /= BRANCHING;
        height += 1;
    }
    height
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_holds_about_a_quarter_of_the_one_below() {
        let mut random = 0x9e37_79b9_7f4a_7c15;
        let heights: Vec<_> = (0..40_000).map(|_| draw_height(&mut random)).collect();
        let reach = |level| heights.iter().filter(|height| **height >= level).count();
        assert_eq!(reach(1), heights.len());
        for level in 2..=5 {
            let expected = heights.len() >> (2 * (level - 1));
            assert!((expected * 2 / 3..expected * 3 / 2).contains(&reach(level)), "{level}");
        }
    }

    #[test]
    fn a_node_is_never_higher_than_the_head() {
        assert_eq!(draw_height(&mut 0), MAX_HEIGHT);
    }
}
