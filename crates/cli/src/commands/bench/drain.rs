//! `--drain`: how long a level 0 that is full takes to go into level 1, by design and by threads.
//!
//! 1. The designs: a merge as one task, subcompactions, buckets, and universal with global-range partitions or
//!    none.
//! 2. For each case a store is filled with random keys under a policy that leaves level 0 as it is, cut at
//!    the design's buckets or partitions if it has some.
//! 3. It is opened again with a number of threads for merges, and given the design's policy. The time until no
//!    compaction is due is what counts.
//! 4. Designs and threads take turns in each round; seconds are the median of the rounds, of an even number
//!    the upper one.
//! 5. The simulator does the same with as many runs, which it starts to merge when the last is there. Its keys
//!    are spread over all that there can be, and so are its partitions.

use super::args::{BenchArgs, Benchmark};
use super::slices;
use crate::exit::Failure;
use serde::Serialize;
use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Instant;
use terrane::executor::ThreadExecutor;
use terrane::storage::Directory;
use terrane::storage::vfs::NativeVfs;
use terrane::{Db, Durability, Options};
use terrane_measure::{Terrane, Worker};
use terrane_policy::{
    BucketLsm, FilterBits, Leveled, Partitioner, Partitioning, PolicyOptions, Universal,
};
use terrane_sim::{Config, Simulation, Workload};

/// Runs that level 0 is filled with.
const RUNS: u64 = 12;
/// The parts of a merge, the buckets, and the partitions of the space of keys.
const PARTS: u64 = 8;

/// Measurements, and their settings.
#[derive(Serialize)]
pub struct Drains {
    num: u64,
    key_bytes: usize,
    value_bytes: usize,
    seed: u64,
    memtable_bytes: u64,
    cache_mib: u64,
    background_bytes_per_second: u64,
    filter_bits: FilterBits,
    rounds: u64,
    pub results: Vec<Drained>,
}

/// Result of a case.
#[derive(Serialize)]
pub struct Drained {
    design: &'static str,
    threads: usize,
    /// Runs and tables that level 0 had, and their bytes.
    runs: usize,
    tables: usize,
    bytes: u64,
    /// Seconds until no compaction was due: the median of the rounds, the least and the most.
    seconds: f64,
    seconds_least: f64,
    seconds_most: f64,
    /// Seconds in which the simulator's merges run.
    simulated_seconds: Option<f64>,
    /// Millions of those bytes a second.
    mb_per_second: f64,
    /// Bytes that merges wrote.
    written_bytes: u64,
}

/// The designs: each with the policy that leaves its level 0 as it is, and the one that empties it.
fn designs(args: &BenchArgs) -> [(&'static str, PolicyOptions, PolicyOptions); 5] {
    let patient = 64;
    let leveled = |max_subcompactions| {
        let drains = Leveled { max_subcompactions, ..Leveled::default() };
        let fills = Leveled { l0_compaction_trigger: patient, ..drains.clone() };
        (PolicyOptions::Leveled(fills), PolicyOptions::Leveled(drains))
    };
    let bucket = BucketLsm { buckets: PARTS, follow_workers: false, ..BucketLsm::default() };
    let filling = BucketLsm { l0_compaction_trigger: patient, ..bucket.clone() };
    let ((one, one_drains), (shared, shared_drains)) = (leveled(1), leveled(PARTS));
    let rows = args.rows();
    let target_file_bytes = (args.num() * rows.row_bytes() / PARTS).max(64 << 10);
    let universal = |partitioning: Partitioning| {
        let drains = Universal { target_file_bytes, partitioning, ..Universal::default() };
        let fills = Universal { run_trigger: patient, ..drains.clone() };
        (PolicyOptions::Universal(fills), PolicyOptions::Universal(drains))
    };
    let (mut domain_least, mut domain_greatest) = (Vec::new(), Vec::new());
    rows.key(0, &mut domain_least);
    rows.key(args.num(), &mut domain_greatest);
    let (global, global_drains) = universal(Partitioning {
        partitioner: Partitioner::GlobalRange,
        domain_least,
        domain_greatest,
        // Half of a flush's share of a partition: what is smaller is not cut off.
        flush_floor_bytes: target_file_bytes / RUNS / 2,
        subcompactions: PARTS,
        ..Partitioning::DEFAULT
    });
    let (none, none_drains) =
        universal(Partitioning { partitioner: Partitioner::None, ..Partitioning::DEFAULT });
    [
        ("one task", one, one_drains),
        ("subcompaction", shared, shared_drains),
        ("bucket", PolicyOptions::BucketLsm(filling), PolicyOptions::BucketLsm(bucket)),
        ("global-range", global, global_drains),
        ("none", none, none_drains),
    ]
}

/// With how many threads each design is measured: 1, 2, 4 and so on, up to as many as there are.
fn threads(cores: usize) -> Vec<usize> {
    let most = cores.max(2);
    let doubled = std::iter::successors(Some(1), |threads| Some(threads * 2));
    doubled.take_while(|threads| *threads < most).chain([most]).collect()
}

/// Measures each design with each number of threads; stores are made below `place`.
pub fn run(args: &BenchArgs, place: &Path) -> Result<Drains, Failure> {
    let threads = threads(available_parallelism().map_or(1, NonZero::get));
    let designs = designs(args);
    let cases =
        designs.iter().flat_map(|design| threads.iter().map(move |threads| (design, *threads)));
    let cases: Vec<_> = cases.collect();
    let mut rounds: Vec<Vec<Drained>> = cases.iter().map(|_| Vec::new()).collect();
    for _ in 0..args.rounds {
        for (((design, fills, drains), threads), rounds) in cases.iter().zip(&mut rounds) {
            let dir = place.join("drained");
            fill(args, &dir, fills.clone())?;
            rounds.push(drain(args, &dir, design, drains, *threads)?);
            let failed = |e| Failure::io(&format!("remove {}", dir.display()), &e);
            fs::remove_dir_all(&dir).map_err(failed)?;
        }
    }
    let mut found = Vec::new();
    for ((design, threads), rounds) in cases.iter().zip(rounds) {
        let Some(case) = median(rounds) else { continue };
        let simulated_seconds = simulate(args, &design.2, *threads, case.runs)?;
        found.push(Drained { simulated_seconds, ..case });
    }
    Ok(Drains {
        num: args.num(),
        key_bytes: args.key_bytes,
        value_bytes: args.value_bytes,
        seed: args.seed,
        memtable_bytes: memtable_bytes(args),
        cache_mib: args.cache_mib,
        background_bytes_per_second: args
            .background
            .of(Options::default())
            .background_bytes_per_second,
        filter_bits: args.table().filter_bits_per_key,
        rounds: args.rounds,
        results: found,
    })
}

/// The round of the median, with the least and the greatest seconds of all.
fn median(mut rounds: Vec<Drained>) -> Option<Drained> {
    rounds.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let (least, most) = (rounds.first()?.seconds, rounds.last()?.seconds);
    let median = rounds.len() / 2;
    let case = rounds.into_iter().nth(median)?;
    Some(Drained { seconds_least: least, seconds_most: most, ..case })
}

/// Step 2: a memtable, of which there are about as many as runs.
fn memtable_bytes(args: &BenchArgs) -> u64 {
    (args.num() * args.rows().row_bytes() / RUNS).max(64 << 10)
}

/// Step 5: seconds in which a merge runs.
fn simulate(
    args: &BenchArgs,
    drains: &PolicyOptions,
    threads: usize,
    runs: usize,
) -> Result<Option<f64>, Failure> {
    let l0_compaction_trigger = runs as u64;
    let policy = match drains.clone() {
        PolicyOptions::Leveled(of) => {
            PolicyOptions::Leveled(Leveled { l0_compaction_trigger, ..of })
        }
        PolicyOptions::BucketLsm(of) => {
            PolicyOptions::BucketLsm(BucketLsm { l0_compaction_trigger, ..of })
        }
        PolicyOptions::Universal(of) => {
            let Partitioning { domain_least, domain_greatest, .. } = Partitioning::DEFAULT;
            let partitioning = Partitioning { domain_least, domain_greatest, ..of.partitioning };
            let run_trigger = runs as u64;
            PolicyOptions::Universal(Universal { run_trigger, partitioning, ..of })
        }
        _ => return Ok(None),
    };
    let Some(workload) = Workload::preset("fillrandom", args.num(), args.num()) else {
        return Ok(None);
    };
    let bytes = args.num() * args.rows().row_bytes();
    let config = Config {
        policy,
        buffer_bytes: bytes / runs.max(1) as u64,
        key_bytes: args.key_bytes as u64,
        value_bytes: args.value_bytes as u64,
        value_compression: 2.0,
        workers: threads,
        l0_stop_trigger: 1 << 20,
        workload,
        seed: args.seed,
        ..Config::default()
    };
    Ok(Some(Simulation::new(config)?.run()?.whole.compaction_seconds))
}

fn open(
    args: &BenchArgs,
    dir: &Path,
    policy: PolicyOptions,
    threads: usize,
) -> Result<Db, Failure> {
    let options = args.options(memtable_bytes(args)).policy(policy).l0_stop_trigger(1 << 20);
    let storage = Arc::new(Directory::open(Arc::new(NativeVfs::open(dir, true)?))?);
    Ok(Db::open_storage(storage, options, Arc::new(ThreadExecutor::new(threads)))?)
}

/// Step 2.
fn fill(args: &BenchArgs, dir: &Path, policy: PolicyOptions) -> Result<(), Failure> {
    let db = open(args, dir, policy, 1)?;
    let keyspace = db.default_keyspace();
    let rows = args.rows();
    let mut terrane = Terrane::new(&db, &keyspace, Durability::Buffered);
    let mut worker = Worker::new(&mut terrane, &rows);
    let puts = Benchmark::FillRandom.operations(args, args.num(), args.seed).zip(1..);
    slices::run(&mut worker, "fill", args.num(), puts, |_| ())?;
    db.flush()?;
    Ok(db.close()?)
}

/// Step 3.
fn drain(
    args: &BenchArgs,
    dir: &Path,
    design: &'static str,
    policy: &PolicyOptions,
    threads: usize,
) -> Result<Drained, Failure> {
    let db = open(args, dir, policy.clone(), threads)?;
    let keyspace = db.default_keyspace();
    let before = db.stats()?;
    let level0 = before.keyspaces.first().and_then(|keyspace| keyspace.levels.first().cloned());
    let (runs, tables, bytes) =
        level0.map_or((0, 0, 0), |level0| (level0.runs, level0.tables, level0.bytes));
    let began = Instant::now();
    keyspace.set_policy(policy)?;
    db.wait_until_idle()?;
    let seconds = began.elapsed().as_secs_f64().max(1e-9);
    let written_bytes = db.stats()?.merge_written_bytes - before.merge_written_bytes;
    db.close()?;
    let mb_per_second = bytes as f64 / seconds / 1e6;
    Ok(Drained {
        design,
        threads,
        runs,
        tables,
        bytes,
        seconds,
        seconds_least: seconds,
        seconds_most: seconds,
        simulated_seconds: None,
        mb_per_second,
        written_bytes,
    })
}

/// The cases, a line each.
pub fn table(found: &[Drained]) -> Vec<String> {
    let head = [
        "design",
        "threads",
        "runs",
        "tables",
        "MB",
        "seconds",
        "least",
        "most",
        "simulated",
        "MB/s",
        "MB written",
    ];
    let cells = |case: &Drained| {
        [
            case.design.to_owned(),
            case.threads.to_string(),
            case.runs.to_string(),
            case.tables.to_string(),
            format!("{:.1}", case.bytes as f64 / 1e6),
            format!("{:.3}", case.seconds),
            format!("{:.3}", case.seconds_least),
            format!("{:.3}", case.seconds_most),
            case.simulated_seconds.map_or("-".to_owned(), |seconds| format!("{seconds:.3}")),
            format!("{:.1}", case.mb_per_second),
            format!("{:.1}", case.written_bytes as f64 / 1e6),
        ]
    };
    let lines = [head.map(str::to_owned)].into_iter().chain(found.iter().map(cells));
    lines.map(|cells| cells.iter().map(|cell| format!("{cell:>14}")).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::threads;

    #[test]
    fn numbers_of_threads_double_up_to_the_processors() {
        assert_eq!(
            [1, 2, 6, 16].map(threads),
            [vec![1, 2], vec![1, 2], vec![1, 2, 4, 6], vec![1, 2, 4, 8, 16]]
        );
    }
}
