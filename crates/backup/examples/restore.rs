//! Measures a restore beside what bounds it:
//! `cargo run --release -p terrane-backup --example restore -- --bytes 3000000000 --dir /tmp` backs up a store of three
//! gigabytes into a directory below `/tmp`. `--url s3://bucket/folder` names another place, whose credentials are
//! read from the environment, and `--rounds` the number of rounds, 3 if it is left out.
//!
//! 1. A store of rows of 16 and 984 bytes, which do not compress, is backed up and removed.
//! 2. Each round downloads all objects without keeping them, writes as many bytes to a file and syncs it, and restores
//!    the store, in megabytes a second. A restore can be no faster than the lesser of the first two.
//! 3. Space is needed for two copies. Objects that the system holds in memory arrive faster than a disk reads them.

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path as Prefix;
use object_store::{ObjectStore, ObjectStoreExt};
use std::collections::HashMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use terrane::{Db, Durability, Options, WriteBatch};
use terrane_backup::{At, Backup, restore};

/// Bytes of a row.
const ROW: u64 = 1000;
/// Objects that are downloaded at once, more than a restore does.
const DOWNLOADS: usize = 32;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (pairs, _) = arguments.as_chunks::<2>();
    let given: HashMap<&str, &str> =
        pairs.iter().map(|[name, value]| (&**name, &**value)).collect();
    let bytes: u64 = given.get("--bytes").unwrap_or(&"1000000000").parse()?;
    let rounds: usize = given.get("--rounds").unwrap_or(&"3").parse()?;
    let dir = match given.get("--dir") {
        Some(dir) => tempfile::tempdir_in(dir)?,
        None => tempfile::tempdir()?,
    };
    let default = format!("file://{}", dir.path().join("backup").display());
    let (objects, prefix) = terrane_backup::open(given.get("--url").unwrap_or(&&*default))?;
    let store = dir.path().join("store");
    back_up(&store, bytes, &objects, &prefix).await?;
    fs::remove_dir_all(&store)?;
    for _ in 0..rounds {
        let started = Instant::now();
        let found = download(&objects, &prefix).await?;
        let downloaded = rate(found, started.elapsed());
        let (started, to) = (Instant::now(), dir.path().join("written"));
        write(to, found).await?;
        let written = rate(found, started.elapsed());
        let (started, cpu, to) = (Instant::now(), cpu_time()?, dir.path().join("restored"));
        let restored = restore(objects.clone(), prefix.clone(), &to, At::Newest).await?;
        let cpu = (cpu_time()? - cpu).as_secs_f64();
        println!(
            "download {downloaded:.0} MB/s, disk {written:.0} MB/s, restore of {:.2} GB {:.0} MB/s, {} tables, \
             {cpu:.1} s of processor time",
            restored.bytes as f64 / 1e9,
            rate(restored.bytes, started.elapsed()),
            restored.tables,
        );
        fs::remove_dir_all(&to)?;
    }
    Ok(())
}

fn rate(bytes: u64, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64()
}

/// Fills a store and backs it up.
async fn back_up(
    store: &Path,
    bytes: u64,
    objects: &Arc<dyn ObjectStore>,
    prefix: &Prefix,
) -> Outcome {
    let db = Db::open(store, Options::default().feed_bytes(0))?;
    let mut random = 1_u64;
    for from in (0..bytes / ROW).step_by(1000) {
        let mut batch = WriteBatch::new();
        for row in from..from + 1000 {
            let words = std::iter::repeat_with(|| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                random.to_be_bytes()
            });
            let value: Vec<u8> = words.take(123).flatten().collect();
            batch.put(&db.default_keyspace(), format!("{row:016}"), value)?;
        }
        db.write(batch, Durability::Buffered)?;
    }
    db.flush()?;
    db.wait_until_idle()?;
    let options = terrane_backup::Options::default();
    let backup = Backup::start(&db, objects.clone(), prefix.clone(), options).await?;
    backup.wait(db.latest_sequence()).await?;
    backup.stop().await;
    Ok(db.close()?)
}

/// Downloads all objects. Returns their bytes.
async fn download(objects: &Arc<dyn ObjectStore>, prefix: &Prefix) -> Outcome<u64> {
    let all: Vec<_> = objects.list(Some(prefix)).try_collect().await?;
    let downloads = all.into_iter().map(|meta| async move {
        let mut pieces = objects.get(&meta.location).await?.into_stream();
        let mut bytes = 0;
        while let Some(piece) = pieces.try_next().await? {
            bytes += piece.len() as u64;
        }
        Ok::<_, object_store::Error>(bytes)
    });
    let downloads = stream::iter(downloads).buffer_unordered(DOWNLOADS);
    Ok(downloads.try_fold(0, async |all, bytes| Ok(all + bytes)).await?)
}

/// Writes bytes to a file, syncs and removes it.
async fn write(to: PathBuf, bytes: u64) -> Outcome {
    let written = tokio::task::spawn_blocking(move || {
        let (mut file, chunk) = (File::create(&to)?, vec![7; 1 << 20]);
        for _ in 0..bytes >> 20 {
            file.write_all(&chunk)?;
        }
        file.sync_all()?;
        fs::remove_file(&to)
    });
    Ok(written.await??)
}

/// Returns the processor time of this process.
fn cpu_time() -> Outcome<Duration> {
    // User and system time are the 14th and 15th field, in hundredths of a second; the second is in parentheses.
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(10 * ticks))
}
