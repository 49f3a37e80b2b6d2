//! Figure 9 again: costs with the larger memory, and storage whose writes hold reads up.

use super::designs::{
    HORIZONTAL_TIERING, ROCKSDB_TUNED, UNIVERSAL, VERTICAL_LEVELING_PARTIAL, VERTICAL_TIERING_FULL,
    VERTICAL_TIERING_PARTIAL, VERTIORIZON, VERTIORIZON_TIERING,
};
use super::large::{self, add_case, case};
use super::setting::Setting;
use crate::figure::Figure;
use crate::{PapersError, Scale};

/// Part b, where Vertiorizon is tuned by costs.
pub const AMPLE: &str = "64 GB, 20 bits, tuned by costs";
/// Storage whose writes hold reads up, with one thread that merges.
pub const HELD: &str = "reads wait for pages";
/// The same with four threads that merge.
pub const THREADS: &str = "reads wait for pages, 4 threads";

/// Cases, with the threads that merge.
const CASES: [(&str, usize); 2] = [(HELD, 1), (THREADS, 4)];

/// A page of TLC flash; assumed.
const PROGRAM_MICROS: f64 = 1000.0;

/// The designs that waits for merges do not slow down in part a; Vertiorizon is tuned by costs.
pub const DESIGNS: [&str; 8] = [
    VERTICAL_LEVELING_PARTIAL,
    ROCKSDB_TUNED,
    VERTICAL_TIERING_PARTIAL,
    VERTICAL_TIERING_FULL,
    HORIZONTAL_TIERING,
    UNIVERSAL,
    VERTIORIZON_TIERING,
    VERTIORIZON,
];

/// Figure 9 again.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let setting = large::setting(scale);
    let mut figure = Figure::new(
        "figure-9-held",
        "Figure 9 again: costs with the larger memory, and writes that hold reads up",
        "Vertiorizon has the highest mean throughput with a cache of 32 MB and filters of 10 bits (part a), and with \
         64 GB and 20 bits (part b).",
        format!(
            "As figure 9, {}. Vertiorizon is tuned by costs, its parts both. First with the memory of part b; then \
             with that of part a on storage whose dies write a page for {PROGRAM_MICROS} us (assumed) and serve no \
             reads meanwhile, with one thread that merges and with four.",
            setting.description()
        ),
    );
    let mut add = |condition: &str, design: &'static str, setting: Setting| {
        progress(&format!("figure 9 again, {}", case(condition, design)));
        let setting = Setting { costs: design == VERTIORIZON, ..setting };
        add_case(&mut figure, condition, design, setting)
    };
    add(AMPLE, VERTIORIZON, setting.with_memory(64 << 30, 20.0))?;
    // Tests read the others from the published report.
    let cases = if scale == Scale::Ci { &CASES[..0] } else { &CASES[..] };
    for &(condition, threads) in cases {
        let setting = setting.with_memory(32 << 20, 10.0);
        let setting = Setting { threads, program_micros: PROGRAM_MICROS, ..setting };
        DESIGNS.into_iter().try_for_each(|design| add(condition, design, setting))?;
    }
    Ok(figure)
}
