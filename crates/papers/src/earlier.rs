//! A report that is there, of which some figures are replaced.
//!
//! It is taken apart as text, so that what stays does so byte for byte: in the list of the JSON file an item starts and
//! ends with a brace behind four spaces, and on the page a figure has a heading with its title.

use std::path::Path;

/// A figure of the report.
pub(crate) struct Kept {
    name: String,
    /// Its item in the JSON file, without the comma after it.
    pub(crate) item: String,
    /// Its section of the page, with the empty line before it.
    pub(crate) section: String,
}

/// The figures of a report.
#[derive(Default)]
pub(crate) struct Earlier(Vec<Kept>);

impl Earlier {
    /// Reads the report in a folder; nothing if there is none of this scale.
    pub(crate) fn read(folder: &Path, scale: &str) -> Self {
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        let (json, page) = (read("report.json"), read("README.md"));
        if value(&json, "  ", "scale").as_deref() != Some(scale) {
            return Earlier::default();
        }
        let sections: Vec<_> = page.split("\n## ").skip(1).collect();
        let kept = |item: String| {
            let (name, title) = (value(&item, "      ", "id")?, value(&item, "      ", "title")?);
            let starts = |section: &&&str| section.lines().next() == Some(title.as_str());
            let section = format!("\n## {}", sections.iter().find(starts)?);
            Some(Kept { name, item, section })
        };
        Earlier(items(&json).into_iter().filter_map(kept).collect())
    }

    /// The figure of this name.
    pub(crate) fn figure(&self, name: &str) -> Option<&Kept> {
        self.0.iter().find(|kept| kept.name == name)
    }
}

/// The text after a key at this indentation.
fn value(json: &str, indentation: &str, key: &str) -> Option<String> {
    let start = format!("{indentation}\"{key}\": ");
    let line = json.lines().find_map(|line| line.strip_prefix(&start))?;
    serde_json::from_str(line.strip_suffix(',').unwrap_or(line)).ok()
}

/// The items of the list.
fn items(json: &str) -> Vec<String> {
    let mut items = Vec::new();
    let mut item: Vec<&str> = Vec::new();
    for line in json.lines() {
        match line {
            "    {" => item = vec![line],
            "    }" | "    }," => {
                item.push("    }");
                items.push(std::mem::take(&mut item).join("\n"));
            }
            _ if !item.is_empty() => item.push(line),
            _ => {}
        }
    }
    items
}
