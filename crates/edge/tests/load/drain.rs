//! A drain under load: replies are whole, and what was acknowledged is there.

use crate::served::Served;
use crate::writers::Load;
use terrane::{Db, Durability, Options};

#[test]
fn a_drain_under_load_keeps_what_was_acknowledged() {
    for durability in [Durability::Buffered, Durability::Sync] {
        let mut served = Served::with(|config| config.durability = durability);
        let load = Load::start(&served);
        load.wait_for(50);
        let drained = served.begin_shutdown();
        // Each connection ends without half a reply.
        let written = load.join();
        served.wait(drained).unwrap();
        let db = Db::open(served.dir().path().join("db"), Options::default()).unwrap();
        written.check(&db.default_keyspace());
    }
}
