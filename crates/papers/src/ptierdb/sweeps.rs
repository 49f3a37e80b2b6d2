//! Parameters that the paper does not state: prefixes and read limits. And prefixes that are
//! uneven.

use super::{config, ptier, scaled, setting, store};
use crate::figure::{Figure, Plot};
use crate::scaled::{Scaled, UNBOUNDED, simulate, tables_a_read};
use crate::{PapersError, Scale};
use terrane_policy::{PTier, PolicyOptions};
use terrane_sim::{Choice, Clients, KeyPrefixes, Mix, Phase, Workload};

/// Bytes of tables written for each byte of the user's.
pub const WRITES: &str = "write amplification";
/// Bytes of tables at the end, over those of the live entries.
pub const SPACE: &str = "space amplification";
/// Tables whose filter a read asks.
pub const TABLES: &str = "tables a read";

/// Numbers of prefixes.
#[must_use]
pub fn counts(scale: Scale) -> &'static [u64] {
    match scale {
        Scale::Ci => &[1, 8, 64, 256, 4096],
        Scale::Full => &[1, 4, 16, 64, 256, 1024, 4096, 16384],
    }
}

/// Read limits; the last is never met.
#[must_use]
pub fn limits(scale: Scale) -> &'static [u64] {
    match scale {
        Scale::Ci => &[8, 1 << 50],
        Scale::Full => &[4, 16, 64, 256, 1024, 4096, 1 << 50],
    }
}

/// A load, then half updates and half reads.
fn workload(load: u64, prefixes: KeyPrefixes) -> Workload {
    let clients = Clients {
        mix: Mix { read: 0.5, update: 0.5, ..Mix::default() },
        choice: Choice::Zipf { exponent: 0.99, move_every: 0 },
        ..Clients::default()
    };
    let phase = Phase { operations: 2 * load, clients: vec![clients], ..Phase::default() };
    Workload { load, prefixes: Some(prefixes), phases: vec![phase], ..Workload::default() }
}

fn measure(
    figure: &mut Figure,
    (case, store): (&str, Scaled),
    policy: PTier,
    prefixes: KeyPrefixes,
) -> Result<(), PapersError> {
    let load = scaled(store, 100_000_000);
    let policy = PolicyOptions::PTier(policy);
    let report = simulate(case, config(store, policy, workload(load, prefixes)))?;
    figure.found(case, WRITES, report.whole.write_amp.unwrap_or(0.0));
    let bytes: u64 = report.levels.iter().map(|level| level.bytes).sum();
    figure.found(case, SPACE, bytes as f64 / report.whole.logical_bytes.max(1) as f64);
    let phase = report.phases.iter().find(|phase| phase.name == "operations");
    figure.found(case, TABLES, phase.map_or(0.0, |phase| tables_a_read(&phase.figures)));
    Ok(())
}

const OF: &str =
    "A load of 100 M, then as many updates and as many reads, by Zipf's law of exponent 0.99.";

/// The number of prefixes, which is what the length of a prefix decides.
///
/// # Errors
/// A simulation that failed.
pub fn prefixes(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let store = store(scale, 116);
    let mut figure = Figure::new(
        "prefixes",
        "Prefixes",
        "The paper states no prefix length. A longer prefix makes more prefixes of the same keys.",
        format!("{} {OF} The number of prefixes is what varies.", setting(scale, store)),
    );
    let mut plot = Plot { x: "prefixes", y: WRITES, curves: Vec::new() };
    for &count in counts(scale) {
        let case = format!("prefixes: {count}");
        progress(&format!("prefixes, {case}"));
        let prefixes = KeyPrefixes { count, exponent: 0.0 };
        measure(&mut figure, (&case, store), ptier(scale, store), prefixes)?;
        if let Some(writes) = figure.number(&case, WRITES) {
            plot.point("ptier", (count as f64, writes));
        }
    }
    figure.plots.push(plot);
    Ok(figure)
}

/// The read limit.
///
/// # Errors
/// A simulation that failed.
pub fn read_limit(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let store = store(scale, 116);
    let mut figure = Figure::new(
        "read-limit",
        "Read limits",
        "The paper states no read limit. It trades write amplification for cheaper reads and for space.",
        format!("{} {OF} The read limit is what varies.", setting(scale, store)),
    );
    for &read_limit in limits(scale) {
        let case = limit_case(read_limit);
        progress(&format!("read limit, {case}"));
        let policy = PTier { read_limit, ..ptier(scale, store) };
        let prefixes = KeyPrefixes { count: super::PREFIXES, exponent: 0.0 };
        measure(&mut figure, (&case, store), policy, prefixes)?;
    }
    Ok(figure)
}

/// A read limit.
#[must_use]
pub fn limit_case(read_limit: u64) -> String {
    if read_limit == 1 << 50 { "no limit".to_owned() } else { format!("limit {read_limit}") }
}

/// Number of uneven prefixes.
const UNEVEN: u64 = 64;

/// Uneven prefixes, with the split and without.
pub const SPLITS: [&str; 2] = ["split", "no split"];

/// Prefixes of which few have most keys, with the split between them and without it.
///
/// # Errors
/// A simulation that failed.
pub fn uneven(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let store = store(scale, 116);
    let mut figure = Figure::new(
        "uneven-prefixes",
        "Uneven prefixes",
        "Tables that hold one prefix overlap few others, and are moved rather than merged.",
        format!(
            "{} {OF} The k-th of {UNEVEN} prefixes has a share in proportion to 1/k; without the split, a merge \
             makes one table.",
            setting(scale, store)
        ),
    );
    for name in SPLITS {
        progress(&format!("uneven prefixes, {name}"));
        let policy = match name == SPLITS[0] {
            true => ptier(scale, store),
            false => PTier {
                split_bytes: UNBOUNDED,
                target_file_bytes: UNBOUNDED,
                ..ptier(scale, store)
            },
        };
        let prefixes = KeyPrefixes { count: UNEVEN, exponent: 1.0 };
        measure(&mut figure, (name, store), policy, prefixes)?;
    }
    Ok(figure)
}
