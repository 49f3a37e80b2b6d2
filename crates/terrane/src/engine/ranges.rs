//! Requested compactions of ranges, and their stages.

use crate::entry::Seq;
use crate::error::{Error, Result};
use crate::keyspace::KeyspaceId;
use terrane_policy::TableId;
use terrane_table::read::KeyRange;

/// A requested compaction of a range.
pub(crate) struct RangeRequest {
    pub number: u64,
    pub keyspace: KeyspaceId,
    pub range: KeyRange,
    /// The last sequence number that is part of it.
    pub through: Seq,
    /// Tables of the bottom with smaller ids lose the entries that no reader needs.
    pub before: TableId,
    /// The oldest snapshot at the time of the request.
    pub oldest_snapshot: Seq,
    /// The end of the next slice, if tables were cut for it.
    pub end: Option<Vec<u8>>,
    pub target_file_bytes: u64,
    /// Slices left after which the keyspace's policy is called before the next slice.
    pub yields: u64,
    pub stage: Stage,
}

/// The stage of a range.
pub(crate) enum Stage {
    /// The keyspace's policy is asked first, if it is due.
    Queued,
    /// The next slice can be planned.
    Ready,
    /// A thread plans the next slice.
    Planning,
    /// A compaction blocks the next slice: no other of the keyspace starts before it.
    Blocked,
    /// This compaction merges the slice.
    Running(u64),
    /// No slice can be planned.
    Failed(Error),
}

/// The requested compactions of ranges, in the order of the requests.
#[derive(Default)]
pub(crate) struct Ranges(pub(super) Vec<RangeRequest>);

impl Ranges {
    /// Adds a request.
    pub fn push(&mut self, request: RangeRequest) {
        self.0.push(request);
    }

    /// Returns the first request that may run, if `may` agrees.
    pub fn next(&mut self, may: impl Fn(&RangeRequest) -> bool) -> Option<&mut RangeRequest> {
        self.0.iter_mut().find(|request| may(request))
    }

    /// Returns all requests.
    #[cfg(test)]
    pub fn all(&mut self) -> &mut Vec<RangeRequest> {
        &mut self.0
    }

    /// A request, by its number.
    pub fn find(&mut self, number: u64) -> Option<&mut RangeRequest> {
        self.0.iter_mut().find(|request| request.number == number)
    }

    /// Whether a request has finished or failed.
    pub fn has_ended(&self, number: u64) -> bool {
        let request = self.0.iter().find(|request| request.number == number);
        request.is_none_or(|request| matches!(request.stage, Stage::Failed(_)))
    }

    /// Removes a request. Returns its error, if it failed.
    pub fn take_back(&mut self, number: u64) -> Result<()> {
        let at = self.0.iter().position(|request| request.number == number);
        match at.map(|at| self.0.remove(at).stage) {
            Some(Stage::Failed(why)) => Err(why),
            _ => Ok(()),
        }
    }

    /// Removes the requests of a keyspace.
    pub fn forget(&mut self, keyspace: KeyspaceId) {
        self.0.retain(|request| request.keyspace != keyspace);
    }

    fn of(&mut self, keyspace: KeyspaceId) -> impl Iterator<Item = &mut RangeRequest> {
        self.0.iter_mut().filter(move |request| request.keyspace == keyspace)
    }

    /// A group of this compaction of the keyspace ended, and the compaction with it, if it was the last.
    pub fn group_ended(&mut self, keyspace: KeyspaceId, number: u64, ended: bool) {
        for request in self.of(keyspace) {
            match request.stage {
                Stage::Blocked => request.stage = Stage::Ready,
                // Cut tables are merged before a policy merges them otherwise.
                Stage::Running(n) if n == number && ended => {
                    let goes_on = request.end.is_some() || request.yields == 0;
                    request.stage = if goes_on { Stage::Ready } else { Stage::Queued };
                }
                _ => {}
            }
        }
    }

    /// The keyspace's policy was asked: next are the ranges that waited for that.
    pub fn policy_asked(&mut self, keyspace: KeyspaceId) {
        for request in self.of(keyspace).filter(|r| matches!(r.stage, Stage::Queued)) {
            request.stage = Stage::Ready;
        }
    }

    /// Whether a range runs before the keyspace's policy.
    pub fn hold_policy(&self, keyspace: KeyspaceId) -> bool {
        let holds =
            |stage: &Stage| matches!(stage, Stage::Ready | Stage::Planning | Stage::Blocked);
        self.0.iter().any(|r| r.keyspace == keyspace && holds(&r.stage))
    }
}
