//! The store on many threads, in orders that a seed draws (shuttle): `cargo xtask test --only rust`,
//! or as CONTRIBUTING says. A wake-up that is lost shows as a deadlock.
#![cfg(shuttle)]

mod closing;
mod explore;
mod handles;
mod readers;
mod writers;
