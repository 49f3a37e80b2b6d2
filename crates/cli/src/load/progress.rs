//! What a load shows of itself on standard error: a bar on a terminal, elsewhere a line every few
//! seconds, and a summary at the end.

use crate::output;
use indicatif::{DecimalBytes, HumanCount, ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

/// How often a line is written where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(3);
/// How often the bar's figures change.
const BAR_INTERVAL: Duration = Duration::from_millis(200);

/// Rows and bytes that were written, and how fast.
pub struct Progress {
    rows: u64,
    /// Bytes of keys and values.
    bytes: u64,
    /// How far the input was read.
    input_bytes: u64,
    started: Instant,
    shown: Instant,
    /// The bar, on a terminal.
    bar: Option<ProgressBar>,
}

impl Progress {
    /// A load of `input_bytes` bytes, if that is known.
    pub fn new(input_bytes: Option<u64>) -> Self {
        let started = Instant::now();
        let bar = io::stderr().is_terminal().then(|| bar(input_bytes));
        Progress { rows: 0, bytes: 0, input_bytes: 0, started, shown: started, bar }
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
        let interval = if self.bar.is_some() { BAR_INTERVAL } else { LINE_INTERVAL };
        if self.shown.elapsed() < interval {
            return;
        }
        self.shown = Instant::now();
        match &self.bar {
            Some(bar) => {
                bar.set_message(self.figures());
                bar.set_position(self.input_bytes);
            }
            None => output::say(&self.figures()),
        }
    }

    /// Clears the bar and gives the summary.
    pub fn finish(self) -> String {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let seconds = self.started.elapsed().as_secs_f64();
        format!("loaded {} in {seconds:.1} s", self.figures())
    }

    fn figures(&self) -> String {
        let seconds = self.started.elapsed().as_secs_f64().max(1e-3);
        let per_second = |n: u64| (n as f64 / seconds) as u64;
        format!(
            "{} rows, {} ({} rows/s, {:.1} MB/s)",
            HumanCount(self.rows),
            DecimalBytes(self.bytes),
            HumanCount(per_second(self.rows)),
            self.bytes as f64 / seconds / 1e6
        )
    }
}

fn bar(input_bytes: Option<u64>) -> ProgressBar {
    let (bar, template) = match input_bytes {
        Some(n) => (ProgressBar::new(n), "{bar:30} {percent}% {msg}, {eta} left"),
        None => (ProgressBar::new_spinner(), "{spinner} {msg}"),
    };
    let style = ProgressStyle::with_template(template);
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
