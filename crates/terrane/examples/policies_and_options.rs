//! Opens a store with options, and gives each keyspace the compaction policy that suits its work.
//! `cargo run --example policies_and_options`.

use std::error::Error;
use std::time::Duration;
use terrane::policy::{Filters, Leveled, PolicyOptions, Universal};
use terrane::{Db, Durability, Options};

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let options = Options::default()
        .memory_bytes(64 << 20)
        .memtable_bytes(4 << 20)
        .sync_interval(Duration::from_millis(100))
        .workers(1);
    let db = Db::open(dir.path().join("store"), options)?;

    // By type: its parameters are fields, and those that are left out have their defaults.
    let sessions = db.create_keyspace("sessions")?;
    let leveled = Leveled { size_ratio: 8, filters: Filters::Monkey, ..Leveled::default() };
    sessions.set_policy(&leveled.into())?;

    // By name, with tables for native files.
    let log = db.create_keyspace("log")?;
    log.set_policy(&PolicyOptions::from(Universal::default()).native())?;

    // As JSON, from a configuration file.
    let cold = db.create_keyspace("cold")?;
    cold.set_policy(&r#"{"policy":"lazy-leveled","size-ratio":6}"#.parse()?)?;

    for keyspace in [&sessions, &log, &cold] {
        keyspace.put("key", "value", Durability::Buffered)?;
        println!("{}: {}", keyspace.name(), keyspace.policy()?.summary());
    }
    // It is kept with the keyspace.
    db.close()?;
    let db = Db::open(dir.path().join("store"), Options::default().create(false))?;
    let cold = db.open_keyspace("cold")?.ok_or("no keyspace of this name")?;
    assert_eq!(cold.policy()?.name(), "lazy-leveled");
    Ok(())
}
