//! Writes the reports; `cargo xtask papers` runs it.

use clap::{Parser, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;
use terrane_papers::{PAPERS, Paper, PapersError, Scale, Simulate, write};

#[derive(Parser)]
#[command(name = "terrane-papers", about = "Simulates the figures of the papers")]
struct Arguments {
    /// Scale of the simulations
    #[arg(long, value_enum, default_value = "ci")]
    scale: ScaleName,
    /// Only this paper, by the name of its folder
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(PAPERS.iter().map(|p| p.folder)))]
    paper: Option<String>,
    /// Only the figure of this number, in the report's order
    #[arg(long, requires = "paper")]
    figure: Option<usize>,
    /// The folder of the reports, one folder a paper
    #[arg(long, default_value = "target/papers")]
    out: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum ScaleName {
    /// Seconds
    Ci,
    /// Minutes
    Full,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), PapersError> {
    let scale = match arguments.scale {
        ScaleName::Ci => Scale::Ci,
        ScaleName::Full => Scale::Full,
    };
    let chosen = |folder| arguments.paper.as_deref().is_none_or(|paper| paper == folder);
    for paper in PAPERS.iter().filter(|paper| chosen(paper.folder)) {
        let paper = &Paper { figures: figures_of(paper, arguments.figure), ..*paper };
        let figures = paper.simulate(scale, &|what| eprintln!("{what}"))?;
        let folder = arguments.out.join(paper.folder);
        write(&folder, paper, scale, &figures)?;
        println!("{}", folder.join("README.md").display());
    }
    Ok(())
}

/// All figures of a paper, or the one of this number.
fn figures_of(paper: &Paper, number: Option<usize>) -> &'static [Simulate] {
    let Some(number) = number else { return paper.figures };
    paper.figures.get(number.saturating_sub(1)..number).unwrap_or_default()
}
