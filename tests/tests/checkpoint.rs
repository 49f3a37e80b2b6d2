//! A checkpoint is the store at one moment, in any other kind of storage.

use terrane::{Durability, WriteBatch};
use terrane_tests::history::shown;
use terrane_tests::rig::{KINDS, Kind, Rig, tiny};

fn filled(kind: Kind) -> (Rig, terrane::Db) {
    let rig = Rig::new(kind);
    let db = rig.open(tiny(), 1).unwrap();
    let ids = [db.keyspace("default").unwrap().id(), db.keyspace("other").unwrap().id()];
    for number in 0..500u32 {
        let mut batch = WriteBatch::new();
        for id in ids {
            batch.put(id, &(number % 200).to_be_bytes(), &number.to_le_bytes()).unwrap();
        }
        db.write(batch, Durability::Buffered).unwrap();
    }
    (rig, db)
}

#[test]
fn a_checkpoint_shows_what_the_store_showed_in_every_kind_of_storage() {
    for from in KINDS {
        let (_rig, db) = filled(from);
        let expected = shown(&db).unwrap();
        for to in KINDS {
            let target = Rig::new(to);
            db.checkpoint(&*target.storage().unwrap()).unwrap();
            let copy = target.open(tiny(), 2).unwrap();
            assert_eq!(copy.check().unwrap().damage, [], "{from:?} to {to:?}");
            assert!(shown(&copy).unwrap() == expected, "{from:?} to {to:?}");
            // The two go separate ways.
            let keyspace = copy.default_keyspace();
            keyspace.put(b"new", b"here", Durability::Sync).unwrap();
            copy.keyspace("default").unwrap().compact_range(&Default::default()).unwrap();
            assert!(shown(&db).unwrap() == expected, "{from:?} to {to:?}");
        }
    }
}

#[test]
fn a_checkpoint_into_a_place_that_holds_a_store_is_refused() {
    let (_rig, db) = filled(Kind::MemoryDirectory);
    let (other, held) = filled(Kind::MemoryVolume);
    held.close().unwrap();
    let refused = db.checkpoint(&*other.storage().unwrap()).unwrap_err();
    assert!(matches!(refused, terrane::Error::InvalidArgument(_)), "{refused}");
}

#[test]
fn a_checkpoint_cut_short_leaves_no_store_or_the_whole() {
    let (_rig, db) = filled(Kind::MemoryDirectory);
    let expected = shown(&db).unwrap();
    for kind in [Kind::MemoryDirectory, Kind::MemoryVolume] {
        for cut in 0.. {
            let mut target = Rig::new(kind);
            target.medium.cut_at(cut);
            let done = target.storage().and_then(|storage| db.checkpoint(&*storage)).is_ok();
            let survivors = terrane::storage::medium::fault::Survivors::Random(cut);
            target.medium.crash(survivors).unwrap();
            target.restore_power();
            let copy = target.open(tiny(), 2).unwrap();
            let state = shown(&copy).unwrap();
            let empty = state.iter().all(|s| s.is_empty());
            assert!(state == expected || (empty && !done), "{kind:?} cut at {cut}");
            if done {
                break;
            }
        }
    }
}
