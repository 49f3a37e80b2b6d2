//! `serve`: shows what a keyspace does, live, while commands run on it.
//!
//! * `watchers` - who watches, and what they are told.
//! * `http` - how they are told.

mod http;
mod watchers;

use crate::args::Working;
use crate::commands::shell;
use crate::exit::Failure;
use crate::interrupt;
use crate::message;
use crate::store::{self, Opened};
use clap::Args;
use std::net::SocketAddr;
use std::thread::{self, JoinHandle};
use watchers::Watchers;

pub const EXAMPLES: &str = "\
Examples:
  terrane serve packages --allow-origin localhost
  echo 'load names.tsv' | terrane serve packages --create --allow-origin http://localhost:8080
  curl -N http://127.0.0.1:4540/events

In the visualizer: File, Attach. Ctrl-C ends it, and so does leaving the shell.";

/// Serve the events of a keyspace to the visualizer, while commands run on it
///
/// GET /events is an event stream (SSE): the tree, and then what the engine does as it does it, each a
/// message of JSON as in a trace. Commands are those of `terrane shell`, typed or from standard input;
/// after the last piped one it goes on until Ctrl-C.
#[derive(Args)]
pub struct ServeArgs {
    /// Where to listen; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:4540", value_parser = address)]
    pub listen: SocketAddr,
    /// Pages that may read the events, such as http://localhost:8080; `localhost` is any port of it
    #[arg(long, value_name = "ORIGIN", value_parser = http::origin)]
    pub allow_origin: Vec<String>,
    /// Create the store and the keyspace if they do not exist
    #[arg(long)]
    pub create: bool,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let expected = "expected an IP address and a port; for example: 127.0.0.1:4540";
    text.parse().map_err(|_| expected.to_owned())
}

/// Opens the store, and serves until the input ends, or a signal comes.
pub fn run(Working { at, args, background }: &Working<ServeArgs>) -> Result<(), Failure> {
    let mut opened = match args.create {
        true => store::create(at, None, background)?,
        false => store::existing(at, false, background)?,
    };
    let watchers = Watchers::new(opened.keyspace.clone());
    opened.db.set_listener(Some(watchers.clone().listener(opened.merge.clone().listener())));
    let (listen, origins) = (args.listen, args.allow_origin.clone());
    let (address, server) = http::serve(listen, origins, watchers)
        .map_err(|e| Failure::io(&format!("listen on {listen}"), &e))?;
    message::note(&format!("events at http://{address}/events"));
    if shell::is_interactive() {
        shell::run_on(&mut opened)?;
        return opened.close();
    }
    interrupt::listen()?;
    let db = opened.db.clone();
    run_until_signal(opened, server)?;
    Ok(db.close()?)
}

/// Runs the commands of standard input beside this thread, which hears of a signal while they wait for
/// another line. Fails if a command panics or the server stops.
fn run_until_signal(mut opened: Opened, server: JoinHandle<()>) -> Result<(), Failure> {
    let mut commands = Some(interrupt::spawn("commands", move || shell::run_on(&mut opened))?);
    while interrupt::check().is_ok() {
        if server.is_finished() {
            return Err(interrupt::ended(server));
        }
        if commands.as_ref().is_some_and(JoinHandle::is_finished)
            && let Some(ended) = commands.take()
        {
            interrupt::join(ended)??;
        }
        thread::sleep(interrupt::PATIENCE);
    }
    Ok(())
}
