//! The part of wasm-bindgen's command line that wasm-pack calls, for the web.

use clap::{Parser, ValueEnum};
use std::path::PathBuf;
use wasm_bindgen_cli_support::Bindgen;

#[derive(Parser)]
#[command(name = "wasm-bindgen", version)]
struct Cli {
    /// The module
    input: PathBuf,
    /// Folder of the module and its JavaScript
    #[arg(long)]
    out_dir: PathBuf,
    /// Name of the files
    #[arg(long)]
    out_name: Option<String>,
    /// Loader of the module
    #[arg(long, value_enum)]
    target: Target,
    /// Write declarations for TypeScript
    #[arg(long)]
    typescript: bool,
    /// Check more in JavaScript
    #[arg(long)]
    debug: bool,
    /// Leave the names of functions as the compiler wrote them
    #[arg(long)]
    no_demangle: bool,
}

#[derive(Clone, ValueEnum)]
enum Target {
    /// A page or a worker, without a bundler
    Web,
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let mut bindgen = Bindgen::new();
    match cli.target {
        Target::Web => bindgen.web(true)?,
    };
    bindgen.input_path(&cli.input).typescript(cli.typescript);
    bindgen.debug(cli.debug).demangle(!cli.no_demangle).omit_default_module_path(false);
    if let Some(name) = &cli.out_name {
        bindgen.out_name(name);
    }
    bindgen.generate(&cli.out_dir)
}
