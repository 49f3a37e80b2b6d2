//! The storage device: how long reads and writes take.
//!
//! One queue serves all background work in turn, chunk by chunk ([`Device::request_bytes`]), so that
//! running jobs share the bandwidth evenly; a chunk takes `read / read speed + write / write speed`.
//! In addition each chunk costs its job the latency of a request, during which the device serves
//! others.
//!
//! A block that a client reads does not wait for whole chunks: it takes a request's latency, and its
//! transfer slowed by the number of jobs and clients that share the bandwidth. The jobs lose the
//! bandwidth that it uses.
//!
//! On flash a page is written by a die that serves nothing else meanwhile ([`Device::program_micros`]). A block that a
//! client reads is on a die that writes with the probability of the share of recent time that writes took, garbage
//! collection's included, and then waits for what is left of the page.

use crate::clock::{Time, nanos, seconds};
use serde::{Deserialize, Serialize};
use terrane_workload::mix;

/// The storage and processor figures of a machine that matter here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    rename_all = "kebab-case",
    expecting = "an object with parameters of a device"
)]
pub struct Device {
    /// Sequential read speed, in bytes per second.
    pub read_speed: f64,
    /// Sequential write speed, in bytes per second.
    pub write_speed: f64,
    /// Latency of a job's request, without its transfer, in microseconds.
    pub request_micros: f64,
    /// Latency of a block that a client reads, without its transfer, in microseconds.
    pub block_micros: f64,
    /// Bytes that a job reads or writes with one request.
    pub request_bytes: u64,
    /// Processor time of a merge per byte read, in nanoseconds.
    pub merge_nanos_per_byte: f64,
    /// Processor time of a flush per byte written, in nanoseconds; as of a merge if it is not given.
    pub flush_nanos_per_byte: Option<f64>,
    /// Processor time to set up a merge, or a part of one, and to commit it, in microseconds.
    pub merge_micros: f64,
    /// Processor time of a write, in microseconds.
    pub write_micros: f64,
    /// Processor time of a point read, or of starting a range read, in microseconds.
    pub read_micros: f64,
    /// Processor time of each table that a point read asks for its key, in microseconds. It delays the read, and takes
    /// no core from others.
    pub probe_micros: f64,
    /// Time for which a die of flash writes a page, in microseconds: a block that a client reads there waits for the
    /// rest of it. 0 for a device whose writes hold no reads up.
    pub program_micros: f64,
}

/// Requests' worth of writing over which the share of recent writes is taken.
const RECENT_REQUESTS: u64 = 64;

/// Bytes of a page that is merged, whose cost policies may know.
const PAGE: u64 = 4096;

/// The machine of the Spooky paper, as far as it is known.
impl Default for Device {
    fn default() -> Self {
        machine(5.0e9, 1.4e9, 80.0)
    }
}

/// Storage of these speeds, with the processor that all presets share: merges at 200 MB/s per thread,
/// and 2 µs per operation. No paper states these figures or the latency of a request: they are
/// assumptions. Where a report has others, its setting says so.
fn machine(read_speed: f64, write_speed: f64, request_micros: f64) -> Device {
    Device {
        read_speed,
        write_speed,
        request_micros,
        block_micros: request_micros,
        request_bytes: 1 << 20,
        merge_nanos_per_byte: 5.0,
        flush_nanos_per_byte: None,
        merge_micros: 0.0,
        write_micros: 2.0,
        read_micros: 2.0,
        probe_micros: 0.0,
        program_micros: 0.0,
    }
}

/// A machine that a paper measured on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DevicePreset {
    /// Its name.
    pub name: &'static str,
    /// Statement of the paper about it.
    pub paper: &'static str,
    /// The source of the read and write speeds. The other figures are assumed.
    pub speeds: &'static str,
    /// Its figures.
    pub device: Device,
}

/// [`DevicePreset::speeds`] where no paper states any.
const ASSUMED: &str = "assumed";

impl Device {
    /// The machines of the papers whose policies are compared. The papers name a disk or an instance
    /// but state no speeds.
    #[must_use]
    pub fn presets() -> Vec<DevicePreset> {
        let preset = |name, paper, speeds, device| DevicePreset { name, paper, speeds, device };
        vec![
            preset(
                "spooky",
                "Dayan et al., Spooky, PVLDB 15(11), section 6: 960 GB Samsung NVMe SSD, model \
                 MZ1L2960HCJR-00A07",
                ASSUMED,
                Device::default(),
            ),
            preset(
                "vertiorizon",
                "Vertiorizon, section 7: 1 TB NVMe SSD of no stated model",
                ASSUMED,
                machine(3.2e9, 1.9e9, 80.0),
            ),
            preset(
                "coordinated",
                "Coordinated partitioning, section V: AWS EC2 c5.4xlarge, storage not stated",
                ASSUMED,
                machine(593.75e6, 593.75e6, 500.0),
            ),
            preset(
                "ptierdb",
                "PTierDB, section IV: 480 GB Intel D3-S4510 SSD",
                ASSUMED,
                machine(560.0e6, 490.0e6, 110.0),
            ),
            preset(
                "bucketlsm",
                "BucketLSM, table III: 1 TB Samsung 990 PRO NVMe SSD",
                "the maker's rating, 7450 and 6900 MB/s, as quoted and measured by thefpsreview.com, \
                 Samsung 990 PRO with Heatsink 1TB, 27 May 2024, page 4",
                machine(7.45e9, 6.9e9, 60.0),
            ),
        ]
    }

    /// The machine of this name.
    #[must_use]
    pub fn preset(name: &str) -> Option<Device> {
        Self::presets().into_iter().find(|p| p.name == name).map(|p| p.device)
    }

    /// Nanoseconds of a block of `bytes` that a client reads, without contention.
    pub(crate) fn block_nanos(&self, bytes: u64) -> u64 {
        self.transfer(bytes, 0) + nanos(self.block_micros * 1e-6)
    }

    /// Nanoseconds of a page of 4 KiB that a thread merges: reading, merging and writing overlap.
    pub(crate) fn page_nanos(&self) -> u64 {
        self.transfer(PAGE, PAGE).max(nanos(PAGE as f64 * self.merge_nanos_per_byte * 1e-9)).max(1)
    }

    /// Returns the duration of the transfers without contention.
    fn transfer(&self, read: u64, written: u64) -> Time {
        nanos(read as f64 / self.read_speed + written as f64 / self.write_speed)
    }
}

/// The state of the device.
pub(crate) struct Queue {
    device: Device,
    /// Time at which it will have served all requests so far.
    free: Time,
    /// The time that all of them take.
    busy: Time,
    /// Seconds of writing, each counted less the longer ago it was, up to a time.
    writing: f64,
    faded: Time,
    /// Blocks that may have met a write.
    drawn: u64,
}

impl Queue {
    pub(crate) fn new(device: Device) -> Self {
        Queue { device, free: 0, busy: 0, writing: 0.0, faded: 0, drawn: 0 }
    }

    /// Serves a job's chunk that is requested at `now`; returns when it is done.
    pub(crate) fn chunk(&mut self, now: Time, read: u64, written: u64) -> Time {
        self.load(now, read, written);
        self.free + nanos(self.device.request_micros * 1e-6)
    }

    /// Asynchronous transfers.
    pub(crate) fn load(&mut self, now: Time, read: u64, written: u64) {
        let transfer = self.device.transfer(read, written);
        self.free = self.free.max(now) + transfer;
        self.busy += transfer;
        if written > 0 && self.device.program_micros > 0.0 {
            self.fade(now);
            self.writing += written as f64 / self.device.write_speed;
        }
    }

    /// The seconds over which recent writes are counted.
    fn recent(&self) -> f64 {
        (RECENT_REQUESTS * self.device.request_bytes) as f64 / self.device.write_speed
    }

    /// Counts earlier writes less, by the time that has passed.
    fn fade(&mut self, now: Time) {
        let passed = seconds(now.saturating_sub(self.faded));
        let recent = self.recent();
        self.writing *= recent / (recent + passed);
        self.faded = now;
    }

    /// The time for which a block that a client reads waits for a page that its die writes.
    fn held_up(&mut self, now: Time) -> Time {
        let program = self.device.program_micros * 1e-6;
        if program <= 0.0 {
            return 0;
        }
        self.fade(now);
        let share = (self.writing / self.recent()).min(1.0);
        self.drawn += 1;
        let drawn = mix(self.drawn) as f64 / u64::MAX as f64;
        if drawn < share { nanos(program * drawn / share) } else { 0 }
    }

    /// The time for which it was busy until `now`.
    pub(crate) fn busy(&self, now: Time) -> Time {
        self.busy - self.free.saturating_sub(now).min(self.busy)
    }

    /// A block that a client, one of this many jobs and clients, reads at `from`, which is now or later;
    /// returns when it is done. What it takes of the bandwidth counts from now on: until `from` the
    /// device serves others.
    pub(crate) fn block(&mut self, now: Time, from: Time, bytes: u64, sharing: u64) -> Time {
        self.load(now, bytes, 0);
        let shared = self.device.transfer(bytes, 0) * sharing;
        from + shared + nanos(self.device.block_micros * 1e-6) + self.held_up(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean wait of blocks for pages, where writes take this share of the time.
    fn mean_wait(program_micros: f64, share: f64) -> f64 {
        let device = Device { program_micros, ..Device::default() };
        let step = nanos(device.request_bytes as f64 / device.write_speed / share.max(1e-9));
        let mut queue = Queue::new(device.clone());
        let (mut now, mut waited) = (0, 0);
        for _ in 0..4000 {
            now += step.min(nanos(1.0));
            if share > 0.0 {
                queue.load(now, 0, device.request_bytes);
            }
            waited += queue.held_up(now);
        }
        seconds(waited) * 1e6 / 4000.0
    }

    #[test]
    fn a_block_waits_for_half_a_page_where_its_die_writes() {
        assert_eq!(mean_wait(0.0, 1.0), 0.0);
        assert_eq!(mean_wait(1000.0, 0.0), 0.0);
        let (half, whole) = (mean_wait(1000.0, 0.5), mean_wait(1000.0, 1.0));
        assert!((200.0..300.0).contains(&half), "{half}");
        assert!((450.0..550.0).contains(&whole), "{whole}");
    }
}
