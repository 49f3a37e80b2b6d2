//! What the command `wasm-bindgen` does, as a crate of this workspace: it is always of the version
//! of the library in `Cargo.lock`, and shares its dependencies with everything else that is built.
//!
//! `terrane-bindgen MODULE FOLDER NAME [release|dev]` writes `NAME.js`, `NAME.d.ts` and
//! `NAME_bg.wasm` to the folder.

use anyhow::{Result, bail};
use std::env;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [module, folder, name, profile] = arguments.as_slice() else {
        bail!("expected MODULE FOLDER NAME PROFILE, found {} arguments", arguments.len());
    };
    let dev = profile == "dev";
    let mut bindgen = Bindgen::new();
    // In a release the names only order the functions; as the compiler writes them, like ones begin
    // alike.
    bindgen
        .input_path(module)
        .out_name(name)
        .typescript(true)
        .debug(dev)
        .demangle(dev)
        .omit_default_module_path(false)
        .web(true)?;
    bindgen.generate(folder)
}
