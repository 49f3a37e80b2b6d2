//! Everything under way: letters, which arrive in any order, and streams, whose lines arrive in order.

use std::collections::{BTreeMap, VecDeque};
use terrane_workload::Random;

/// The number of a connection.
pub type Connection = u64;

/// A write of a writer.
#[derive(Clone, Debug)]
pub struct Write {
    pub writer: usize,
    pub number: u64,
    /// Whether it is acknowledged once it is durable.
    pub is_durable: bool,
    /// Seed of its operations.
    pub seed: u64,
}

/// A request, or a reply without a stream.
#[derive(Clone, Debug)]
pub enum Letter {
    Write(Write),
    Acknowledged { writer: usize, number: u64 },
    Request { connection: Connection, target: String },
    Refused { connection: Connection, status: u16 },
}

/// The lines of a reply.
#[derive(Default)]
pub struct Stream {
    pub lines: VecDeque<Vec<u8>>,
    /// Whether no more lines will arrive.
    pub is_cut: bool,
}

/// Everything under way.
#[derive(Default)]
pub struct Network {
    pub letters: Vec<Letter>,
    pub streams: BTreeMap<Connection, Stream>,
    connections: Connection,
}

impl Network {
    /// Returns the number of a new connection.
    pub fn connect(&mut self) -> Connection {
        self.connections += 1;
        self.connections
    }

    /// Takes a letter out, in any order. It is lost at times, or stays to arrive again.
    pub fn take(&mut self, random: &mut Random) -> Option<Letter> {
        let at = random.below(self.letters.len() as u64) as usize;
        let letter = self.letters.get(at)?.clone();
        if !random.one_in(8) {
            self.letters.swap_remove(at);
        }
        (!random.one_in(8)).then_some(letter)
    }

    /// Appends lines to a stream, unless it was cut.
    pub fn send(&mut self, connection: Connection, lines: &[u8]) {
        let stream = self.streams.entry(connection).or_default();
        if !stream.is_cut {
            let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            stream.lines.extend(lines.map(<[u8]>::to_vec));
        }
    }

    /// Cuts a stream. Some of its last lines are lost.
    pub fn cut(&mut self, connection: Connection, random: &mut Random) {
        let stream = self.streams.entry(connection).or_default();
        stream.is_cut = true;
        let left = random.below(stream.lines.len() as u64 + 1) as usize;
        stream.lines.truncate(left);
    }

    /// Loses everything.
    pub fn clear(&mut self) {
        self.letters.clear();
        self.streams.clear();
    }
}
