//! What JavaScript knows of the compaction policies, generated from their descriptions: the types of the
//! npm package, and the list that the demo offers. A new policy needs no edit there: run
//! `cargo test -p terrane-wasm --test policy_types -- --ignored`.

#![allow(clippy::unwrap_used, reason = "a failure is a panic in tests, also in their helpers")]

use std::fs;
use std::path::PathBuf;
use terrane_policy::{Parameter, Preset, Value, presets};

const HEAD: &str = "\
// Generated from the policies' descriptions in Rust; see crates/wasm/tests/policy_types.rs.

/** Compaction policies and their parameters. */
";

const TAIL: &str = "
/** A policy, by its name alone or with parameters. */
export type Policy = PolicyOptions[\"policy\"] | PolicyOptions;
";

/// The generated files, relative to the repository, with their contents.
fn generated() -> [(PathBuf, String); 2] {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let list = serde_json::to_string_pretty(&described()).unwrap() + "\n";
    [
        (root.join("bindings-js/src/api/policies.ts"), types()),
        (root.join("demo/src/policies.json"), list),
    ]
}

/// The descriptions of all policies, with the names that parameters have in JavaScript.
fn described() -> serde_json::Value {
    let mut policies = serde_json::to_value(presets()).unwrap();
    for policy in policies.as_array_mut().unwrap() {
        for parameter in policy["parameters"].as_array_mut().unwrap() {
            parameter["name"] = camel_case(parameter["name"].as_str().unwrap()).into();
        }
    }
    policies
}

fn types() -> String {
    let policies = presets();
    let interfaces: String = policies.iter().map(interface).collect();
    let names: String = policies.iter().map(|p| format!("\n  | {}", type_name(p.name))).collect();
    let union = format!(
        "\n/** A policy with its parameters; those left out have their defaults. */\n\
         export type PolicyOptions ={names};\n"
    );
    let lean = policies.iter().filter(|policy| policy.in_every_build);
    let lean: String = lean.map(|policy| format!("\n  \"{}\",", policy.name)).collect();
    let lean = format!(
        "\n/** The policies of the lean build, which is loaded where no other is needed. */\n\
         export const LEAN_POLICIES: readonly string[] = [{lean}\n];\n"
    );
    HEAD.to_owned() + &interfaces + &union + TAIL + &lean
}

fn interface(policy: &Preset) -> String {
    let parameters: String = policy.parameters.iter().map(property).collect();
    format!(
        "\n/** {}{} */\nexport interface {} {{\n  policy: \"{}\";\n{parameters}}}\n",
        sentence(policy.summary),
        if policy.in_every_build { "" } else { " In the build with all policies." },
        type_name(policy.name),
        policy.name
    )
}

fn property(parameter: &Parameter) -> String {
    let (range, default, ty) = match &parameter.value {
        Value::Number { least, most, value } => {
            (format!(" From {least} to {most}."), value.to_string(), "number".to_owned())
        }
        Value::Switch { value } => (String::new(), value.to_string(), "boolean".to_owned()),
        Value::Choice { among, value } => {
            let quoted: Vec<_> = among.iter().map(|word| format!("\"{word}\"")).collect();
            (String::new(), format!("\"{value}\""), quoted.join(" | "))
        }
        Value::Key { value } => (String::new(), format!("\"{value}\""), "string".to_owned()),
    };
    let meaning = sentence(parameter.meaning);
    let name = camel_case(parameter.name);
    format!("  /** {meaning}{range} Default: {default}. */\n  {name}?: {ty};\n")
}

/// A description as a sentence.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let end = if text.ends_with('.') { "" } else { "." };
    first + letters.as_str() + end
}

fn type_name(kebab: &str) -> String {
    kebab.split('-').map(capitalized).collect()
}

fn camel_case(kebab: &str) -> String {
    let mut words = kebab.split('-');
    words.next().unwrap_or_default().to_owned() + &words.map(capitalized).collect::<String>()
}

fn capitalized(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}

#[test]
fn javascript_knows_the_policies_that_the_engine_has() {
    for (path, expected) in generated() {
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == expected,
            "{} is out of date; to generate it again: \
             cargo test -p terrane-wasm --test policy_types -- --ignored",
            path.display()
        );
    }
}

#[test]
#[ignore = "writes the files"]
fn write() {
    for (path, content) in generated() {
        fs::write(path, content).unwrap();
    }
}
