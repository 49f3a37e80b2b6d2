//! Time on machines so simple that it can be predicted.

use super::*;
use std::cell::Cell;
use std::rc::Rc;

/// Only writing costs time: a second per thousand bytes.
fn slow(policy_json: &str, entries: u64) -> Config {
    let workload = Workload { load: entries, ..Workload::default() };
    let mut config = small(policy(policy_json), workload);
    config.buffer_bytes = 1000;
    config.device.write_speed = 1000.0;
    config.device.write_micros = 1.0;
    config.max_immutable_memtables = 1;
    config
}

/// Equal up to the microseconds of the writes themselves.
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-4, "{found}, expected {expected}");
}

const NEVER: &str = r#"{"policy": "tiered", "size-ratio": 64, "level-base-bytes": 1024}"#;

#[test]
fn a_write_waits_for_the_flush_before_it_and_no_longer() {
    // Ten entries fill a buffer, and its flush takes a second: each buffer but the last is waited
    // for.
    let report = run(slow(NEVER, 80)).report().whole;
    close(report.stall_seconds.memtables, 7.0);
    close(report.stall_seconds.level0, 0.0);
    assert_eq!((report.flushes, report.runs_max, report.merge_read_bytes), (8, 8, 0));
    // With room for two, the first wait is for one of two.
    let report = run(Config { max_immutable_memtables: 2, ..slow(NEVER, 80) }).report().whole;
    close(report.stall_seconds.memtables, 6.0);
}

#[test]
fn a_write_stalls_on_a_full_level_0_while_the_worker_merges() {
    // Two runs of 1000 bytes are read and merged at a millisecond a byte; what else there is takes
    // no time. The third buffer fills at once, and waits.
    let mut config = slow(r#"{"policy": "tiered", "size-ratio": 2, "level-base-bytes": 1024}"#, 30);
    config.device.write_speed = 1e15;
    config.device.merge_nanos_per_byte = 1e6;
    config.l0_stop_trigger = 2;
    config.workers = 1;
    // Flushes take a second, of 1000 bytes; merges two, of the 2000 that they read.
    let report = run(config.clone()).report();
    let whole = &report.whole;
    close(whole.stall_seconds.memtables, 2.0);
    close(whole.stall_seconds.level0, 2.0);
    assert_eq!((whole.merge_read_bytes, whole.merge_written_bytes), (2000, 2000));
    let merges = whole.merge_seconds.unwrap();
    assert_eq!(merges.count, 1);
    close(merges.max, 2.0);
    close(whole.seconds, 5.0);
    close(whole.worker_utilisation, 2.0 / 5.0);
    close(whole.device_utilisation, 0.0);
    close(whole.cores_busy_mean, 1.0);
    // While it lasts, the merge's inputs and its outputs are there.
    assert_eq!(whole.store_bytes_peak, 4000);
    assert_eq!(whole.files_max, 3);
    let two = run(Config { workers: 2, ..config }).report().whole;
    close(two.worker_utilisation, 1.0 / 5.0);
}

#[test]
fn jobs_share_the_device_and_its_bytes_take_their_time() {
    let mut config = small(all_small().remove(0), Workload { load: 5000, ..Workload::default() });
    config.device = Device { read_speed: 1e5, write_speed: 5e4, ..config.device };
    let report = run(config).report().whole;
    let written = (report.flushed_bytes + report.merge_written_bytes) as f64 / 5e4;
    let device = written + report.merge_read_bytes as f64 / 1e5;
    // It is sometimes idle, and never does two things at once.
    assert!(report.seconds >= device && report.seconds < 1.3 * device, "{report:?} {device}");
}

#[test]
fn parallel_groups_end_sooner_on_more_workers() {
    let ends = |workers| {
        let workload = updates(3000, 3000, Choice::Uniform);
        let leveled =
            r#"{"policy": "leveled", "level-base-bytes": 6000, "target-file-bytes": 1500}"#;
        let mut config = small(policy(leveled), workload);
        config.device.merge_nanos_per_byte = 1e4;
        config.workers = workers;
        run(config).report().whole.seconds
    };
    let (one, four) = (ends(1), ends(4));
    assert!(four < 0.8 * one, "{one} s on one, {four} s on four");
}

/// A merge of two runs of 100 entries, at a millisecond a byte: 20 seconds for one worker.
fn merge_of_two_runs(workers: usize, subcompactions: usize, cores: usize) -> Figures {
    run(config_of_two_runs(workers, subcompactions, cores)).report().whole
}

fn config_of_two_runs(workers: usize, subcompactions: usize, cores: usize) -> Config {
    let mut config =
        slow(r#"{"policy": "tiered", "size-ratio": 2, "level-base-bytes": 10240}"#, 200);
    config.buffer_bytes = 10_000;
    config.device.write_speed = 1e15;
    config.device.merge_nanos_per_byte = 1e6;
    config.device.request_bytes = 100;
    config.max_immutable_memtables = 2;
    config.subcompaction_bytes = 1000;
    (config.workers, config.subcompactions, config.cores) = (workers, subcompactions, cores);
    config
}

/// Seconds of the merge alone: two flushes come before it, of ten seconds each.
fn merge_seconds(workers: usize, subcompactions: usize, cores: usize) -> f64 {
    merge_of_two_runs(workers, subcompactions, cores).seconds - 20.0
}

#[test]
fn each_part_of_a_merge_takes_its_time_to_be_set_up() {
    let seconds = |merge_micros, parts| {
        let mut config = config_of_two_runs(8, parts, 1);
        config.device.merge_micros = merge_micros;
        run(config).report().whole.seconds
    };
    close(seconds(3e6, 1) - seconds(0.0, 1), 3.0);
    // On one core they are set up one after another.
    close(seconds(3e6, 4) - seconds(0.0, 4), 12.0);
}

#[test]
fn a_shared_merge_lasts_as_its_largest_part_and_cores_allow() {
    let near = |found: f64, expected: f64| {
        // A histogram's point is two entries of a run: 400 ms of two.
        assert!((found - expected).abs() <= 0.4 + 1e-3, "{found}, expected {expected}");
    };
    close(merge_seconds(1, 1, 0), 20.0);
    close(merge_seconds(8, 1, 0), 20.0);
    for parts in [2, 4, 8] {
        near(merge_seconds(8, parts, 0), 20.0 / parts as f64);
    }
    // Fewer workers than parts, or fewer cores than workers.
    near(merge_seconds(2, 4, 0), 10.0);
    for cores in [1, 2, 4] {
        near(merge_seconds(8, 8, cores), 20.0 / cores as f64);
        assert!(merge_of_two_runs(8, 8, cores).cores_busy_mean <= cores as f64);
    }
    // The share of a worker has a minimum.
    near(merge_seconds(64, 64, 0), 1.0);
}

#[test]
fn a_shared_merge_writes_the_same_into_a_table_for_each_part() {
    let (one, four) = (merge_of_two_runs(4, 1, 0), merge_of_two_runs(4, 4, 0));
    assert_eq!(one.merge_written_bytes, four.merge_written_bytes);
    assert_eq!((one.merge_read_bytes, four.merge_read_bytes), (20_000, 20_000));
    assert_eq!((one.tables_max, four.tables_max), (2, 4));
    assert_eq!(one.by_level.iter().map(|l| l.written_bytes).collect::<Vec<_>>(), [0, 20_000]);
}

#[test]
fn a_shared_merge_is_no_faster_than_the_device() {
    let ends = |parts| {
        let mut config =
            slow(r#"{"policy": "tiered", "size-ratio": 2, "level-base-bytes": 10240}"#, 200);
        config.buffer_bytes = 10_000;
        config.max_immutable_memtables = 2;
        config.device.request_bytes = 100;
        (config.subcompactions, config.subcompaction_bytes) = (parts, 1000);
        run(config).report().whole.seconds
    };
    // A second per thousand bytes: two flushes and the merge.
    close(ends(1), 40.0);
    close(ends(8), 40.0);
}

#[test]
fn a_full_flash_device_is_named() {
    let workload = Workload { load: 5000, ..Workload::default() };
    let flash = FlashOptions {
        capacity_bytes: 600_000,
        over_provisioning: 0.1,
        page_bytes: 100,
        unit_pages: 64,
        ..FlashOptions::default()
    };
    let full = policy(r#"{"policy": "leveled-full", "level-base-bytes": 6000}"#);
    let config = Config { flash: Some(flash), ..small(full.clone(), workload) };
    let error = Simulation::new(config.clone()).unwrap().run().unwrap_err();
    assert!(matches!(error, SimulationError::FlashFull { store_bytes: 500_000.., .. }), "{error}");
    let flash = FlashOptions { capacity_bytes: 1_100_000, ..config.flash.clone().unwrap() };
    let report = Simulation::new(Config { flash: Some(flash), ..config }).unwrap().run().unwrap();
    let whole = report.whole;
    let device = whole.write_amp_total.unwrap();
    assert!(
        (device - whole.write_amp.unwrap() * whole.write_amp_device.unwrap()).abs() < 1e-9,
        "{whole:?}"
    );
}

#[test]
fn slicing_virtual_time_does_not_change_the_result() {
    for options in all_small() {
        let config = small(options, updates(2000, 2000, Choice::Uniform));
        let whole = run(config.clone());
        let mut sliced = Simulation::new(config).unwrap();
        let end = whole.seconds();
        let latest = Rc::new(Cell::new(0));
        let seen = Rc::clone(&latest);
        sliced.listen(Box::new(move |micros, _| seen.set(micros)));
        let mut slice = 1.0;
        while sliced.advance_until(u64::MAX, end * slice / 50.0).unwrap() {
            assert!(latest.get() as f64 <= end * slice / 50.0 * 1e6);
            slice += 1.0;
            assert!(slice < 60.0, "it does not come to its end");
        }
        assert_eq!(sliced.report(), whole.report());
        assert_eq!(sliced.shape(), whole.shape());
    }
}

#[test]
fn a_flush_does_not_wait_for_blocks_of_a_later_client() {
    let reader = Clients { mix: Mix { read_missing: 1.0, ..Mix::default() }, ..Clients::default() };
    let clients = vec![Clients::default(), reader];
    let both = Phase { operations: 84, clients, ..Phase::default() };
    let mut config = slow(NEVER, 80);
    config.workload.phases = vec![both];
    (config.filter_bits_per_key, config.cache_bytes, config.l0_stop_trigger) = (0.0, 0, 100);
    // A read takes a second for each of the eight runs or more, and no bandwidth.
    config.device.block_micros = 1e6;
    let report = run(config).report();
    let operations = phase(&report, "operations");
    assert!(operations.gets > 0 && operations.read_ios_per_get >= 8.0, "{operations:?}");
    let flushes = operations.flushes as f64;
    let stalled = operations.stall_seconds.memtables;
    assert!(stalled <= flushes + 1e-3, "{stalled} s for {flushes} flushes of a second");
}

#[test]
fn groups_count_by_compaction_and_merges_by_time_with_any() {
    let policy = r#"{"policy": "universal", "partitioner": "size", "target-file-bytes": 1024}"#;
    let run = |order| {
        let workload = Workload { load: 2000, order, ..Workload::default() };
        let mut config = small(policy.parse().unwrap(), workload);
        config.device.write_speed = 1e6;
        config
    };
    let whole = |order| Simulation::new(run(order)).unwrap().run().unwrap();
    let report = |order| whole(order).whole;
    let Report { table_bytes, levels, .. } = whole(KeyOrder::Ascending);
    let tables: usize = levels.iter().map(|level| level.tables).sum();
    let bytes: u64 = levels.iter().map(|level| level.bytes).sum();
    assert!((table_bytes.mean - bytes as f64 / tables as f64).abs() < 1e-6);
    assert!(0 < table_bytes.min && table_bytes.min <= table_bytes.p10, "{table_bytes:?}");
    assert!(table_bytes.p10 <= table_bytes.p50 && table_bytes.p99 <= table_bytes.max);
    // Nothing overlaps: each group is a table that moves, and no merge ever runs.
    let ascending = report(KeyOrder::Ascending);
    assert!(ascending.compaction_groups.mean > 1.0);
    assert_eq!(ascending.compaction_groups, ascending.compaction_moves);
    assert!(ascending.compaction_moved_bytes.max > 0);
    assert_eq!((ascending.compaction_seconds, ascending.compaction_throughput), (0.0, 0.0));
    assert_eq!(ascending.merge_seconds, None);
    // Whole flushes overlap everything. Some merge runs at most for as long as all workers are busy.
    let scattered = report(KeyOrder::Scattered);
    assert!(scattered.compaction_groups.mean < ascending.compaction_groups.mean);
    assert!(scattered.compaction_moves.mean < scattered.compaction_groups.mean);
    let busy = scattered.worker_utilisation * scattered.seconds;
    assert!(0.0 < scattered.compaction_seconds && scattered.compaction_seconds <= busy * 16.001);
    let written = scattered.compaction_throughput * scattered.compaction_seconds;
    assert!((written / scattered.merge_written_bytes as f64 - 1.0).abs() < 1e-9);
}

#[test]
fn skewed_keys_are_squares_of_evenly_spread_fractions() {
    let workload = Workload { load: 10_000, order: KeyOrder::Skewed, ..Workload::default() };
    let operations = Operations::new(&workload, 1);
    let keys: Vec<_> = (0..10_000).map(|n| operations.key(n) as f64 / 2f64.powi(64)).collect();
    for share in [0.1, 0.5, 0.9] {
        let below = keys.iter().filter(|key| **key < share * share).count() as f64;
        // Five standard deviations.
        let off = (below - 10_000.0 * share).abs();
        assert!(off < 5.0 * (10_000.0 * share * (1.0 - share)).sqrt(), "{share}: {below}");
    }
}

/// Workloads that lie at the edges: phases without a name, and shorter than a window.
#[test]
fn an_unnamed_phase_is_one_and_a_short_one_has_a_window() {
    let phases = r#"[{"name": "", "operations": 25000, "clients": [{"mix": {"update": 1}}]},
        {"name": "reads", "operations": 10, "clients": [{"mix": {"read": 1}}]}]"#;
    let workload = serde_json::from_str(&format!(r#"{{"load": 20000, "phases": {phases}}}"#));
    let mut config = small(policy(r#"{"policy": "leveled"}"#), workload.unwrap());
    config.window = 10_000;
    config.device.read_micros = 1e6;
    let mut simulation = Simulation::new(config).unwrap();
    while simulation.advance(1000).unwrap() {}
    let report = simulation.report();
    let names: Vec<_> = report.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names[..3], ["load", "", "reads"]);
    let operations: Vec<_> = report.phases.iter().map(|phase| phase.figures.operations).collect();
    assert_eq!(operations[..3], [20_000, 25_000, 10]);
    let slowest = report.phases[2].figures.throughput_worst_window;
    assert!(slowest < 2.0, "a read takes a second");
    assert!((report.whole.throughput_worst_window / slowest - 1.0).abs() < 1e-6);
}

#[test]
fn rates_and_triggers_that_stop_everything_are_refused() {
    let refused = |change: &dyn Fn(&mut Config)| {
        let mut config = small(policy(r#"{"policy": "leveled"}"#), Workload::default());
        change(&mut config);
        Simulation::new(config).err().map(|why| why.to_string()).unwrap_or_default()
    };
    let why = refused(&|config| config.workload.load_rate = 1e-9);
    assert!(why.contains("workload.load-rate") && why.contains("1e-6 to 1e12"), "{why}");
    let why = refused(&|config| config.l0_stop_trigger = 1);
    assert!(why.contains("l0-stop-trigger") && why.contains("2 to 9e15"), "{why}");
    assert_eq!(refused(&|config| config.workload.load_rate = 1e-6), "");
}
