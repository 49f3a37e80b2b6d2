//! The MANIFEST of another engine's store, given as a file.

use crate::exit::{Exit, Failure};
use crate::message;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use terrane_foreign::{Family, History, Manifest};
use terrane_policy::PolicyOptions;

/// Bytes by which a MANIFEST is recognized: a block of it.
const HEAD: u64 = 32 << 10;
/// Start of the names of files with options.
const OPTIONS: &str = "OPTIONS-";

/// A column family of a MANIFEST, and the policy beside it.
pub struct Foreign {
    manifest: Manifest,
    family: Family,
    /// The nearest policy, by the OPTIONS file beside it.
    pub policy: Option<PolicyOptions>,
}

/// Whether a path is a file that starts as a MANIFEST does.
pub fn is_manifest(place: &Path) -> Result<bool, Failure> {
    if !place.is_file() {
        return Ok(false);
    }
    let mut head = Vec::new();
    let read = File::open(place).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.map_err(|e| unread(place, &e))?;
    Ok(terrane_foreign::is_manifest(&head))
}

fn unread(place: &Path, error: &std::io::Error) -> Failure {
    Failure::io(&format!("read {}", place.display()), error)
}

impl Foreign {
    /// Reads a MANIFEST, and picks the column family with a name, or the default one.
    pub fn open(place: &Path, name: Option<&str>) -> Result<Self, Failure> {
        let shown = place.display();
        let bytes = fs::read(place).map_err(|e| unread(place, &e))?;
        let manifest = Manifest::read(&bytes).map_err(|error| {
            let sentence = format!(
                "expected a MANIFEST of RocksDB, Pebble or LevelDB, found {shown}: {error}"
            );
            Failure::new(Exit::Input, sentence)
        })?;
        let families = manifest.families();
        let Some(family) = Family::pick(&families, name).cloned() else {
            let names: Vec<_> = families.into_iter().map(|family| family.name).collect();
            let sentence = format!(
                "expected a column family of {shown}, found {:?}; it has {}",
                name.unwrap_or_default(),
                names.join(", ")
            );
            return Err(Failure::new(Exit::NoStore, sentence));
        };
        let others = families.into_iter().filter(|other| other.edits > 0 && other.id != family.id);
        let others: Vec<_> = others.map(|other| other.name).collect();
        if name.is_none() && !others.is_empty() {
            let (taken, others) = (&family.name, others.join(", "));
            message::note(&format!("column family {taken}; --keyspace picks another: {others}"));
        }
        if let Some(name) = manifest.comparator() {
            message::note(&format!("keys are ordered by their bytes, not by {name}"));
        }
        let options = newest_options(place).and_then(|path| fs::read_to_string(path).ok());
        let policy = options.and_then(|text| terrane_foreign::policy(&text, &family.name));
        Ok(Foreign { manifest, family, policy })
    }

    /// Returns the history under a policy, and remarks where it ends before the file.
    pub fn history(&self, policy: Option<&PolicyOptions>) -> History {
        let history = self.manifest.history(&self.family, policy);
        if let Some(problem) = &history.problem {
            message::note(&format!("the history ends where the file is not readable: {problem}"));
        }
        history
    }
}

/// The newest file of options beside a MANIFEST.
fn newest_options(manifest: &Path) -> Option<PathBuf> {
    let dir = manifest.parent().filter(|dir| !dir.as_os_str().is_empty());
    let files = fs::read_dir(dir.unwrap_or(Path::new("."))).ok()?.flatten();
    let numbered = files.filter_map(|file| {
        let number: u64 = file.file_name().to_str()?.strip_prefix(OPTIONS)?.parse().ok()?;
        Some((number, file.path()))
    });
    Some(numbered.max()?.1)
}
