//! Every change returns, and what a later release adds is skipped or refused by name.

use super::*;
use crate::error::ErrorKind;
use crate::keyspace::KeyspaceId;
use terrane_policy::{
    Action, Compaction, Destination, FilterBits, Group, Kept, Order, PrefixRule, PrefixSplit,
};
use terrane_types::range_deletes::{End, RangeDeletes};

fn sample() -> Edit {
    let keyspace = KeyspaceId(3);
    let info = TableInfo {
        id: TableId(9),
        bytes: 4096,
        entries: 10,
        tombstones: 1,
        smallest: b"".to_vec(),
        largest: b"z".to_vec(),
        first_seq: 5,
        last_seq: 14,
        filter_bits: FilterBits::from_thousandths(9_500),
        filter_bytes: 1 << 40,
        kept: Some(Kept { entries: 3, bytes: 300, until: 1 << 40 }),
        cleared: 0,
        expires_by: 0,
        salt: 1 << 63,
        histogram: Histogram::default(),
        prefixes: Prefixes::default(),
    };
    let destination = Destination { level: 2, run: RunId(8) };
    let cuts = vec![vec![], b"m".to_vec()];
    let filter_bits = Some(FilterBits::MAX);
    let merge = Action::Merge { cuts, target_file_bytes: 1 << 20, filter_bits, split: None };
    let [by_length, by_delimiter] = [PrefixRule::Length(300), PrefixRule::Delimiter(255)]
        .map(|rule| Action::split_merge(PrefixSplit { rule, least_bytes: 1 << 22 }, u64::MAX));
    let follower = Some(TableId(300));
    let actions =
        [(Action::Move, None), (merge, follower), (by_length, None), (by_delimiter, None)];
    let groups = actions.map(|(action, follows)| Group {
        follows,
        ..Group::new(vec![TableId(2), TableId(300)], destination, action)
    });
    Edit {
        changes: vec![
            Change::NextId(77),
            Change::Lineage { lineage: 1 << 63, start: 1 << 40 },
            Change::RetainLog(RetainedLog {
                log: LogId { number: 300, salt: 1 << 63 },
                file: 301,
                first: 5,
                last: 1 << 40,
                bytes: 1 << 30,
            }),
            Change::ForgetLogs { below: 300 },
            Change::CreateKeyspace { id: keyspace, name: "x".into(), policy: "{}".into() },
            Change::AddTable { keyspace, level: 1, run: RunId(8), info: info.clone() },
            Change::AddTable {
                keyspace,
                level: 1,
                run: RunId(8),
                info: TableInfo { kept: None, ..info.clone() },
            },
            Change::AddTable {
                keyspace,
                level: 1,
                run: RunId(9),
                info: TableInfo { cleared: 1 << 50, expires_by: 1 << 41, ..info },
            },
            Change::DropTable { keyspace, table: TableId(2) },
            Change::PolicyState { keyspace, state: vec![1, 2, 3] },
            Change::Remaining {
                keyspace,
                number: 6,
                plan: Compaction {
                    groups: groups.to_vec(),
                    order: Order::Sequential,
                    reason: "why".into(),
                },
            },
            Change::Levels { keyspace, change: LevelChange::Add(3) },
            Change::Levels { keyspace, change: LevelChange::Drop(2) },
            Change::SetPolicy { keyspace, policy: "{\"policy\":\"tiered\"}".into() },
            Change::Flushed { keyspace, through: 14 },
            Change::OpenLog { number: 12, file: 4, salt: 5 },
            Change::RetireLogs { below: 12, next: 15 },
            Change::EndLog { number: 12, through: 20 },
            Change::Features(Features { required: 0, optional: 6 }),
            Change::Quarantine(Quarantine {
                file: 14,
                log: LogId { number: 12, salt: 5 },
                offset: 1 << 20,
                bytes: 300,
            }),
            Change::DropQuarantine { file: 14 },
            range_deletes(keyspace, End::before(Some(b"z"))),
            range_deletes(keyspace, End::Open),
            Change::DropKeyspace { id: keyspace, sequence: 1 << 40 },
        ],
    }
}

/// Two fragments, of which the second goes to the end of the range.
fn range_deletes(keyspace: KeyspaceId, to: End) -> Change {
    let mut range_deletes = RangeDeletes::default();
    range_deletes.add(b"b", &End::before(Some(b"k")), 7);
    range_deletes.add(b"f", &to, 1 << 40);
    Change::RangeDeletes { keyspace, from: Vec::new(), to, range_deletes }
}

#[test]
fn range_deletes_out_of_order_or_out_of_their_range_are_damage() {
    let damaged = |range: &[u8], fragments: &[u8]| {
        let body = [&[3][..], range, fragments].concat();
        let mut bytes = vec![RANGE_DELETES];
        put_bytes(&mut bytes, &body);
        let read = Edit::decode(&bytes, 0).map_err(Error::into_kind);
        match read {
            Ok(_) => false,
            Err(ErrorKind::Corrupt(_)) => true,
            Err(other) => panic!("{other:?}"),
        }
    };
    // From "b" to before "f".
    let range = &[1, b'b', 2, b'f'][..];
    assert!(!damaged(range, &[0]));
    assert!(!damaged(range, &[1, 1, b'b', 2, b'f', 2, 9, 8]));
    assert!(damaged(range, &[1, 1, b'a', 2, b'f', 1, 9]), "before the range");
    assert!(damaged(range, &[1, 1, b'b', 2, b'g', 1, 9]), "behind the range");
    assert!(damaged(range, &[1, 1, b'b', 0, 1, 9]), "an open end in a range that has one");
    assert!(damaged(range, &[1, 1, b'c', 2, b'c', 1, 9]), "no key");
    assert!(damaged(range, &[1, 1, b'b', 2, b'c', 0]), "no number");
    assert!(damaged(range, &[1, 1, b'b', 2, b'c', 2, 8, 9]), "numbers that ascend");
    let overlapping = [2, 1, b'b', 2, b'd', 1, 9, 1, b'c', 2, b'e', 1, 9];
    assert!(damaged(range, &overlapping));
    assert!(damaged(&[1, b'f', 2, b'b'], &[0]), "a range without a key");
}

#[test]
fn every_change_is_decoded_as_it_was_encoded() {
    assert_eq!(Edit::decode(&sample().encode(), 0).unwrap(), sample());
}

#[test]
fn unknown_optional_changes_are_skipped_and_required_refused() {
    let mut bytes = sample().encode();
    bytes.extend([200, 2, 1, 1]);
    assert_eq!(Edit::decode(&bytes, 0).unwrap(), sample());
    bytes.extend([100, 0]);
    assert!(matches!(
        Edit::decode(&bytes, 0).map_err(Error::into_kind),
        Err(ErrorKind::NewerFormat(_))
    ));
}

/// Every change of the sample, its body followed by `more`.
fn extended(more: &[u8]) -> Vec<Vec<u8>> {
    let extend = |change: &Change| {
        let mut body = Vec::new();
        let mut bytes = vec![encode_change(change, &mut body)];
        body.extend(more);
        put_bytes(&mut bytes, &body);
        bytes
    };
    sample().changes.iter().map(extend).collect()
}

/// Returns the refusal of a later release's bytes.
fn refused(bytes: &[u8]) -> String {
    match Edit::decode(bytes, 0).map_err(Error::into_kind) {
        Err(ErrorKind::NewerFormat(newer)) => newer.found,
        other => panic!("{bytes:?}: {other:?}"),
    }
}

#[test]
fn a_change_with_later_optional_fields_reads_as_without() {
    for bytes in [&[8, 0][..], &[8, 1, 9, 10, 0], &[200, 1, 3, 7, 7, 7]] {
        let edits = extended(bytes);
        assert_eq!(Edit::decode(&edits.concat(), 0).unwrap(), sample());
    }
}

#[test]
fn a_later_required_field_is_refused_by_name_in_every_change() {
    for edit in extended(&[8, 1, 9, 9, 0]) {
        assert_eq!(refused(&edit), format!("field 9 in a change of kind {}", edit[0]));
    }
}

#[test]
fn added_fields_that_do_not_ascend_or_end_early_are_damage() {
    for more in [&[0, 0][..], &[8, 0, 8, 0], &[10, 0, 8, 0], &[8], &[8, 1], &[0x80]] {
        for edit in extended(more) {
            assert!(
                matches!(
                    Edit::decode(&edit, 0).map_err(Error::into_kind),
                    Err(ErrorKind::Corrupt(_))
                ),
                "{edit:?}"
            );
        }
    }
}

#[test]
fn what_a_table_kept_is_three_numbers_or_damage() {
    let at = sample().changes.iter().position(|c| matches!(c, Change::AddTable { .. })).unwrap();
    let is_damage = |field: &[u8]| {
        // The second table says nothing of it.
        let edit = extended(&[&[2, field.len() as u8], field].concat()).remove(at + 1);
        match Edit::decode(&edit, 0).map_err(Error::into_kind) {
            Ok(Edit { changes }) => {
                let [Change::AddTable { info, .. }] = &changes[..] else { panic!("{changes:?}") };
                assert_eq!(info.kept, Some(Kept { entries: 1, bytes: 2, until: 3 }));
                false
            }
            Err(ErrorKind::Corrupt(_)) => true,
            Err(e) => panic!("{e}"),
        }
    };
    let fields = [&[1, 2, 3][..], &[1, 2], &[1, 2, 3, 4], &[], &[1, 2, 0x80]];
    assert_eq!(fields.map(is_damage), [false, true, true, true, true]);
}

#[test]
fn features_add_up_and_an_unknown_required_one_is_refused() {
    let features = |required, optional| Edit {
        changes: vec![Change::Features(Features { required, optional })],
    };
    let mut version_set = crate::version::VersionSet::default();
    for optional in [1, 1 << 63] {
        let edit = Edit::decode(&features(0, optional).encode(), 0).unwrap();
        version_set.apply(&edit).unwrap();
    }
    let mut again = crate::version::VersionSet::default();
    again.apply(&version_set.snapshot()).unwrap();
    assert_eq!(again.features, Features { required: 0, optional: 1 << 63 | 1 });
    let later = features(1 << 40, 0).encode();
    assert_eq!(refused(&later), "required feature bit 40 in a change of kind 14");
}

#[test]
fn a_plan_of_a_later_release_is_refused_by_name() {
    // An empty reason, in parallel, one group of no table, into level 2, run 8.
    let plan = |action| [0, 0, 1, 0, 2, 8, action];
    for (plan, name) in [
        (plan(3), "action 3 in a change of kind 10"),
        (plan(0), "relation to another group 2 in a change of kind 10"),
    ] {
        let body = [&[3, 6][..], &plan, &[2]].concat();
        let edit = [&[REMAINING, body.len() as u8][..], &body].concat();
        assert_eq!(refused(&edit), name);
    }
    assert_eq!(refused(&[LEVELS, 3, 3, 2, 1]), "level change 2 in a change of kind 12");
}

#[test]
fn a_table_of_a_level_that_no_tree_has_is_damage() {
    for (at, is_read) in [(0, true), (63, true), (64, false)] {
        let change = match sample().changes.swap_remove(5) {
            Change::AddTable { keyspace, run, info, .. } => {
                Change::AddTable { keyspace, level: at, run, info }
            }
            other => panic!("{other:?}"),
        };
        let edit = Edit { changes: vec![change] };
        match Edit::decode(&edit.encode(), 0) {
            Ok(read) => assert!(is_read && read == edit, "level {at}"),
            Err(e) => {
                assert!(!is_read && matches!(e.kind(), ErrorKind::Corrupt(_)), "level {at}: {e}")
            }
        }
    }
}

#[test]
fn what_is_left_of_a_compaction_keeps_its_order() {
    for order in [Order::Parallel, Order::Sequential, Order::AtMost(2), Order::AtMost(255)] {
        let plan = Compaction { groups: Vec::new(), order, reason: "why".into() };
        let keyspace = KeyspaceId(3);
        let edit = Edit { changes: vec![Change::Remaining { keyspace, number: 6, plan }] };
        assert_eq!(Edit::decode(&edit.encode(), 0).unwrap(), edit);
    }
}

#[test]
fn a_cut_edit_never_panics_and_its_damage_is_within_it() {
    let bytes = sample().encode();
    for end in 0..bytes.len() {
        match Edit::decode(&bytes[..end], 0).map_err(Error::into_kind) {
            Ok(edit) => assert!(sample().changes.starts_with(&edit.changes)),
            Err(ErrorKind::Corrupt(damage)) => assert!(damage.offset <= end as u64, "{damage}"),
            Err(e) => panic!("{e}"),
        }
    }
}
