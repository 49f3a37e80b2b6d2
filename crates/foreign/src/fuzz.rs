//! A fuzz target: bytes as a MANIFEST, as one record of it, and as an OPTIONS file.

use crate::edit::{Dialect, Edit};
use crate::history::Line;
use crate::log::{Records, frame};
use crate::manifest::{Manifest, is_manifest};
use terrane_policy::event::Event;

/// Reads bytes as each of these.
///
/// # Panics
/// If what is read is more than the bytes justify, or differs where it should not.
#[doc(hidden)]
pub fn fuzz(bytes: &[u8]) {
    let _ = is_manifest(bytes);
    whole(bytes);
    // Its checksums hold, so that the fields of its records are reached.
    whole(&frame([bytes]));
    let record = frame([bytes]);
    let found = Records::new(&record).next();
    assert_eq!(found.ok().flatten().as_deref(), Some(bytes));
    for dialect in [Dialect::RocksDb, Dialect::Pebble] {
        if let Ok(edit) = Edit::decode(bytes, dialect) {
            let keys = edit.added.iter().map(|added| added.smallest.len() + added.largest.len());
            // A table takes five bytes at least, and a key its sequence number.
            assert!(keys.sum::<usize>() + 5 * edit.added.len() <= bytes.len());
        }
    }
    let _ = crate::policy(&String::from_utf8_lossy(bytes), "default");
}

fn whole(bytes: &[u8]) {
    let Ok(manifest) = Manifest::read(bytes) else { return };
    for family in manifest.families() {
        let history = manifest.history(&family, None);
        let mut tables = 0;
        let mut before = 0;
        for line in &history.lines {
            let Line::Event { micros, event } = line else { continue };
            assert!(*micros >= before, "the events are in the order of their times");
            before = *micros;
            match event {
                Event::Flushed { tables: new, .. } => tables += new.len(),
                Event::GroupInstalled { outputs, .. } => tables += outputs.len(),
                _ => {}
            }
        }
        assert!(tables <= bytes.len());
    }
}
