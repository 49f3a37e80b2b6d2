//! The history of a store of RocksDB, Pebble or LevelDB for JavaScript, as `terrane history` writes it: a module of its
//! own, which a page loads only for a MANIFEST.
//!
//! 1. A MANIFEST is read as far as it is readable, and the policy by the text of an OPTIONS file beside it.
//! 2. A column family is picked by its name; without one, the first whose tree has changed.
//! 3. The lines of its trace are returned a batch at a time.

use serde::Serialize;
use terrane_foreign::{Family, Line, Manifest};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

/// Facts of a history besides its lines.
#[derive(Serialize)]
struct About {
    /// Engine that wrote the store.
    engine: String,
    /// The column family.
    family: String,
    /// Names of all column families whose trees have changed.
    families: Vec<String>,
    /// The comparator, if it orders keys otherwise than by their bytes.
    comparator: Option<String>,
    /// The reason why the history ends before the file does, if it does.
    problem: Option<String>,
    lines: usize,
}

/// The history of a column family.
#[wasm_bindgen]
pub struct ForeignHistory {
    about: About,
    lines: std::vec::IntoIter<Line>,
}

#[wasm_bindgen]
impl ForeignHistory {
    /// Reads the bytes of a MANIFEST, with the text of the OPTIONS file beside it, or an empty one.
    ///
    /// # Errors
    /// Bytes that are no MANIFEST, or one without a column family of this name.
    #[wasm_bindgen(constructor)]
    pub fn new(
        manifest: &[u8],
        options: &str,
        family: Option<String>,
    ) -> Result<ForeignHistory, JsError> {
        let manifest = Manifest::read(manifest)?;
        let families = manifest.families();
        let picked = Family::pick(&families, family.as_deref())
            .ok_or_else(|| JsError::new("it has no column family of this name"))?;
        let policy = terrane_foreign::policy(options, &picked.name);
        let history = manifest.history(picked, policy.as_ref());
        let changed = families.iter().filter(|family| family.edits > 0);
        let about = About {
            engine: manifest.engine().to_string(),
            family: picked.name.clone(),
            families: changed.map(|family| family.name.clone()).collect(),
            comparator: manifest.comparator().map(str::to_owned),
            problem: history.problem.map(|problem| problem.to_string()),
            lines: history.lines.len(),
        };
        Ok(ForeignHistory { about, lines: history.lines.into_iter() })
    }

    /// Returns the engine, the column families, and the end of the history, as JSON.
    ///
    /// # Errors
    /// None at present.
    pub fn about(&self) -> Result<String, JsError> {
        Ok(serde_json::to_string(&self.about)?)
    }

    /// Returns the next lines of the trace, at most `lines`, each with a newline; an empty text at the end.
    ///
    /// # Errors
    /// None at present.
    pub fn next(&mut self, lines: usize) -> Result<String, JsError> {
        let mut text = String::new();
        for line in self.lines.by_ref().take(lines) {
            text.push_str(&serde_json::to_string(&line)?);
            text.push('\n');
        }
        Ok(text)
    }
}
