//! Limits of the machine, in the directory of the stores: no store can be faster.

use anyhow::{Context, Result};
use rustix::fs::{Mode, OFlags};
use serde::Serialize;
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

#[derive(Serialize)]
pub struct Limits {
    copy_gb_per_second: f64,
    /// Appends of 4 KiB, each with an fdatasync.
    syncs_per_second: f64,
    write_mb_per_second: f64,
    read_mb_per_second: f64,
    /// Random reads of 4 KiB, one at a time.
    random_reads_per_second: f64,
}

const PAGE: usize = 4096;
const CHUNK: usize = 1 << 20;
const COPIED: usize = 256 << 20;
const FILE_CHUNKS: u64 = 512;
/// Duration of each of the other measurements.
const SPAN: Duration = Duration::from_secs(2);

/// Measures with files in `dir`.
pub fn measure(dir: &Path) -> Result<Limits> {
    let path = dir.join("limits");
    let limits = device(&path).context("measure the device");
    let _ = std::fs::remove_file(&path);
    limits
}

fn device(path: &Path) -> Result<Limits> {
    let syncs = {
        let file = File::create(path)?;
        let page = [7; PAGE];
        rate(|at| {
            file.write_all_at(&page, at * PAGE as u64)?;
            file.sync_data()
        })?
    };
    let chunk = vec![7; CHUNK];
    let begun = Instant::now();
    let file = File::create(path)?;
    for at in 0..FILE_CHUNKS {
        file.write_all_at(&chunk, at * CHUNK as u64)?;
    }
    file.sync_all()?;
    let written = mb_per_second(FILE_CHUNKS as f64, begun);
    let mut aligned = Aligned::new(CHUNK);
    let file = uncached(path)?;
    let begun = Instant::now();
    for at in 0..FILE_CHUNKS {
        file.read_exact_at(aligned.bytes(CHUNK), at * CHUNK as u64)?;
    }
    let read = mb_per_second(FILE_CHUNKS as f64, begun);
    let pages = FILE_CHUNKS * (CHUNK / PAGE) as u64;
    let mut random = terrane_workload::Random(0);
    let random_reads =
        rate(|_| file.read_exact_at(aligned.bytes(PAGE), random.below(pages) * PAGE as u64))?;
    Ok(Limits {
        copy_gb_per_second: copy(),
        syncs_per_second: syncs,
        write_mb_per_second: written,
        read_mb_per_second: read,
        random_reads_per_second: random_reads,
    })
}

/// Opens a file past the page cache, where the file system can.
fn uncached(path: &Path) -> Result<File> {
    let direct = rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECT, Mode::empty());
    Ok(direct.map(File::from).or_else(|_| File::open(path))?)
}

/// Calls a second.
fn rate(mut call: impl FnMut(u64) -> std::io::Result<()>) -> Result<f64> {
    let (begun, mut calls) = (Instant::now(), 0);
    while begun.elapsed() < SPAN {
        call(calls)?;
        calls += 1;
    }
    Ok(calls as f64 / begun.elapsed().as_secs_f64())
}

fn copy() -> f64 {
    let (from, mut to) = (vec![7u8; COPIED], vec![0u8; COPIED]);
    let fastest = (0..5).map(|_| {
        let begun = Instant::now();
        to.copy_from_slice(black_box(&from));
        black_box(&to);
        begun.elapsed().as_secs_f64()
    });
    COPIED as f64 / 1e9 / fastest.fold(f64::INFINITY, f64::min)
}

fn mb_per_second(chunks: f64, begun: Instant) -> f64 {
    chunks * CHUNK as f64 / 1e6 / begun.elapsed().as_secs_f64()
}

/// Memory that starts at a page, as reads past the page cache need it.
struct Aligned {
    memory: Vec<u8>,
    start: usize,
}

impl Aligned {
    fn new(bytes: usize) -> Self {
        let memory = vec![0; bytes + PAGE];
        let start = memory.as_ptr().align_offset(PAGE);
        Aligned { memory, start }
    }

    fn bytes(&mut self, count: usize) -> &mut [u8] {
        &mut self.memory[self.start..self.start + count]
    }
}

impl Limits {
    pub fn text(&self) -> String {
        format!(
            "limits: memory copy {:.1} GB/s; device: {:.0} syncs/s, writes {:.0} MB/s, reads {:.0} MB/s, \
             random reads of 4 KiB {:.0}/s\n",
            self.copy_gb_per_second,
            self.syncs_per_second,
            self.write_mb_per_second,
            self.read_mb_per_second,
            self.random_reads_per_second
        )
    }
}
