//! Completion of a line: commands, options and their values, keyspaces, policies and keys.

use super::command::Line;
use crate::store::Opened;
use clap::{Command, CommandFactory};
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use terrane::{Db, KeyRange, Keyspace};
use terrane_policy::presets;

/// The most keys that are suggested.
const KEYS: usize = 50;

/// Completes lines for the keyspace in use.
pub struct Completion {
    commands: Command,
    db: Db,
    keyspace: Keyspace,
}

impl Completion {
    pub fn new(opened: &Opened) -> Self {
        let mut commands = Line::command();
        commands.build();
        Completion { commands, db: opened.db.clone(), keyspace: opened.keyspace.clone() }
    }

    /// Returns the completions of the last word of `line`, and the start of that word.
    fn candidates(&self, line: &str) -> (usize, Vec<String>) {
        let start = line.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let (before, word) = line.split_at(start);
        let before: Vec<&str> = before.split_whitespace().collect();
        let mut found = match before.as_slice() {
            [] | ["help"] => self.commands.get_subcommands().map(|c| c.get_name().into()).collect(),
            [command, rest @ ..] => self.arguments(command, rest.last().copied(), word),
        };
        found.retain(|candidate: &String| candidate.starts_with(word));
        found.sort();
        (start, found)
    }

    /// The options of a command, or values for what stands before the word.
    fn arguments(&self, command: &str, last: Option<&str>, word: &str) -> Vec<String> {
        let Some(subcommand) = self.commands.find_subcommand(command) else { return Vec::new() };
        if word.starts_with('-') {
            let long = subcommand.get_opts().chain(subcommand.get_arguments());
            let mut options: Vec<_> =
                long.filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect();
            options.sort();
            options.dedup();
            return options;
        }
        let option = last
            .and_then(|last| last.strip_prefix("--"))
            .and_then(|name| subcommand.get_opts().find(|option| option.get_long() == Some(name)));
        match (command, option.and_then(|option| option.get_long())) {
            ("use", None) | ("keyspaces", Some("drop")) => self.db.keyspaces(),
            ("policy", None) | (_, Some("policy")) => {
                presets().iter().map(|preset| preset.name.to_owned()).collect()
            }
            ("get" | "put" | "merge" | "delete", None) | (_, Some("prefix" | "from" | "to")) => {
                self.keys(word)
            }
            (_, Some(_)) => option
                .map(|option| option.get_possible_values())
                .unwrap_or_default()
                .iter()
                .map(|value| value.get_name().to_owned())
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Keys that start with `prefix` and need no quotes.
    fn keys(&self, prefix: &str) -> Vec<String> {
        let mut keys = Vec::new();
        let Ok(mut cursor) = self.keyspace.cursor(KeyRange::prefix(prefix)) else {
            return keys;
        };
        // A failure is reported by the command that meets it.
        while keys.len() < KEYS
            && let Ok(Some((key, _))) = cursor.next()
        {
            let plain = str::from_utf8(key)
                .ok()
                .filter(|key| shlex::try_quote(key).is_ok_and(|quoted| quoted == *key));
            keys.extend(plain.map(str::to_owned));
        }
        keys
    }
}

impl Completer for Completion {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.candidates(line.get(..pos).unwrap_or(line)))
    }
}

impl Hinter for Completion {
    type Hint = String;
}

impl Highlighter for Completion {}
impl Validator for Completion {}
impl Helper for Completion {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::At;
    use crate::background::Background;
    use crate::store;
    use terrane::Durability;

    #[test]
    fn each_place_of_a_line_has_its_own_candidates() {
        let dir = tempfile::tempdir().unwrap();
        let at = At { dir: dir.path().join("db"), keyspace: "default".into() };
        let opened = store::create(&at, None, &Background::default()).unwrap();
        for key in ["user:1", "user:2", "user 3", "video:1"] {
            opened.keyspace.put(key.as_bytes(), b"", Durability::Buffered).unwrap();
        }
        opened.db.create_keyspace("other").unwrap();
        let completion = Completion::new(&opened);
        for (line, start, expected) in [
            ("co", 0, vec!["compact", "count"]),
            ("help del", 5, vec!["delete"]),
            ("scan --keys", 5, vec!["--keys-only"]),
            ("scan --format ", 14, vec!["ndjson", "tsv"]),
            ("use ", 4, vec!["default", "other"]),
            ("policy ti", 7, vec!["tiered", "tiered-full", "tiered-partial"]),
            ("get us", 4, vec!["user:1", "user:2"]),
            ("count --prefix vi", 15, vec!["video:1"]),
            ("nonsense ", 9, vec![]),
        ] {
            let (at, found) = completion.candidates(line);
            assert_eq!((at, found), (start, expected.into_iter().map(str::to_owned).collect()));
        }
    }
}
