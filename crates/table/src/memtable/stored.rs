//! An entry in the arena: a header, the key and the value, in one allocation. Once it is written, it is
//! neither moved nor changed until the memtable is freed.

use super::arena::Arena;
use crate::entry::{Seq, Tag};
use crate::sync::lock_free::Published;
use std::cmp::Ordering;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ptr::NonNull;
use std::slice;

/// The start of an entry. The key and the value follow.
#[repr(C)]
pub(super) struct Header {
    tag: Tag,
    value_len: u32,
    key_len: u16,
    contents: Published,
}

/// An entry of a memtable that lives at least as long as `'a`.
///
/// Invariant: `0` points to a header that is followed by its key and value, all initialised, in an arena
/// that is not dropped before `'a` ends; nobody writes to them.
#[derive(Clone, Copy)]
pub(super) struct Stored<'a>(NonNull<Header>, PhantomData<&'a Header>);

/// Target of a search: the entries with this key and sequence number, whatever their kind.
#[derive(Clone, Copy)]
pub(super) struct Target<'k> {
    pub key: &'k [u8],
    pub seq: Seq,
}

impl<'a> From<Stored<'a>> for Target<'a> {
    fn from(entry: Stored<'a>) -> Self {
        Target { key: entry.key(), seq: entry.tag().seq() }
    }
}

impl<'a> Stored<'a> {
    /// # Safety
    /// `at` came from [`Stored::address`] of an entry in an arena that is not dropped before `'a` ends.
    pub unsafe fn new(at: NonNull<Header>) -> Self {
        Stored(at, PhantomData)
    }

    /// Writes an entry, whose lengths the caller checked.
    ///
    /// # Safety
    /// The arena is not dropped before `'a` ends.
    pub unsafe fn create(arena: &mut Arena, key: &[u8], tag: Tag, value: &[u8]) -> Self {
        let at = arena.allocate(size_of::<Header>() + key.len() + value.len()).cast::<Header>();
        let (value_len, key_len) = (value.len() as u32, key.len() as u16);
        // SAFETY: the arena allocated enough for all parts, aligned to 8.
        unsafe {
            at.write(Header { tag, value_len, key_len, contents: Published::new() });
            let bytes = at.add(1).cast::<u8>().as_ptr();
            bytes.copy_from_nonoverlapping(key.as_ptr(), key.len());
            bytes.add(key.len()).copy_from_nonoverlapping(value.as_ptr(), value.len());
        }
        Stored(at, PhantomData)
    }

    /// The address, which is stable.
    pub fn address(self) -> NonNull<Header> {
        self.0
    }

    fn header(self) -> &'a Header {
        // SAFETY: by the invariant.
        let header = unsafe { self.0.as_ref() };
        header.contents.read();
        header
    }

    #[inline]
    pub fn tag(self) -> Tag {
        self.header().tag
    }

    #[inline]
    pub fn key(self) -> &'a [u8] {
        let len = self.header().key_len.into();
        // SAFETY: by the invariant `key_len` bytes follow the header.
        unsafe { slice::from_raw_parts(self.0.add(1).cast().as_ptr(), len) }
    }

    #[inline]
    pub fn value(self) -> &'a [u8] {
        let Header { key_len, value_len, .. } = *self.header();
        // SAFETY: by the invariant `value_len` bytes follow the key.
        unsafe {
            let value = self.0.add(1).cast::<u8>().add(key_len.into());
            slice::from_raw_parts(value.as_ptr(), value_len as usize)
        }
    }

    /// Compares it with the target.
    #[inline]
    pub fn compare(self, target: Target<'_>) -> Ordering {
        self.key().cmp(target.key).then_with(|| target.seq.cmp(&self.tag().seq()))
    }
}
