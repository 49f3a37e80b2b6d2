//! Operations in slices: between two of them the clock stands, progress is shown, and a Ctrl-C is heard.

use crate::exit::Failure;
use crate::interrupt;
use crate::meter::Meter;
use std::time::Duration;
use terrane_measure::{Pace, Timed, Worker};
use terrane_workload::Operation;

/// Operations between two looks at the terminal.
const SLICE: u64 = 1 << 14;

/// Runs `count` operations, each with the stamp of the value that it writes, under the name `name`. Reports each to
/// `ended`, with the time that all have taken by then. Returns that of the last.
pub fn run(
    worker: &mut Worker<Failure>,
    name: &str,
    count: u64,
    mut operations: impl Iterator<Item = (Operation, u64)>,
    mut ended: impl FnMut(Timed),
) -> Result<Duration, Failure> {
    let mut meter = Meter::new(Some(count));
    let (mut done, mut busy) = (0, Duration::ZERO);
    while done < count {
        let slice = (count - done).min(SLICE);
        let timed = |timed: Timed| {
            ended(Timed { ended: busy + timed.ended, ..timed });
            Ok(())
        };
        let (ran, time) = worker.run(Pace::closed(), slice, &mut operations, timed)?;
        done += ran;
        busy += time;
        if ran < slice {
            break;
        }
        meter.show(done, || format!("{name}: {done} of {count}"));
        interrupt::check()?;
    }
    Ok(busy)
}
