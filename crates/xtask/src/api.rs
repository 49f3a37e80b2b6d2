//! The public API of crate `terrane`, kept as a list: no change of it goes unnoticed.
//!
//! 1. `cargo doc` writes a page for each item that is not hidden.
//! 2. A page's declarations are taken from it: fields, variants, and methods with their signatures.
//!    Implementations of traits are left out; of `policy`, what lies in its modules, too.
//! 3. They are compared with `crates/terrane/public-api.txt`, which `cargo xtask api` writes again.

use crate::progress;
use crate::test::SAME_MACROS;
use crate::workspace::Workspace;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;

const LIST: &str = "crates/terrane/public-api.txt";

/// What an id of a page begins with that belongs to a declaration.
const MEMBERS: [&str; 5] = ["associatedconstant", "method", "structfield", "tymethod", "variant"];

/// Compares what is public with the list.
///
/// # Errors
/// Every difference, a line each; documentation that cannot be written.
pub fn check(workspace: &Workspace) -> Result<()> {
    let found = public(workspace)?;
    let kept = fs::read_to_string(workspace.path(LIST)).unwrap_or_default();
    let lines = |mark: char, of: &str, other: &str| -> Vec<String> {
        let gone = of.lines().filter(|line| !other.lines().any(|kept| kept == *line));
        gone.map(|line| format!("{mark} {}", line.trim())).collect()
    };
    let changes = [lines('-', &kept, &found), lines('+', &found, &kept)].concat().join("\n  ");
    ensure!(kept == found, "{LIST} differs; `cargo xtask api` writes it again:\n  {changes}");
    Ok(())
}

/// Writes the list again.
///
/// # Errors
/// Documentation that cannot be written.
pub fn write(workspace: &Workspace) -> Result<()> {
    fs::write(workspace.path(LIST), public(workspace)?).with_context(|| format!("write {LIST}"))
}

/// The list as the sources have it. Of the crate alone, so without what other crates have it make
/// public for their tests.
fn public(workspace: &Workspace) -> Result<String> {
    let mut doc = workspace.cargo(&["doc", "--package", "terrane", "--lib", "--no-deps"]);
    doc.args(SAME_MACROS);
    progress::run("cargo doc --package terrane", doc)?;
    list(&workspace.path("target/doc/terrane"))
}

/// Every item with its members, in the order of their paths.
fn list(folder: &Path) -> Result<String> {
    let read = |page: &str| {
        let path = folder.join(page);
        fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
    };
    let all = read("all.html")?;
    let mut items = Vec::new();
    for page in all.split("<a href=\"").filter_map(|rest| rest.split_once('"')).map(|(to, _)| to) {
        let (module, file) = page.rsplit_once('/').unwrap_or(("", page));
        let Some((kind, name)) = file.trim_end_matches(".html").split_once('.') else { continue };
        if name.is_empty() || module == ".." || module.starts_with("policy/") {
            continue;
        }
        let mut path: Vec<&str> = module.split('/').filter(|part| !part.is_empty()).collect();
        path.push(name);
        let mut item = format!("{kind} {}\n", path.join("::"));
        let page = read(page)?;
        let mut declarations = members(&page);
        // A function or an alias has no members, and is its own declaration.
        if declarations.is_empty() && ["constant", "fn", "type"].contains(&kind) {
            let start = page.split_once("item-decl\"><code>");
            let own = start.and_then(|(_, rest)| rest.split_once("</code>"));
            declarations.extend(own.map(|(markup, _)| plain(markup)));
        }
        declarations.sort();
        for declaration in declarations {
            item += &format!("    {declaration}\n");
        }
        items.push((path.join("::"), item));
    }
    items.sort();
    Ok(items.into_iter().map(|(_, item)| item).collect())
}

/// The declarations of a page, without their markup.
fn members(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in page.split(" id=\"").skip(1) {
        let Some((id, rest)) = part.split_once('"') else { continue };
        let is_member = id.split_once('.').is_some_and(|(kind, _)| MEMBERS.contains(&kind));
        let of_trait = rest.split_once('>').is_some_and(|(class, _)| class.contains("trait-impl"));
        if !is_member || of_trait {
            continue;
        }
        let ends = [("class=\"code-header\">", "</h"), ("<code>", "</code>")];
        let starts = ends.map(|(start, end)| (rest.find(start).map(|at| at + start.len()), end));
        let first = starts.into_iter().filter_map(|(at, end)| Some((at?, end))).min();
        let text = first.and_then(|(at, end)| rest.get(at..)?.split_once(end));
        found.extend(text.map(|(markup, _)| plain(markup)));
    }
    found
}

/// Markup as a reader sees it, on one line.
fn plain(markup: &str) -> String {
    let pieces =
        markup.split('<').map(|piece| piece.rsplit_once('>').map_or(piece, |(_, text)| text));
    let text = pieces.collect::<String>();
    let text = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
        .iter()
        .fold(text, |text, (code, sign)| text.replace(code, sign));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_gives_its_fields_and_methods_but_not_those_of_traits() {
        let page = r#"<span id="structfield.len" class="structfield section-header"><a
            href="x">§</a><code>len: <a href="u64">u64</a></code></span>
            <section id="method.get" class="method"><h4 class="code-header">pub fn <a>get</a>(
                &amp;self) -&gt; Option&lt;u8&gt;</h4></section>
            <section id="method.clone" class="method trait-impl"><h4 class="code-header">fn
            clone()</h4></section> <h2 id="fields">Fields</h2>"#;
        assert_eq!(members(page), ["len: u64", "pub fn get( &self) -> Option<u8>"]);
    }
}
