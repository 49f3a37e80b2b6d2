//! A journal that has lost its end looks like one that ends there. What was committed is not
//! forgotten without a word, and what it named is not removed.

use terrane::storage::medium::Medium;
use terrane::storage::medium::fault::Survivors;
use terrane::storage::{read_exact_at, write_all_at};
use terrane::{Durability, Error, Options};
use terrane_tests::rig::{Kind, Rig};

/// Records of the journal begin at multiples of this.
const SLOT: u64 = 16 << 10;

/// Two keyspaces that were written, flushed and closed a few times.
fn store() -> Rig {
    let mut rig = Rig::new(Kind::MemoryDirectory);
    for session in 0..4u32 {
        let db = rig.open(Options::default(), 1).unwrap();
        for name in ["default", "other"] {
            let rows = db.keyspace(name).unwrap();
            for row in 0..100u32 {
                let key = (session * 100 + row).to_be_bytes();
                rows.put(&key, &[7; 50], Durability::Buffered).unwrap();
            }
        }
        db.flush().unwrap();
        db.close().unwrap();
    }
    rig.medium.crash(Survivors::All).unwrap();
    rig.restore_power();
    rig
}

/// The journal's file, of which all records from `kept` on are zeros, and the witness if so wished.
fn forget(rig: &Rig, kept: u64, witness: bool) -> String {
    let names = rig.inner.list().unwrap();
    let name = names.into_iter().rfind(|name| name.starts_with("MANIFEST-")).unwrap();
    let file = rig.inner.open(&name).unwrap();
    let half = file.len().unwrap() / 2;
    let mut record = [0; 8];
    read_exact_at(&*file, &mut record, kept * SLOT).unwrap();
    assert_ne!(record, [0; 8], "there is a record to lose");
    let spared = if witness { SLOT } else { 0 };
    for (from, to) in [(kept * SLOT, half), (half + kept * SLOT, 2 * half - spared)] {
        write_all_at(&*file, &vec![0; (to - from) as usize], from).unwrap();
    }
    name
}

/// Every file and its bytes.
fn contents(medium: &dyn Medium) -> Vec<(String, Vec<u8>)> {
    let read = |name: String| {
        let file = medium.open(&name).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        read_exact_at(&*file, &mut bytes, 0).unwrap();
        (name, bytes)
    };
    medium.list().unwrap().into_iter().map(read).collect()
}

#[test]
fn a_journal_that_lost_its_end_is_refused_and_nothing_is_removed() {
    for kept in [1, 2, 4] {
        for witness in [true, false] {
            let mut rig = store();
            let journal = forget(&rig, kept, witness);
            rig.restore_power();
            let before = contents(&*rig.inner);
            let refused = rig.open(Options::default(), 2).err().expect("a store that is refused");
            let Error::Corrupt(damage) = refused else { panic!("{refused}") };
            assert_eq!(damage.file, journal, "{damage}");
            assert!(damage.found.contains("lost"), "{damage}");
            assert!(contents(&*rig.inner) == before, "{kept} records kept: a file was changed");
        }
    }
}

#[test]
fn a_table_of_a_commit_that_never_was_is_removed() {
    let mut rig = store();
    let stray = "00000999.sst";
    write_all_at(&*rig.inner.create(stray).unwrap(), &[1; 500], 0).unwrap();
    rig.restore_power();
    drop(rig.open(Options::default(), 2).unwrap());
    assert!(!rig.medium.list().unwrap().iter().any(|name| name == stray));
}
