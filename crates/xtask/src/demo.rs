//! Builds the demo site and serves it on this machine.

use crate::fresh::Step;
use crate::node::DEMO;
use crate::workspace::Workspace;
use crate::{progress, serve, setup, wasm};
use anyhow::Result;
use std::io::{ErrorKind, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Stdio};

/// Builds what is out of date, then serves until interrupted.
///
/// # Errors
/// A port that is taken, or a step of the build that failed.
pub fn run(workspace: &Workspace, port: u16, open: bool) -> Result<()> {
    // First of all, so that nobody waits for a build to hear that the port is taken.
    let listener = listen(port)?;
    wasm::build(workspace, wasm::Profile::Release)?;
    build(workspace)?;
    let url = format!("http://localhost:{}/", listener.local_addr()?.port());
    println!("\nThe demo is at {url} (end it with Ctrl-C)");
    std::io::stdout().flush()?;
    if open {
        open_browser(&url);
    }
    serve::forever(&listener, &workspace.path("demo/dist"))
}

/// Brings `demo/dist` up to date, and the modules for it. The npm package must be built.
///
/// # Errors
/// When npm's packages cannot be installed, or the build fails.
pub fn build(workspace: &Workspace) -> Result<()> {
    setup::ensure(workspace, &[&DEMO])?;
    let modules = wasm::site(workspace, wasm::Profile::Release)?;
    let mut inputs = DEMO.sources(workspace)?;
    // The chapters have numbers of the papers.
    inputs.push(workspace.path("docs/papers"));
    inputs.push(workspace.path("bindings-js/dist"));
    inputs.push(workspace.path("bindings-js/wasm"));
    inputs.extend(modules);
    let step = Step {
        stamp: workspace.path("target/xtask/demo.stamp"),
        key: String::new(),
        inputs,
        output: workspace.path("demo/dist/index.html"),
    };
    step.bring_up_to_date(|| {
        progress::run("npm run build in demo", workspace.npm("demo", &["run", "build"])).map(drop)
    })
}

fn listen(port: u16) -> Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => anyhow::anyhow!(
            "port {port} is taken; try `cargo xtask demo --port {}`",
            port.checked_add(1).unwrap_or(8080)
        ),
        _ => anyhow::Error::new(error).context(format!("cannot listen on port {port}")),
    })
}

/// Asks the desktop to show the page. Where there is none, the printed address has to do.
fn open_browser(url: &str) {
    let (program, arguments): (_, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("cmd", &["/C", "start", ""]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(url);
    let _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}

#[cfg(test)]
mod tests {
    use super::listen;

    #[test]
    fn a_port_that_is_taken_is_named_with_the_way_out() {
        let first = listen(0).unwrap();
        let port = first.local_addr().unwrap().port();
        let error = listen(port).unwrap_err().to_string();
        assert!(error.contains(&format!("port {port} is taken")), "{error}");
        assert!(error.contains("--port"), "{error}");
    }
}
