//! Progress on standard error: a bar on a terminal, elsewhere a line every few seconds.

use crate::message;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

/// Interval of lines where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(3);
/// Interval of the bar's figures.
const BAR_INTERVAL: Duration = Duration::from_millis(200);

/// Progress of an operation, until it is dropped.
pub struct Meter {
    shown: Instant,
    /// The bar, on a terminal.
    bar: Option<ProgressBar>,
}

impl Meter {
    /// Something that ends at `length`, if that is known.
    pub fn new(length: Option<u64>) -> Self {
        let bar = io::stderr().is_terminal().then(|| bar(length));
        Meter { shown: Instant::now(), bar }
    }

    /// Shows how far it is, and what is said of it, if it is time to.
    pub fn show(&mut self, position: u64, words: impl FnOnce() -> String) {
        let interval = if self.bar.is_some() { BAR_INTERVAL } else { LINE_INTERVAL };
        if self.shown.elapsed() < interval {
            return;
        }
        self.shown = Instant::now();
        match &self.bar {
            Some(bar) => {
                bar.set_message(words());
                bar.set_position(position);
            }
            None => message::note(&words()),
        }
    }

    /// Clears the bar.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.clear();
    }
}

fn bar(length: Option<u64>) -> ProgressBar {
    let (bar, template) = match length {
        Some(n) => (ProgressBar::new(n), "{bar:30} {percent}% {msg}, {eta} left"),
        None => (ProgressBar::new_spinner(), "{spinner} {msg}"),
    };
    let style = ProgressStyle::with_template(template);
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
