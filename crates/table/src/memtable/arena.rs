//! A bump allocator: allocations never move and are all freed together.
//!
//! 1. Memory is taken from the front of the current chunk, in words, so that all of it is aligned to
//!    8 bytes.
//! 2. When a chunk is used up, the next one is twice as large, from 16 KiB up to 1 MiB.
//! 3. An allocation of more than a quarter of a chunk gets a chunk of its own, and the current chunk
//!    stays current, so that little is wasted.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// The first chunk, in words.
const FIRST_WORDS: usize = (16 << 10) / 8;
/// The largest shared chunk, in words.
const MAX_WORDS: usize = (1 << 20) / 8;

/// A bump allocator over chunks, which keep their addresses until it is dropped.
pub(super) struct Arena {
    chunks: Vec<Chunk>,
    /// The first free word of the current chunk; dangling while there is no chunk and `left` is 0.
    free: NonNull<u64>,
    /// Free words in the current chunk.
    left: usize,
    /// Words of the next shared chunk.
    next: usize,
    /// Words allocated.
    allocated: usize,
}

/// The allocation of a `Vec<u64>` with this capacity.
struct Chunk {
    start: NonNull<u64>,
    capacity: usize,
}

// SAFETY: the pointers lead only to memory that the arena owns, and no thread has an affinity to it.
unsafe impl Send for Arena {}

impl Arena {
    pub(super) fn new() -> Self {
        Arena {
            chunks: Vec::new(),
            free: NonNull::dangling(),
            left: 0,
            next: FIRST_WORDS,
            allocated: 0,
        }
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> usize {
        self.allocated * 8
    }

    /// Allocates at least `bytes` bytes, aligned to 8 and uninitialised, which are valid until the
    /// arena is dropped.
    pub(super) fn allocate(&mut self, bytes: usize) -> NonNull<u8> {
        let words = bytes.div_ceil(8);
        self.allocated += words;
        if words <= self.left {
            return self.bump(words);
        }
        if words > self.next / 4 {
            return self.chunk(words).cast();
        }
        self.free = self.chunk(self.next);
        self.left = self.next;
        self.next = (self.next * 2).min(MAX_WORDS);
        self.bump(words)
    }

    /// Takes the first `words` free words; `words <= left`.
    fn bump(&mut self, words: usize) -> NonNull<u8> {
        debug_assert!(words <= self.left);
        let start = self.free;
        // SAFETY: `left` words follow `free` in its chunk, and `words` are not more: the result is
        // in the chunk, or one past its end.
        self.free = unsafe { start.add(words) };
        self.left -= words;
        start.cast()
    }

    /// Allocates a chunk of `words` words.
    fn chunk(&mut self, words: usize) -> NonNull<u64> {
        let mut memory = ManuallyDrop::new(Vec::<u64>::with_capacity(words));
        let capacity = memory.capacity();
        // SAFETY: a vector's pointer is never null.
        let start = unsafe { NonNull::new_unchecked(memory.as_mut_ptr()) };
        self.chunks.push(Chunk { start, capacity });
        start
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for chunk in &self.chunks {
            // SAFETY: pointer and capacity came from a vector that was not dropped, and each chunk
            // is listed once. Length 0: words need no drop.
            drop(unsafe { Vec::from_raw_parts(chunk.start.as_ptr(), 0, chunk.capacity) });
        }
    }
}
