use super::*;
use proptest::prelude::*;

fn version(seq: Seq, kind: Kind) -> Version {
    Version { seq, kind, expires_at: 0 }
}

fn expiring(seq: Seq, expires_at: Millis) -> Version {
    Version { seq, kind: Kind::PutExpiring, expires_at }
}

/// The newest version that the reader reaches, unless one of `deletes`, which are ascending, hides it; one that has
/// expired is a tombstone.
fn seen(versions: &[Version], deletes: &[Seq], reader: Reader) -> Option<Version> {
    let reached = versions.iter().copied().filter(|v| v.seq <= reader.at);
    let newest = reached.max_by_key(|v| v.seq)?;
    let is_hidden = deletes.iter().any(|delete| newest.seq < *delete && *delete <= reader.at);
    let tombstone = version(newest.seq, Kind::Delete);
    (!is_hidden).then_some(if newest.has_expired(reader.now) { tombstone } else { newest })
}

#[test]
fn a_reader_sees_the_newest_version_that_it_reaches() {
    let reader = Reader { at: 5, now: 100 };
    assert_eq!([4, 5, 6].map(|seq| reader.reaches(seq)), [true, true, false]);
    let sight = |kind| reader.sight(version(5, kind));
    assert_eq!((sight(Kind::Put), sight(Kind::Delete)), (Sight::Value, Sight::Nothing));
}

#[test]
fn a_value_is_seen_until_its_time() {
    let reader = Reader { at: 5, now: 100 };
    let sight = |expires_at| reader.sight(expiring(5, expires_at));
    assert_eq!([99, 100, 101].map(sight), [Sight::Nothing, Sight::Nothing, Sight::Value]);
}

#[test]
fn each_key_is_judged_for_itself() {
    let mut rule = DropRule::new(vec![Reader { at: 9, now: 0 }]);
    let mut judge = |seq| rule.judge(version(seq, Kind::Put), None, || false);
    assert_eq!(judge(5), Fate::Kept);
    assert_eq!(judge(4), Fate::Dropped);
    rule.start_key();
    assert_eq!(rule.judge(version(4, Kind::Put), None, || false), Fate::Kept);
}

#[test]
fn an_expired_version_stays_while_a_snapshot_sees_it() {
    let (before, present) = (Reader { at: 3, now: 50 }, Reader { at: 9, now: 150 });
    let judge = |readers: &[Reader], is_covered| {
        let rule = &mut DropRule::new(readers.to_vec());
        let of = expiring(2, 100);
        (rule.judge(of, None, || is_covered), rule.is_expired(of))
    };
    assert_eq!(judge(&[before], false), (Fate::Kept, false));
    assert_eq!(judge(&[before, present], false), (Fate::KeptUntil(9), false));
    assert_eq!(judge(&[before, present], true), (Fate::Kept, false));
    assert_eq!(judge(&[present], true), (Fate::Kept, true));
    assert_eq!(judge(&[present], false), (Fate::Dropped, true));
}

fn kinds() -> impl Strategy<Value = (Kind, Millis)> {
    (prop::sample::select(vec![Kind::Delete, Kind::Put, Kind::PutExpiring]), 0u64..100)
}

proptest! {
    #[test]
    fn no_snapshot_sees_a_difference_and_nothing_needless_stays(
        seqs in prop::collection::btree_map(1u64..40, kinds(), 1..12),
        snapshots in prop::collection::btree_map(0u64..40, 0u64..100, 0..5),
        deletes in prop::collection::btree_set(1u64..40, 0..3),
        covered: bool,
    ) {
        let deletes: Vec<Seq> = deletes.into_iter().collect();
        let hides = |seq: Seq| deletes.iter().copied().find(|delete| *delete > seq);
        // Times ascend with the sequence numbers; the present is always among the readers.
        let mut times: Vec<Millis> = snapshots.values().copied().collect();
        times.sort_unstable();
        let moments = snapshots.keys().zip(times).map(|(at, now)| Reader { at: *at, now });
        let readers: Vec<Reader> = moments.chain([Reader { at: 40, now: 100 }]).collect();
        let versions: Vec<Version> = seqs.into_iter().rev()
            .map(|(seq, (kind, expires_at))| Version { seq, kind, expires_at })
            .collect();
        let mut rule = DropRule::new(readers.clone());
        let mut kept = Vec::new();
        for of in &versions {
            if rule.judge(*of, hides(of.seq), || covered) != Fate::Dropped {
                kept.push(if rule.is_expired(*of) { version(of.seq, Kind::Delete) } else { *of });
            }
        }
        for reader in &readers {
            let (before, after) = (seen(&versions, &deletes, *reader), seen(&kept, &deletes, *reader));
            let gone = !covered && after.is_none() && before.is_some_and(|v| v.kind == Kind::Delete);
            let same = |v: Option<Version>| v.map(|v| (v.seq, v.kind));
            prop_assert!(same(before) == same(after) || gone, "at {:?}: {:?} then {:?}", reader, before, after);
        }
        // Once snapshots are released, exactly the entries that only they kept are dropped.
        let judge = |readers: &[Reader]| {
            let mut rule = DropRule::new(readers.to_vec());
            kept.iter().map(|of| rule.judge(*of, hides(of.seq), || covered)).collect::<Vec<_>>()
        };
        // A reader at a number has a time between those of its neighbours.
        let at = |seq: Seq| {
            let later = readers.iter().find(|reader| reader.at >= seq);
            Reader { at: seq, now: later.map_or(100, |reader| reader.now) }
        };
        let before = |seq: Seq| {
            let earlier = readers.iter().rev().find(|reader| reader.at < seq);
            Reader { at: seq - 1, now: earlier.map_or(0, |reader| reader.now) }
        };
        for (i, verdict) in judge(&readers).into_iter().enumerate() {
            match verdict {
                Fate::Dropped => prop_assert!(false, "{:?} stayed before", kept[i]),
                Fate::Kept => {
                    let last = Reader { at: Seq::MAX, now: 100 };
                    let is_value = !kept[i].has_expired(100) && kept[i].kind != Kind::Delete;
                    prop_assert!(judge(&[last])[i] != Fate::Dropped || covered || is_value);
                }
                Fate::KeptUntil(until) => {
                    prop_assert_eq!(judge(&[at(until)])[i], Fate::Dropped);
                    let is_needed = judge(&[before(until), Reader { at: Seq::MAX, now: 100 }])[i] != Fate::Dropped;
                    let is_tombstone = kept[i].kind == Kind::Delete;
                    let is_hidden = hides(kept[i].seq).is_some();
                    prop_assert!(is_needed || is_tombstone && (i > 0 || is_hidden));
                }
            }
        }
        for (i, of) in kept.iter().enumerate() {
            let newer = i.checked_sub(1).map_or(Seq::MAX, |j| kept[j].seq);
            let newer = newer.min(hides(of.seq).unwrap_or(Seq::MAX));
            prop_assert!(readers.iter().any(|reader| of.seq <= reader.at && reader.at < newer));
        }
    }
}
