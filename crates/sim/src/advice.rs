//! Advice: the costs of policies under one workload, those that no other beats, and a pick.
//!
//! 1. Costs are those of the operations, once the compactions that the load left over have ended.
//! 2. A policy is on the *front* if no other beats it: is as good at writes, reads and space, and better at one of
//!    them. Costs are compared by two digits.
//! 3. The pick takes the least time of the device for an operation among policies whose space is within the limit and
//!    whose writes do not wait. A policy whose writes wait may keep others off the front, but is picked only if all
//!    within the limit wait longer.

use crate::config::Config;
use crate::report::{Figures, Report};
use crate::simulation::WAIT;
use serde::Serialize;
use terrane_workload::LOAD;

/// Share of the time for which writes of a policy that keeps up may wait.
const WAITED_MAX: f64 = 0.01;

/// Costs of a policy under a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Costs {
    /// Bytes written to tables for each byte that was put.
    pub write: f64,
    /// Blocks read from the device for each get and scan, on average; 0 without reads.
    pub read: f64,
    /// The greatest ratio of the bytes of all tables to those of live rows.
    pub space: f64,
    /// Time of the device that flushes and compactions take for an operation, in microseconds.
    pub compaction_micros: f64,
    /// Time of the device that an operation's own reads take, in microseconds.
    pub read_micros: f64,
    /// Share of the time for which writes waited.
    pub waited: f64,
}

impl Costs {
    /// Returns the costs of the phases after the load, by the speeds of the device in `config`.
    #[must_use]
    pub fn of(config: &Config, report: &Report) -> Costs {
        let after = report.phases.iter().skip_while(|phase| is_before(&phase.name));
        let phases: Vec<&Figures> = after.map(|phase| &phase.figures).collect();
        let sum = |of: fn(&Figures) -> f64| phases.iter().map(|figures| of(figures)).sum::<f64>();
        let read_blocks = sum(|f| f.gets as f64 * f.read_ios_per_get)
            + sum(|f| f.scans as f64 * f.read_ios_per_scan);
        let written = sum(|f| (f.flushed_bytes + f.merge_written_bytes) as f64);
        let operations = sum(|f| f.operations as f64).max(1.0);
        let device = &config.device;
        let block_micros =
            device.block_micros + config.block_bytes as f64 / device.read_speed * 1e6;
        let moved =
            written / device.write_speed + sum(|f| f.merge_read_bytes as f64) / device.read_speed;
        Costs {
            write: ratio(written, sum(|f| f.user_bytes as f64)),
            read: ratio(read_blocks, sum(|f| (f.gets + f.scans) as f64)),
            space: phases.iter().map(|figures| figures.space_amp_peak).fold(0.0, f64::max),
            compaction_micros: moved * 1e6 / operations,
            read_micros: read_blocks * block_micros / operations,
            waited: ratio(sum(stalled), sum(|f| if f.operations > 0 { f.seconds } else { 0.0 })),
        }
    }

    /// Returns the time of the device that an operation takes, in microseconds.
    #[must_use]
    pub fn device_micros(&self) -> f64 {
        self.compaction_micros + self.read_micros
    }

    /// Whether writes wait for at most 1 % of the time.
    #[must_use]
    pub fn keeps_up(&self) -> bool {
        self.waited <= WAITED_MAX
    }

    /// Whether it is as good at everything, and better at something.
    fn beats(&self, other: &Costs) -> bool {
        let (own, others) = (self.compared(), other.compared());
        own != others && own.iter().zip(others).all(|(own, other)| *own <= other)
    }

    fn compared(&self) -> [f64; 3] {
        [self.write, self.read, self.space].map(two_digits)
    }
}

/// Returns the seconds for which writes waited.
fn stalled(figures: &Figures) -> f64 {
    let stalls = figures.stall_seconds;
    stalls.memtables + stalls.level0 + stalls.compaction_bytes
}

/// Whether a phase comes before the operations.
fn is_before(name: &str) -> bool {
    name == LOAD || name == WAIT
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Rounds a number to two digits.
fn two_digits(value: f64) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    let unit = 10f64.powf(value.log10().floor() - 1.0);
    (value / unit).round() * unit
}

/// Returns for each policy whether it is on the front.
#[must_use]
pub fn front(all: &[Costs]) -> Vec<bool> {
    all.iter().map(|one| !all.iter().any(|other| other.beats(one))).collect()
}

/// A choice among policies, by their positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Pick {
    /// The one to take.
    pub picked: usize,
    /// One whose operations would take less time of the device, if its space were within the limit.
    pub too_large: Option<usize>,
    /// One whose operations would take less time of the device, if its writes did not wait.
    pub too_slow: Option<usize>,
}

/// Picks a policy whose space is at most `space_max` times the live bytes, or returns `None` if there is none.
#[must_use]
pub fn pick(all: &[Costs], space_max: f64) -> Option<Pick> {
    let costs = |at: &usize| all.get(*at).copied().unwrap_or_default();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|a, b| costs(a).device_micros().total_cmp(&costs(b).device_micros()));
    let fits = |at: &usize| costs(at).space <= space_max;
    let keeps_up = |at: &usize| costs(at).keeps_up();
    let fitting = || order.iter().copied().filter(&fits);
    // Where none keeps up, the one that comes closest.
    let least_waiting = || fitting().min_by(|a, b| costs(a).waited.total_cmp(&costs(b).waited));
    let picked = fitting().find(keeps_up).or_else(least_waiting)?;
    let cheaper = || order.iter().copied().take_while(move |at| *at != picked);
    Some(Pick {
        picked,
        too_large: cheaper().find(|at| !fits(at) && keeps_up(at)),
        too_slow: cheaper().find(|at| fits(at) && !keeps_up(at)),
    })
}
