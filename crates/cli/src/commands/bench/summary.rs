//! Policies side by side: of each what it wrote and took, and how fast it was, in one row.

use super::args::Benchmark;
use super::measure::Report;

/// The columns, with their widths.
const HEAD: [(&str, usize); 10] = [
    ("policy", 20),
    ("writes/s", 10),
    ("write amp", 11),
    ("gets/s", 10),
    ("blocks/get", 12),
    ("scans/s", 10),
    ("blocks/scan", 13),
    ("runs", 6),
    ("space amp", 11),
    ("peak", 7),
];

/// The table, if there are several policies. Writes are those of the last benchmark that writes; runs
/// and space are what it left.
pub fn table(reports: &[Report]) -> Vec<String> {
    let mut policies: Vec<&str> = reports.iter().map(|report| report.policy.as_str()).collect();
    policies.dedup();
    if policies.len() < 2 {
        return Vec::new();
    }
    let head = HEAD.map(|(name, width)| format!("{name:>width$}")).concat();
    let rows = policies.into_iter().map(|policy| {
        let of = |is: fn(&Report) -> bool| {
            reports.iter().rfind(|report| report.policy == policy && is(report))
        };
        row(
            policy,
            of(|r| r.benchmark.writes()),
            of(|r| r.benchmark == Benchmark::ReadRandom),
            of(|r| r.benchmark == Benchmark::SeekRandom),
        )
    });
    [String::new(), head].into_iter().chain(rows).collect()
}

fn row(
    policy: &str,
    writes: Option<&Report>,
    gets: Option<&Report>,
    scans: Option<&Report>,
) -> String {
    let shown =
        |figure: Option<f64>, digits| figure.map_or("-".into(), |f| format!("{f:.digits$}"));
    let speed = |report: Option<&Report>| shown(report.map(|r| r.operations_per_second), 0);
    let of = |report: Option<&Report>, figure: fn(&Report) -> Option<f64>| {
        shown(report.and_then(figure), 2)
    };
    let cells = [
        policy.to_owned(),
        speed(writes),
        of(writes, |r| r.write_amplification),
        speed(gets),
        of(gets, |r| r.read_amplification),
        speed(scans),
        of(scans, |r| r.read_amplification),
        writes.map_or("-".into(), |r| r.runs.to_string()),
        of(writes, |r| r.space_amplification),
        of(writes, |r| r.space_amplification_peak),
    ];
    cells.iter().zip(HEAD).map(|(cell, (_, width))| format!("{cell:>width$}")).collect()
}
