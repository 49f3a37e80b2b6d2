//! `compact`: a keyspace, or a range of it, becomes one run.

use crate::args::CompactArgs;
use crate::exit::Failure;
use crate::meter::Meter;
use crate::{output, store};
use indicatif::{DecimalBytes, HumanBytes};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use terrane::{Event, Options};

/// Compacts, and says what is left.
pub fn run(args: &CompactArgs) -> Result<(), Failure> {
    let range = args.within.range()?;
    let meter = Arc::new(Mutex::new(Meter::new(Some(100))));
    let listener = Some(listener(meter.clone()));
    let options = Options { create: false, listener, ..Options::default() };
    let db = store::open(&args.at.dir, options)?;
    let keyspace = store::keyspace(&db, &args.at)?;
    let started = Instant::now();
    db.flush()?;
    let before = keyspace.shape()?.bytes();
    keyspace.compact_range(&range)?;
    let after = keyspace.shape()?.bytes();
    // Files that nothing needs any more go now, not when the store is opened next.
    db.settle()?;
    db.close()?;
    let seconds = started.elapsed().as_secs_f64();
    let (before, after) = (HumanBytes(before), HumanBytes(after));
    meter.lock().unwrap_or_else(PoisonError::into_inner).clear();
    output::say(&format!("compacted {before} of tables into {after} in {seconds:.1} s"));
    Ok(())
}

/// Shows how far each merge is.
fn listener(meter: Arc<Mutex<Meter>>) -> terrane::event::Listener {
    Arc::new(move |event| {
        if let Event::MergeProgress { read_bytes, total_bytes, .. } = event {
            let (read, total) = (*read_bytes, *total_bytes);
            let percent = read.saturating_mul(100) / total.max(1);
            let words = || format!("merged {} of {}", DecimalBytes(read), DecimalBytes(total));
            meter.lock().unwrap_or_else(PoisonError::into_inner).show(percent, words);
        }
    })
}
