//! Figure 5 again: what its orders depend on, one thing at a time.

use super::loads::writing_seconds;
use super::{Design, GLOBAL, GLOBAL_CUT, Machine, NONE, SIZE, setting, store};
use crate::figure::{Figure, Source};
use crate::scaled::simulate;
use crate::{PapersError, Scale};
use terrane_sim::Workload;

/// The time of a load by global-range over that of none.
pub const OVER_NONE: &str = "global-range over none";
/// The time of a load by global-range over that of size.
pub const OVER_SIZE: &str = "global-range over size";
/// Seconds of a load by each of the three.
const SECONDS: [&str; 3] = ["none, seconds", "size, seconds", "global-range, seconds"];

/// Cut flushes, and nothing that the paper has.
pub const NOTHING: &str = "none of the four";
/// All four.
pub const ALL: &str = "all four";

/// All four, over loads whose puts take 5 to 20 microseconds: which merges fall together is a matter of luck in each.
pub const MEAN: &str = "all four, 5 to 20 us a put";

/// A case: its name, whether flushes are whole, and the machine.
type Case = (&'static str, bool, fn(&mut Machine));

const NOTE: &str = "With all four the order is the paper's, and the lead of global-range is larger than there. One \
     compaction at a time alone makes it worse: cut flushes then lie in level 0 until the one \
     compaction is done, and each of the universal policy's is small. It takes whole flushes, of \
     which a compaction merges many, for the parts of old runs to be worth merging at once; and \
     memory, without which the storage is the bound of all three. How long a put takes decides how \
     many flushes wait when a compaction begins: at 2 us all three wait for the same merges of level \
     0 and end together.";

/// The switches, alone and together.
const CASES: [Case; 13] = [
    (NOTHING, false, |_| ()),
    ("whole flushes alone", true, |_| ()),
    ("one compaction at a time alone", false, |machine| machine.one_compaction = true),
    ("page cache alone", false, |machine| machine.page_cache = true),
    ("10 us a put alone", false, |machine| machine.put_micros = Machine::PAPER.put_micros),
    ("all but whole flushes", false, |machine| *machine = Machine::PAPER),
    ("all but one compaction at a time", true, |machine| {
        *machine = Machine { one_compaction: false, ..Machine::PAPER };
    }),
    ("all but the page cache", true, |machine| {
        *machine = Machine { page_cache: false, ..Machine::PAPER };
    }),
    ("all but 10 us a put", true, |machine| {
        *machine = Machine { put_micros: Machine::BARE.put_micros, ..Machine::PAPER };
    }),
    (ALL, true, |machine| *machine = Machine::PAPER),
    ("all four, but 5 us a put", true, |machine| put(machine, 5.0)),
    ("all four, but 15 us a put", true, |machine| put(machine, 15.0)),
    ("all four, but 20 us a put", true, |machine| put(machine, 20.0)),
];

fn compare(figure: &mut Figure, case: &str, [none, size, global]: [f64; 3]) {
    figure.beside(case, OVER_NONE, global / none, (Source::Derived, 0.92));
    figure.beside(case, OVER_SIZE, global / size, (Source::Derived, 0.87));
}

fn put(machine: &mut Machine, put_micros: f64) {
    *machine = Machine { put_micros, ..Machine::PAPER };
}

/// The time of a load, one switch at a time.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let (store, flushes) = store(scale);
    let mut figure = Figure::new(
        "switches",
        "Figure 5 again: one switch at a time",
        "Global-range is 8 % faster than none, 13 % faster than size, with whole flushes (section V-A), RocksDB's \
         defaults and 32 GB of memory.",
        format!(
            "{} 16 workers on 16 cores. Four things are switched, alone and together: whole flushes for \
             cut ones of global-range, one compaction at a time for as many as universal plans, a page cache for \
             none, and {} us a put for {}. What a put takes is assumed; the last cases have other times.",
            setting(store, flushes),
            Machine::PAPER.put_micros,
            Machine::BARE.put_micros,
        ),
    );
    let mut sums = [0.0; 3];
    for (case, whole, change) in CASES {
        let mut machine = Machine::BARE;
        change(&mut machine);
        let global = if whole { GLOBAL } else { GLOBAL_CUT };
        let mut seconds = [0.0; 3];
        for ((design, measure), seconds) in
            [NONE, SIZE, global].into_iter().zip(SECONDS).zip(&mut seconds)
        {
            progress(&format!("switches, {case}, {}", design.name));
            *seconds = load(scale, design, machine)?;
            figure.found(case, measure, *seconds);
        }
        compare(&mut figure, case, seconds);
        if case.starts_with(ALL) {
            sums.iter_mut().zip(seconds).for_each(|(sum, seconds)| *sum += seconds);
        }
    }
    compare(&mut figure, MEAN, sums);
    figure.notes.push(NOTE.to_owned());
    Ok(figure)
}

/// Seconds of a load by a design on a machine.
fn load(scale: Scale, design: Design, machine: Machine) -> Result<f64, PapersError> {
    let (store, flushes) = store(scale);
    let workload = Workload { load: flushes * store.buffer_entries, ..Workload::default() };
    let report = simulate(design.name, machine.set(scale, design.bare(scale, workload, 16)))?;
    Ok(writing_seconds(&report))
}
