//! A table of installed tools, and the way to get the missing ones.

use crate::setup;
use crate::workspace::Workspace;
use anyhow::Result;
use std::process::ExitCode;

/// Prints a row for each need. Succeeds if all needs that are not optional are met.
///
/// # Errors
/// None at present.
pub fn run(workspace: &Workspace) -> Result<ExitCode> {
    let (mut missing, mut absent) = (Vec::new(), Vec::new());
    println!("  {:<7} {:<28} {:<12} found", "", "what", "wanted");
    for need in setup::all() {
        let (state, found) = match need.found(workspace) {
            Ok(found) => ("ok", found),
            Err(found) if need.is_optional() => {
                absent.push(format!("  {}: {}", need.name(), need.remedy(workspace)));
                ("absent", found)
            }
            Err(found) => {
                missing.push(format!("  {}: {}", need.name(), need.remedy(workspace)));
                ("MISSING", found)
            }
        };
        println!("  {state:<7} {:<28} {:<12} {found}", need.name(), need.wanted(workspace));
    }
    if !absent.is_empty() {
        println!("\nOptional; steps that need these are skipped:\n{}", absent.join("\n"));
    }
    if missing.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "\nTo get what is missing, run `cargo xtask setup`, or by hand:\n{}",
        missing.join("\n")
    );
    Ok(ExitCode::FAILURE)
}
