//! Opening stores.

use crate::exit::Failure;
use std::path::Path;
use terrane::{Db, Options};

/// The store in `dir`, which must be there.
pub fn existing(dir: &Path) -> Result<Db, Failure> {
    Ok(Db::open(dir, Options { create: false, ..Options::default() })?)
}

/// The store in `dir`, made if there is none.
pub fn existing_or_new(dir: &Path) -> Result<Db, Failure> {
    Ok(Db::open(dir, Options::default())?)
}
