//! Results: standard output, in large writes.

use crate::exit::Failure;
use serde::Serialize;
use std::io::{self, BufWriter, StdoutLock, Write};

/// Standard output, written in blocks of 64 KiB.
pub struct Output {
    stdout: BufWriter<StdoutLock<'static>>,
}

impl Output {
    /// Locks standard output.
    pub fn new() -> Self {
        Output { stdout: BufWriter::with_capacity(64 << 10, io::stdout().lock()) }
    }

    /// Writes bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.stdout.write_all(bytes).map_err(|e| Failure::stdout(&e))
    }

    /// Lets `what` write.
    pub fn write(
        &mut self,
        what: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        what(&mut self.stdout).map_err(|e| Failure::stdout(&e))
    }

    /// Writes a line.
    pub fn line(&mut self, line: &str) -> Result<(), Failure> {
        self.bytes(line.as_bytes())?;
        self.bytes(b"\n")
    }

    /// Writes lines.
    pub fn lines(&mut self, lines: &[String]) -> Result<(), Failure> {
        lines.iter().try_for_each(|line| self.line(line))
    }

    /// Writes a value as one line of JSON.
    pub fn json_line(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        // Values whose maps have string keys always serialize.
        self.line(&serde_json::to_string(value).unwrap_or_default())
    }

    /// Writes a value as a JSON document, indented.
    pub fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        self.line(&serde_json::to_string_pretty(value).unwrap_or_default())
    }

    /// Flushes and releases standard output.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.flush()
    }

    /// Writes out what is buffered.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.stdout.flush().map_err(|e| Failure::stdout(&e))
    }
}
