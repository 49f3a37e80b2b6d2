//! Reading: cursors over sorted sequences of entries.

mod cursor;

pub use cursor::Cursor;
