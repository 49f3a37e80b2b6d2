//! Every example runs to its end. `cargo test` builds them before it runs this.

use std::env::consts::EXE_EXTENSION;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn every_example_runs_to_its_end() {
    let this = std::env::current_exe().unwrap();
    let built = this.ancestors().nth(2).unwrap().join("examples");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for source in std::fs::read_dir(sources).unwrap() {
        let name = PathBuf::from(source.unwrap().file_name()).with_extension(EXE_EXTENSION);
        let example = built.join(name);
        assert!(example.is_file(), "no {}: run `cargo build --examples` first", example.display());
        let output = Command::new(&example).output().unwrap();
        assert!(output.status.success(), "{}: {output:#?}", example.display());
    }
}
