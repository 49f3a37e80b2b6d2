//! Durable writes.

use crate::client::pipeline;
use crate::served::Served;
use terrane::Durability;

#[test]
fn writes_can_be_synced_by_request() {
    let served = Served::start();
    let mut client = served.connect();
    client.check(&[
        ("SET a 1", "OK"),
        ("WAITAOF 1 0 0", "[:1 :0]"),
        ("WAITAOF 0 0 0", "[:0 :0]"),
        ("WAITAOF 2 0 0", "-ERR value is not an integer or out of range"),
        ("SAVE", "OK"),
        ("BGSAVE", "Background saving started"),
    ]);
    assert!(client.run("LASTSAVE").starts_with(":1"));
}

#[test]
fn durable_writes_of_a_pipeline_keep_their_order() {
    let served = Served::with(|config| config.durability = Durability::Sync);
    let mut client = served.connect();
    client.check(&[("CONFIG GET appendfsync", "[\"appendfsync\" \"always\"]")]);
    client.send(&pipeline(&["INCR n"; 500]));
    for n in 1..=500 {
        assert_eq!(client.read(), format!(":{n}"));
    }
    client.check(&[("MULTI", "OK"), ("INCR n", "QUEUED"), ("EXEC", "[:501]")]);
    let served = Served::on(served.stop(), |_| {});
    served.connect().check(&[("GET n", "\"501\"")]);
}
