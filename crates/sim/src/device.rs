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

/// The machine of the Spooky paper.
impl Default for Device {
    fn default() -> Self {
        machine(5.0e9, 1.4e9, 80.0)
    }
}

/// Storage of these speeds beside the processor that all presets share: merging at 200 MB/s a
/// thread and 2 µs an operation, of the order that RocksDB reaches on current servers. No paper
/// states them; none is fitted to a result.
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
    /// Whose machine it is, and where its figures are from.
    pub source: &'static str,
    /// Its figures.
    pub device: Device,
}

impl Device {
    /// The machines of the papers whose policies are compared.
    #[must_use]
    pub fn presets() -> Vec<DevicePreset> {
        let preset = |name, source, device| DevicePreset { name, source, device };
        vec![
            preset(
                "spooky",
                "Dayan et al., Spooky, PVLDB 15(11), section 6: Samsung MZ1L2960HCJR (PM9A3, 960 \
                 GB); speeds about its maker's",
                Device::default(),
            ),
            preset(
                "vertiorizon",
                "Vertiorizon, section 6: a 1 TB NVMe SSD of no stated model; speeds usual for PCIe 3",
                machine(3.2e9, 1.9e9, 80.0),
            ),
            preset(
                "coordinated",
                "Coordinated partitioning, section V: AWS c5.4xlarge; the instance's bandwidth to \
                 its volumes, 4750 Mbit/s",
                machine(593.75e6, 593.75e6, 500.0),
            ),
            preset(
                "ptierdb",
                "PTierDB, section 5: Intel D3-S4510, 480 GB; speeds about its maker's",
                machine(560.0e6, 490.0e6, 110.0),
            ),
            preset(
                "bucketlsm",
                "BucketLSM, table of the testbed: Samsung 990 PRO, 1 TB; speeds of its data sheet",
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

    /// A job's chunk that comes at `now`; answers when it is served.
    pub(crate) fn chunk(&mut self, now: Time, read: u64, written: u64) -> Time {
        self.load(now, read, written);
        self.free + nanos(self.device.request_micros * 1e-6)
    }

    /// Transfers that nobody waits for.
    pub(crate) fn load(&mut self, now: Time, read: u64, written: u64) {
        self.free = self.free.max(now) + self.device.transfer(read, written);
    }

    /// A block that the application reads at `now` beside so many jobs; answers when it is there.
    pub(crate) fn block(&mut self, now: Time, bytes: u64, jobs: u64) -> Time {
        self.load(now, bytes, 0);
        let shared = self.device.transfer(bytes, 0) * (jobs + 1);
        now + shared + nanos(self.device.request_micros * 1e-6)
    }
}
