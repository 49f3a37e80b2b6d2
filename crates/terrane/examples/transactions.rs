//! Conditions and transactions: writes that depend on what was read, from many threads.
//!
//! `cargo run --example transactions`

use std::thread;
use terrane::{Condition, Db, Durability, KeyRange, Options, Outcome, WriteBatch};

fn main() -> terrane::Result<()> {
    let place = tempfile::tempdir().expect("a temporary directory");
    let db = Db::open(place.path().join("shop"), Options::default())?;
    let (stock, orders) = (db.create_keyspace("stock")?, db.create_keyspace("orders")?);

    // Only the first of two sets a key: a lock, a sign-up, an id that must be unique.
    for count in [3u64, 9] {
        let mut batch = WriteBatch::new();
        batch.put(&stock, "teapot", count.to_be_bytes())?;
        let condition = Condition::absent(&stock, "teapot");
        match db.write_if([condition], batch, Durability::Sync)? {
            Outcome::Written(seq) => println!("{count} teapots, batch {seq}"),
            Outcome::Refused(refusals) => println!("refused: {:?}", refusals[0].found),
        }
    }

    // Five buyers, three teapots: each transaction runs again until nothing that it read has changed.
    let buy = |buyer: u64| {
        db.transact(Durability::Buffered, |tx| -> terrane::Result<bool> {
            let left = tx
                .get(&stock, "teapot")?
                .map_or(0, |bytes| u64::from_be_bytes(bytes.try_into().expect("eight bytes")));
            if left == 0 {
                return Ok(false);
            }
            tx.put(&stock, "teapot", (left - 1).to_be_bytes())?;
            // Orders are numbered without a gap: a scan is validated, too.
            let last = tx.last(&orders, KeyRange::default())?;
            let number = last.map_or(1, |(key, _)| key[0] + 1);
            tx.put(&orders, [number], buyer.to_be_bytes())?;
            Ok(true)
        })
    };
    let buy = &buy;
    let bought = thread::scope(|threads| {
        let buyers: Vec<_> = (0..5).map(|buyer| threads.spawn(move || buy(buyer))).collect();
        let results = buyers.into_iter().map(|buyer| buyer.join().expect("no panic"));
        results.collect::<terrane::Result<Vec<bool>>>()
    })?;
    assert_eq!(bought.iter().filter(|bought| **bought).count(), 3);
    let numbers: Vec<u8> =
        orders.scan(..)?.map(|row| Ok(row?.0[0])).collect::<terrane::Result<_>>()?;
    println!("orders {numbers:?}");
    assert_eq!(numbers, [1, 2, 3]);
    Ok(())
}
