//! Workloads: the keys, values and operations of the simulator, of `terrane bench`, and of the comparison with other
//! stores.
//!
//! * [`Workload`] describes a load and the phases after it; [`Operations`] draws what it does, by the numbers of keys.
//! * [`Rows`] makes the key and the value of a number.
//! * `random`, `zipf`, `prefixes` - random numbers, orders, popularity, shares of prefixes.
//! * [`Latencies`] counts how long operations took.
//!
//! A seed gives the same operations and rows on every machine. Nothing reads a clock, and nothing is stored.

mod latency;
mod operations;
mod prefixes;
mod random;
mod rows;
#[cfg(test)]
mod tests;
mod workload;
mod zipf;

pub use latency::{Distribution, Latencies, Latency};
pub use operations::{LOAD, Operation, Operations};
pub use random::{Permutation, Random, mix};
pub use rows::{Keys, Rows};
pub use workload::{
    Arrivals, Choice, Clients, KeyOrder, KeyPrefixes, Kind, Mix, Phase, Workload, WorkloadPreset,
};
