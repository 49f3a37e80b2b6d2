//! `history`: writes the history of another engine's store as a trace.

use crate::exit::Failure;
use crate::foreign::Foreign;
use crate::message;
use crate::output::Output;
use clap::Args;
use std::path::PathBuf;

pub const EXAMPLES: &str = "\
The trace has an event on each line, as that of `terrane simulate --trace`: open it in the visualizer, or pass it to
`terrane advise`. Times are those at which files were created, in whole seconds. Entries are estimated, and deletes,
filters and reads are not recorded. The policy is the nearest to that of the OPTIONS file beside the MANIFEST.

Examples:
  terrane history /var/lib/app/rocksdb/MANIFEST-000005 > history.ndjson
  terrane history pebble/MANIFEST-000001 > history.ndjson && terrane advise history.ndjson
  terrane history rocksdb/MANIFEST-000005 --keyspace users > users.ndjson";

/// Write the history of a store of RocksDB, Pebble or LevelDB as a trace
#[derive(Args)]
pub struct HistoryArgs {
    /// Read this MANIFEST file
    pub manifest: PathBuf,
    /// Use the column family with this name, rather than the default one
    #[arg(long, value_name = "NAME")]
    pub keyspace: Option<String>,
}

/// Writes the trace.
pub fn run(args: &HistoryArgs) -> Result<(), Failure> {
    let foreign = Foreign::open(&args.manifest, args.keyspace.as_deref())?;
    if foreign.policy.is_none() {
        message::note("no OPTIONS file beside it names a policy that is known here");
    }
    let history = foreign.history(foreign.policy.as_ref());
    let mut out = Output::new();
    history.lines.iter().try_for_each(|line| out.json_line(line))?;
    out.finish()
}
