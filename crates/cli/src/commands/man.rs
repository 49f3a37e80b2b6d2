//! `man`: prints a manual page, or writes all of them into a directory.

use crate::exit::{Exit, Failure};
use crate::output::Output;
use clap::{Args, Command};
use clap_mangen::Man;
use std::path::PathBuf;

pub const EXAMPLES: &str = "\
Examples:
  terrane man | man -l -                    terrane(1)
  terrane man scan | man -l -               terrane-scan(1)
  terrane man --dir ~/.local/share/man/man1";

/// Print the manual page of terrane or of one of its commands
#[derive(Args)]
pub struct ManArgs {
    /// Print the page of this command
    pub command: Option<String>,
    /// Write every page into this directory instead
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub dir: Option<PathBuf>,
}

/// Prints or writes the pages of `cli`.
pub fn run(args: &ManArgs, cli: Command) -> Result<(), Failure> {
    let mut cli = cli.disable_help_subcommand(true);
    if let Some(dir) = &args.dir {
        let failed = |e| Failure::io(&format!("write manual pages to {}", dir.display()), &e);
        std::fs::create_dir_all(dir).map_err(failed)?;
        return clap_mangen::generate_to(cli, dir).map_err(failed);
    }
    cli.build();
    let command = match &args.command {
        None => cli,
        Some(name) => cli.find_subcommand(name).cloned().ok_or_else(|| {
            let sentence =
                format!("expected a command, found {name}; for example: terrane man scan");
            Failure::new(Exit::Usage, sentence)
        })?,
    };
    let mut out = Output::new();
    out.write(|mut out| Man::new(command).render(&mut out))?;
    out.finish()
}
