//! OPFS.
