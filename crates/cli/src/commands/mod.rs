//! A file, or a folder, for each command. Each has the command's arguments (`...Args`), its examples
//! for `--help`, and `run`; those that the shell has, have a function that takes an open store.

pub mod advise;
#[cfg(feature = "serve")]
pub mod backups;
pub mod bench;
pub mod check;
pub mod checkpoint;
pub mod compact;
pub mod completions;
pub mod count;
pub mod delete;
pub mod export;
pub mod get;
pub mod history;
pub mod import;
pub mod keyspaces;
pub mod levels;
pub mod load;
pub mod man;
pub mod merge;
pub mod policies;
pub mod policy;
pub mod put;
pub mod quarantine;
pub mod repair;
#[cfg(feature = "serve")]
pub mod restore;
pub mod scan;
#[cfg(feature = "serve")]
pub mod serve;
pub mod shell;
pub mod simulate;
pub mod stats;
pub mod sweep;
