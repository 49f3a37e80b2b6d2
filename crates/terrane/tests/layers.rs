//! The order of folders, by which one may use another: each those above it in this list, and itself.

use std::collections::BTreeSet;
use std::fs::read_dir;
use std::path::Path;

const ORDER: [&str; 14] = [
    "batch", "storage", "wal", "version", "jobs", "engine", "read", "install", "schedule", "write",
    "recovery", "executor", "db", "admin",
];

fn src() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))
}

/// The place of a folder in the order.
fn layer(folder: &str) -> Option<usize> {
    ORDER.iter().position(|name| *name == folder)
}

/// The layers that a source text names, without what its comments and unit tests do.
fn used(text: &str) -> BTreeSet<usize> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let paths = lines.flat_map(|line| line.split("crate::").skip(1));
    let names = paths.map(|path| path.split(|c: char| !c.is_alphanumeric() && c != '_').next());
    names.filter_map(|name| layer(name?)).collect()
}

/// Adds what points up in the files of a folder, except in those of unit tests.
fn check(folder: &Path, own: usize, wrong: &mut Vec<String>) -> std::io::Result<()> {
    for entry in read_dir(folder)? {
        let path = entry?.path();
        if path.file_stem().is_some_and(|name| name == "tests") {
            continue;
        }
        if path.is_dir() {
            check(&path, own, wrong)?;
            continue;
        }
        let text = std::fs::read_to_string(&path)?;
        let used = used(&text);
        let up = ORDER.iter().enumerate().filter(|(layer, _)| *layer > own && used.contains(layer));
        let file = path.strip_prefix(src()).unwrap_or(&path).display();
        wrong.extend(up.map(|(_, folder)| format!("{file} uses {folder}")));
    }
    Ok(())
}

#[test]
fn every_folder_has_a_place_in_the_order() {
    let entries = read_dir(src()).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.path().is_dir());
    let found: BTreeSet<_> =
        folders.map(|folder| folder.file_name().into_string().unwrap()).collect();
    assert_eq!(found, ORDER.map(str::to_owned).into());
}

#[test]
fn folders_use_only_what_is_below_them() {
    let mut wrong = Vec::new();
    for (own, folder) in ORDER.iter().enumerate() {
        check(&src().join(folder), own, &mut wrong).unwrap();
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn paths_in_comments_and_unit_tests_are_not_looked_at() {
    let engine = layer("engine").unwrap();
    let text = "use crate::engine::{Engine, State};\n/// As crate::db says.\n#[cfg(test)]\nmod tests {\n\
                use crate::admin;\n}\n";
    assert_eq!(used(text), [engine].into());
    assert_eq!(used("let _ = crate::db::Db; // crate::batch"), [0, layer("db").unwrap()].into());
}
