//! Compactions and ranges: what is recorded of them, and whose turn it is.

use super::*;
use crate::error::Error;
use crate::vec_map::{VecMap, VecSet};
use crate::version::{KeyspaceRecord, Tree};
use terrane_policy::{
    Action, Destination, FilterBits, Histogram, Kept, Prefixes, RunId, Shape, ShapeEdit, TableId,
    TableInfo, TombstoneRule,
};
use terrane_table::read::KeyRange;

const ROWS: KeyspaceId = KeyspaceId(1);
const OTHERS: KeyspaceId = KeyspaceId(2);

fn group(table: u64) -> Group {
    let destination = Destination { level: 1, run: RunId(99) };
    Group::new(vec![TableId(table)], destination, Action::merge(1))
}

fn compaction(number: u64, keyspace: KeyspaceId, tables: &[u64]) -> RunningCompaction {
    let groups: Vec<_> = tables.iter().copied().map(group).collect();
    RunningCompaction {
        number,
        keyspace,
        order: Order::Sequential,
        reason: format!("compaction {number}"),
        planner: None,
        unreported: Observed::default(),
        several: groups.len() > 1,
        waiting: groups.clone(),
        open: groups,
    }
}

/// A compaction of a table into a level.
fn into(level: usize, number: u64, keyspace: KeyspaceId) -> RunningCompaction {
    let destination = Destination { level, run: RunId(99) };
    let groups = vec![Group { destination, ..group(number) }];
    RunningCompaction { waiting: groups.clone(), open: groups, ..compaction(number, keyspace, &[]) }
}

/// A merge into a level, of which a part is left.
fn shared_into(level: usize, number: u64) -> Arc<SharedMerge> {
    let destination = Destination { level, run: RunId(99) };
    let group = Group { destination, parts: vec![vec![1]], ..group(number) };
    let tree = Arc::<Tree>::default();
    let rule = TombstoneRule::new(tree.shape(), &Running::default(), &group);
    let merge = SharedMerge::new(number, ROWS, group, tree, rule, VecSet::default());
    drop(merge.next_part());
    merge
}

/// A range of each keyspace in each stage; one beside it that was cut runs as compaction 3.
fn ranges() -> Ranges {
    let refused = Stage::Failed(Error::poisoned(&Error::read_only("write to", "a test")));
    let mut ranges = Vec::new();
    for keyspace in [ROWS, OTHERS] {
        for (stage, end) in [
            (Stage::Queued, None),
            (Stage::Ready, None),
            (Stage::Planning, None),
            (Stage::Blocked, None),
            (Stage::Running(3), None),
            (Stage::Running(3), Some(vec![5])),
            (Stage::Running(4), None),
        ] {
            ranges.push(RangeRequest {
                number: ranges.len() as u64,
                keyspace,
                range: KeyRange::default(),
                through: 0,
                before: TableId(0),
                oldest_snapshot: 0,
                end,
                target_file_bytes: 1,
                yields: 1,
                stage,
            });
        }
    }
    let last = RangeRequest { stage: refused, ..ranges.pop().unwrap() };
    ranges.push(last);
    Ranges(ranges)
}

/// The stages of a keyspace's ranges, in short.
fn stages(planner: &Planner, keyspace: KeyspaceId) -> Vec<&'static str> {
    let of = |stage: &Stage| match stage {
        Stage::Queued => "queued",
        Stage::Ready => "ready",
        Stage::Planning => "planning",
        Stage::Blocked => "blocked",
        Stage::Running(_) => "running",
        Stage::Failed(_) => "failed",
    };
    let ranges = planner.ranges.0.iter().filter(|request| request.keyspace == keyspace);
    ranges.map(|request| of(&request.stage)).collect()
}

#[test]
fn the_rest_of_a_compaction_is_recorded_only_of_several_groups() {
    let compactions = vec![compaction(3, OTHERS, &[1]), compaction(4, ROWS, &[2, 5, 6])];
    let planner = Planner { compactions, ..Planner::default() };
    assert_eq!(planner.remaining_after(3, &group(1)), None, "it is whole, or was never there");
    assert_eq!(planner.remaining_after(7, &group(2)), None);
    let plan = Compaction {
        groups: vec![group(2), group(6)],
        order: Order::Sequential,
        reason: "compaction 4".into(),
    };
    let left = Change::Remaining { keyspace: ROWS, number: 4, plan };
    assert_eq!(planner.remaining_after(4, &group(5)), Some(left));
}

#[test]
fn begun_work_is_next_by_level_and_then_by_age() {
    let merges = [(3, 1), (2, 2), (2, 3)].map(|(level, number)| shared_into(level, number));
    let groups = [(4, 4), (2, 5), (1, 6), (2, 7), (3, 8)];
    let mut planner = Planner {
        shared_merges: merges.into(),
        compactions: groups.map(|(level, number)| into(level, number, ROWS)).into(),
        ..Planner::default()
    };
    let mut next = |deepest| match planner.next_begun(deepest) {
        Some(Begun::Part(part)) => Some(("part", part.merge.compaction)),
        Some(Begun::Group(number, ..)) => Some(("group", number)),
        None => None,
    };
    assert_eq!((next(0), next(1), next(1)), (None, Some(("group", 6)), None));
    let all: Vec<_> = std::iter::from_fn(|| next(usize::MAX)).collect();
    let level2 = [("part", 2), ("part", 3), ("group", 5), ("group", 7)];
    assert_eq!(all[..4], level2);
    assert_eq!(all[4..], [("part", 1), ("group", 8), ("group", 4)]);
}

#[test]
fn a_search_for_begun_work_includes_its_deepest_level() {
    let mut planner = Planner { shared_merges: vec![shared_into(1, 1)], ..Planner::default() };
    assert!(planner.next_begun(0).is_none());
    assert!(matches!(planner.next_begun(1), Some(Begun::Part(_))));
}

#[test]
fn level0_is_emptied_by_compactions_into_level_0_or_1() {
    for (level, empties) in [(0, true), (1, true), (2, false)] {
        let compactions = vec![into(3, 1, ROWS), into(level, 2, ROWS), into(3, 3, OTHERS)];
        let planner = Planner { compactions, ..Planner::default() };
        assert_eq!(planner.empties_level0(ROWS), empties, "{level}");
        assert!(!planner.empties_level0(OTHERS));
    }
}

#[test]
fn a_policy_sees_the_open_groups_of_its_own_keyspace() {
    let compactions = vec![compaction(3, OTHERS, &[1]), compaction(4, ROWS, &[2, 5])];
    let mut planner = Planner { compactions, ..Planner::default() };
    assert!(planner.end_group(4, &group(2)).is_none());
    let open = |running: Running| running.groups().cloned().collect::<Vec<_>>();
    assert_eq!(open(planner.running(ROWS)), [group(5)]);
    assert_eq!(open(planner.running(OTHERS)), [group(1)]);
    assert_eq!(open(planner.running(KeyspaceId(7))), []);
}

#[test]
fn a_blocked_range_resumes_when_a_group_ends() {
    let compactions = vec![compaction(3, ROWS, &[1, 2]), compaction(4, OTHERS, &[3])];
    let mut planner = Planner { compactions, ranges: ranges(), ..Planner::default() };
    let of_others = stages(&planner, OTHERS);
    assert!(planner.end_group(3, &group(1)).is_none());
    // Its own compaction continues, so a slice that runs does.
    let before = ["queued", "ready", "planning", "ready", "running", "running", "running"];
    assert_eq!(stages(&planner, ROWS), before);
    assert_eq!(planner.end_group(3, &group(2)).unwrap().number, 3);
    // After a slice the policy is asked first, but not before what was cut is merged.
    let after = ["queued", "ready", "planning", "ready", "queued", "ready", "running"];
    assert_eq!(stages(&planner, ROWS), after);
    assert_eq!(stages(&planner, OTHERS), of_others);
    assert_eq!(planner.unplanned.iter().copied().collect::<Vec<_>>(), [ROWS]);
    assert!(planner.end_group(3, &group(2)).is_none(), "it is gone");
}

#[test]
fn a_range_queued_for_its_policy_is_ready_once_that_was_asked() {
    let mut planner = Planner { ranges: ranges(), ..Planner::default() };
    let of_others = stages(&planner, OTHERS);
    planner.ranges.policy_asked(ROWS);
    let after = ["ready", "ready", "planning", "blocked", "running", "running", "running"];
    assert_eq!(stages(&planner, ROWS), after);
    assert_eq!(stages(&planner, OTHERS), of_others);
}

#[test]
fn a_policy_is_not_asked_while_a_range_of_its_keyspace_is_ready() {
    let all = Planner { ranges: ranges(), ..Planner::default() };
    let count = all.ranges.0.len();
    for at in 0..count {
        let mut planner = Planner { ranges: ranges(), ..Planner::default() };
        let request = planner.ranges.0.remove(at);
        planner.ranges = Ranges(vec![request]);
        let [request] = planner.ranges.0.as_slice() else { panic!() };
        let has_turn = matches!(request.stage, Stage::Ready | Stage::Planning | Stage::Blocked);
        let (own, other) = if request.keyspace == ROWS { (ROWS, OTHERS) } else { (OTHERS, ROWS) };
        assert_eq!(planner.ranges.hold_policy(own), has_turn, "{:?}", stages(&planner, own));
        assert!(!planner.ranges.hold_policy(other));
    }
}

/// A table that starts at the key of its id and ends before the next one's.
fn table(id: u8) -> Arc<TableInfo> {
    Arc::new(TableInfo {
        id: TableId(u64::from(id)),
        bytes: 1,
        entries: 1,
        tombstones: 0,
        smallest: vec![id],
        largest: vec![id, 9],
        first_seq: 1,
        last_seq: 1,
        filter_bits: FilterBits::whole(10),
        filter_bytes: 0,
        kept: Some(Kept::default()),
        cleared: 0,
        expires_by: 0,
        salt: 0,
        histogram: Histogram::default(),
        prefixes: Prefixes::default(),
    })
}

#[test]
fn a_restart_resumes_the_fitting_rest_and_forgets_the_other() {
    let added = [1, 2, 3].map(|id| (0, RunId(u64::from(id)), table(id))).to_vec();
    let shape = terrane_policy::apply(&Shape::default(), &ShapeEdit { added, dropped: vec![] });
    let record = KeyspaceRecord {
        name: "rows".to_owned(),
        policy: "{}".to_owned(),
        policy_state: Vec::new(),
        flushed: 0,
        shape: Arc::new(shape.unwrap()),
        ..KeyspaceRecord::default()
    };
    // The group that these follow is no longer among them: it is installed.
    let follows = |group: Group| Group { follows: Some(TableId(50)), ..group };
    let plan = |tables: &[u64]| Compaction {
        groups: tables.iter().map(|table| follows(group(*table))).collect(),
        order: Order::Sequential,
        reason: "a test".into(),
    };
    let (mut planner, mut version_set) = (Planner::default(), VersionSet::default());
    version_set.keyspaces.insert(ROWS, Arc::new(record));
    let mut remaining = VecMap::default();
    for (number, tables) in [(4, &[1, 2][..]), (5, &[2]), (6, &[77])] {
        remaining.insert(number, (ROWS, Arc::new(plan(tables))));
    }
    version_set.remaining = remaining;

    let forgotten = planner.resume(&version_set, |_| None);
    // Table 2 has a group already, and there is no table 77.
    let nothing = |number| {
        let plan = Compaction { groups: Vec::new(), ..plan(&[]) };
        Change::Remaining { keyspace: ROWS, number, plan }
    };
    assert_eq!(forgotten, [nothing(5), nothing(6)]);
    let [resumed] = planner.compactions.as_slice() else { panic!("one fits") };
    assert_eq!((resumed.number, resumed.keyspace, resumed.several), (4, ROWS, true));
    assert_eq!(resumed.open, [group(1), group(2)]);
    assert_eq!(resumed.waiting, resumed.open);
}
