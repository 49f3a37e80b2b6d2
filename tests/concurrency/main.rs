//! The engine on many threads, in orders that a model of threads chooses: `cargo xtask test --only rust`,
//! or as CONTRIBUTING says. Without `--cfg loom` or `--cfg shuttle` there is no test here.
//!
//! * loom: [`memtable`], and [`swap`]ped pointers, in every order of their atomic operations.
//! * shuttle: everything else, in orders drawn from a seed. A lost wake-up shows as a deadlock.

#[cfg(shuttle)]
mod closing;
#[cfg(shuttle)]
mod explore;
#[cfg(shuttle)]
mod handles;
#[cfg(shuttle)]
mod listeners;
#[cfg(loom)]
mod loomed;
#[cfg(loom)]
mod memtable;
#[cfg(shuttle)]
mod readers;
#[cfg(loom)]
mod swap;
#[cfg(shuttle)]
mod writers;
