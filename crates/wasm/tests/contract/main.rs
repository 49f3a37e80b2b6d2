//! The contract between the engine and JavaScript: events, statistics, reports, traces, stall reasons,
//! limits, error codes and policies. Rust declares them; TypeScript is generated from these declarations. Run
//! `cargo test -p terrane-wasm --test contract -- --ignored` after a change of one.

#![allow(clippy::unwrap_used, reason = "a failure is a panic in tests, also in their helpers")]
#![allow(clippy::panic, clippy::indexing_slicing, reason = "a declaration that is not known fails")]

mod declared;
mod names;
mod policies;
mod typescript;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::Visit;

/// The files of declarations.
const FILES: [&str; 17] = [
    "crates/types/src/corruption.rs",
    "crates/types/src/plan.rs",
    "crates/types/src/reason.rs",
    "crates/types/src/run.rs",
    "crates/types/src/shape.rs",
    "crates/types/src/stall.rs",
    "crates/types/src/table_info.rs",
    "crates/policy/src/context.rs",
    "crates/policy/src/event.rs",
    "crates/policy/src/operations.rs",
    "crates/policy/src/status.rs",
    "crates/table/src/trace/counts.rs",
    "crates/table/src/trace/read_tracer.rs",
    "crates/table/src/trace/steps.rs",
    "crates/terrane/src/admin/stats.rs",
    "crates/terrane/src/engine/waits.rs",
    "crates/terrane/src/executor/background_stats.rs",
];

/// Files of declarations with others of the same module.
const MORE_FILES: [&str; 2] =
    ["crates/terrane/src/admin/check.rs", "crates/terrane/src/storage/mod.rs"];

/// The types of events, each after those that it names.
const EVENTS: [&str; 19] = [
    "Of",
    "Unit",
    "Relation",
    "Quantity",
    "Effect",
    "Term",
    "Fact",
    "Capacity",
    "Observed",
    "Kept",
    "TableInfo",
    "Corruption",
    "Order",
    "LevelChange",
    "Stall",
    "OperationStats",
    "LevelReads",
    "Event",
    "Run",
];

/// The other types that cross.
const OTHERS: [&str; 17] = [
    "Level",
    "LevelStats",
    "OldestSnapshot",
    "RangeDeleteStats",
    "ValueKind",
    "KeyspaceStats",
    "Space",
    "WaitStats",
    "WriteWaits",
    "JobStats",
    "BackgroundStats",
    "ReadCounts",
    "Stats",
    "Orphan",
    "CheckReport",
    "Origin",
    "Step",
];

/// The type of traces, which is last.
const TRACE: &str = "Trace";

const HEAD: &str = "\
// Generated from the declarations in Rust; see crates/wasm/tests/contract/main.rs.
";

/// The type of the generated checks.
const SHAPE: &str = "
/** The kind of a value. */
export type Kind =
  | \"number\" | \"level\" | \"text\" | \"flag\" | \"bytes\" | \"object\" | \"keyspace\" | \"policy\";

/** The form that a value must have. */
export type Shape =
  | Kind
  | { is: string | null }
  | { either: readonly Shape[] }
  | { fields: Record<string, Shape> }
  | { list: Shape; atMost?: number };
";

/// The status of a policy, which events of the demo also have.
const STATUS: &str = "
/** The status of a policy. */
export const STATUS: Record<string, Shape> = { capacities: { list: CAPACITY }, facts: { list: FACT } };
";

/// The generated files, relative to the repository, with their contents.
fn generated(root: &Path) -> [(PathBuf, String); 5] {
    let order = [&EVENTS[..], &OTHERS, &[TRACE]].concat();
    let types = declared::read(root, &[&FILES[..], &MORE_FILES].concat(), &order);
    let api = format!(
        "{HEAD}\nimport type {{ PolicyOptions }} from \"./policies.ts\";\n{}",
        typescript::types(&types, &order)
    );
    let [bytes, lists] = typescript::byte_fields(&types);
    let fields = format!(
        "{HEAD}\n/** The fields that are bytes, and those that are lists of them, by their types in Rust. */\n\
         export const BYTES: ReadonlySet<string> = new Set([{}]);\n\
         export const LISTS_OF_BYTES: ReadonlySet<string> = new Set([{}]);\n",
        quoted(&bytes),
        quoted(&lists)
    );
    let limits = format!(
        "{HEAD}\n/** The longest key, in bytes. */\nexport const MAX_KEY_BYTES = {};\n\
         /** The longest value, in bytes. */\nexport const MAX_VALUE_BYTES = {};\n",
        terrane::entry::MAX_KEY_BYTES,
        terrane::entry::MAX_VALUE_BYTES
    );
    let codes: String = error_codes().iter().map(|code| format!("\n  | \"{code}\"")).collect();
    let codes = format!(
        "{HEAD}\n/** The codes of the engine's errors. */\nexport type EngineErrorCode ={codes};\n"
    );
    // The run comes before the events, and no check reads the entries that snapshots keep.
    let mut checked: Vec<_> = EVENTS.into_iter().filter(|name| *name != "Kept").collect();
    let run = checked.len() - 2;
    checked[run..].rotate_left(1);
    let levels = terrane_types::shape::MAX_LEVELS;
    let checks = format!(
        "{HEAD}\n/** The most levels that a tree may have. */\nexport const MAX_LEVELS = {levels};\n{SHAPE}{}{STATUS}",
        typescript::checks(&types, &checked)
    );
    [
        (root.join("bindings-js/src/api/contract.ts"), api),
        (root.join("bindings-js/src/api/limits.ts"), limits),
        (root.join("bindings-js/src/codec/byte-fields.ts"), fields),
        (root.join("bindings-js/src/api/engine-errors.ts"), codes),
        (root.join("demo/src/source/contract.ts"), checks),
    ]
}

fn quoted(names: &BTreeSet<String>) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// The codes that `crates/session/src/failure.rs` gives to errors.
fn error_codes() -> BTreeSet<String> {
    struct Codes(BTreeSet<String>);
    impl<'a> Visit<'a> for Codes {
        fn visit_lit_str(&mut self, text: &'a syn::LitStr) {
            self.0.insert(text.value());
        }
    }
    let file = root().join("crates/session/src/failure.rs");
    let mut codes = Codes(BTreeSet::new());
    for item in syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap().items {
        match item {
            syn::Item::Fn(item) if item.sig.ident == "code" => codes.visit_block(&item.block),
            syn::Item::Const(item) => codes.visit_expr(&item.expr),
            _ => {}
        }
    }
    codes.0
}

/// The words of a text, without spaces and the signs that the formatter adds or removes.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !"*|,\"".contains(*c)).collect()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Fails if the content of a file is not the `same` as what is generated.
fn check(files: impl IntoIterator<Item = (PathBuf, String)>, same: impl Fn(&str, &str) -> bool) {
    for (path, expected) in files {
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            same(&found, &expected),
            "{} is out of date; to generate it again: \
             cargo test -p terrane-wasm --test contract -- --ignored",
            path.display()
        );
    }
}

#[test]
fn typescript_declares_what_the_engine_sends() {
    check(generated(&root()), |found, expected| plain(found) == plain(expected));
}

#[test]
fn javascript_knows_the_policies_that_the_engine_has() {
    check(policies::generated(&root()), |found, expected| found == expected);
}

#[test]
#[ignore = "writes the files"]
fn write() {
    for (path, content) in generated(&root()).into_iter().chain(policies::generated(&root())) {
        fs::write(path, content).unwrap();
    }
}
