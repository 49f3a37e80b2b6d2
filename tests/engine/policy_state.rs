//! State of a policy: within its bound, and across compactions that it did not plan.

use std::sync::{Arc, Mutex};
use terrane::{Db, Durability, Error, ErrorKind, Event};
use terrane_policy::{
    Fact, Installed, MAX_STATE, Of, Plan, PlanContext, Policy, PolicyOptions, PolicyStatus, Shape,
    Unit,
};
use terrane_tests::fixtures::{Kind, Rig, tiny};

/// Remembers a byte more with each of two steps, as much as it may from the third, and then more. It plans
/// nothing.
struct Diary {
    /// The length of the first state.
    begins_with: usize,
}

impl Policy for Diary {
    fn name(&self) -> &'static str {
        "diary"
    }

    fn plan(&self, _: &PlanContext) -> Option<Plan> {
        None
    }

    fn apply(&self, state: &[u8], _: &Installed) -> Vec<u8> {
        let length = match state.len() {
            length @ ..2 => length + 1,
            2 => MAX_STATE,
            _ => MAX_STATE + 1,
        };
        vec![1; length]
    }

    fn adopt(&self, _: &Shape) -> Vec<u8> {
        vec![0; self.begins_with]
    }

    fn readopt(&self, state: &[u8], _: &Shape) -> Vec<u8> {
        [state, &[2]].concat()
    }

    fn status(&self, _: &Shape, state: &[u8]) -> PolicyStatus {
        let length = state.len() as u64;
        let fact = Fact::Number { name: "length", of: Of::Tree, value: length, unit: Unit::Bytes };
        PolicyStatus { facts: vec![fact], ..PolicyStatus::default() }
    }
}

fn open(rig: &Rig, begins_with: usize) -> (Db, Arc<Mutex<Vec<usize>>>) {
    let refused = Arc::new(Mutex::new(Vec::new()));
    let told = refused.clone();
    let options = tiny()
        .custom_policy(Arc::new(move |_: &str| {
            Some(Box::new(Diary { begins_with }) as Box<dyn Policy>)
        }))
        .listener(Arc::new(move |_, event: &Event| {
            if let Event::PolicyStateRefused { bytes, .. } = event {
                told.lock().unwrap().push(*bytes);
            }
        }))
        .l0_stop_trigger(100);
    (rig.open(options, 1).unwrap(), refused)
}

fn length(db: &Db) -> u64 {
    match db.stats().unwrap().keyspaces[0].policy_facts[..] {
        [Fact::Number { value, .. }] => value,
        ref other => panic!("{other:?}"),
    }
}

fn flush(db: &Db, key: u8) {
    db.default_keyspace().put([key], [7], Durability::Buffered).unwrap();
    db.flush().unwrap();
}

#[test]
fn a_state_that_is_too_long_is_refused_and_the_last_one_stays() {
    let rig = Rig::new(Kind::MemoryDirectory);
    let (db, refused) = open(&rig, 0);
    let most = MAX_STATE as u64;
    for (key, remembered) in [(1, 1), (2, 2), (3, most)] {
        flush(&db, key);
        assert_eq!(length(&db), remembered);
    }
    assert!(refused.lock().unwrap().is_empty());
    flush(&db, 4);
    assert_eq!((length(&db), refused.lock().unwrap().clone()), (most, vec![MAX_STATE + 1]));
    // The flush itself has taken effect.
    assert_eq!(db.default_keyspace().shape().unwrap().tables().count(), 4);
}

#[test]
fn a_policy_that_starts_with_a_long_state_is_not_set() {
    let set = |begins_with| {
        let (db, _) = open(&Rig::new(Kind::MemoryDirectory), begins_with);
        db.default_keyspace().set_policy(&PolicyOptions::default()).map_err(Error::into_kind)
    };
    assert!(set(MAX_STATE).is_ok());
    let set = set(MAX_STATE + 1);
    assert!(matches!(set, Err(ErrorKind::InvalidArgument(_))), "{set:?}");
    assert!(set.unwrap_err().to_string().contains("expected at most 65536 bytes"));
}

#[test]
fn a_policy_gets_its_state_back_after_an_unplanned_compaction() {
    let rig = Rig::new(Kind::MemoryDirectory);
    let (db, refused) = open(&rig, 0);
    flush(&db, 1);
    flush(&db, 2);
    assert_eq!(length(&db), 2);
    db.default_keyspace().compact_range(..).unwrap();
    assert_eq!((length(&db), refused.lock().unwrap().len()), (3, 0));
}
