//! Runs operations on a store against the clock, for `terrane bench` and for the comparison with other stores.
//!
//! * [`Session`] - the operations of every store; [`Terrane`] is one.
//! * [`Worker`] - the loop.
//! * [`Micros`] and [`memory`] - what it took.

pub mod memory;
mod micros;
mod session;
mod terrane;
mod worker;

pub use micros::Micros;
pub use session::Session;
pub use terrane::Terrane;
pub use worker::{Moved, Pace, Timed, Worker};
