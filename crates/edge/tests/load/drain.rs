//! A drain under load: replies are whole, and acknowledged writes stay.

use crate::served::Served;
use crate::writers::Load;
use terrane::{Db, Durability, Options};

#[test]
fn a_drain_under_load_keeps_acknowledged_writes() {
    for durability in [Durability::Buffered, Durability::Sync] {
        let mut served = Served::with(|config| config.durability = durability);
        let load = Load::start(&served);
        load.wait_for(50);
        let drained = served.begin_shutdown();
        // The load fails if a connection ends with half a reply.
        let written = load.join();
        served.wait(drained).unwrap();
        let db = Db::open(served.dir().path().join("db"), Options::default()).unwrap();
        written.check(&db.default_keyspace());
    }
}
