//! The voice of the house, as far as a program can hear it, in the comments and tests of a source file.
//!
//! 1. No doc starts with a word of [`OPENINGS`]: it names the thing, or says with a verb what a function does.
//! 2. No phrase of [`PHRASES`] stands in a comment, on one line or across two, or in a test's name: a parameter has its
//!    name, and code reports, returns or runs. [`NAME_PHRASES`] stand in no name.
//! 3. A test's name has at most [`NAME_MAX`] characters.
//!
//! A comment in the markup of a Svelte file is a doc.

const NAME_MAX: usize = 60;
const OPENINGS: [&str; 10] =
    ["What", "How", "Where", "Which", "Why", "When", "Who", "Until", "Of", "Has"];
const PHRASES: [&str; 16] = [
    "so many",
    "so much",
    "so long",
    "told",
    "tells",
    "give back",
    "gives back",
    "has its turn",
    "have their turn",
    "begins",
    "comes back",
    "goes on",
    "is to be",
    "are to be",
    "any more",
    "by now",
];

/// Phrases that only the name of a test must not have: in a comment `tell` may mean to discern.
const NAME_PHRASES: [&str; 2] = ["tell", "of which"];

/// Adds the lapses of a source file to `refused`, a line each.
pub fn check(path: &str, text: &str, refused: &mut Vec<String>) {
    if ![".rs", ".ts", ".js", ".svelte"].iter().any(|ending| path.ends_with(ending)) {
        return;
    }
    let (is_rust, is_svelte) = (path.ends_with(".rs"), path.ends_with(".svelte"));
    let (mut was_doc, mut is_test, mut in_markup) = (false, false, false);
    // The last two words of the comment that the line before ends with.
    let mut before = String::new();
    for (number, line) in (1..).zip(text.lines().map(str::trim_start)) {
        let mut refuse = |what: String| refused.push(format!("{path}:{number}: {what}"));
        let markup = in_markup || is_svelte && line.starts_with("<!--");
        in_markup = markup && !line.contains("-->");
        let marks = ["///", "//!", "/**", "*", "<!--"];
        let doc = marks.iter().find_map(|mark| line.strip_prefix(mark)).or(markup.then_some(line));
        let first = doc.map_or("", str::trim_start).split([' ', ',']).next().unwrap_or_default();
        if !was_doc && OPENINGS.contains(&first) {
            refuse(format!("a doc begins with `{first}`; name the thing"));
        }
        let comment = doc.or_else(|| line.strip_prefix("//")).unwrap_or_default();
        let words = spoken(comment);
        let across = PHRASES.into_iter().find(|phrase| is_across(&before, &words, phrase));
        if let Some(phrase) = phrase_in(&words).or(across) {
            refuse(format!("`{phrase}`; write the parameter's name, or a plain verb"));
        }
        before = last_words(&words);
        let name = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
        let name = name.and_then(|rest| rest.split_once('(')).map_or("", |(name, _)| name);
        if is_rust && is_test && name.len() > NAME_MAX {
            refuse(format!("the name of a test has {} characters, at most {NAME_MAX}", name.len()));
        }
        if is_rust
            && is_test
            && let Some(phrase) = phrase_in(&spoken(name)).or_else(|| name_phrase_in(name))
        {
            refuse(format!("`{phrase}` in the name of a test; write a plain verb"));
        }
        is_test = line.starts_with("#[test]") || is_test && line.starts_with("#[");
        was_doc = doc.is_some() && !line.ends_with("*/") && !line.ends_with("-->");
    }
}

/// Returns the words of a text in lower case, with a space for every other character between them.
fn spoken(text: &str) -> String {
    let words = text.to_lowercase().replace(|c: char| !c.is_alphanumeric(), " ");
    words.trim().to_owned()
}

fn has(words: &str, phrase: &str) -> bool {
    format!(" {words} ").contains(&format!(" {phrase} "))
}

fn phrase_in(words: &str) -> Option<&'static str> {
    PHRASES.into_iter().find(|phrase| has(words, phrase))
}

fn name_phrase_in(name: &str) -> Option<&'static str> {
    NAME_PHRASES.into_iter().find(|phrase| has(&spoken(name), phrase))
}

/// Whether a phrase starts in the last words of a line and ends in the next line.
fn is_across(before: &str, words: &str, phrase: &str) -> bool {
    let joint = words.split(' ').take(2).collect::<Vec<_>>().join(" ");
    !before.is_empty()
        && has(&format!("{before} {joint}"), phrase)
        && !has(before, phrase)
        && !has(&joint, phrase)
}

fn last_words(words: &str) -> String {
    let mut last: Vec<_> = words.rsplit(' ').take(2).collect();
    last.reverse();
    last.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lapses(text: &str) -> Vec<String> {
        let mut refused = Vec::new();
        check("b.rs", text, &mut refused);
        refused
    }

    #[test]
    fn a_doc_that_starts_with_a_question_is_refused_once() {
        let of =
            |word: &str, line| format!("b.rs:{line}: a doc begins with `{word}`; name the thing");
        let docs = "/// What it holds.\n/// Where more is said.\nfn a() {}\n\n//! How, and why.";
        assert_eq!(lapses(docs), [of("What", 1), of("How", 5)]);
        assert_eq!(lapses("/// Whatever is fine.\n// What is no doc.\nlet what = 1;"), [""; 0]);
    }

    #[test]
    fn phrases_are_refused_in_comments_alone() {
        assert_eq!(lapses("// Writes SO many bytes.\nlet told = 1;\n/// Untold.").len(), 1);
        assert!(lapses("/** It is `told`. */")[0].contains("`told`"));
    }

    #[test]
    fn a_phrase_across_two_lines_is_refused_once() {
        assert_eq!(lapses("/// It takes so\n/// many bytes.").len(), 1);
        assert_eq!(lapses("/// It takes so many\n/// bytes.").len(), 1);
        assert_eq!(lapses("// Not so.\nlet a = 1;\n// Many bytes."), [""; 0]);
    }

    #[test]
    fn comments_in_the_markup_of_svelte_files_are_docs() {
        let text = "<!-- Rows, of which\n     so many are told. -->\n<!-- How, and why. -->\n<p>so many</p>";
        let mut refused = Vec::new();
        check("A.svelte", text, &mut refused);
        let phrase = "`so many`; write the parameter's name, or a plain verb";
        let opening = "a doc begins with `How`; name the thing";
        assert_eq!(refused, [format!("A.svelte:2: {phrase}"), format!("A.svelte:3: {opening}")]);
    }

    #[test]
    fn phrases_are_refused_in_names_of_tests() {
        let refused =
            lapses("#[test]\nfn an_error_is_told() {}\nfn told() {}\n#[test]\nfn untold() {}");
        assert_eq!(refused, ["b.rs:2: `told` in the name of a test; write a plain verb"]);
    }

    #[test]
    fn long_names_are_refused_where_they_are_of_tests() {
        let name = "a".repeat(61);
        let refused = lapses(&format!("#[test]\n#[ignore]\nfn {name}() {{}}\nfn {name}() {{}}"));
        assert_eq!(refused, ["b.rs:3: the name of a test has 61 characters, at most 60"]);
    }
}
