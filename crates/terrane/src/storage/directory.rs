//! To come.
/// A file for each table and log.
pub struct Directory;
