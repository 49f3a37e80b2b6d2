//! `policies`: lists the compaction policies with their parameters.

use crate::exit::Failure;
use crate::output::Output;
use clap::Args;
use terrane_policy::{Parameter, PolicyOptions, Value, presets};

/// List the compaction policies with their parameters, ranges and defaults
#[derive(Args)]
pub struct PoliciesArgs {
    /// Print a JSON array
    #[arg(long)]
    pub json: bool,
}

/// Prints every preset, with the sizes of native programs.
pub fn run(args: &PoliciesArgs) -> Result<(), Failure> {
    let mut presets = presets();
    for preset in &mut presets {
        if let Some(options) = PolicyOptions::preset(preset.name) {
            preset.parameters = options.native().parameters();
        }
    }
    let mut out = Output::new();
    if args.json {
        out.json(&presets)?;
        return out.finish();
    }
    for (n, preset) in presets.iter().enumerate() {
        if n > 0 {
            out.line("")?;
        }
        out.lines(&describe(preset.name, preset.summary, &preset.parameters, "default"))?;
    }
    out.finish()
}

/// A policy's summary and a table of its parameters; `chosen` heads the column of their values.
pub fn describe(name: &str, summary: &str, parameters: &[Parameter], chosen: &str) -> Vec<String> {
    let head = ["parameter", chosen, "range", "meaning"].map(str::to_owned);
    let rows: Vec<_> = [head].into_iter().chain(parameters.iter().map(row)).collect();
    let width = |n: usize| rows.iter().filter_map(|row| Some(row.get(n)?.len())).max().unwrap_or(0);
    let (names, values, ranges) = (width(0), width(1), width(2));
    let line = |[name, value, range, meaning]: &[String; 4]| {
        format!("  {name:names$}  {value:values$}  {range:ranges$}  {meaning}")
    };
    [format!("{name}: {summary}")].into_iter().chain(rows.iter().map(line)).collect()
}

/// A parameter's name, value, range and meaning.
fn row(parameter: &Parameter) -> [String; 4] {
    let (value, range) = match &parameter.value {
        Value::Number { least, most, value } => (value.to_string(), format!("{least} to {most}")),
        Value::Switch { value } => (value.to_string(), "false, true".to_owned()),
        Value::Choice { among, value } => ((*value).to_owned(), among.join(", ")),
        Value::Key { value } => (value.clone(), "hexadecimal".to_owned()),
        Value::List { least, most, value } => (value.clone(), format!("each {least} to {most}")),
    };
    [parameter.name.to_owned(), value, range, parameter.meaning.to_owned()]
}
