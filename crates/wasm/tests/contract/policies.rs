//! The compaction policies as JavaScript knows them, from their descriptions: the types of the npm package, and
//! the list that the demo offers.

use std::path::{Path, PathBuf};
use terrane_policy::{Parameter, Preset, Value, presets};

const HEAD: &str = "\
// Generated from the policies' descriptions in Rust; see crates/wasm/tests/contract/policies.rs.

/** Compaction policies and their parameters. */
";

const TAIL: &str = "
/** A policy, by its name alone or with parameters. */
export type Policy = PolicyOptions[\"policy\"] | PolicyOptions;
";

/// The generated files, relative to the repository, with their contents.
pub fn generated(root: &Path) -> [(PathBuf, String); 2] {
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
        Value::List { least, most, value } => {
            let range = format!(" Each from {least} to {most}, with spaces between.");
            (range, format!("\"{value}\""), "string".to_owned())
        }
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
