//! The voice of the house, as far as a program can hear it: each area may have at most as many lapses as
//! `prose.txt` says, which only gets fewer. With `TERRANE_REWRITE=1` the step `tidy` writes that file again.
//!
//! 1. No doc begins with What, How, Where, Which, Why, When, Who, Until or Of: it names the thing.
//! 2. No "so many", "so much" or "so long" for a parameter: its name stands there.
//! 3. Nothing tells, is told, gives back or has its turn: it reports, returns, runs.
//! 4. A test's name has at most [`NAME_MAX`] characters.

use anyhow::{Context, Result};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write as _;

pub const LAPSES: &str = "crates/xtask/prose.txt";
const NAME_MAX: usize = 60;
const QUESTIONS: [&str; 9] = ["What", "How", "Where", "Which", "Why", "When", "Who", "Until", "Of"];
const PARAMETERS: [&str; 3] = ["so many", "so much", "so long"];
const VERBS: [&str; 6] =
    ["told", "tells", "give back", "gives back", "has its turn", "have their turn"];

/// The rules, as the heads of columns.
const RULES: [&str; 4] = ["questions", "so-many", "verbs", "names"];

/// Lapses by area, a number for each rule.
pub type Lapses = BTreeMap<String, [usize; 4]>;

/// Adds the lapses of a source file.
pub fn count(path: &str, text: &str, lapses: &mut Lapses) {
    let is_rust = path.ends_with(".rs");
    if !is_rust && !path.ends_with(".ts") && !path.ends_with(".js") {
        return;
    }
    let area = path.splitn(3, '/').take(2).collect::<Vec<_>>().join("/");
    let found = lapses.entry(area).or_default();
    let (mut was_doc, mut is_test) = (false, false);
    for line in text.lines().map(str::trim_start) {
        let doc = ["///", "//!", "/**", "*"].iter().find_map(|mark| line.strip_prefix(mark));
        let comment = doc.or_else(|| line.strip_prefix("//")).unwrap_or_default();
        let is_question = |word: &str| {
            let first = doc.map_or("", str::trim_start);
            first.strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', ',']))
        };
        found[0] += usize::from(!was_doc && QUESTIONS.iter().any(|word| is_question(word)));
        let spoken =
            format!(" {} ", comment.to_lowercase().replace(|c: char| !c.is_alphanumeric(), " "));
        let has = |phrases: &[&str]| phrases.iter().any(|of| spoken.contains(&format!(" {of} ")));
        found[1] += usize::from(has(&PARAMETERS));
        found[2] += usize::from(has(&VERBS));
        let name = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
        let name = name.and_then(|rest| rest.split_once('(')).map_or("", |(name, _)| name);
        found[3] += usize::from(is_rust && is_test && name.len() > NAME_MAX);
        is_test = line.starts_with("#[test]") || is_test && line.starts_with("#[");
        was_doc = doc.is_some() && !line.ends_with("*/");
    }
}

/// Compares what was counted with what is allowed: more is refused, and so is a number that is too high.
pub fn check(found: &Lapses, allowed: &str, refused: &mut Vec<String>) -> Result<()> {
    let allowed = parse(allowed)?;
    for area in found.keys().chain(allowed.keys().filter(|area| !found.contains_key(*area))) {
        let of = |lapses: &Lapses| lapses.get(area).copied().unwrap_or_default();
        for ((rule, found), most) in RULES.iter().zip(of(found)).zip(of(&allowed)) {
            match found.cmp(&most) {
                Ordering::Greater => refused.push(format!(
                    "{area}: {found} lapses of `{rule}`, at most {most} (crates/xtask/src/prose.rs)"
                )),
                Ordering::Less => {
                    refused.push(format!(
                        "{LAPSES}: {area} has {found} lapses of `{rule}`, not {most}"
                    ));
                }
                Ordering::Equal => {}
            }
        }
    }
    Ok(())
}

fn parse(text: &str) -> Result<Lapses> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let expected =
                || format!("{LAPSES}: expected an area and four numbers, found `{line}`");
            let mut words = line.split_whitespace();
            let area = words.next().with_context(expected)?.to_owned();
            let numbers: Vec<usize> =
                words.map(str::parse).collect::<Result<_, _>>().with_context(expected)?;
            Ok((area, numbers.try_into().ok().with_context(expected)?))
        })
        .collect()
}

/// The file that allows what was counted.
pub fn file(found: &Lapses) -> String {
    let mut text = format!("# Lapses of prose that areas still have: {}.\n", RULES.join(", "));
    for (area, lapses) in found.iter().filter(|(_, lapses)| **lapses != [0; 4]) {
        let numbers = lapses.map(|lapses| format!("{lapses:4}")).join("");
        let _ = writeln!(text, "{area:20}{numbers}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> [usize; 4] {
        let mut lapses = Lapses::new();
        count("crates/a/src/b.rs", text, &mut lapses);
        lapses["crates/a"]
    }

    #[test]
    fn docs_that_begin_with_a_question_are_counted_once() {
        assert_eq!(
            of("/// What it holds.\n/// Where more is said.\nfn a() {}\n\n//! How."),
            [1, 0, 0, 0]
        );
        assert_eq!(
            of("/// Where, and why.\n// What is no doc.\n/// Whatever is fine."),
            [1, 0, 0, 0]
        );
    }

    #[test]
    fn phrases_are_found_in_comments_alone() {
        assert_eq!(of("// Writes so many bytes, and is told.\nlet told = 1;"), [0, 1, 1, 0]);
    }

    #[test]
    fn long_names_count_where_they_are_of_tests() {
        let name = "a".repeat(61);
        assert_eq!(
            of(&format!("#[test]\n#[ignore]\nfn {name}() {{}}\nfn {name}() {{}}")),
            [0, 0, 0, 1]
        );
    }

    #[test]
    fn more_lapses_and_numbers_that_are_too_high_are_refused() {
        let found = Lapses::from([("crates/a".to_owned(), [1, 2, 0, 0])]);
        let mut refused = Vec::new();
        check(&found, "crates/a 0 3 0 0\ncrates/gone 0 0 1 0", &mut refused).unwrap();
        assert_eq!(refused.len(), 3, "{refused:?}");
        refused.clear();
        check(&found, &file(&found), &mut refused).unwrap();
        assert!(refused.is_empty() && check(&found, "crates/a 1 2 3", &mut refused).is_err());
    }
}
