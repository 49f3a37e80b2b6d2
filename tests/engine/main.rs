//! Promises of the engine, tested through its public API on storage that fails.
//!
//! One binary for all: linking the engine takes longer than most of these tests.
//!
//! * Crashes: [`crash`] cuts power at every storage operation, [`recovery_cut`] while recovery runs,
//!   [`compact_range_cut`] while a range is compacted, [`close_cut`] while a close flushes,
//!   [`dropped_keyspaces`] while keyspaces are dropped;
//!   [`killed_process`] ends the process. [`mapped_logs`] fills a disk under logs that are mapped.
//!   [`durability_rules`] shows that these tests notice each broken rule.
//! * Histories: [`histories`] has crashes, failures, threads and openings together, at random.
//! * I/O failures: [`io_failures`], [`recovery_faults`], [`silent_faults`], [`many_tables`].
//! * Damaged bytes: [`bit_flips`], [`closed_damage`], [`lost_commits`], [`fuzz`].
//! * Formats: [`golden`], [`newer_format`], [`open_errors`].
//! * Behaviour: [`model`], [`merges`], [`data_set`], [`checkpoint`], [`compact_range`], [`released_snapshots`],
//!   [`planning`], [`policy_state`], [`small_stores`], [`throttle`], [`read_only`], [`liveness`], [`threads`],
//!   [`transactions`], [`store_lock`], [`clean_close`], [`open_files`].
//! * Over time: [`life`] opens and closes stores, [`soak`] has all at once, for a given time.
//! * The simulator beside the engine: [`simulator`], [`filters`].

mod bit_flips;
mod checkpoint;
mod clean_close;
mod close_cut;
mod closed_damage;
mod compact_range;
mod compact_range_cut;
mod crash;
mod data_set;
mod dropped_keyspaces;
mod durability_rules;
mod events;
mod filters;
mod fuzz;
mod golden;
mod histories;
mod io_failures;
mod killed_process;
#[cfg(target_os = "linux")]
mod life;
mod liveness;
mod lost_commits;
mod many_tables;
#[cfg(target_os = "linux")]
mod mapped_logs;
mod merges;
mod model;
mod newer_format;
mod open_errors;
#[cfg(target_os = "linux")]
mod open_files;
mod planning;
mod policy_state;
mod ptier;
mod read_only;
mod recovery_cut;
mod recovery_faults;
mod released_snapshots;
mod silent_faults;
mod simulator;
mod small_stores;
#[cfg(target_os = "linux")]
mod soak;
mod store_lock;
mod threads;
mod throttle;
mod transactions;
