//! Flushes and merges of a thread, chunk by chunk.
//!
//! The outputs of a job are known when it starts; its duration is that of its chunks. Each chunk reads
//! and writes the same share of the job's total, into one file after another.
//!
//! A merge is one job, or is shared among several workers: each merges the keys of its *part* into
//! files of its own, and the merge takes effect when the last is done.

use crate::clock::Time;
use crate::schedule::Task;
use crate::tree::Table;
use terrane_policy::{FlushPlan, TableId};

/// The effect of a job.
pub(crate) enum Work {
    /// The oldest sealed memtable becomes a run of level 0.
    Flush(FlushPlan),
    /// A part of the merge of this number, by its index.
    Part(u64, usize),
}

/// A merge, from its start until it takes effect.
pub(crate) struct Merge {
    pub(crate) task: Task,
    pub(crate) begun: Time,
    /// The newest level that it takes from.
    pub(crate) from: usize,
    /// Bytes of its inputs, those that were read, and those of its outputs that were written.
    pub(crate) reads: u64,
    /// Share of the input bytes that the page cache did not hold at the start of the merge.
    pub(crate) missing: f64,
    pub(crate) read_so_far: u64,
    pub(crate) written_so_far: u64,
    /// Parts that are not done.
    pub(crate) open: usize,
    /// The outputs of each part, in key order; those of a part that is not done are with its job.
    pub(crate) outputs: Vec<Vec<Table>>,
}

/// A part of a merge that waits for a worker.
pub(crate) struct Part {
    pub(crate) merge: u64,
    pub(crate) index: usize,
    pub(crate) reads: u64,
    pub(crate) outputs: Vec<Table>,
}

/// The part of a chunk that goes to one file.
pub(crate) struct Piece {
    pub(crate) file: TableId,
    /// Bytes of the file before the piece.
    pub(crate) from: u64,
    pub(crate) bytes: u64,
    /// Whether it is the last of the file.
    pub(crate) ends: bool,
}

/// The next step of a job.
pub(crate) struct Chunk {
    pub(crate) read: u64,
    pub(crate) pieces: Vec<Piece>,
}

impl Chunk {
    pub(crate) fn written(&self) -> u64 {
        self.pieces.iter().map(|p| p.bytes).sum()
    }
}

/// A running job.
pub(crate) struct Job {
    pub(crate) work: Work,
    pub(crate) outputs: Vec<Table>,
    /// Time at which the device has transferred the current chunk.
    pub(crate) transferred: Time,
    /// Total bytes to read.
    reads: u64,
    writes: u64,
    chunks: u64,
    done: u64,
    /// The current output, and its bytes so far.
    output: usize,
    written: u64,
}

impl Job {
    pub(crate) fn new(
        work: Work,
        reads: u64,
        outputs: Vec<Table>,
        chunk_bytes: u64,
        begun: Time,
    ) -> Self {
        let writes = outputs.iter().map(|t| t.info.bytes).sum();
        let chunks = reads.max(writes).div_ceil(chunk_bytes.max(1)).max(1);
        Job {
            work,
            outputs,
            transferred: begun,
            reads,
            writes,
            chunks,
            done: 0,
            output: 0,
            written: 0,
        }
    }

    /// Bytes read, or written if none are read: the basis of its processor time.
    pub(crate) fn merged(&self, chunk: &Chunk) -> u64 {
        if self.reads > 0 { chunk.read } else { chunk.written() }
    }

    /// The part of `all` that is done after this many chunks.
    fn share(&self, all: u64, chunks: u64) -> u64 {
        let share = u128::from(all) * u128::from(chunks) / u128::from(self.chunks);
        u64::try_from(share).unwrap_or(all)
    }

    /// Whether no chunk has begun.
    pub(crate) fn is_new(&self) -> bool {
        self.done == 0
    }

    /// Whether there is a next chunk.
    pub(crate) fn has_chunk(&self) -> bool {
        self.done < self.chunks
    }

    /// The next chunk; `None` once all are done.
    pub(crate) fn next_chunk(&mut self) -> Option<Chunk> {
        if !self.has_chunk() {
            return None;
        }
        let read = self.share(self.reads, self.done);
        let written = self.share(self.writes, self.done);
        self.done += 1;
        let read_so_far = self.share(self.reads, self.done);
        let mut left = self.share(self.writes, self.done) - written;
        let mut pieces = Vec::new();
        while left > 0 {
            let Some(table) = self.outputs.get(self.output) else { break };
            let from = self.written;
            let bytes = left.min(table.info.bytes - self.written);
            left -= bytes;
            self.written += bytes;
            let ends = self.written == table.info.bytes;
            pieces.push(Piece { file: table.info.id, from, bytes, ends });
            if ends {
                (self.output, self.written) = (self.output + 1, 0);
            }
        }
        Some(Chunk { read: read_so_far - read, pieces })
    }
}
