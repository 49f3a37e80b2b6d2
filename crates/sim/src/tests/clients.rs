//! Clients against queueing theory, and what is measured of their operations.

use super::*;

/// A write takes 100 microseconds of processor time, and nothing else takes any.
const SERVICE: f64 = 100e-6;

fn served(clients: Clients, cores: usize, operations: u64) -> Figures {
    let mut config =
        small(policy(r#"{"policy": "leveled"}"#), Workload::then(0, operations, clients));
    config.device.write_micros = SERVICE * 1e6;
    config.buffer_bytes = 1 << 40;
    (config.cores, config.window) = (cores, 1000);
    let report = Simulation::new(config).unwrap().run().unwrap();
    phase(&report, "operations")
}

/// Equal up to a share.
fn near(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() <= share, "{found}, expected {expected}");
}

#[test]
fn one_client_of_random_arrivals_is_a_queue_of_constant_service() {
    for load in [0.3, 0.6, 0.9] {
        let rate = load / SERVICE;
        let clients = Clients { rate, arrivals: Arrivals::Poisson, ..Clients::default() };
        let figures = served(clients, 1, 400_000);
        let latency = figures.latencies[&Kind::Update];
        // M/D/1: the mean wait is rho / (2 (1 - rho)) services.
        near(latency.mean, SERVICE * (1.0 + load / (2.0 * (1.0 - load))), 0.05);
        near(figures.throughput_mean, rate, 0.02);
        assert!(latency.p50 <= latency.p99 && latency.p99 <= latency.p999);
        // Nobody waits for a share of 1 - rho.
        assert!((latency.p50 <= SERVICE * 1.02) == (load < 0.5), "{latency:?}");
    }
}

#[test]
fn constant_arrivals_wait_only_above_the_service_rate() {
    let at = |load: f64| served(Clients { rate: load / SERVICE, ..Clients::default() }, 1, 10_000);
    let slow = at(0.99).latencies[&Kind::Update];
    near(slow.max, SERVICE, 1e-4);
    // Twice as many as can be served: the last waits for half of all.
    let fast = at(2.0);
    near(fast.latencies[&Kind::Update].max, 5000.0 * SERVICE, 0.01);
    near(fast.throughput_mean, 1.0 / SERVICE, 0.01);
}

#[test]
fn clients_in_a_closed_loop_share_the_cores() {
    for (count, cores) in [(1, 1), (4, 1), (4, 2), (3, 2), (4, 8), (16, 4)] {
        let figures = served(Clients { count, ..Clients::default() }, cores, 20_000);
        let latency = figures.latencies[&Kind::Update];
        let at_once = count.min(cores) as f64;
        near(figures.throughput_mean, at_once / SERVICE, 0.01);
        near(latency.mean, SERVICE * count as f64 / at_once, 0.01);
        near(figures.throughput_worst_window, at_once / SERVICE, 0.01);
        near(figures.cores_busy_mean, at_once, 0.01);
    }
}

#[test]
fn different_clients_run_concurrently_and_are_measured_apart() {
    let mix = Mix { read_missing: 1.0, ..Mix::default() };
    let writers = Clients { count: 2, ..Clients::default() };
    let readers = Clients { mix, rate: 1000.0, ..Clients::default() };
    let phase_of =
        Phase { operations: 10_000, clients: vec![writers, readers], ..Phase::default() };
    let workload = Workload { load: 0, phases: vec![phase_of], ..Workload::default() };
    let mut config = small(policy(r#"{"policy": "leveled"}"#), workload);
    config.device.write_micros = 200.0;
    config.device.read_micros = 50.0;
    config.buffer_bytes = 1 << 40;
    let figures = phase(&run(config).report(), "operations");
    // Two writers do 10 000 a second, the readers' thousand come beside them.
    let [writes, reads] = [Kind::Update, Kind::ReadMissing].map(|kind| figures.latencies[&kind]);
    near(writes.count as f64, 10_000.0 * 10.0 / 11.0, 0.01);
    assert_eq!(writes.count + reads.count, 10_000);
    near(writes.mean, 200e-6, 1e-6);
    near(reads.mean, 50e-6, 1e-6);
}

#[test]
fn phases_follow_each_other_and_wait_until_idle_if_asked_to() {
    let reads = Clients { mix: Mix { read: 1.0, ..Mix::default() }, ..Clients::default() };
    let phase_of = |name: &str, wait_until_idle, clients| Phase {
        name: name.to_owned(),
        wait_until_idle,
        operations: 500,
        clients: vec![clients],
    };
    let phases = vec![
        phase_of("reads", true, reads.clone()),
        phase_of("updates", false, Clients::default()),
        phase_of("more reads", true, reads),
    ];
    let workload = Workload { load: 3000, phases, ..Workload::default() };
    for options in all_small() {
        let mut config = small(options, workload.clone());
        config.device.merge_nanos_per_byte = 1e4;
        let report = run(config).report();
        let names: Vec<_> = report.phases.iter().map(|phase| phase.name.as_str()).collect();
        let wait = "wait-until-idle";
        assert_eq!(names, ["load", wait, "reads", "updates", wait, "more reads", wait]);
        // An idle store writes nothing while it is read.
        for (name, count, written) in [("reads", 500, 0), ("updates", 500, 50_000)] {
            let figures = phase(&report, name);
            assert_eq!((figures.operations, figures.user_bytes), (count, written), "{name}");
            assert_eq!(figures.latencies.values().map(|l| l.count).sum::<u64>(), count);
        }
        let reads = phase(&report, "reads");
        assert_eq!((reads.flushed_bytes, reads.merge_written_bytes), (0, 0));
        // What the machine did is of the phase alone: here only clients read, one at a time.
        assert!(reads.cores_busy_mean <= 1.0 && reads.device_utilisation <= 1.0, "{reads:?}");
        let seconds: f64 = report.phases.iter().map(|phase| phase.figures.seconds).sum();
        assert!((seconds - report.whole.seconds).abs() < 1e-6);
        let all: u64 = report.whole.latencies.values().map(|latency| latency.count).sum();
        assert_eq!(all, report.whole.operations);
    }
}

#[test]
fn the_slowest_window_may_begin_with_any_operation() {
    // Writes of a microsecond, but each hundredth waits for a flush of a second.
    let never = r#"{"policy": "tiered", "size-ratio": 64, "level-base-bytes": 65536}"#;
    let mut config = small(policy(never), Workload { load: 1000, ..Workload::default() });
    config.l0_stop_trigger = 64;
    config.buffer_bytes = 100 * 100;
    config.max_immutable_memtables = 1;
    config.device.write_speed = 10_000.0;
    config.device.write_micros = 1.0;
    // Two waits are 100 operations apart, but windows one after the other see one each.
    config.window = 102;
    let worst = run(config).report().whole.throughput_worst_window;
    near(worst, 102.0 / 2.0, 0.01);
}
