//! `completions`: prints a script that completes `terrane` in a shell.

use crate::exit::Failure;
use crate::output::Output;
use clap::{Args, Command};
use clap_complete::Shell;

pub const EXAMPLES: &str = "\
Examples:
  bash        terrane completions bash > ~/.local/share/bash-completion/completions/terrane
  zsh         terrane completions zsh > ~/.zfunc/_terrane      with ~/.zfunc in fpath
  fish        terrane completions fish > ~/.config/fish/completions/terrane.fish
  PowerShell  terrane completions powershell >> $PROFILE";

/// Print a shell completion script
#[derive(Args)]
pub struct CompletionsArgs {
    /// Print the script for this shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Prints the script for `cli`.
pub fn run(args: &CompletionsArgs, mut cli: Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli, "terrane", &mut script);
    let mut out = Output::new();
    out.bytes(&script)?;
    out.finish()
}
