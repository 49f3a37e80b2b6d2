//! The voice of the house, as far as a program can hear it, in the comments and tests of a source file.
//!
//! 1. No doc starts with a word of [`OPENINGS`]: it names the thing, or says with a verb what a function does.
//! 2. No phrase of [`PHRASES`] stands in a comment: a parameter has its name, and code reports, returns or runs.
//! 3. A test's name has at most [`NAME_MAX`] characters.

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

/// Adds the lapses of a source file to `refused`, a line each.
pub fn check(path: &str, text: &str, refused: &mut Vec<String>) {
    let is_rust = path.ends_with(".rs");
    if !is_rust && !path.ends_with(".ts") && !path.ends_with(".js") {
        return;
    }
    let (mut was_doc, mut is_test) = (false, false);
    for (number, line) in (1..).zip(text.lines().map(str::trim_start)) {
        let mut refuse = |what: String| refused.push(format!("{path}:{number}: {what}"));
        let doc = ["///", "//!", "/**", "*"].iter().find_map(|mark| line.strip_prefix(mark));
        let first = doc.map_or("", str::trim_start).split([' ', ',']).next().unwrap_or_default();
        if !was_doc && OPENINGS.contains(&first) {
            refuse(format!("a doc begins with `{first}`; name the thing"));
        }
        let comment = doc.or_else(|| line.strip_prefix("//")).unwrap_or_default();
        if let Some(phrase) = phrase_in(comment) {
            refuse(format!("`{phrase}`; write the parameter's name, or a plain verb"));
        }
        let name = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
        let name = name.and_then(|rest| rest.split_once('(')).map_or("", |(name, _)| name);
        if is_rust && is_test && name.len() > NAME_MAX {
            refuse(format!("the name of a test has {} characters, at most {NAME_MAX}", name.len()));
        }
        is_test = line.starts_with("#[test]") || is_test && line.starts_with("#[");
        was_doc = doc.is_some() && !line.ends_with("*/");
    }
}

fn phrase_in(comment: &str) -> Option<&'static str> {
    let spoken = comment.to_lowercase().replace(|c: char| !c.is_alphanumeric(), " ");
    let spoken = format!(" {spoken} ");
    PHRASES.into_iter().find(|phrase| spoken.contains(&format!(" {phrase} ")))
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
    fn a_doc_that_begins_with_a_question_is_refused_once() {
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
    fn long_names_are_refused_where_they_are_of_tests() {
        let name = "a".repeat(61);
        let refused = lapses(&format!("#[test]\n#[ignore]\nfn {name}() {{}}\nfn {name}() {{}}"));
        assert_eq!(refused, ["b.rs:3: the name of a test has 61 characters, at most 60"]);
    }
}
