//! Background work: the options of commands that have some done, and its statistics in words.

use crate::exit::Failure;
use crate::{interrupt, waits};
use clap::builder::RangedU64ValueParser;
use clap::{Args, value_parser};
use indicatif::HumanBytes;
use terrane::executor::workers;
use terrane::stats::{BackgroundStats, JobStats, Stats};
use terrane::{Db, Options};

// How background work is done.
#[derive(Args, Clone, Debug, Default)]
pub struct Background {
    /// Run this many merges at once [default: one less than there are processors, from 1 to 8]
    #[arg(long, value_parser = RangedU64ValueParser::<usize>::new().range(1..=256))]
    workers: Option<usize>,
    /// Limit the input of flushes and merges together, in MiB per second [default: none]
    #[arg(long, value_name = "MIB", value_parser = value_parser!(u64).range(1..=1 << 20))]
    background_mib: Option<u64>,
    /// Stall writes at this compaction debt, in MiB; 0 for never [default: 262144]
    #[arg(long, value_name = "MIB", value_parser = value_parser!(u64).range(0..=1 << 30))]
    debt_mib: Option<u64>,
}

impl Background {
    /// Merges that run at once.
    pub fn workers(&self) -> usize {
        self.workers.unwrap_or_else(workers)
    }

    /// These options with how background work is done.
    pub fn of(&self, mut options: Options) -> Options {
        options.workers = self.workers();
        if let Some(mib) = self.background_mib {
            options.background_bytes_per_second = mib << 20;
        }
        if let Some(mib) = self.debt_mib {
            options.hard_pending_compaction_bytes = mib << 20;
        }
        options
    }
}

/// Waits until no background work is left, or for a signal.
pub fn wait_until_idle(db: &Db) -> Result<(), Failure> {
    let db = db.clone();
    interrupt::unless_heard("idle", move || Ok(db.wait_until_idle()?))
}

/// Returns lines about background work and waits of writes; none without either.
pub fn lines(stats: &Stats) -> Vec<String> {
    let BackgroundStats { flushes, removals, merges, .. } = &stats.background;
    let kinds = [("flushes", flushes), ("merges", merges), ("removals", removals)];
    let mut lines = Vec::new();
    if kinds.iter().any(|(_, jobs)| jobs.queued + jobs.running + jobs.ended > 0) {
        lines.push(format!("workers        {}", busy(&stats.background)));
        lines.push(format!(
            "  {:<12} {:>8} {:>8} {:>8} {:>10} {:>12} {:>12} {:>12}",
            "jobs", "queued", "running", "ended", "busy s", "read", "written", "bytes/s"
        ));
        lines.extend(kinds.map(|(name, jobs)| line(name, jobs)));
    }
    lines.extend(waits::summary(&stats.waits).map(|waits| format!("waits          {waits}")));
    lines
}

fn line(name: &str, jobs: &JobStats) -> String {
    let [read, written, second] = [jobs.read_bytes, jobs.written_bytes, jobs.bytes_per_second]
        .map(|bytes| HumanBytes(bytes).to_string());
    let JobStats { queued, running, ended, busy_micros, .. } = jobs;
    let busy = *busy_micros as f64 / 1e6;
    format!(
        "  {name:<12} {queued:>8} {running:>8} {ended:>8} {busy:>10.3} {read:>12} {written:>12} \
         {second:>12}"
    )
}

/// Returns the busy share of each worker's time, the busiest first.
fn busy(background: &BackgroundStats) -> String {
    let mut shares: Vec<_> =
        background.busy_micros.iter().map(|busy| share(*busy, background.elapsed_micros)).collect();
    shares.sort_by(|a, b| b.total_cmp(a));
    let shares: Vec<_> = shares.iter().map(|share| format!("{:.0} %", share * 100.0)).collect();
    let seconds = background.elapsed_micros as f64 / 1e6;
    format!("busy {} of {seconds:.1} s", shares.join(", "))
}

/// Returns the mean busy share of all workers' time; none without workers.
pub fn mean_busy(background: &BackgroundStats) -> Option<f64> {
    let workers = u64::try_from(background.busy_micros.len()).ok().filter(|count| *count > 0)?;
    Some(share(background.busy_micros.iter().sum(), background.elapsed_micros * workers))
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_listed_by_their_share_the_busiest_first() {
        let mut background = BackgroundStats::default();
        background.elapsed_micros = 2_000_000;
        background.busy_micros = vec![500_000, 2_000_000, 0];
        assert_eq!(busy(&background), "busy 100 %, 25 %, 0 % of 2.0 s");
        assert_eq!(mean_busy(&background), Some(2.5 / 6.0));
        assert_eq!(mean_busy(&BackgroundStats::default()), None);
    }

    #[test]
    fn options_that_are_not_given_are_those_of_the_engine() {
        let defaults = Options::default();
        let options = Background::default().of(Options::default());
        let of = |o: &Options| {
            (o.workers, o.background_bytes_per_second, o.hard_pending_compaction_bytes)
        };
        assert_eq!(of(&options), of(&defaults));
        let given = Background { workers: Some(3), background_mib: Some(5), debt_mib: Some(0) };
        let options = given.of(Options::default());
        assert_eq!(of(&options), (3, 5 << 20, 0));
    }
}
