//! The device: how long reads and writes take.
//!
//! One queue serves all background work in turn, chunk by chunk ([`Device::request_bytes`]), so that
//! jobs under way share the bandwidth evenly; reading and writing a chunk takes
//! `read / read speed + write / write speed`. Each chunk costs its job the time of a request beside,
//! in which the device serves others.
//!
//! A block that the application reads does not wait for whole chunks: it takes a request's time,
//! and its transfer as many times as there are jobs to share the bandwidth with. What it transfers
//! is taken from the jobs all the same.

use crate::clock::{Time, nanos};
use serde::{Deserialize, Serialize};

/// A machine's storage and processor, as far as they matter here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Device {
    /// Sequential reading, in bytes per second.
    pub read_speed: f64,
    /// Sequential writing, in bytes per second.
    pub write_speed: f64,
    /// What one request takes beside its transfer, in microseconds.
    pub request_micros: f64,
    /// Bytes that a job reads or writes with one request.
    pub request_bytes: u64,
    /// Processor time of a merge or a flush, in nanoseconds per byte that is read or, in a flush,
    /// written.
    pub merge_nanos_per_byte: f64,
    /// Processor time of one write of the application, in microseconds.
    pub write_micros: f64,
    /// Processor time of one point read, or of the start of a range read, in microseconds.
    pub read_micros: f64,
}

/// The machine of the Spooky paper, as far as it is known.
impl Default for Device {
    fn default() -> Self {
        machine(5.0e9, 1.4e9, 80.0)
    }
}

/// Storage of these speeds beside the processor that all presets share: merging at 200 MB/s a
/// thread and 2 µs an operation. No paper states these figures, nor the time of a request: they are
/// assumed, and none is fitted to a result.
fn machine(read_speed: f64, write_speed: f64, request_micros: f64) -> Device {
    Device {
        read_speed,
        write_speed,
        request_micros,
        request_bytes: 1 << 20,
        merge_nanos_per_byte: 5.0,
        write_micros: 2.0,
        read_micros: 2.0,
    }
}

/// A machine that a paper measured on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DevicePreset {
    /// Its name.
    pub name: &'static str,
    /// What the paper says of it.
    pub paper: &'static str,
    /// Where the speeds of reading and writing are from. The other figures are assumed.
    pub speeds: &'static str,
    /// Its figures.
    pub device: Device,
}

/// What [`DevicePreset::speeds`] says of speeds that nobody states.
const ASSUMED: &str = "assumed";

impl Device {
    /// The machines of the papers whose policies are compared. The papers name a disk or an
    /// instance, and no speed of it.
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

    /// How long the transfers take alone.
    fn transfer(&self, read: u64, written: u64) -> Time {
        nanos(read as f64 / self.read_speed + written as f64 / self.write_speed)
    }
}

/// The device at work.
pub(crate) struct Queue {
    device: Device,
    /// When it has served everything that came so far.
    free: Time,
}

impl Queue {
    pub(crate) fn new(device: Device) -> Self {
        Queue { device, free: 0 }
    }

    /// A job's chunk that comes at `now`; returns when it is served.
    pub(crate) fn chunk(&mut self, now: Time, read: u64, written: u64) -> Time {
        self.load(now, read, written);
        self.free + nanos(self.device.request_micros * 1e-6)
    }

    /// Transfers that nobody waits for.
    pub(crate) fn load(&mut self, now: Time, read: u64, written: u64) {
        self.free = self.free.max(now) + self.device.transfer(read, written);
    }

    /// A block that the application reads at `now` beside so many jobs; returns when it is there.
    pub(crate) fn block(&mut self, now: Time, bytes: u64, jobs: u64) -> Time {
        self.load(now, bytes, 0);
        let shared = self.device.transfer(bytes, 0) * (jobs + 1);
        now + shared + nanos(self.device.request_micros * 1e-6)
    }
}
