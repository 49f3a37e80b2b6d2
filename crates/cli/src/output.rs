//! Where text goes: results to standard output in large writes, everything else to standard error.

use crate::exit::Failure;
use indicatif::HumanCount;
use serde::Serialize;
use std::io::{self, BufWriter, StdoutLock, Write};

/// Standard output, written in pieces of 64 KiB.
pub struct Output {
    stdout: BufWriter<StdoutLock<'static>>,
}

impl Output {
    /// Takes standard output.
    pub fn new() -> Self {
        Output { stdout: BufWriter::with_capacity(64 << 10, io::stdout().lock()) }
    }

    /// Writes bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.stdout.write_all(bytes).map_err(|e| Failure::stdout(&e))
    }

    /// Has `what` write.
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

    /// Writes a value as JSON, indented.
    pub fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        // None of the values has a map with other keys than strings, which alone fails.
        self.line(&serde_json::to_string_pretty(value).unwrap_or_default())
    }

    /// Hands everything to the reader.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.flush()
    }

    /// Hands what was written so far to the reader.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.stdout.flush().map_err(|e| Failure::stdout(&e))
    }
}

/// Says a sentence on standard error. Nobody can be told where that fails.
pub fn say(sentence: &str) {
    let _ = writeln!(io::stderr(), "terrane: {sentence}");
}

/// A count with its noun, such as "1 row" and "2,000 rows".
pub fn counted(count: u64, one: &str, several: &str) -> String {
    format!("{} {}", HumanCount(count), if count == 1 { one } else { several })
}
