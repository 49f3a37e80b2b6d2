//! Rules of the house that no compiler knows, over every source and document that git tracks.
//!
//! 1. A word of `vocabulary.txt` is refused in every spelling, with what to write instead.
//! 2. A source file has at most [`LINES_MAX`] lines, one of tests at most [`TEST_LINES_MAX`].
//! 3. A line of source has at most [`COLUMNS_MAX`] characters, but for links and raw strings.
//! 4. No file is a drawer for what has no place, such as `utils`.
//! 5. Comments and the names of tests keep the rules of [`prose`].

use crate::prose;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::Path;

const VOCABULARY: &str = "crates/xtask/vocabulary.txt";
const LINES_MAX: usize = 500;
const TEST_LINES_MAX: usize = 700;
const COLUMNS_MAX: usize = 120;
const DRAWERS: [&str; 5] = ["common", "helpers", "misc", "util", "utils"];

/// Paths that git lists: files that people write, not programs.
const WRITTEN: [&str; 14] = [
    "*.css",
    "*.html",
    "*.js",
    "*.md",
    "*.rs",
    "*.sh",
    "*.svelte",
    "*.ts",
    "*.txt",
    ":!:*proptest-regressions*",
    ":!:bindings-js/src/api/contract.ts",
    ":!:bindings-js/src/api/policies.ts",
    ":!:crates/*/public-api.txt",
    ":!:crates/policy/scripts/*",
];

/// Checks every file, and returns how many there were.
///
/// # Errors
/// All that is refused, a line each.
pub fn check(workspace: &Workspace) -> Result<usize> {
    let vocabulary = parse(&fs::read_to_string(workspace.path(VOCABULARY))?)?;
    let mut git = workspace.command("git");
    let output = git.args(["ls-files", "--"]).args(WRITTEN).output().context("git ls-files")?;
    ensure!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout)?;
    let mut refused = Vec::new();
    for path in listed.lines() {
        // A file that was removed stays listed until the next commit.
        let Ok(text) = fs::read_to_string(workspace.path(path)) else { continue };
        check_file(path, &text, &vocabulary, &mut refused);
        prose::check(path, &text, &mut refused);
    }
    if refused.is_empty() {
        return Ok(listed.lines().count());
    }
    bail!("{} places:\n  {}", refused.len(), refused.join("\n  "))
}

/// A word, or several in a row, that is refused.
struct Entry {
    words: Vec<String>,
    instead: String,
    /// Places where it is right: the starts of paths.
    allowed: Vec<String>,
}

fn parse(text: &str) -> Result<Vec<Entry>> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let entry = |line: &str| {
        let (word, rest) = line.split_once(" -> ").with_context(|| {
            format!("{VOCABULARY}: expected `word -> instead: path path`, found `{line}`")
        })?;
        let (instead, paths) = rest.split_once(':').unwrap_or((rest, ""));
        Ok(Entry {
            words: words(word),
            instead: instead.trim().to_owned(),
            allowed: paths.split_whitespace().map(str::to_owned).collect(),
        })
    };
    lines.map(entry).collect()
}

fn check_file(path: &str, text: &str, vocabulary: &[Entry], refused: &mut Vec<String>) {
    let stem = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
    if DRAWERS.contains(&&*stem) {
        refused.push(format!("{path}: name it after what it holds"));
    }
    let lines = text.lines().count();
    let test = path.contains("tests") || path.contains("/test/");
    let source = !path.ends_with(".md") && !path.ends_with(".html");
    let most = if test { TEST_LINES_MAX } else { LINES_MAX };
    if source && lines > most {
        refused.push(format!("{path}: {lines} lines, at most {most}"));
    }
    for (number, line) in (1..).zip(text.lines()) {
        let link_or_data = line.contains("://") || line.contains("r#\"");
        if source && !link_or_data && line.chars().count() > COLUMNS_MAX {
            refused.push(format!("{path}:{number}: longer than {COLUMNS_MAX} characters"));
        }
        if path == VOCABULARY {
            continue;
        }
        let found = words(line);
        for entry in vocabulary {
            let allowed = entry.allowed.iter().any(|prefix| path.starts_with(prefix));
            if !allowed && found.windows(entry.words.len()).any(|some| some == entry.words) {
                let (word, instead) = (entry.words.join(" "), &entry.instead);
                refused.push(format!("{path}:{number}: `{word}`: {instead}"));
            }
        }
    }
}

/// The words of a line in lower case: `setAside`, `SET_ASIDE` and `set-aside` are two each.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut previous = ' ';
    for character in line.chars() {
        if !character.is_alphanumeric() || (character.is_uppercase() && previous.is_lowercase()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| character.is_alphanumeric()) {
            word.extend(character.to_lowercase());
        }
        previous = character;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::{check_file, parse};

    fn refused(path: &str, text: &str) -> Vec<String> {
        let vocabulary = parse("# a comment\n\nset aside -> quarantine: docs/ LOG.md\n").unwrap();
        let mut refused = Vec::new();
        check_file(path, text, &vocabulary, &mut refused);
        refused
    }

    #[test]
    fn a_refused_word_is_found_in_every_spelling() {
        for text in ["set aside", "Set-aside:", "let set_aside_bytes;", "dropSetAside", "SET_ASIDE"]
        {
            assert_eq!(refused("a.rs", text), ["a.rs:1: `set aside`: quarantine"], "{text}");
        }
        for text in ["offset aside", "set as ide", "setter aside", "aside set"] {
            assert!(refused("a.rs", text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_refused_word_may_stand_where_it_is_right() {
        assert!(refused("docs/old/a.md", "set aside").is_empty());
        assert!(refused("LOG.md", "set aside").is_empty());
        assert_eq!(refused("src/docs/a.md", "\nset aside").len(), 1);
    }

    #[test]
    fn a_vocabulary_line_without_an_alternative_is_refused() {
        assert!(parse("word\n").is_err());
    }

    #[test]
    fn long_files_and_lines_are_refused_where_they_can_be_shorter() {
        let long = "line\n".repeat(501);
        assert_eq!(refused("src/a.rs", &long), ["src/a.rs: 501 lines, at most 500"]);
        assert!(refused("src/tests.rs", &"line\n".repeat(700)).is_empty());
        let longer = "line\n".repeat(701);
        assert_eq!(refused("src/tests.rs", &longer), ["src/tests.rs: 701 lines, at most 700"]);
        assert!(refused("README.md", &long).is_empty());
        assert!(refused("src/a.rs", &"line\n".repeat(500)).is_empty());
        let wide = "é".repeat(121);
        assert_eq!(refused("a.rs", &wide), ["a.rs:1: longer than 120 characters"]);
        assert!(refused("a.md", &wide).is_empty());
        assert!(refused("a.rs", &format!("// https://{wide}")).is_empty());
        assert!(refused("a.rs", &"é".repeat(120)).is_empty());
    }

    #[test]
    fn a_drawer_is_refused() {
        assert_eq!(refused("src/utils.rs", "").len(), 1);
        assert!(refused("src/utility.rs", "").is_empty());
    }
}
