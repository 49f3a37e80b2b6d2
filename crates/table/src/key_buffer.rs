//! The key of a cursor, which each step replaces. Short keys are copied as whole words, without a call: in a browser a
//! copy of unknown length leaves the module, which takes longer than the copy.

/// Bytes that are copied at once.
const CHUNK: usize = 16;

/// A key that is often replaced.
#[derive(Debug, Default)]
pub(crate) struct KeyBuffer {
    /// The key and, once there was one, at least [`CHUNK`] bytes behind it.
    bytes: Vec<u8>,
    len: usize,
}

impl KeyBuffer {
    /// Returns the key.
    #[inline(always)]
    pub fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
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
            && key.len() <= CHUNK
            && let Some(place) = self.bytes.first_chunk_mut::<CHUNK>()
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
            && let Some(from) = source.first_chunk::<CHUNK>()
            && let Some(to) = self.bytes.get_mut(kept..).and_then(<[u8]>::first_chunk_mut)
        {
            *to = *from;
            self.len = kept + len;
        } else {
            self.put(kept, source.get(..len).unwrap_or_default());
        }
    }

    #[inline(never)]
    fn put(&mut self, kept: usize, rest: &[u8]) {
        self.len = kept + rest.len();
        if self.bytes.len() < self.len + CHUNK {
            self.bytes.resize(self.len + CHUNK, 0);
        }
        if let Some(place) = self.bytes.get_mut(kept..self.len) {
            place.copy_from_slice(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, KeyBuffer};

    #[test]
    fn a_key_of_any_length_is_replaced_whole_and_from_any_byte_on() {
        let bytes: Vec<u8> = (1..=100).collect();
        let mut key = KeyBuffer::default();
        assert_eq!(key.as_slice(), b"");
        for len in (0..3 * CHUNK).chain((0..3 * CHUNK).rev()) {
            let whole = &bytes[100 - len..];
            key.set(whole);
            assert_eq!((key.as_slice(), key.len()), (whole, len));
            for kept in 0..=len {
                for rest in [0, 1, 7, 8, CHUNK - 1, CHUNK, CHUNK + 1, 40] {
                    // With bytes behind it, and at the end of what can be read.
                    for source in [&bytes[..], &bytes[..rest]] {
                        key.set(whole);
                        key.replace(kept, source, rest);
                        assert_eq!(key.as_slice(), [&whole[..kept], &bytes[..rest]].concat());
                    }
                }
            }
        }
        key.clear();
        assert_eq!((key.as_slice(), key.len()), (&[][..], 0));
    }
}
