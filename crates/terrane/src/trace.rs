//! Traces that [`Keyspace::trace_get`](crate::Keyspace::trace_get) and
//! [`Keyspace::trace_seek`](crate::Keyspace::trace_seek) return: a read, step by step.

#[doc(inline)]
pub use terrane_table::read::{Origin, ReadCounts, Step, Trace};
