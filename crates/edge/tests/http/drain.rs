//! The end of a server: requests that were read are answered, and no connection is accepted.

use crate::served::Served;
use std::net::TcpStream;

#[test]
fn a_drain_answers_the_requests_that_were_read() {
    let mut served = Served::start();
    let doors = [served.http, served.resp];
    let mut idle = served.connect();
    assert_eq!(idle.request("GET /health/live", "", b"").status, 200);
    let mut client = served.connect();
    client.send("PUT /v1/default/keys/a HTTP/1.1\r\nHost: localhost\r\n");
    client.send("Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.head().0, 100);
    let drained = served.begin_shutdown();
    assert_eq!(idle.rest(), b"");
    for door in doors {
        while TcpStream::connect(door).is_ok() {}
    }
    client.send("ab");
    let reply = client.reply(false);
    assert_eq!((reply.status, reply.header("connection")), (204, Some("close")));
    served.wait(drained).unwrap();
    let served = Served::on(served.dir(), |_| {});
    assert_eq!(served.get("/v1/default/keys/a").text(), "ab");
}

#[test]
fn a_drain_closes_requests_that_do_not_end() {
    let mut served = Served::with(|config| config.drain = std::time::Duration::from_millis(50));
    let mut client = served.connect();
    client.send("PUT /v1/default/keys/a HTTP/1.1\r\nHost: localhost\r\n");
    client.send("Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.head().0, 100);
    let drained = served.begin_shutdown();
    served.wait(drained).unwrap();
    assert_eq!(client.rest(), b"");
}
