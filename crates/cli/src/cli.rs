//! The command line: every command, in the order of `--help`.

use crate::args::{InKeyspace, InStore, Working};
use crate::commands::{
    advise, bench, check, checkpoint, compact, completions, count, delete, export, get, history,
    import, keyspaces, levels, load, man, merge, policies, policy, put, quarantine, repair, scan,
    shell, simulate, stats, sweep,
};
#[cfg(feature = "serve")]
use crate::commands::{backups, restore, serve};
use crate::exit::{self, Failure};
use clap::{CommandFactory, Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  terrane load packages names.tsv                   a key, a tab and a value on each line
  terrane get packages serde
  terrane scan packages --prefix serde --limit 10
  terrane shell packages                            the same commands, interactively

Run `terrane COMMAND --help` for a command's options and examples.";

/// Load, read, check, copy and measure Terrane stores
///
/// A Terrane store is an ordered key-value store in a directory (DIR) or in a single file.
#[derive(Parser)]
#[command(name = "terrane", version, max_term_width = 100, after_help = EXAMPLES,
          after_long_help = format!("{EXAMPLES}\n\n{}", exit::TABLE))]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    #[command(after_help = load::EXAMPLES)]
    Load(Working<load::LoadArgs>),
    #[command(after_help = get::EXAMPLES)]
    Get(InKeyspace<get::GetArgs>),
    #[command(after_help = put::EXAMPLES)]
    Put(InKeyspace<put::PutArgs>),
    #[command(after_help = merge::EXAMPLES)]
    Merge(InKeyspace<merge::MergeArgs>),
    #[command(after_help = delete::EXAMPLES, override_usage = delete::USAGE)]
    Delete(InKeyspace<delete::DeleteArgs>),
    #[command(after_help = scan::EXAMPLES)]
    Scan(InKeyspace<scan::ScanArgs>),
    #[command(after_help = count::EXAMPLES)]
    Count(InKeyspace<count::CountArgs>),
    #[command(after_help = shell::EXAMPLES)]
    Shell(Working<shell::ShellArgs>),
    #[cfg(feature = "serve")]
    #[command(after_help = serve::EXAMPLES)]
    Serve(Box<serve::ServeArgs>),
    Stats(InStore<stats::StatsArgs>),
    Levels(InKeyspace<levels::LevelsArgs>),
    Check(InStore<check::CheckArgs>),
    #[command(after_help = keyspaces::EXAMPLES)]
    Keyspaces(InStore<keyspaces::KeyspacesArgs>),
    Policies(policies::PoliciesArgs),
    #[command(after_help = policy::EXAMPLES)]
    Policy(InKeyspace<policy::PolicyArgs>),
    #[command(after_help = compact::EXAMPLES)]
    Compact(Working<compact::CompactArgs>),
    Checkpoint(checkpoint::CheckpointArgs),
    Export(export::ExportArgs),
    Import(import::ImportArgs),
    Repair(repair::RepairArgs),
    #[cfg(feature = "serve")]
    #[command(after_help = restore::EXAMPLES)]
    Restore(restore::RestoreArgs),
    #[cfg(feature = "serve")]
    #[command(after_help = backups::EXAMPLES)]
    Backups(backups::BackupsArgs),
    Quarantine(InStore<quarantine::QuarantineArgs>),
    #[command(after_help = bench::EXAMPLES)]
    Bench(bench::BenchArgs),
    #[command(after_help = simulate::EXAMPLES)]
    Simulate(Box<simulate::SimulateArgs>),
    #[command(after_help = sweep::EXAMPLES)]
    Sweep(sweep::SweepArgs),
    #[command(after_help = advise::EXAMPLES)]
    Advise(Box<advise::AdviseArgs>),
    #[command(after_help = history::EXAMPLES)]
    History(history::HistoryArgs),
    #[command(after_help = completions::EXAMPLES)]
    Completions(completions::CompletionsArgs),
    #[command(after_help = man::EXAMPLES)]
    Man(man::ManArgs),
}

impl Command {
    /// Runs the command.
    pub fn run(&self) -> Result<(), Failure> {
        match self {
            Self::Load(args) => load::run(args),
            Self::Get(args) => get::run(args),
            Self::Put(args) => put::run(args),
            Self::Merge(args) => merge::run(args),
            Self::Delete(args) => delete::run(args),
            Self::Scan(args) => scan::run(args),
            Self::Count(args) => count::run(args),
            Self::Shell(args) => shell::run(args),
            #[cfg(feature = "serve")]
            Self::Serve(args) => serve::run(args),
            Self::Stats(args) => stats::run(args),
            Self::Levels(args) => levels::run(args),
            Self::Check(args) => check::run(args),
            Self::Keyspaces(args) => keyspaces::run(args),
            Self::Policies(args) => policies::run(args),
            Self::Policy(args) => policy::run(args),
            Self::Compact(args) => compact::run(args),
            Self::Checkpoint(args) => checkpoint::run(args),
            Self::Export(args) => export::run(args),
            Self::Import(args) => import::run(args),
            Self::Repair(args) => repair::run(args),
            #[cfg(feature = "serve")]
            Self::Restore(args) => restore::run(args),
            #[cfg(feature = "serve")]
            Self::Backups(args) => backups::run(args),
            Self::Quarantine(args) => quarantine::run(args),
            Self::Bench(args) => bench::run(args),
            Self::Simulate(args) => simulate::run(args),
            Self::Sweep(args) => sweep::run(args),
            Self::Advise(args) => advise::run(args),
            Self::History(args) => history::run(args),
            Self::Completions(args) => completions::run(args, Cli::command()),
            Self::Man(args) => man::run(args, Cli::command()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
