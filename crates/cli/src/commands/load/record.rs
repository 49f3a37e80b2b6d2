//! The fields of a row, in one buffer.

/// A row's fields in order.
#[derive(Debug, Default)]
pub struct Record {
    bytes: Vec<u8>,
    /// End of each field.
    ends: Vec<usize>,
}

impl Record {
    /// Removes all fields and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Returns the buffer of the next field.
    pub fn field(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Ends the field.
    pub fn end_field(&mut self) {
        self.ends.push(self.bytes.len());
    }

    /// Returns the number of fields.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Field `n`, from 0; empty where there is none.
    pub fn get(&self, n: usize) -> &[u8] {
        let end = |n: usize| self.ends.get(n).copied();
        let start = n.checked_sub(1).map_or(Some(0), end);
        let range = start.zip(end(n)).map(|(start, end)| start..end);
        range.and_then(|r| self.bytes.get(r)).unwrap_or_default()
    }

    /// All fields.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|n| self.get(n))
    }
}
