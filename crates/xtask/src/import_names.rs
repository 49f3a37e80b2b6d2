//! Short names for what a module imports from the JavaScript that wasm-bindgen wrote beside it. A name
//! ends in a hash, of which nothing compresses.
//!
//! 1. The JavaScript has the names, each before [`IMPORT`]. They are numbered in the order in which they
//!    stand there, so that modules that share their JavaScript share their names.
//! 2. They are replaced there, and in the module's section of imports.

use crate::wasm_bytes::{Import, imports, leb, section, sized, take_sized};
use anyhow::{Context, Result};
use std::collections::HashMap;

/// Text after the name of an import in the JavaScript.
const IMPORT: &str = ": function(";

/// Returns the JavaScript with short names.
pub fn in_glue(glue: &str) -> String {
    let names = short_names(glue);
    let mut short = String::new();
    for line in glue.lines() {
        let long = name_in(line).and_then(|name| names.get(name).map(|short| (name, short)));
        match long {
            Some((name, by)) => short.push_str(&line.replacen(name, by, 1)),
            None => short.push_str(line),
        }
        short.push('\n');
    }
    short
}

/// Returns a module with the short names of its JavaScript, which has them long.
///
/// # Errors
/// No module, or one with parts that the browser builds do not have.
pub fn in_module(module: &[u8], glue: &str) -> Result<Vec<u8>> {
    let names = short_names(glue);
    let (header, mut sections) = module.split_at_checked(8).context("a module has a header")?;
    let mut short = header.to_vec();
    while let Some(id) = sections.split_off_first() {
        let content = take_sized(&mut sections)?;
        short.extend(match id {
            2 => section(2, &renamed(content, &names)?),
            id => section(*id, content),
        });
    }
    Ok(short)
}

/// The name of the import that a line of JavaScript declares.
fn name_in(line: &str) -> Option<&str> {
    Some(line.split_once(IMPORT)?.0.trim_start())
}

fn short_names(glue: &str) -> HashMap<&str, String> {
    let names = glue.lines().filter_map(name_in).filter(|name| name.starts_with("__wb"));
    names.enumerate().map(|(number, name)| (name, format!("i{number}"))).collect()
}

/// A section of imports with short names.
fn renamed(content: &[u8], names: &HashMap<&str, String>) -> Result<Vec<u8>> {
    let imports = imports(content)?;
    let mut renamed = leb(imports.len());
    for Import { module, name, kind, rest } in imports {
        let short = str::from_utf8(name).ok().and_then(|name| names.get(name));
        let name = short.map_or(name, |short| short.as_bytes());
        renamed.extend([&sized(module)[..], &sized(name), &leb(kind), rest].concat());
    }
    Ok(renamed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLUE: &str =
        "function f() {\n    __wbg_now_1: function() {\n    __wbg_at_2: function(arg0) {\n";

    fn module(imports: &[&[u8]]) -> Vec<u8> {
        let content = [&leb(imports.len())[..], &imports.concat()].concat();
        [&b"\0asm\x01\0\0\0"[..], &section(2, &content), &section(10, &[0])].concat()
    }

    fn import(name: &str, rest: &[u8]) -> Vec<u8> {
        [&sized(b"m")[..], &sized(name.as_bytes()), rest].concat()
    }

    #[test]
    fn a_name_is_the_same_in_the_javascript_and_in_the_module() {
        let expected = "function f() {\n    i0: function() {\n    i1: function(arg0) {\n";
        assert_eq!(in_glue(GLUE), expected);
        let (function, memory) = ([0, 3], [2, 3, 18, 0x80, 2]);
        let long = [
            import("__wbg_at_2", &function),
            import("memory", &memory),
            import("__wbg_now_1", &[0, 1]),
        ];
        let short = [import("i1", &function), import("memory", &memory), import("i0", &[0, 1])];
        let of =
            |imports: &[Vec<u8>]| module(&imports.iter().map(Vec::as_slice).collect::<Vec<_>>());
        assert_eq!(in_module(&of(&long), GLUE).unwrap(), of(&short));
    }

    #[test]
    fn imports_of_other_kinds_are_refused() {
        assert!(in_module(&module(&[&import("table", &[1, 0x70, 0, 1])]), GLUE).is_err());
    }
}
