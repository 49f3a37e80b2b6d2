//! Reads beside the writes of figure 13, on a device whose writes hold reads up.

use super::drive::{Drive, MACHINE, Machine, TOTAL, Updates};
use super::flash::{self, FULL, LARGE, PARTIAL, SMALL, SPOOKY};
use crate::figure::Figure;
use crate::{PapersError, Scale};
use terrane_sim::Kind;

/// Thousands of reads a second, of one client that has nothing else to do.
pub const READS: &str = "thousand reads a second";
/// Thousands of updates a second, of the client beside it.
pub const UPDATES: &str = "thousand updates a second";
/// Mean latency of a read, in microseconds.
pub const MEAN: &str = "us a read, mean";
/// 99.9th percentile of a read's latency, in microseconds.
pub const TAIL: &str = "99.9 %";

/// The kinds of reads.
pub const KINDS: [(&str, Kind); 2] = [("point reads", Kind::Read), ("seeks", Kind::Scan)];

/// The devices: whether writes hold reads up, and for how long a die writes a page, in microseconds.
pub const DEVICES: [(&str, f64); 2] = [(FREE, 0.0), (HELD, 1000.0)];
/// A device whose writes hold no reads up.
pub const FREE: &str = "reads share bandwidth alone";
/// A device whose writes hold reads up.
pub const HELD: &str = "reads also wait for pages";

/// The case of a kind of reads, a device and a design.
#[must_use]
pub fn case(kind: &str, device: &str, design: &str) -> String {
    format!("{kind}, {device}, {design}")
}

/// The reads of figure 13 E, and figure 13 F.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let drive = flash::drive(scale, Updates::Uniform);
    let store = drive.store;
    let mut figure = Figure::new(
        "figure-13f",
        "Figure 13 E and F: reads beside the updates",
        "Spooky improves query performance significantly relative to partial merges, because there is less background \
         write-amp to impede queries. Full merges have the best throughput, with less data. The 99.9th percentile \
         shows that Spooky's throughput does not involve a sacrifice in stability.",
        format!(
            "{} Beside the client that updates, another reads: keys that are there, or a seek to one and its entry. Of \
             each kind on two devices. On the first a read shares the bandwidth with merges, and that is all. On the \
             second a die writes a page for 1000 us (assumed: what a page of TLC flash takes), a block is on a die \
             that writes with the probability of the share of recent time that writes took, garbage collection's \
             included, and then waits for what is left of the page (`program-micros` of the simulated device).",
            drive.setting(5)
        ),
    );
    let devices = if scale == Scale::Ci { &DEVICES[1..] } else { &DEVICES[..] };
    for (name, kind) in KINDS {
        for &(device, program_micros) in devices {
            for (design, policy, utilisation) in [
                (FULL, store.full(5), SMALL),
                (PARTIAL, store.partial(5, 1), LARGE),
                (SPOOKY, store.spooky(5, 2, 64), LARGE),
            ] {
                let case = case(name, device, design);
                progress(&format!("figure 13 F, {case}"));
                let machine = Machine { program_micros, ..MACHINE };
                let drive = Drive { beside: Some(kind), ..drive.on(machine) };
                let outcome = drive.run(&mut figure, &case, policy, utilisation)?;
                let Some(outcome) = outcome else { continue };
                let updates = &outcome.updates;
                let reads = (updates.gets + updates.scans) as f64;
                let all = updates.operations as f64;
                let thousands = |count: f64| count / updates.seconds * store.factor() / 1000.0;
                figure.found(&case, READS, thousands(reads));
                figure.found(&case, UPDATES, thousands(all - reads));
                if let Some(latency) = updates.latencies.get(&kind) {
                    figure.found(&case, MEAN, latency.mean * 1e6 / store.factor());
                    figure.found(&case, TAIL, latency.p999 * 1e6 / store.factor());
                }
                figure.found(&case, TOTAL, outcome.total());
            }
            let of = |design, what| figure.number(&case(name, device, design), what);
            if let (Some(partial), Some(spooky)) = (of(PARTIAL, READS), of(SPOOKY, READS)) {
                let over = case(name, device, "spooky over partial");
                figure.found(&over, READS, spooky / partial);
            }
        }
    }
    Ok(figure)
}
