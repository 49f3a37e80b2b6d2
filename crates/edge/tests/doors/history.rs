//! Histories of operations, and whether they are linearizable (Wing and Gong, with the memory of Lowe).
//!
//! 1. The next operation of an order may be any that started before the first end of those that are left.
//! 2. Its reply must be the one of the map at this place of the order.
//! 3. A set of operations with the map after them is tried once.

use crate::map::{Map, Op, Ret};
use std::collections::HashSet;
use std::fmt;

/// An operation, and the moments at which it started and ended.
pub struct Call {
    pub client: usize,
    pub op: Op,
    pub ret: Ret,
    pub start: usize,
    pub end: usize,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Call { client, op, ret, start, end } = self;
        write!(f, "client {client}, {start} to {end}: {op:?} returned {ret:?}")
    }
}

/// Returns whether one order explains every reply.
pub fn is_linearizable(calls: &[Call]) -> bool {
    assert!(calls.len() < 64, "expected at most 63 calls, found {}", calls.len());
    explains(calls, 0, &Map::default(), &mut HashSet::new())
}

/// Returns whether the calls that are not in `done` continue an order that has led to `map`.
fn explains(calls: &[Call], done: u64, map: &Map, tried: &mut HashSet<(u64, Map)>) -> bool {
    let left = || calls.iter().enumerate().filter(|(at, _)| done & (1 << at) == 0);
    let Some(first_end) = left().map(|(_, call)| call.end).min() else { return true };
    if !tried.insert((done, map.clone())) {
        return false;
    }
    left().filter(|(_, call)| call.start < first_end).any(|(at, call)| {
        let mut after = map.clone();
        after.apply(&call.op) == call.ret && explains(calls, done | (1 << at), &after, tried)
    })
}
