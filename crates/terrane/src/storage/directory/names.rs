//! Names of the files of a directory beside its tables and logs.

pub(super) const CURRENT: &str = "CURRENT";
pub(super) const CURRENT_TEMP: &str = "CURRENT.tmp";
pub(super) const CREATING: &str = "CREATING";
/// The file that marks a restore from a backup that is not complete.
pub(super) const RESTORING: &str = "RESTORING";
pub(super) const MANIFEST: &str = "MANIFEST-";

pub(super) fn manifest_name(generation: u64) -> String {
    format!("{MANIFEST}{generation:06}")
}

pub(super) fn manifest_generation(name: &str) -> Option<u64> {
    let generation = name.strip_prefix(MANIFEST)?.parse().ok()?;
    (manifest_name(generation) == name).then_some(generation)
}
