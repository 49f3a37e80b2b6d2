//! `restore`: restores a store from a backup.

use crate::commands::backups::{failure, runtime};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::message::{self, counted};
use clap::Args;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;
use terrane_backup::{At, Error, Restored, Salvage, restore, salvage};

pub const EXAMPLES: &str = "\
Examples:
  terrane restore s3://bucket/db db
  terrane restore s3://bucket/db db --at 2026-03-01T12:00:00Z
  terrane restore s3://bucket/db db --at 4711
  terrane restore s3://bucket/db db --at 9f86d081884c7d65-4711

`terrane backups` lists the moments that can be restored.";

/// Restore a store from a backup
///
/// Nothing is left in the directory unless all that the moment needs is there and sound. The store starts a lineage of
/// its own: replicas and readers of changes start anew. Ctrl-C removes what was restored. After a restore was killed,
/// no command opens the directory until the restore is repeated.
#[derive(Args)]
pub struct RestoreArgs {
    /// Place of the backup, as `serve --backup` has it
    url: String,
    /// Restore into this directory, which is empty or does not exist
    dir: PathBuf,
    /// Restore this moment: a time such as 2026-03-01T12:00:00Z, a sequence number, or the cursor LINEAGE-SEQUENCE,
    /// as where several lineages have the number; the newest moment otherwise
    #[arg(long, value_name = "TIME|SEQUENCE|CURSOR", value_parser = at)]
    at: Option<At>,
    /// Restore what is there of a damaged backup
    #[arg(long)]
    salvage: bool,
}

fn at(text: &str) -> Result<At, String> {
    if let Ok(sequence) = text.parse() {
        return Ok(At::Sequence(sequence));
    }
    if let Ok(cursor) = text.parse() {
        return Ok(At::Cursor(cursor));
    }
    let time = humantime::parse_rfc3339_weak(text).ok();
    let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let millis = since.and_then(|since| u64::try_from(since.as_millis()).ok());
    let expected = "expected a time in UTC, a sequence number or a cursor; for example: \
                    2026-03-01T12:00:00Z";
    millis.map(At::Time).ok_or_else(|| expected.to_owned())
}

/// Restores a store.
pub fn run(args: &RestoreArgs) -> Result<(), Failure> {
    let (objects, prefix) = terrane_backup::open(&args.url).map_err(failure)?;
    interrupt::listen()?;
    let (runtime, at) = (runtime()?, args.at.unwrap_or(At::Newest));
    if !args.salvage {
        let restored = runtime.block_on(unless_heard(restore(objects, prefix, &args.dir, at)))?;
        let restored = restored.map_err(|e| match e {
            Error::Damaged { .. } => failure(e).and("--salvage restores what is there"),
            other => failure(other),
        })?;
        report(args, &restored);
        return Ok(());
    }
    let salvaged = runtime.block_on(unless_heard(salvage(objects, prefix, &args.dir, at)))?;
    let salvaged = salvaged.map_err(failure)?;
    report(args, &salvaged.restored);
    if salvaged.damage.is_empty() {
        return Ok(());
    }
    Err(loss(args, &salvaged))
}

/// Waits for a restore, or ends it after a signal. Its files are removed then.
async fn unless_heard<T>(restore: impl Future<Output = T>) -> Result<T, Failure> {
    let heard = async {
        loop {
            tokio::time::sleep(interrupt::PATIENCE).await;
            if let Err(heard) = interrupt::check() {
                return heard;
            }
        }
    };
    tokio::select! {
        done = restore => Ok(done),
        heard = heard => Err(heard),
    }
}

/// Reports the objects that a salvage left out, and returns the failure.
fn loss(args: &RestoreArgs, salvaged: &Salvage) -> Failure {
    for damage in &salvaged.damage {
        message::note(damage);
    }
    let dir = args.dir.display();
    let damaged = counted(salvaged.damage.len() as u64, "object is", "objects are");
    let mut sentence = format!("{damaged} missing or damaged; {dir} has the rest");
    if let Some(through) = salvaged.lost_through {
        let from = salvaged.restored.sequence + 1;
        sentence += &format!(", without the batches from {from} to {through}");
    }
    if salvaged.doubtful_rows > 0 {
        let doubtful = counted(salvaged.doubtful_rows, "row is", "rows are");
        sentence +=
            &format!(", and {doubtful} doubtful: a newer version or the delete may be lost");
    }
    Failure::new(Exit::Damage, sentence)
}

fn report(args: &RestoreArgs, restored: &Restored) {
    let Restored { sequence, tables, bytes, lineage, .. } = restored;
    let tables = counted(*tables, "table", "tables");
    message::note(&format!(
        "restored {} at sequence {sequence} of lineage {lineage}: {tables}, {bytes} bytes; the last manifest with its \
         base is of {}",
        args.dir.display(),
        terrane_backup::utc(restored.time)
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_time_a_sequence_number_or_a_cursor() {
        assert_eq!(at("17"), Ok(At::Sequence(17)));
        assert_eq!(at("1970-01-01T00:00:01Z"), Ok(At::Time(1000)));
        assert!(
            matches!(at("9f86d081884c7d65-17"), Ok(At::Cursor(cursor)) if cursor.sequence == 17)
        );
        for malformed in ["", "yesterday", "-1", "1969-01-01T00:00:00Z"] {
            assert!(at(malformed).unwrap_err().contains("2026-03-01T12:00:00Z"), "{malformed}");
        }
    }
}
