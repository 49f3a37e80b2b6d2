//! The key of a cursor, which each step replaces. Short keys are copied as whole words, without a call: in a browser a
//! copy of unknown length leaves the module, which takes longer than the copy.

/// Bytes that are copied at once.
const CHUNK: usize = 16;
/// The longest key that needs no memory of its own, in bytes.
const INLINE_MAX: usize = 64;

/// A key that is often replaced.
#[derive(Debug)]
pub(crate) struct KeyBuffer {
    /// The key, if it is short, and room for a chunk behind it.
    inline: [u8; INLINE_MAX + CHUNK],
    /// The key, if it is long.
    heap: Vec<u8>,
    len: usize,
}

impl Default for KeyBuffer {
    fn default() -> Self {
        KeyBuffer { inline: [0; INLINE_MAX + CHUNK], heap: Vec::new(), len: 0 }
    }
}

impl KeyBuffer {
    /// Returns the key.
    #[inline(always)]
    pub fn as_slice(&self) -> &[u8] {
        if self.len <= INLINE_MAX {
            self.inline.get(..self.len).unwrap_or_default()
        } else {
            &self.heap
        }
    }

    /// Returns the length of the key.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Makes the key empty.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Replaces the key.
    #[inline]
    pub fn set(&mut self, key: &[u8]) {
        if let (Some(first), Some(last)) = (key.first_chunk::<8>(), key.last_chunk::<8>())
            && let Some(place) = self.inline.first_chunk_mut::<CHUNK>()
            && key.len() <= CHUNK
            && let Some(end) = place.get_mut(key.len() - 8..).and_then(<[u8]>::first_chunk_mut)
        {
            // The two overlap, unless there are 16.
            *end = *last;
            if let Some(start) = place.first_chunk_mut() {
                *start = *first;
            }
            self.len = key.len();
        } else {
            self.put(0, key);
        }
    }

    /// Replaces what follows the first `kept` bytes, of which the key has as many. `source` starts with what follows
    /// then: its first `len` bytes.
    #[inline]
    pub fn replace(&mut self, kept: usize, source: &[u8], len: usize) {
        if len <= CHUNK
            && kept + len <= INLINE_MAX
            && self.len <= INLINE_MAX
            && let Some(from) = source.first_chunk::<CHUNK>()
            && let Some(to) = self.inline.get_mut(kept..).and_then(<[u8]>::first_chunk_mut)
        {
            *to = *from;
            self.len = kept + len;
        } else {
            self.put(kept, source.get(..len).unwrap_or_default());
        }
    }

    /// Replaces what follows the first `kept` bytes by the first `len` bytes of `source`, and returns whether the key
    /// stays the same. `None`, and no change, for a long key, and where one of the two has too few bytes.
    #[inline(always)]
    pub fn extend_short(&mut self, kept: usize, source: &[u8], len: usize) -> Option<bool> {
        let from = source.first_chunk::<CHUNK>()?;
        if len > CHUNK || kept + len > INLINE_MAX || self.len > INLINE_MAX || kept > self.len {
            return None;
        }
        let to: &mut [u8; CHUNK] = self.inline.get_mut(kept..)?.first_chunk_mut()?;
        // Neighbours usually differ in their last byte.
        let last = len.saturating_sub(1) % CHUNK;
        let is_same = kept + len == self.len
            && (len == 0 || to.get(last) == from.get(last) && to.get(..len) == from.get(..len));
        *to = *from;
        self.len = kept + len;
        Some(is_same)
    }

    #[inline(never)]
    fn put(&mut self, kept: usize, rest: &[u8]) {
        let (was, len) = (self.len, kept + rest.len());
        self.len = len;
        if len > INLINE_MAX {
            if was <= INLINE_MAX {
                self.heap.clear();
                self.heap.extend_from_slice(self.inline.get(..kept).unwrap_or_default());
            }
            self.heap.truncate(kept);
            self.heap.extend_from_slice(rest);
            return;
        }
        if was > INLINE_MAX {
            self.inline.iter_mut().zip(&self.heap).take(kept).for_each(|(to, from)| *to = *from);
        }
        if let Some(place) = self.inline.get_mut(kept..len) {
            place.copy_from_slice(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, INLINE_MAX, KeyBuffer};

    #[test]
    fn a_key_of_any_length_is_replaced_whole_and_from_any_byte_on() {
        let bytes: Vec<u8> = (1..=200).collect();
        let mut key = KeyBuffer::default();
        assert_eq!(key.as_slice(), b"");
        let near = |len| len - 2..=len + 2;
        let lens: Vec<_> = (0..=CHUNK + 2).chain(near(INLINE_MAX)).chain([100]).collect();
        for &len in lens.iter().chain(lens.iter().rev()) {
            let whole = &bytes[200 - len..];
            key.set(whole);
            assert_eq!((key.as_slice(), key.len()), (whole, len));
            for kept in 0..=len {
                for rest in [0, 1, 7, 8, CHUNK - 1, CHUNK, CHUNK + 1, 40, INLINE_MAX, 90] {
                    // With bytes behind it, and at the end of what can be read.
                    for source in [&bytes[..], &bytes[..rest]] {
                        let expected = [&whole[..kept], &bytes[..rest]].concat();
                        key.set(whole);
                        match key.extend_short(kept, source, rest) {
                            Some(is_same) => {
                                assert_eq!(
                                    (key.as_slice(), is_same),
                                    (&expected[..], whole == expected)
                                );
                            }
                            None => assert_eq!(key.as_slice(), whole),
                        }
                        key.set(whole);
                        key.replace(kept, source, rest);
                        assert_eq!(key.as_slice(), expected);
                    }
                }
            }
        }
        key.clear();
        assert_eq!((key.as_slice(), key.len()), (&[][..], 0));
    }
}
