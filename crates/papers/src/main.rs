//! Writes the reports; `cargo xtask papers` runs it.

use clap::{Parser, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;
use terrane_papers::{PAPERS, PapersError, Scale, write};

#[derive(Parser)]
#[command(name = "terrane-papers", about = "Simulates the figures of the papers")]
struct Arguments {
    /// Scale of the simulations
    #[arg(long, value_enum, default_value = "ci")]
    scale: ScaleName,
    /// Only this paper, by the name of its folder
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(PAPERS.iter().map(|p| p.folder)))]
    paper: Option<String>,
    /// Only this figure, by its name or by its number in the report's order; the report keeps its others
    #[arg(long, requires = "paper")]
    figure: Option<String>,
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
        let chosen = arguments.figure.as_ref().map(|figure| paper.with_figure(figure));
        let chosen = chosen.transpose()?.unwrap_or(*paper);
        let figures = chosen.simulate(scale, &|what| eprintln!("{what}"))?;
        let folder = arguments.out.join(paper.folder);
        write(&folder, paper, scale, &figures)?;
        println!("{}", folder.join("README.md").display());
    }
    Ok(())
}
