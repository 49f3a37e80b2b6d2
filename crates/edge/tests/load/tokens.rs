//! Tokens that are read again under load: nothing changes for clients whose token stays.

use crate::served::Served;
use crate::writers::{Load, line};
use std::fs;
use std::io::{BufReader, Write};
use std::net::TcpStream;

const READER: &str = "3d0941964aa3ebdcb00ccef58b1bb399f9f898465e9886d5aec7f31090a0fb30";
const WRITER: &str = "b93006774cbdd4b299389a03ac3d88c3a76b460d538795bc12718011a909fba5";

#[test]
fn a_reload_under_load_affects_changed_tokens_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tokens");
    let writer = format!("w {WRITER} write *\n");
    fs::write(&file, &writer).unwrap();
    let served = Served::with(|config| config.tokens = Some(file.clone()));
    let load = Load::with(&served, false, Some("writer"));
    let mut other = BufReader::new(TcpStream::connect(served.resp).unwrap());
    let mut run = |command: &str| {
        other.get_mut().write_all(format!("{command}\r\n").as_bytes()).unwrap();
        line(&mut other).unwrap()
    };
    for _ in 0..20 {
        fs::write(&file, format!("r {READER} read *\n{writer}")).unwrap();
        served.reload().unwrap();
        assert_eq!(run("AUTH reader"), "+OK\r\n");
        load.wait_for(8);
        fs::write(&file, "garbage").unwrap();
        served.reload().unwrap_err();
        assert_eq!(run("EXISTS none"), ":0\r\n");
        fs::write(&file, &writer).unwrap();
        served.reload().unwrap();
        assert!(run("EXISTS none").starts_with("-NOAUTH"));
        load.wait_for(8);
    }
    assert_eq!(load.refusals(), Default::default());
    load.stop().check(served.shared.db.default_keyspace().inner());
}
