//! What a load shows of itself: how far it is, and a summary at the end.

use crate::meter::Meter;
use crate::output::counted;
use crate::waits;
use indicatif::{DecimalBytes, HumanCount};
use std::time::Instant;
use terrane::db::WriteWaits;

/// Rows and bytes that were written, and how fast.
pub struct Progress {
    rows: u64,
    /// Bytes of keys and values.
    bytes: u64,
    /// How far the input was read.
    input_bytes: u64,
    started: Instant,
    /// What writes waited for.
    waits: Option<String>,
    meter: Meter,
}

impl Progress {
    /// A load of `input_bytes` bytes, if that is known.
    pub fn new(input_bytes: Option<u64>) -> Self {
        let meter = Meter::new(input_bytes);
        let started = Instant::now();
        Progress { rows: 0, bytes: 0, input_bytes: 0, started, waits: None, meter }
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
        self.meter.show(self.input_bytes, || figures(rows, bytes, started));
    }

    /// Says what writes waited for, in all.
    pub fn waited(&mut self, waits: &WriteWaits) {
        self.waits = waits::summary(waits);
    }

    /// Ends the display and returns the summary.
    pub fn finish(self) -> String {
        let seconds = self.started.elapsed().as_secs_f64();
        let waits = self.waits.map_or(String::new(), |waits| format!("; waited for {waits}"));
        format!("loaded {} in {seconds:.1} s{waits}", figures(self.rows, self.bytes, self.started))
    }
}

fn figures(rows: u64, bytes: u64, started: Instant) -> String {
    let seconds = started.elapsed().as_secs_f64().max(1e-3);
    let per_second = |n: u64| (n as f64 / seconds) as u64;
    format!(
        "{}, {} ({} rows/s, {:.1} MB/s)",
        counted(rows, "row", "rows"),
        DecimalBytes(bytes),
        HumanCount(per_second(rows)),
        bytes as f64 / seconds / 1e6
    )
}
