//! Messages: everything that is not a result, to standard error.
//! Colors appear on terminals alone, and not where `NO_COLOR` is set (`anstream`).

use anstyle::{AnsiColor, Style};
use indicatif::HumanCount;
use std::borrow::Cow;
use std::io::Write;

/// Bytes of the longest message: a message may quote an argument of any length.
const MESSAGE_BYTES_MAX: usize = 8000;
/// Bytes that a shortened message keeps of its end.
const END_BYTES: usize = 2000;

/// Writes a remark to standard error. Where that fails, there is nobody to tell.
pub fn note(sentence: &str) {
    say(Style::new().bold(), sentence);
}

/// Writes what went wrong to standard error.
pub fn error(sentence: &str) {
    say(AnsiColor::Red.on_default().bold(), sentence);
}

fn say(style: Style, sentence: &str) {
    let sentence = shortened(sentence);
    let _ = writeln!(anstream::stderr(), "{style}terrane:{style:#} {sentence}");
}

/// Returns the sentence, without its middle if it is too long.
fn shortened(sentence: &str) -> Cow<'_, str> {
    if sentence.len() <= MESSAGE_BYTES_MAX {
        return Cow::Borrowed(sentence);
    }
    let head = sentence.floor_char_boundary(MESSAGE_BYTES_MAX - END_BYTES);
    let end = sentence.ceil_char_boundary(sentence.len() - END_BYTES);
    let part = |range| sentence.get(range).unwrap_or_default();
    Cow::Owned(format!("{} ... {}", part(0..head), part(end..sentence.len())))
}

/// A count with its noun, such as "1 row" and "2,000 rows".
pub fn counted(count: u64, one: &str, several: &str) -> String {
    format!("{} {}", HumanCount(count), if count == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_a_bound_and_keeps_both_ends() {
        assert_eq!(shortened("short"), "short");
        let long = format!("begin {}end", "é".repeat(1 << 20));
        let short = shortened(&long);
        assert!(short.len() <= MESSAGE_BYTES_MAX + 5, "{}", short.len());
        assert!(short.starts_with("begin ") && short.ends_with("end") && short.contains(" ... "));
    }
}
