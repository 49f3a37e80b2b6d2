//! `shell --events`: shows what a keyspace does, live, while commands run on it.

use crate::exit::Failure;
use crate::message;
use crate::store::Opened;
use clap::Args;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use terrane_edge::origin::{Allowed, parse_origin};
use terrane_edge::serve_events;
use terrane_edge::watchers::Watchers;

/// Address of the events, and the pages that may read them.
#[derive(Args)]
pub struct EventsArgs {
    /// Serve events to the visualizer from here, as an event stream; port 0 picks a free port
    ///
    /// GET /events (SSE) sends the tree, then what the engine does as it does it, each a message of JSON as in a
    /// trace. After the last piped command the shell continues until Ctrl-C.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub events: Option<SocketAddr>,
    /// Let this page read the events, such as http://localhost:8080; `localhost` is any port of it
    #[arg(long, value_name = "ORIGIN", requires = "events", value_parser = parse_origin)]
    pub allow_origin: Vec<String>,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let expected = "expected an IP address and a port; for example: 127.0.0.1:4540";
    text.parse().map_err(|_| expected.to_owned())
}

/// Starts serving the events of the keyspace, if that is asked for. Returns the server's thread, which runs until
/// the process ends.
pub fn serve(opened: &Opened, args: &EventsArgs) -> Result<Option<JoinHandle<()>>, Failure> {
    let Some(listen) = args.events else { return Ok(None) };
    let watchers = Arc::<Watchers>::default();
    let progress = opened.merge.clone().listener();
    opened.db.set_listener(Some(watchers.clone().listener(Some(progress))));
    let allowed = Allowed { hosts: Vec::new(), origins: args.allow_origin.clone() };
    let (address, server) = serve_events(listen, allowed, watchers, opened.keyspace.clone())
        .map_err(|e| Failure::io(&format!("listen on {listen}"), &e))?;
    message::note(&format!("events at http://{address}/events"));
    Ok(Some(server))
}
