//! Moves money between accounts in batches, beside a reader that adds it all up in snapshots: it
//! never sees a transfer by half. `cargo run --example batches_and_snapshots`.

use std::error::Error;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use terrane::{Db, Durability, Keyspace, Options, Result, Snapshot, WriteBatch};

const ACCOUNTS: u64 = 10;
const EACH: u64 = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let db = Db::open(dir.path().join("bank"), Options::default())?;
    let (accounts, history) = (db.create_keyspace("accounts")?, db.create_keyspace("history")?);
    for account in 0..ACCOUNTS {
        accounts.put(account.to_be_bytes(), EACH.to_be_bytes(), Durability::Buffered)?;
    }

    let done = AtomicBool::new(false);
    thread::scope(|threads| -> Result<()> {
        let reader = threads.spawn(|| -> Result<u64> {
            let mut sums = 0;
            while !done.load(Ordering::Relaxed) {
                assert_eq!(sum(&db.snapshot(), &accounts)?, ACCOUNTS * EACH);
                sums += 1;
            }
            Ok(sums)
        });
        let written = (0..2000).try_for_each(|n| transfer(&db, &accounts, &history, n));
        done.store(true, Ordering::Relaxed);
        written?;
        let sums = reader.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        println!("2000 transfers; {sums} snapshots, each with the same sum");
        Ok(())
    })?;
    assert_eq!(history.scan(..)?.count(), 2000);
    db.close()?;
    Ok(())
}

/// One transfer: both accounts and a line of history, or, after a crash, none of them.
fn transfer(db: &Db, accounts: &Keyspace, history: &Keyspace, n: u64) -> Result<()> {
    let (from, to) = (n % ACCOUNTS, (n * 7 + 1) % ACCOUNTS);
    let amount = balance(accounts.get(from.to_be_bytes())?).min(n % 50);
    let mut batch = WriteBatch::new();
    if from != to {
        let [left, right] = [from, to].map(|account| accounts.get(account.to_be_bytes()));
        batch.put(accounts, from.to_be_bytes(), (balance(left?) - amount).to_be_bytes())?;
        batch.put(accounts, to.to_be_bytes(), (balance(right?) + amount).to_be_bytes())?;
    }
    batch.put(history, n.to_be_bytes(), format!("{amount} from {from} to {to}"))?;
    db.write(batch, Durability::Buffered)?;
    Ok(())
}

/// Returns the total of all accounts at the moment of the snapshot.
fn sum(snapshot: &Snapshot, accounts: &Keyspace) -> Result<u64> {
    snapshot.scan(accounts, ..)?.map(|row| Ok(balance(Some(row?.1)))).sum()
}

fn balance(bytes: Option<Vec<u8>>) -> u64 {
    bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes)
}
