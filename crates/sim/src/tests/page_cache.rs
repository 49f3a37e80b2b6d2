//! Reads that the operating system serves from memory.

use super::*;

/// Two runs of 1000 bytes that are merged once; only reading takes time, a second per thousand bytes.
fn merge_seconds(page_cache_bytes: u64) -> f64 {
    let tiered = r#"{"policy": "tiered", "size-ratio": 2, "level-base-bytes": 1024}"#;
    let workload = Workload { load: 20, ..Workload::default() };
    let mut config = small(policy(tiered), workload);
    (config.buffer_bytes, config.page_cache_bytes) = (1000, page_cache_bytes);
    config.device.read_speed = 1000.0;
    config.device.write_micros = 0.0;
    let report = run(config).report().whole;
    assert_eq!(report.merge_read_bytes, 2000);
    report.seconds
}

#[test]
fn a_merge_reads_from_the_device_what_no_page_holds() {
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-4, "{found}");
    close(merge_seconds(0), 2.0);
    // A table takes three pages of 400 bytes. Where there is room for one table, it is the second.
    close(merge_seconds(3 * 400), 1.0);
    close(merge_seconds(6 * 400), 0.0);
}

#[test]
fn clients_find_pages_that_were_written_and_not_removed() {
    let read = |page_cache_bytes| {
        let clients = Clients { mix: Mix { read: 1.0, ..Mix::default() }, ..Clients::default() };
        let mut workload = Workload::then(5000, 1000, clients);
        workload.phases.iter_mut().for_each(|phase| phase.wait_until_idle = true);
        let config = small(policy(r#"{"policy": "leveled"}"#).sized(6000, 3000), workload);
        let report = run(Config { page_cache_bytes, ..config }).report();
        phase(&report, "operations").read_ios_per_get
    };
    assert!(read(0) >= 1.0);
    // The store and what its last merge replaced are there at once.
    assert_eq!(read(3 * 5000 * 100), 0.0);
    let half = read(5000 * 100 / 2);
    assert!(0.2 < half && half < 0.8, "{half}");
}
