//! Logs as witnesses of a manifest that lost its end.
//!
//! An edit that opens a log is durable before the log's first record is written, and gives it a number
//! that no edit before has. So a record under a number that the manifest has not given yet is one of a
//! log that a lost commit opened. Its file may be one that no commit names, or be named as
//! the log that was there before.

use crate::error::{Corruption, Result};
use crate::storage::{File, FileId, FileKind, Storage};
use crate::version::VersionSet;
use crate::wal::{LogId, record};
use terrane_types::sort_by;

/// Numbers from the next one on that are tried: more than commits in the rest of a manifest's region
/// give, and tried at once.
const NUMBERS: u64 = 1 << 14;

/// The log of a store with one of these salts that a log file holds, if a commit opened it that the
/// version set does not have.
pub(crate) fn later_log(
    file: &dyn File,
    number: u64,
    salts: &[u64],
    version_set: &VersionSet,
) -> Result<Option<LogId>> {
    let live = version_set.logs.iter().map(|log| (log.file, log.id()));
    let retained = version_set.retained.iter().map(|log| (log.file, log.log));
    if let Some((_, own)) = live.chain(retained).find(|(file, _)| *file == number)
        && record::log_in(file, own.salt, own.number..=own.number)?.is_some()
    {
        return Ok(None);
    }
    let numbers = version_set.next_id..=version_set.next_id.saturating_add(NUMBERS);
    for salt in salts {
        if let Some(log) = record::log_in(file, *salt, numbers.clone())? {
            return Ok(Some(log));
        }
    }
    Ok(None)
}

/// Refuses a manifest where a log of the store knows of a later commit.
pub(crate) fn check_log_numbers(storage: &dyn Storage, version_set: &VersionSet) -> Result<()> {
    let orphans = storage.orphans()?;
    let mut logs: Vec<_> =
        orphans.iter().filter_map(|orphan| FileId::parse(&orphan.file)).collect();
    logs.retain(|id| id.kind == FileKind::Log);
    logs.extend(version_set.log_files());
    sort_by(&mut logs, Ord::cmp);
    for id in logs {
        let file = storage.open(id)?;
        if let Some(log) = later_log(&*file, id.number, &[storage.id().salt()], version_set)? {
            let expected =
                format!("records of a log below {}, which none had yet", version_set.next_id);
            let found =
                format!("a record of log {}: the commit that opened it is lost", log.number);
            return Err(Corruption::new(id.to_string(), 0, expected, found).into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::vfs::{MemoryVfs, Vfs};
    use crate::wal::LogWriter;

    #[test]
    fn a_log_with_a_number_not_yet_given_is_later_than_the_manifest() {
        let file = MemoryVfs::new().create("log").unwrap();
        let id = LogId { number: 1000, salt: 7 };
        let mut log = LogWriter::begin(file.clone(), id, 1 << 20).unwrap();
        log.append(1, 0, &[b"batch"]).unwrap();
        let later = |next_id, salts: &[u64]| {
            let version_set = VersionSet { next_id, ..VersionSet::default() };
            later_log(&*file, 5, salts, &version_set).unwrap()
        };
        assert_eq!([1, 900, 1000].map(|next_id| later(next_id, &[8, 7])), [Some(id); 3]);
        assert_eq!((later(1001, &[7]), later(900, &[8])), (None, None));
    }
}
