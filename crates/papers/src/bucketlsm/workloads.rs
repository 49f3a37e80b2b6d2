//! Figures 11, 12 and 14: the five workloads.

use super::{
    DESIGNS, Design, LEVEL0, PARTS, RATE, STALLS, THREADS, measure, ratio, ratios, run, setting,
    store, workload,
};
use crate::figure::{Figure, Source};
use crate::{PapersError, Scale};
use terrane_sim::Kind;

/// A point read.
pub const GET: &str = "microseconds a get";
/// A range read.
pub const SCAN: &str = "microseconds a scan";

/// The workloads, as the simulator names them.
pub const WORKLOADS: [&str; 5] = ["fillrandom", "mixgraph1", "mixgraph2", "ycsb-get", "ycsb-scan"];

/// Designs that are simulated beside the paper's where ranges shift: parts as uneven as the paper's leave a
/// merge to few of its workers, and a hot bucket is hardly ever without tables.
pub const SHIFTING: [Design; 2] = [Design::Subcompaction(2), Design::Early(THREADS as u64)];

/// The name of a case.
#[must_use]
pub fn case(workload: &str, design: Design) -> String {
    format!("{workload}, {}", design.name())
}

/// Throughput, stalls and latencies.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let (store, flushes) = store(scale);
    let mut figure = Figure::new(
        "figures-11-12-14",
        "Figures 11, 12 and 14: throughput, stalls and latencies by workload",
        "Fillrandom: 1.94 times the baseline's throughput and 1.43 times subcompaction's; stalls -73.3 %, \
         -60.7 %, and -61.1 % of pipelined's. Mixgraph1: 2.60 and 1.75 times; stalls -94 %, those of level 0 \
         -96 %. Mixgraph2: alike. Ycsb-get: 1.11 times subcompaction's, ycsb-scan 1.05 times. Gets \
         are faster than the baseline's, whose scans are the fastest, as less goes on beside them.",
        format!(
            "{} Mixgraph1 and 2 put into 10, 20, 30, 40 and 50 ranges in turn, of which one takes three \
             quarters, by one client. The other two have half as many operations, by 80 clients, after a load of the \
             other half.",
            setting(store, flushes)
        ),
    );
    for name in WORKLOADS {
        let flushes = if name.starts_with("ycsb") { flushes / 2 } else { flushes };
        let shifting = name == "mixgraph1";
        let others = if shifting { SHIFTING.as_slice() } else { &[] };
        for &design in DESIGNS.iter().chain(others) {
            let case = case(name, design);
            progress(&format!("figures 11 to 14, {case}"));
            // Reads of the paper's buckets look into the files of one bucket alone.
            let mut config = design.config(store, workload(name, store, flushes));
            config.lazy_scans = true;
            let (found, _) = run(&case, config)?;
            measure(&mut figure, &case, &found, store);
            for (measure, kind) in [(GET, Kind::Read), (SCAN, Kind::Scan)] {
                if let Some(latency) = found.latencies.get(&kind) {
                    figure.found(&case, measure, latency.mean * 1e6 / store.factor());
                }
            }
        }
        let bucket = Design::Buckets(THREADS as u64);
        ratios(
            &mut figure,
            &|design| case(name, design),
            bucket,
            &[RATE, STALLS, LEVEL0, GET, SCAN],
        );
        if shifting {
            let [uneven, early] = SHIFTING;
            for (of, other) in [(bucket, uneven), (early, Design::Subcompaction(PARTS))] {
                ratio(&mut figure, &|design| case(name, design), (of, other), RATE);
            }
        }
    }
    let stated = [
        ("fillrandom", "baseline", RATE, 1.94),
        ("fillrandom", "subcompaction, 8", RATE, 1.43),
        ("fillrandom", "baseline", STALLS, 1.0 - 0.733),
        ("fillrandom", "subcompaction, 8", STALLS, 1.0 - 0.607),
        ("fillrandom", "pipelined", STALLS, 1.0 - 0.611),
        ("mixgraph1", "baseline", RATE, 2.60),
        ("mixgraph1", "subcompaction, 8", RATE, 1.75),
        ("mixgraph1", "baseline", STALLS, 1.0 - 0.94),
        ("mixgraph1", "baseline", LEVEL0, 1.0 - 0.96),
        ("ycsb-get", "subcompaction, 8", RATE, 1.11),
        ("ycsb-scan", "subcompaction, 8", RATE, 1.05),
    ];
    for (workload, other, measure, ratio) in stated {
        let of = case(workload, Design::Buckets(THREADS as u64));
        // Of stalls the paper states by how much there are fewer.
        let source = if measure == RATE { Source::Measured } else { Source::Derived };
        figure.compare(&format!("{of} over {other}"), measure, (source, ratio));
    }
    figure.notes.push(
        "Under shifting ranges buckets are ahead of one task and behind subcompaction. Three quarters of the keys lie \
         in one range, which buckets come to share by one split after another; until they do, its merges are few \
         tasks. If buckets are also split while they hold tables of level 0, they are nearer to subcompaction. With \
         two parts, which eight uneven ones may amount to, subcompaction is no faster than buckets."
            .to_owned(),
    );
    figure.notes.push(
        "Scans fetch only from the files of their bucket, as the paper's and the engine's do. If a scan fetched a \
         block of each run, mixgraph2 would have half as many operations a second under buckets as under \
         subcompaction, and ycsb-scan as many (last section): each bucket keeps up to three tables in level 0, of \
         up to 36 flushes. With 80 clients writes stall in ycsb-get under all designs, and in ycsb-scan under the \
         baseline and pipelined, where the paper's hardly do; what that means for gets and scans is in the last \
         two sections."
            .to_owned(),
    );
    let names = DESIGNS.map(Design::name);
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    figure.draw_bars(RATE, &WORKLOADS, &names);
    figure.draw_bars(STALLS, &WORKLOADS, &names);
    Ok(figure)
}
