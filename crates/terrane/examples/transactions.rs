//! Conditions and transactions: writes that depend on what was read, from many threads.
//!
//! `cargo run --example transactions`

use std::error::Error;
use std::thread;
use terrane::{Condition, Db, Durability, KeyRange, Options, Outcome, WriteBatch};

/// Parses a decimal integer, as merges have it; 0 if there is none.
fn count(value: Option<Vec<u8>>) -> u64 {
    String::from_utf8_lossy(&value.unwrap_or_default()).parse().unwrap_or(0)
}

/// Decodes a big-endian integer, which sorts as numbers do; 0 if there is none.
fn number(key: Option<Vec<u8>>) -> u64 {
    key.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes)
}

fn main() -> Result<(), Box<dyn Error>> {
    let place = tempfile::tempdir()?;
    let db = Db::open(place.path().join("shop"), Options::default())?;
    let (stock, orders) = (db.create_keyspace("stock")?, db.create_keyspace("orders")?);

    // Only the first of two sets a key: a lock, a sign-up, an id that must be unique.
    for teapots in [3, 9] {
        let mut batch = WriteBatch::new();
        batch.put(&stock, "teapot", teapots.to_string())?;
        let condition = Condition::absent(&stock, "teapot");
        match db.write_if([condition], batch, Durability::Sync)? {
            Outcome::Written(seq) => println!("{teapots} teapots, batch {seq}"),
            Outcome::Refused(refusals) => println!("refused: {refusals:?}"),
        }
    }

    // Five buyers, three teapots: each transaction runs again until nothing that it read has changed.
    let buy = |buyer: u64| {
        db.transact(Durability::Buffered, |tx| -> terrane::Result<bool> {
            let left = count(tx.get(&stock, "teapot")?);
            if left == 0 {
                return Ok(false);
            }
            tx.put(&stock, "teapot", (left - 1).to_string())?;
            // Orders are numbered without a gap, since a scan is validated as well.
            let last = tx.last(&orders, KeyRange::default())?;
            let next = number(last.map(|(key, _)| key)) + 1;
            tx.put(&orders, next.to_be_bytes(), buyer.to_be_bytes())?;
            Ok(true)
        })
    };
    let buy = &buy;
    let bought = thread::scope(|threads| {
        let buyers: Vec<_> = (0..5).map(|buyer| threads.spawn(move || buy(buyer))).collect();
        buyers.into_iter().map(|buyer| buyer.join()).collect::<Vec<_>>()
    });
    let bought = bought.iter().filter(|bought| matches!(bought, Ok(Ok(true)))).count();
    let mut numbers = Vec::new();
    for row in orders.scan(..)? {
        numbers.push(number(Some(row?.0)));
    }
    println!("{bought} teapots were bought, in the orders {numbers:?}");
    assert_eq!((bought, numbers), (3, vec![1, 2, 3]));
    Ok(())
}
