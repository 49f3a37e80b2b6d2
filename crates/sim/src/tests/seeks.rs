//! Compactions of tables that lookups go on past.

use super::*;
use terrane_policy::PolicyOptions;

/// Level by level, file by file and whole levels at a time.
const POLICIES: [&str; 2] = [
    r#"{"policy": "leveled", "level-base-bytes": 6000, "target-file-bytes": 3000}"#,
    r#"{"policy": "leveled-full", "level-base-bytes": 6000, "preemptive": false}"#,
];

/// A load, then two phases of this many reads, of which the second starts at rest.
fn reads(options: PolicyOptions, reads: u64, seeks: Option<Seeks>) -> Report {
    let clients = Clients { mix: Mix { read: 1.0, ..Mix::default() }, ..Clients::default() };
    let mut workload = Workload::then(5000, reads, clients);
    let mut second = workload.phases[0].clone();
    "second".clone_into(&mut second.name);
    workload.phases.push(second);
    workload.phases.iter_mut().for_each(|phase| phase.wait_until_idle = true);
    run(Config { seeks, ..small(options, workload) }).report()
}

fn asked(figures: &Figures) -> u64 {
    figures.by_level.iter().map(|level| level.lookups).sum()
}

#[test]
fn tables_go_down_until_no_lookup_passes_one() {
    for json in POLICIES {
        let seeks = Seeks { bytes: 1000, least: 1, target_file_bytes: 3000 };
        let found = reads(policy(json), 20_000, Some(seeks));
        let [first, second] = ["operations", "second"].map(|name| phase(&found, name));
        assert!(first.merge_written_bytes > 0, "{json}");
        assert_eq!((asked(&second), second.merge_written_bytes), (second.gets, 0), "{json}");
        let without = reads(policy(json), 20_000, None);
        let [first, second] = ["operations", "second"].map(|name| phase(&without, name));
        assert_eq!((first.merge_written_bytes, second.merge_written_bytes), (0, 0), "{json}");
        assert!(asked(&second) > second.gets, "{json}");
    }
}

#[test]
fn no_table_goes_down_before_as_many_lookups_as_it_allows() {
    for json in POLICIES {
        let merged = |gets| {
            let seeks = Seeks { bytes: 1 << 40, least: 100, target_file_bytes: 3000 };
            let found = reads(policy(json), gets, Some(seeks));
            phase(&found, "operations").merge_written_bytes
        };
        assert_eq!(merged(99), 0, "{json}");
        assert!(merged(20_000) > 0, "{json}");
    }
}
