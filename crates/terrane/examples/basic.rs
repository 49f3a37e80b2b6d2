//! Opens a store, writes, reads, scans and closes it: `cargo run --example basic`.

use std::error::Error;
use terrane::{Db, Durability, KeyRange, Options};

fn main() -> Result<(), Box<dyn Error>> {
    // Any directory that is empty or missing; here one that is removed at the end.
    let dir = tempfile::tempdir()?;
    let db = Db::open(dir.path().join("ports"), Options::default())?;
    let ports = db.default_keyspace();

    // Keys and values are bytes, and anything that has bytes.
    for (name, number) in [("dns", 53u16), ("http", 80), ("https", 443), ("ssh", 22)] {
        ports.put(name, number.to_be_bytes(), Durability::Buffered)?;
    }
    ports.put("telnet", 23u16.to_be_bytes(), Durability::Buffered)?;
    // Durable when it returns, and with it every write before.
    ports.delete("telnet", Durability::Sync)?;

    assert_eq!(ports.get("ssh")?, Some(vec![0, 22]));
    assert_eq!(ports.get("telnet")?, None);

    // In the order of the keys, from either end.
    for row in ports.scan("dns".."https")? {
        let (key, value) = row?;
        println!("{} {value:?}", String::from_utf8_lossy(&key));
    }
    let last = ports.scan(KeyRange::prefix("http"))?.next_back().transpose()?;
    assert_eq!(last, Some((b"https".to_vec(), vec![1, 187])));

    // Without a copy of each row.
    let mut cursor = ports.cursor(..)?;
    cursor.seek("e");
    assert_eq!(cursor.next()?, Some((&b"http"[..], &[0, 80][..])));
    drop(cursor);

    db.close()?;
    Ok(())
}
