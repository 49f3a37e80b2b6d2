//! Measurements taken while the simulation runs.
//!
//! Everything is counted twice: for the whole run, and for the current phase.

use crate::clock::{Time, micros, seconds};
use crate::reads::Probe;
use crate::report::{Figures, LevelFigures, MergeFigures, StallSeconds, Window};
use std::collections::{BTreeMap, VecDeque};
use terrane_types::Stall;
use terrane_workload::{Kind, Latencies};

/// Sums that only grow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    pub(crate) operations: u64,
    pub(crate) user_bytes: u64,
    pub(crate) gets: u64,
    pub(crate) get_blocks: u64,
    pub(crate) scans: u64,
    pub(crate) scan_tables: u64,
    pub(crate) scan_blocks: u64,
    pub(crate) blocks_asked: u64,
    pub(crate) flushes: u64,
    pub(crate) flushed_bytes: u64,
    pub(crate) compactions: u64,
    pub(crate) groups: u64,
    pub(crate) trivial_moves: u64,
    pub(crate) moved_bytes: u64,
    pub(crate) merge_read_bytes: u64,
    pub(crate) merge_written_bytes: u64,
    pub(crate) refused_plans: u64,
    pub(crate) wal_bytes: u64,
    pub(crate) value_log_bytes: u64,
    pub(crate) stalled_memtables: Time,
    pub(crate) stalled_level0: Time,
    pub(crate) stalled_compaction: Time,
    pub(crate) slowed: Time,
    pub(crate) slowed_level0: Time,
    pub(crate) flash_host_bytes: u64,
    pub(crate) flash_moved_bytes: u64,
    by_level: Vec<LevelFigures>,
}

impl Sums {
    /// Adds time in which writes were stalled.
    pub(crate) fn stall(&mut self, cause: Stall, time: Time) {
        *match cause {
            Stall::Level0 => &mut self.stalled_level0,
            Stall::CompactionBytes => &mut self.stalled_compaction,
            // Memory and WAL files have no bounds of their own here: sealed memtables stand for both.
            Stall::Memtables | Stall::Memory | Stall::Wal | Stall::RangeDeletes => {
                &mut self.stalled_memtables
            }
        } += time;
    }

    /// Adds to the sums of a level.
    pub(crate) fn level(&mut self, level: usize, add: impl FnOnce(&mut LevelFigures)) {
        if self.by_level.len() <= level {
            self.by_level.resize(level + 1, LevelFigures::default());
        }
        self.by_level.get_mut(level).map(add);
    }

    /// Counts what a filter did.
    pub(crate) fn probe(&mut self, probe: &Probe) {
        let passed = probe.block.is_some();
        self.level(probe.level, |level| {
            level.lookups += 1;
            level.filter_positives += u64::from(passed);
            level.false_positives += u64::from(passed && probe.found.is_none());
        });
    }

    /// Bytes written by flushes and merges, and to the log of values.
    fn written(&self) -> u64 {
        self.flushed_bytes + self.merge_written_bytes + self.value_log_bytes
    }
}

/// Figures of a compaction's groups.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Grouped {
    pub(crate) merges: u64,
    /// Tables that were moved.
    pub(crate) moves: u64,
    pub(crate) moved_bytes: u64,
}

/// Compactions, by what their groups came to.
#[derive(Clone, Debug, Default)]
struct Compactions {
    groups: Latencies,
    moves: Latencies,
    moved_bytes: Latencies,
}

impl Compactions {
    fn add(&mut self, grouped: Grouped) {
        self.groups.add(grouped.merges + grouped.moves);
        self.moves.add(grouped.moves);
        self.moved_bytes.add(grouped.moved_bytes);
    }
}

/// Merges from one level, by what they read and how long they took.
#[derive(Clone, Debug, Default)]
struct Merges {
    tables: Latencies,
    bytes: Latencies,
    micros: Latencies,
    count: u64,
}

impl Merges {
    fn figures(&self) -> MergeFigures {
        MergeFigures {
            count: self.count,
            input_tables: self.tables.distribution(),
            input_bytes: self.bytes.distribution(),
            micros: self.micros.distribution(),
        }
    }
}

/// A merge that took effect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Merged {
    /// The newest level that it took from.
    pub(crate) level: usize,
    pub(crate) tables: u64,
    pub(crate) bytes: u64,
    /// From its start until it took effect.
    pub(crate) time: Time,
}

/// Parts of the machine that figures need.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Machine {
    pub(crate) workers: usize,
    /// The time for which the device was busy so far, and the processor time of all threads.
    pub(crate) device: Time,
    pub(crate) cores: Time,
}

/// A value over time.
#[derive(Clone, Copy, Debug, Default)]
struct Gauge {
    value: f64,
    since: Time,
    /// The integral over nanoseconds, and the nanoseconds.
    area: f64,
    width: f64,
    max: f64,
}

impl Gauge {
    /// Sets the value from now on.
    fn set(&mut self, now: Time, value: f64) {
        let width = now.saturating_sub(self.since) as f64;
        self.area += self.value * width;
        self.width += width;
        (self.value, self.since) = (value, now);
        self.max = self.max.max(value);
    }

    /// Starts measuring now.
    fn begin(&mut self, now: Time) {
        *self = Gauge { value: self.value, since: now, max: self.value, ..Gauge::default() };
    }

    fn mean(&self) -> f64 {
        if self.width > 0.0 { self.area / self.width } else { self.value }
    }
}

/// The values that are tracked over time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Levels {
    pub(crate) runs: usize,
    pub(crate) tables: usize,
    pub(crate) files: usize,
    /// Bytes of all tables, including unfinished ones.
    pub(crate) store_bytes: u64,
    /// Bytes of the newest version of every live key.
    pub(crate) logical_bytes: u64,
    /// Workers that merge.
    pub(crate) merging: usize,
}

impl Levels {
    fn space_amp(&self) -> f64 {
        self.store_bytes as f64 / self.logical_bytes.max(1) as f64
    }
}

#[derive(Clone, Debug, Default)]
struct Meter {
    sums: Sums,
    begun: Time,
    /// The machine when it started.
    machine: Machine,
    runs: Gauge,
    tables: Gauge,
    files: Gauge,
    store: Gauge,
    space_amp: Gauge,
    /// 1 while a merge runs.
    compacts: Gauge,
    merging: Gauge,
    compactions: Compactions,
    merge_times: Latencies,
    merges: Vec<Merges>,
    latencies: BTreeMap<Kind, Latencies>,
    /// The greatest time that the operations of a window took.
    slowest: Option<Time>,
}

impl Meter {
    /// Adds what is only counted for the phase, which ends now. One that is shorter than a window counts
    /// at its mean.
    fn take(&mut self, phase: &Meter, now: Time, window: u64) {
        for (kind, latencies) in &phase.latencies {
            self.latencies.entry(*kind).or_default().join(latencies);
        }
        let lasted = now.saturating_sub(phase.begun) as f64;
        let mean = lasted * per(window as f64, phase.sums.operations as f64);
        let is_short = phase.slowest.is_none() && phase.sums.operations > 0;
        self.slowest = self.slowest.max(phase.slowest).max(is_short.then_some(mean as Time));
    }

    fn figures(&self, now: Time, machine: Machine, levels: &Levels, window: u64) -> Figures {
        let Sums { operations, user_bytes, .. } = self.sums;
        let sums = &self.sums;
        let time = seconds(now.saturating_sub(self.begun));
        let closed = |gauge: &Gauge| {
            let mut gauge = *gauge;
            gauge.set(now, gauge.value);
            gauge
        };
        let host = sums.flash_host_bytes;
        let physical = host + sums.flash_moved_bytes;
        let throughput_mean = per(operations as f64, time);
        Figures {
            seconds: time,
            operations,
            user_bytes,
            logical_bytes: levels.logical_bytes,
            flushes: sums.flushes,
            flushed_bytes: sums.flushed_bytes,
            write_amp: amplified(sums.written(), user_bytes),
            write_amp_compaction: amplified(sums.merge_written_bytes, user_bytes),
            write_amp_total: amplified(physical, user_bytes).filter(|_| physical > 0),
            write_amp_device: amplified(physical, host),
            wal_bytes: sums.wal_bytes,
            value_log_bytes: sums.value_log_bytes,
            space_amp_peak: closed(&self.space_amp).max,
            space_amp_mean: closed(&self.space_amp).mean(),
            store_bytes_peak: self.store.max as u64,
            runs_mean: closed(&self.runs).mean(),
            runs_max: self.runs.max as u64,
            tables_mean: closed(&self.tables).mean(),
            tables_max: self.tables.max as u64,
            files_max: self.files.max as u64,
            gets: sums.gets,
            read_ios_per_get: per(sums.get_blocks as f64, sums.gets as f64),
            scans: sums.scans,
            tables_per_scan: per(sums.scan_tables as f64, sums.scans as f64),
            read_ios_per_scan: per(sums.scan_blocks as f64, sums.scans as f64),
            cache_hit_rate: if sums.blocks_asked == 0 {
                0.0
            } else {
                1.0 - (sums.get_blocks + sums.scan_blocks) as f64 / sums.blocks_asked as f64
            },
            compactions: sums.compactions,
            groups_per_compaction: per(sums.groups as f64, sums.compactions as f64),
            compaction_groups: self.compactions.groups.distribution(),
            compaction_moves: self.compactions.moves.distribution(),
            compaction_moved_bytes: self.compactions.moved_bytes.distribution(),
            compaction_seconds: closed(&self.compacts).area * 1e-9,
            compaction_throughput: per(
                sums.merge_written_bytes as f64,
                closed(&self.compacts).area * 1e-9,
            ),
            merge_seconds: self.merge_times.figures(),
            trivial_moves: sums.trivial_moves,
            moved_bytes: sums.moved_bytes,
            merge_read_bytes: sums.merge_read_bytes,
            merge_written_bytes: sums.merge_written_bytes,
            by_level: sums.by_level.clone(),
            merges: self.merges.iter().map(Merges::figures).collect(),
            refused_plans: sums.refused_plans,
            latencies: (self.latencies.iter())
                .filter_map(|(kind, latencies)| Some((*kind, latencies.figures()?)))
                .collect(),
            throughput_mean,
            throughput_worst_window: (self.slowest)
                .map_or(throughput_mean, |time| per(window as f64, seconds(time))),
            stall_seconds: StallSeconds {
                memtables: seconds(sums.stalled_memtables),
                level0: seconds(sums.stalled_level0),
                compaction_bytes: seconds(sums.stalled_compaction),
                slowed: seconds(sums.slowed),
                slowed_level0: seconds(sums.slowed_level0),
            },
            worker_utilisation: per(
                closed(&self.merging).area * 1e-9,
                time * machine.workers as f64,
            ),
            device_utilisation: per(seconds(machine.device - self.machine.device), time),
            cores_busy_mean: per(seconds(machine.cores - self.machine.cores), time),
        }
    }
}

/// A ratio; 0 if the denominator is.
fn per(value: f64, of: f64) -> f64 {
    if of > 0.0 { value / of } else { 0.0 }
}

/// Bytes for each of others, where there were any.
fn amplified(bytes: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| per(bytes as f64, of as f64))
}

/// The last operations of the phase, for windows that start with any of them.
#[derive(Debug, Default)]
struct Recent {
    /// Ends of operations, after the start of the first window.
    done: VecDeque<Time>,
}

impl Recent {
    /// An operation is done; returns how long it took to complete it and those before it in its window,
    /// if there are enough.
    fn complete(&mut self, now: Time, length: u64) -> Option<Time> {
        self.done.push_back(now);
        let begun = (self.done.len() as u64 > length).then(|| self.done.pop_front()).flatten();
        begun.map(|begun| now - begun)
    }
}

/// The meters of the whole run and of the phase.
#[derive(Debug, Default)]
pub(crate) struct Meters {
    whole: Meter,
    phase: Meter,
    levels: Levels,
    /// Operations per window.
    length: u64,
    recent: Recent,
    /// Counts at the start of the timeline's window, its time, and the time of merging until then.
    window: (Sums, Time, f64),
}

impl Meters {
    /// Windows have this many operations.
    pub(crate) fn new(length: u64) -> Self {
        let recent = Recent { done: [0].into() };
        Meters { length, recent, ..Meters::default() }
    }

    /// The levels over the whole run.
    pub(crate) fn by_level(&self) -> &[LevelFigures] {
        &self.whole.sums.by_level
    }

    /// Adds to the sums.
    pub(crate) fn add(&mut self, add: impl Fn(&mut Sums)) {
        add(&mut self.whole.sums);
        add(&mut self.phase.sums);
    }

    /// Sets the values from now on. Space amplification is tracked only if `is_grown`: it means
    /// nothing for a tree of a few buffers.
    pub(crate) fn set(&mut self, now: Time, levels: Levels, is_grown: bool) {
        self.levels = levels;
        for meter in [&mut self.whole, &mut self.phase] {
            meter.runs.set(now, levels.runs as f64);
            meter.tables.set(now, levels.tables as f64);
            meter.files.set(now, levels.files as f64);
            meter.store.set(now, levels.store_bytes as f64);
            meter.compacts.set(now, if levels.merging > 0 { 1.0 } else { 0.0 });
            meter.merging.set(now, levels.merging as f64);
            if is_grown {
                if meter.space_amp.value == 0.0 {
                    meter.space_amp.begin(now);
                }
                meter.space_amp.set(now, levels.space_amp());
            }
        }
    }

    /// Counts a compaction that has ended.
    pub(crate) fn compacted(&mut self, grouped: Grouped) {
        self.whole.compactions.add(grouped);
        self.phase.compactions.add(grouped);
    }

    /// Counts a merge that took effect.
    pub(crate) fn merged(&mut self, merged: Merged) {
        let Merged { level, tables, bytes, time } = merged;
        for meter in [&mut self.whole, &mut self.phase] {
            meter.merge_times.add(time);
            if meter.merges.len() <= level {
                meter.merges.resize_with(level + 1, Merges::default);
            }
            if let Some(merges) = meter.merges.get_mut(level) {
                merges.count += 1;
                merges.tables.add(tables);
                merges.bytes.add(bytes);
                merges.micros.add(micros(time));
            }
        }
    }

    /// Counts an operation that took this long; returns the timeline's window if it ends with it.
    pub(crate) fn complete(&mut self, kind: Kind, latency: Time, now: Time) -> Option<Window> {
        self.add(|sums| sums.operations += 1);
        // The whole run has it when the phase ends.
        self.phase.latencies.entry(kind).or_default().add(latency);
        let took = self.recent.complete(now, self.length);
        self.phase.slowest = self.phase.slowest.max(took);
        self.end_window(now)
    }

    /// Ends the timeline's window if it is full.
    fn end_window(&mut self, now: Time) -> Option<Window> {
        let (sums, (then, begun, merged)) = (&self.whole.sums, &self.window);
        let operations = sums.operations - then.operations;
        if operations < self.length {
            return None;
        }
        let over = |now: u64, then: u64| now - then;
        let mut merging = self.whole.merging;
        merging.set(now, merging.value);
        let user = over(sums.user_bytes, then.user_bytes);
        let host = over(sums.flash_host_bytes, then.flash_host_bytes);
        let moved = over(sums.flash_moved_bytes, then.flash_moved_bytes);
        let window = Window {
            seconds: seconds(now),
            operations: sums.operations,
            user_bytes: sums.user_bytes,
            throughput: per(operations as f64, seconds(now - begun)),
            write_amp: amplified(over(sums.written(), then.written()), user),
            write_amp_device: amplified(host + moved, host),
            busy_workers: per(merging.area - merged, (now - begun) as f64),
            store_bytes: self.levels.store_bytes,
            logical_bytes: self.levels.logical_bytes,
        };
        self.window = (sums.clone(), now, merging.area);
        Some(window)
    }

    /// Ends the phase; returns its figures.
    pub(crate) fn end_phase(&mut self, now: Time, machine: Machine) -> Figures {
        let figures = self.phase.figures(now, machine, &self.levels, self.length);
        let mut phase = std::mem::take(&mut self.phase);
        self.whole.take(&phase, now, self.length);
        let Meter { runs, tables, files, store, space_amp, compacts, merging, .. } = &mut phase;
        let gauges = [runs, tables, files, store, space_amp, compacts, merging];
        gauges.into_iter().for_each(|gauge| gauge.begin(now));
        let Meter { runs, tables, files, store, space_amp, compacts, merging, .. } = phase;
        self.phase = Meter {
            begun: now,
            machine,
            runs,
            tables,
            files,
            store,
            space_amp,
            compacts,
            merging,
            ..Meter::default()
        };
        self.recent.done = [now].into();
        figures
    }

    /// The figures of the whole run.
    pub(crate) fn figures(&self, now: Time, machine: Machine) -> Figures {
        let mut whole = self.whole.clone();
        whole.take(&self.phase, now, self.length);
        whole.figures(now, machine, &self.levels, self.length)
    }
}
