//! The JavaScript that wasm-bindgen writes beside a module, as a function: each call returns exports with
//! a state of their own, so that builds with one interface share it. What loads a module is left out: the
//! package does that itself.

use anyhow::{Context, Result};

/// The declaration of that function, beside the one that wasm-bindgen writes of the exports.
pub const DECLARATION: &str = "/** Exports that no module is set for yet. */
export default function (): typeof import(\"./terrane.js\");
";

/// Returns the module `glue` as one that exports a function.
///
/// # Errors
/// JavaScript of another form, as another version of wasm-bindgen may write it.
pub fn as_function(glue: &str) -> Result<String> {
    let (exports, rest) = split(glue, "async function __wbg_load(")?;
    let (_load, rest) = split(rest, "function initSync(")?;
    let (set_up, _load) = split(rest, "let __wbg_init_promise;")?;
    let mut names = vec!["initSync"];
    let mut body = String::new();
    for line in exports.lines().chain(set_up.lines()) {
        let exported = line.strip_prefix("export ");
        if let Some(declaration) = exported {
            let name = declaration.split([' ', '(']).nth(1).context("an export has a name")?;
            names.push(name);
        }
        body.push_str(exported.unwrap_or(line));
        body.push('\n');
    }
    Ok(format!("export default function () {{\n{body}return {{ {} }};\n}}\n", names.join(", ")))
}

/// What is before `mark`, and what begins with it.
fn split<'a>(glue: &'a str, mark: &str) -> Result<(&'a str, &'a str)> {
    let found = glue.find(mark).and_then(|at| glue.split_at_checked(at));
    found.with_context(|| format!("the JavaScript of wasm-bindgen has `{mark}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_are_returned_and_what_loads_is_left_out() {
        let glue = "export class A {\n}\nexport function b(c) {\n}\nasync function __wbg_load(m) {\n}\n\
            function initSync(m) {\n}\nlet __wbg_init_promise;\nexport { initSync };\n";
        let expected = "export default function () {\nclass A {\n}\nfunction b(c) {\n}\n\
            function initSync(m) {\n}\nreturn { initSync, A, b };\n}\n";
        assert_eq!(as_function(glue).unwrap(), expected);
    }

    #[test]
    fn other_javascript_is_refused() {
        let error = as_function("export class A {\n}\nfunction initSync(m) {\n}\n").unwrap_err();
        assert!(error.to_string().contains("__wbg_load"), "{error}");
    }
}
