//! wasm-pack. It does not ask whether there is a newer release of it, as its own program does.

use clap::Parser;
use wasm_pack::{Cli, PBAR, command};

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    PBAR.set_log_level(cli.log_level);
    PBAR.set_quiet(cli.quiet);
    command::run_wasm_pack(cli.cmd)
}
