//! The order of the engine's modules, by which one may use another: each those above it in this list, and itself.
//! A module is a folder of `src`, or a file beside them. `lib.rs`, which has all of them, is none.
//!
//! A path `crate::NAME` uses the module `NAME`, or, if the root re-exports `NAME`, the module that it comes from. A
//! module that re-exports what is another's uses that one, so that none is reached through a detour.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{read_dir, read_to_string};
use std::path::Path;

const ORDER: [&str; 24] = [
    "sync", "left_out", "trace", "features", "rules", "keyspace", "event", "options", "batch",
    "storage", "wal", "version", "jobs", "engine", "read", "install", "schedule", "write",
    "recovery", "executor", "db", "feed", "admin", "stats",
];

fn src() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))
}

/// The place of a module in the order.
fn layer(module: &str) -> Option<usize> {
    ORDER.iter().position(|name| *name == module)
}

/// A source text without its comments and unit tests.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The first name of a path, or the first of each path in a list.
fn first_names(path: &str) -> BTreeSet<&str> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let first = |path: &'_ str| path.find(|c| !is_name(c)).unwrap_or(path.len());
    let Some(list) = path.strip_prefix('{') else { return [&path[..first(path)]].into() };
    let mut depth = 0;
    let mut starts = true;
    let mut names = BTreeSet::new();
    for (at, c) in list.char_indices() {
        if starts && is_name(c) {
            names.insert(&list[at..][..first(&list[at..])]);
            starts = false;
        }
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' => starts = depth == 0,
            _ => {}
        }
    }
    names
}

/// The modules that names of the crate's root come from, as its re-exports say.
fn re_exports(root: &str) -> BTreeMap<String, usize> {
    let code = code(root);
    let mut found = BTreeMap::new();
    for path in code.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next()) {
        let Some((module, names)) = path.split_once("::") else { continue };
        let names = first_names(names).into_iter().map(str::to_owned);
        found.extend(names.filter_map(|name| Some((name, layer(module)?))));
    }
    found
}

/// The layers that a source text uses.
fn used(text: &str, re_exports: &BTreeMap<String, usize>) -> BTreeSet<usize> {
    let code = code(text);
    let names = code.split("crate::").skip(1).flat_map(first_names);
    names.filter_map(|name| layer(name).or_else(|| re_exports.get(name).copied())).collect()
}

/// Adds what points up in a module's file, or in those of its folder, except in those of unit tests.
fn check(
    path: &Path,
    own: usize,
    re_exports: &BTreeMap<String, usize>,
    wrong: &mut Vec<String>,
) -> std::io::Result<()> {
    if path.file_stem().is_some_and(|name| name == "tests") {
        return Ok(());
    }
    if path.is_dir() {
        for entry in read_dir(path)? {
            check(&entry?.path(), own, re_exports, wrong)?;
        }
        return Ok(());
    }
    let used = used(&read_to_string(path)?, re_exports);
    let up = ORDER.iter().enumerate().filter(|(layer, _)| *layer > own && used.contains(layer));
    let file = path.strip_prefix(src()).unwrap_or(path).display();
    wrong.extend(up.map(|(_, module)| format!("{file} uses {module}")));
    Ok(())
}

#[test]
fn every_module_has_a_place_in_the_order() {
    let entries = read_dir(src()).unwrap().map(|entry| entry.unwrap().path());
    let names = entries.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    let found: BTreeSet<_> = names.filter(|name| name != "lib").collect();
    assert_eq!(found, ORDER.map(str::to_owned).into());
}

#[test]
fn modules_use_only_what_is_below_them() {
    let re_exports = re_exports(&read_to_string(src().join("lib.rs")).unwrap());
    let mut wrong = Vec::new();
    for entry in read_dir(src()).unwrap() {
        let path = entry.unwrap().path();
        if let Some(own) = layer(path.file_stem().unwrap().to_str().unwrap()) {
            check(&path, own, &re_exports, &mut wrong).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn paths_in_comments_and_unit_tests_are_not_looked_at() {
    let engine = layer("engine").unwrap();
    let text = "use crate::engine::{Engine, State};\n/// As crate::db says.\n#[cfg(test)]\nmod tests {\n\
                use crate::admin;\n}\n";
    let none = BTreeMap::new();
    assert_eq!(used(text, &none), [engine].into());
    let db = layer("db").unwrap();
    let text = "let _ = crate::db::Db; // crate::batch";
    assert_eq!(used(text, &none), [layer("batch").unwrap(), db].into());
}

#[test]
fn lists_and_re_exports_lead_to_the_modules_that_own_the_names() {
    let re_exports = re_exports(
        "mod db;\npub use db::{Db, Keyspace};\n#[doc(inline)]\npub use read::Scan;\n\
         pub use terrane_table::coding;\n",
    );
    let [db, read, wal] = ["db", "read", "wal"].map(|name| layer(name).unwrap());
    let text = "use crate::{Keyspace, codec, wal::{self, LogId}};\nfn read() -> crate::Scan {}\n";
    assert_eq!(used(text, &re_exports), [db, read, wal].into());
    assert_eq!(used("use crate::{wal::{LogId, Db}};", &re_exports), [wal].into());
}
