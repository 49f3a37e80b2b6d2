//! Merges, a merge operator of one's own, a compaction filter, and a clock that the program sets.
//!
//! `cargo run --example merges_and_filters`

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use terrane::{Db, Durability, FilterDecision, Operand, Options};

/// Unites two comma-separated sets of words. It is associative, and its result is an operand as well: the store
/// combines operands before it knows the value.
fn united(older: &[u8], newer: &[u8]) -> Vec<u8> {
    let words: BTreeSet<_> =
        [older, newer].into_iter().flat_map(|w| w.split(|b| *b == b',')).collect();
    words.into_iter().collect::<Vec<_>>().join(&b',')
}

fn main() -> Result<(), Box<dyn Error>> {
    let place = tempfile::tempdir()?;
    // Milliseconds since 1970. A test sets the time so; without this the store reads the system's clock.
    let clock = Arc::new(AtomicU64::new(1_000_000));
    let (now, oldest_day) = (clock.clone(), Arc::new(AtomicU64::new(0)));
    let oldest = oldest_day.clone();
    let options = Options::default()
        .wall_clock(Arc::new(move || now.load(Ordering::Relaxed)))
        .merge_operator(Arc::new(united))
        .compaction_filter(Arc::new(move |keyspace, key, _value| {
            // Keys of the audit log start with the day.
            let day = key.first_chunk().map_or(u64::MAX, |day| u64::from_be_bytes(*day));
            if keyspace == "audit" && day < oldest.load(Ordering::Relaxed) {
                FilterDecision::Remove
            } else {
                FilterDecision::Keep
            }
        }));
    let db = Db::open(place.path().join("site"), options)?;

    // A keyspace takes merges of numbers, merges with the operator, or values that expire: one of these, for good.
    let (tags, sessions) = (db.create_keyspace("tags")?, db.create_keyspace("sessions")?);
    for words in ["rain", "wind,rain", "snow"] {
        tags.merge("2026-01", Operand::Custom(words.as_bytes()), Durability::Buffered)?;
    }
    assert_eq!(tags.get("2026-01")?, Some(b"rain,snow,wind".to_vec()));

    let minute = Duration::from_secs(60);
    sessions.put_expiring("ada", "token", minute, Durability::Buffered)?;
    clock.fetch_add(60_000, Ordering::Relaxed);
    assert_eq!(sessions.get("ada")?, None);

    // A counter does not expire. A rate limiter has the minute in the key, and deletes minutes that have passed.
    let requests = db.create_keyspace("requests")?;
    let request = |minute: u64| {
        let key = [&minute.to_be_bytes()[..], b"ada"].concat();
        requests.merge(&key, Operand::Add(1), Durability::Buffered)?;
        requests.get(key)
    };
    for (minute, count) in [(16, "1"), (16, "2"), (17, "1")] {
        assert_eq!(request(minute)?, Some(count.into()));
    }
    requests.delete_range(..17u64.to_be_bytes(), Durability::Buffered)?;
    assert_eq!(requests.scan(..)?.count(), 1);

    // Compactions remove what the filter no longer keeps. Until then a read may still find it.
    let audit = db.create_keyspace("audit")?;
    for day in 1..=3u64 {
        audit.put(day.to_be_bytes(), "signed in", Durability::Buffered)?;
    }
    oldest_day.store(3, Ordering::Relaxed);
    assert_eq!(audit.scan(..)?.count(), 3);
    audit.compact_range(..)?;
    assert_eq!(audit.scan(..)?.count(), 1);

    for keyspace in db.stats()?.keyspaces {
        println!("{:10} {}", keyspace.name, keyspace.values);
    }
    db.close()?;
    Ok(())
}
