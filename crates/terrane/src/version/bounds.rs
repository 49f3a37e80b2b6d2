//! What numbers an edit may give: far below where counting on would overflow.
//!
//! Each number that a store draws is one more than another, so none that it writes comes near these
//! bounds in any time there is. One that does was not written by it, and is damage.

use super::{Change, Quarantine};
use crate::entry::{MAX_SEQ, Seq};
use crate::error::{Corruption, Result};

/// The greatest number of a file, run, log, keyspace or compaction, and the next one's.
const NUMBERS_MAX: u64 = 1 << 62;

/// Refuses a change that names a number or sequence out of bounds.
pub(super) fn check(change: &Change) -> Result<()> {
    let (numbers, sequence): (&[u64], Seq) = match change {
        Change::NextId(next) => (&[*next], 0),
        Change::AddTable { run, info, .. } => (&[run.0, info.id.0], info.last_seq),
        Change::Flushed { through, .. } => (&[], *through),
        Change::OpenLog { number, file, .. } => (&[*number, *file], 0),
        Change::RetireLogs { below, next } => (&[*below], *next),
        Change::EndLog { number, through } => (&[*number], *through),
        Change::Quarantine(Quarantine { file, log, .. }) => (&[*file, log.number], 0),
        Change::Remaining { number, plan, .. } => {
            let runs = plan.groups.iter().map(|group| group.destination.run.0);
            (&[*number, runs.max().unwrap_or(0)], 0)
        }
        _ => return Ok(()),
    };
    let refuse = |what, most: u64, found: u64| {
        let expected = format!("a {what} of at most {most}");
        Err(Corruption::new("manifest", 0, expected, found.to_string()).into())
    };
    match numbers.iter().find(|n| **n > NUMBERS_MAX) {
        Some(found) => refuse("number", NUMBERS_MAX, *found),
        None if sequence > MAX_SEQ => refuse("sequence", MAX_SEQ, sequence),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::keyspace::KeyspaceId;
    use crate::version::{Edit, VersionSet};

    #[test]
    fn numbers_from_which_none_can_follow_are_damage() {
        let keyspace = KeyspaceId(0);
        for near in [u64::MAX, u64::MAX - 1, NUMBERS_MAX + 1] {
            for change in [
                Change::NextId(near),
                Change::OpenLog { number: near, file: 1, salt: 0 },
                Change::OpenLog { number: 1, file: near, salt: 0 },
                Change::RetireLogs { below: near, next: 1 },
                Change::EndLog { number: 1, through: near },
                Change::RetireLogs { below: 0, next: near },
                Change::Flushed { keyspace, through: near },
            ] {
                let mut version_set = VersionSet::default();
                let edit = Edit { changes: vec![change] };
                let read =
                    Edit::decode(&edit.encode(), 0).and_then(|edit| version_set.apply(&edit));
                assert!(matches!(read, Err(Error::Corrupt(_))), "{edit:?}: {read:?}");
            }
        }
        let sound =
            vec![Change::NextId(NUMBERS_MAX), Change::RetireLogs { below: 1, next: MAX_SEQ }];
        VersionSet::default().apply(&Edit { changes: sound }).unwrap();
    }
}
