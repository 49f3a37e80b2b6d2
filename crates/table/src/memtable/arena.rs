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

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of each chunk.
    fn chunks(arena: &Arena) -> Vec<usize> {
        arena.chunks.iter().map(|chunk| chunk.capacity).collect()
    }

    #[test]
    fn shared_chunks_are_used_up_and_double_up_to_the_largest() {
        let mut arena = Arena::new();
        let mut expected = Vec::new();
        let mut words = FIRST_WORDS;
        while expected.len() < 9 {
            expected.push(words);
            for _ in 0..words / 4 {
                arena.allocate(25);
                assert_eq!(chunks(&arena), expected);
            }
            words = (2 * words).min(MAX_WORDS);
        }
        assert_eq!(expected[7], MAX_WORDS);
        assert_eq!(arena.bytes(), 8 * expected.iter().sum::<usize>());
    }

    #[test]
    fn more_than_a_quarter_of_a_chunk_gets_its_own() {
        let mut arena = Arena::new();
        let first = arena.allocate(8);
        // What follows is twice as large.
        let quarter = 2 * FIRST_WORDS / 4;
        let behind = arena.allocate(8 * (FIRST_WORDS - 2));
        assert_eq!(chunks(&arena), [FIRST_WORDS]);
        arena.allocate(8 * (quarter + 1));
        assert_eq!(chunks(&arena), [FIRST_WORDS, quarter + 1]);
        let last = arena.allocate(8);
        assert_eq!(behind.as_ptr() as usize - first.as_ptr() as usize, 8);
        assert_eq!(last.as_ptr() as usize - first.as_ptr() as usize, 8 * (FIRST_WORDS - 1));
        arena.allocate(8 * quarter);
        assert_eq!(chunks(&arena), [FIRST_WORDS, quarter + 1, 2 * FIRST_WORDS]);
    }
}
