//! Names in Rust, in the engine's JSON and in JavaScript.

/// `read_bytes` or `at-most` in camel case.
pub fn camel_case(name: &str) -> String {
    let mut camel = String::new();
    for (at, word) in name.split(['_', '-']).enumerate() {
        let (first, rest) = word.split_at(1);
        camel += &if at == 0 { first.to_owned() } else { first.to_uppercase() };
        camel += rest;
    }
    camel
}

/// A variant's name as serde writes it in kebab case.
pub fn kebab_case(name: &str) -> String {
    let mut kebab = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.extend(letter.to_lowercase());
    }
    kebab
}

/// The name that JavaScript has for a type of the engine.
pub fn type_name(name: &str) -> &str {
    match name {
        "Event" => "EngineEventBody",
        "Stall" => "StallReason",
        "TableInfo" => "Table",
        "Corruption" => "Damage",
        "Stats" => "EngineStats",
        same => same,
    }
}
