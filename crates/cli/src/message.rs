//! Messages: everything that is not a result, to standard error.
//! Colors appear on terminals alone, and not where `NO_COLOR` is set (`anstream`).

use anstyle::{AnsiColor, Style};
use indicatif::HumanCount;
use std::io::Write;

/// Writes a remark to standard error. Where that fails, there is nobody to tell.
pub fn note(sentence: &str) {
    say(Style::new().bold(), sentence);
}

/// Writes what went wrong to standard error.
pub fn error(sentence: &str) {
    say(AnsiColor::Red.on_default().bold(), sentence);
}

fn say(style: Style, sentence: &str) {
    let _ = writeln!(anstream::stderr(), "{style}terrane:{style:#} {sentence}");
}

/// A count with its noun, such as "1 row" and "2,000 rows".
pub fn counted(count: u64, one: &str, several: &str) -> String {
    format!("{} {}", HumanCount(count), if count == 1 { one } else { several })
}
