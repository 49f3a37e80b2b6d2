//! Short names for what a module and the JavaScript of wasm-bindgen beside it import from each other.
//!
//! 1. The JavaScript has all the names: of exports behind [`EXPORTS`], of imports before [`IMPORT`]. Each
//!    kind is numbered in the order in which they appear there, so that two modules that share their
//!    JavaScript share their names.
//! 2. The names are replaced there, and in the two sections of the module. An export that the JavaScript
//!    does not use is left out.

use crate::wasm_bytes::{leb, section, sized, take_leb, take_sized};
use anyhow::{Context, Result, ensure};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// What the JavaScript has before the name of an export.
const EXPORTS: &str = "wasm.";

/// What it has behind the name of an import.
const IMPORT: &str = ": function(";

/// The export that the package itself uses.
const KEPT: &str = "memory";

/// The short names of one kind.
#[derive(Default)]
struct Names(HashMap<String, String>);

impl Names {
    fn shorten(&mut self, name: &str) -> &str {
        let number = self.0.len();
        match self.0.entry(name.to_owned()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) if name == KEPT => new.insert(name.to_owned()),
            Entry::Vacant(new) => new.insert(letters(number)),
        }
    }

    /// The short name, as it stands in a module.
    fn of(&self, name: &[u8]) -> Option<Vec<u8>> {
        Some(sized(self.0.get(str::from_utf8(name).ok()?)?.as_bytes()))
    }
}

/// Returns the JavaScript and the module with short names.
///
/// # Errors
/// A module that is none, or that is not the one of this JavaScript.
pub fn shortened(glue: &str, module: &[u8]) -> Result<(String, Vec<u8>)> {
    let (mut imports, mut exports) = (Names::default(), Names::default());
    let mut short = String::new();
    for line in glue.lines() {
        let mut parts = line.split(EXPORTS);
        let first = parts.next().unwrap_or_default();
        match first.trim_start().split_once(IMPORT) {
            Some((name, _)) => short.push_str(&first.replacen(name, imports.shorten(name), 1)),
            None => short.push_str(first),
        }
        for part in parts {
            let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let (name, rest) = part.split_at(end.unwrap_or(part.len()));
            short.extend([EXPORTS, exports.shorten(name), rest]);
        }
        short.push('\n');
    }
    let (header, mut sections) = module.split_at_checked(8).context("a module has a header")?;
    let mut renamed = header.to_vec();
    while let Some(id) = sections.split_off_first() {
        let content = take_sized(&mut sections)?;
        renamed.extend(match id {
            2 => section(2, &renamed_imports(content, &imports)?),
            7 => section(7, &renamed_exports(content, &exports)?),
            id => section(*id, content),
        });
    }
    Ok((short, renamed))
}

/// All imports are functions: their module, their name, their kind and their type.
fn renamed_imports(mut content: &[u8], names: &Names) -> Result<Vec<u8>> {
    let count = take_leb(&mut content)?;
    let mut renamed = leb(count);
    for _ in 0..count {
        renamed.extend(sized(take_sized(&mut content)?));
        let name = take_sized(&mut content)?;
        let short = names.of(name).with_context(|| {
            format!("the JavaScript has no import {}", String::from_utf8_lossy(name))
        })?;
        renamed.extend(short);
        renamed.extend(leb(take_leb(&mut content)?));
        renamed.extend(leb(take_leb(&mut content)?));
    }
    Ok(renamed)
}

/// An export's name, its kind and its number.
fn renamed_exports(mut content: &[u8], names: &Names) -> Result<Vec<u8>> {
    let (mut used, mut renamed) = (0, Vec::new());
    for _ in 0..take_leb(&mut content)? {
        let short = names.of(take_sized(&mut content)?);
        let (kind, number) = (take_leb(&mut content)?, take_leb(&mut content)?);
        if let Some(short) = short {
            used += 1;
            renamed.extend([short, leb(kind), leb(number)].concat());
        }
    }
    let wanted = names.0.len();
    ensure!(used == wanted, "the JavaScript uses {wanted} exports, the module has {used} of them");
    Ok([leb(used), renamed].concat())
}

/// `a` to `z`, then `ba` and so on.
fn letters(number: usize) -> String {
    let mut name = if number < 26 { String::new() } else { letters(number / 26) };
    name.push(char::from(b'a' + (number % 26) as u8));
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLUE: &str = "let a = wasm.store_get(wasm.store_put, wasm.memory.buffer), b = wasm.store_get;\n\
        \x20   __wbg_now_1: function() {\n    __wbg_at_2: function(arg0) {\n";

    fn module(import: &str, exports: &[&str]) -> Vec<u8> {
        let import = [&[1][..], &sized(b"m"), &sized(import.as_bytes()), &[0, 3]].concat();
        let export = |name: &&str| [&sized(name.as_bytes())[..], &[0, 7]].concat();
        let named = exports.iter().flat_map(export).collect();
        let exports = [leb(exports.len()), named].concat();
        [b"\0asm\x01\0\0\0", &section(2, &import)[..], &section(7, &exports), &section(10, &[0])]
            .concat()
    }

    #[test]
    fn javascript_and_module_get_the_same_short_names() {
        let given = module("__wbg_at_2", &["store_put", "memory", "store_get", "unused"]);
        let (glue, renamed) = shortened(GLUE, &given).unwrap();
        let expected = "let a = wasm.a(wasm.b, wasm.memory.buffer), b = wasm.a;\n    \
            a: function() {\n    b: function(arg0) {\n";
        assert_eq!(glue, expected);
        assert_eq!(renamed, module("b", &["b", "memory", "a"]));
    }

    #[test]
    fn a_module_of_other_javascript_is_refused() {
        let refused =
            |import, exports| shortened(GLUE, &module(import, exports)).unwrap_err().to_string();
        let exports = ["memory", "store_get", "store_put"];
        assert!(refused("__wbg_at_3", &exports).ends_with("no import __wbg_at_3"));
        assert!(
            refused("__wbg_at_2", &exports[1..]).ends_with("3 exports, the module has 2 of them")
        );
    }

    #[test]
    fn many_names_stay_different() {
        let mut names: Vec<String> = (0..2000).map(letters).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 2000);
    }
}
