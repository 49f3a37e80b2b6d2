//! The progress of a load, and its summary.

use crate::message::counted;
use crate::meter::Meter;
use crate::waits;
use indicatif::{DecimalBytes, HumanCount};
use serde::Serialize;
use std::fmt;
use std::time::Instant;
use terrane::stats::WriteWaits;

/// Rows and bytes that were written, and how fast.
pub struct Progress {
    rows: u64,
    /// Bytes of keys and values.
    bytes: u64,
    /// Bytes of the input that were read.
    input_bytes: u64,
    started: Instant,
    /// Waits of writes.
    waits: WriteWaits,
    meter: Meter,
}

impl Progress {
    /// A load of `input_bytes` bytes, if that is known.
    pub fn new(input_bytes: Option<u64>) -> Self {
        let meter = Meter::new(input_bytes);
        let started = Instant::now();
        Progress { rows: 0, bytes: 0, input_bytes: 0, started, waits: WriteWaits::default(), meter }
    }

    /// Counts a batch; the input was read up to `input_bytes`.
    pub fn advance(&mut self, rows: u64, bytes: u64, input_bytes: u64) {
        self.rows += rows;
        self.bytes += bytes;
        self.input_bytes = input_bytes;
        self.show();
    }

    /// Shows how far it is, if it is time to.
    pub fn show(&mut self) {
        let Progress { rows, bytes, started, .. } = *self;
        self.meter.show(self.input_bytes, || figures(rows, bytes, started.elapsed().as_secs_f64()));
    }

    /// Records what writes waited for, in all.
    pub fn waited(&mut self, waits: WriteWaits) {
        self.waits = waits;
    }

    /// Ends the display and returns the summary.
    pub fn finish(self) -> Summary {
        let Progress { rows, bytes, started, waits, .. } = self;
        Summary { rows, bytes, seconds: started.elapsed().as_secs_f64(), waits }
    }
}

/// Result of a load.
#[derive(Serialize)]
pub struct Summary {
    rows: u64,
    /// Bytes of keys and values.
    bytes: u64,
    seconds: f64,
    /// Waits of writes.
    waits: WriteWaits,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Summary { rows, bytes, seconds, waits } = self;
        write!(f, "loaded {} in {seconds:.1} s", figures(*rows, *bytes, *seconds))?;
        waits::summary(waits).map_or(Ok(()), |waits| write!(f, "; waited for {waits}"))
    }
}

fn figures(rows: u64, bytes: u64, seconds: f64) -> String {
    let seconds = seconds.max(1e-3);
    let per_second = |n: u64| (n as f64 / seconds) as u64;
    format!(
        "{}, {} ({} rows/s, {:.1} MB/s)",
        counted(rows, "row", "rows"),
        DecimalBytes(bytes),
        HumanCount(per_second(rows)),
        bytes as f64 / seconds / 1e6
    )
}
