//! PTierDB on disk: the merges that its rules alone would make wrong read right, at every snapshot and after a
//! restart.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use terrane::{Db, Durability, Event, Options, Snapshot};
use terrane_policy::{
    Action, Compaction, Destination, Group, PTier, Plan, PlanContext, Policy, PrefixRule,
    PrefixSplit,
};
use terrane_tests::fixtures::{KINDS, Rig, tiny};

/// Keys, of which the first letter is the prefix.
type Keys = &'static [&'static str];

/// Keys before which tables are cut, each with the least key of its flush.
type Cuts = &'static [(&'static str, &'static str)];

/// Puts the first flush into level 2 and each later one into a new run of level 1, cut at the given keys,
/// until it is made to follow the rules.
struct Staged {
    rules: PTier,
    follows_rules: Arc<AtomicBool>,
    cuts: Cuts,
}

impl Policy for Staged {
    fn name(&self) -> &'static str {
        "staged"
    }

    fn plan(&self, context: &PlanContext) -> Option<Plan> {
        if self.follows_rules.load(Ordering::Relaxed) {
            return self.rules.plan(context);
        }
        let oldest = context.shape.levels().first()?.runs.last()?;
        if !context.running.compactions.is_empty() {
            return None;
        }
        let level = if context.shape.deepest() < 2 { 2 } else { 1 };
        let inputs = oldest.tables().iter().map(|table| table.id).collect();
        // It records prefixes and splits nothing.
        let split = PrefixSplit { rule: PrefixRule::Length(1), least_bytes: u64::MAX };
        let smallest = oldest.tables().iter().next()?.smallest.clone();
        let cuts = self.cuts.iter().filter(|(least, _)| least.as_bytes() == smallest);
        let action = Action::Merge {
            cuts: cuts.map(|(_, cut)| cut.as_bytes().to_vec()).collect(),
            target_file_bytes: u64::MAX,
            filter_bits: None,
            split: Some(split),
        };
        let group = Group::new(inputs, Destination { level, run: context.fresh }, action);
        Some(Compaction::parallel(vec![group], "it is staged").into())
    }

    fn reads_prefixes(&self) -> bool {
        true
    }
}

/// Inputs of each merge of the rules.
type Merges = Arc<Mutex<Vec<usize>>>;

fn options(follows_rules: &Arc<AtomicBool>, cuts: Cuts, merges: &Merges) -> Options {
    let (follows, told) = (follows_rules.clone(), follows_rules.clone());
    let merges = merges.clone();
    tiny()
        .custom_policy(Arc::new(move |_: &str| {
            let rules = PTier {
                size_ratio: 1_000_000,
                level_base_bytes: 1,
                split_bytes: 1,
                prefix_length: 1,
                l0_compaction_trigger: 64,
                ..PTier::default()
            };
            let follows_rules = follows.clone();
            Some(Box::new(Staged { rules, follows_rules, cuts }) as Box<dyn Policy>)
        }))
        .listener(Arc::new(move |_, event: &Event| {
            if let Event::GroupBegun { inputs, moved: false, .. } = event
                && told.load(Ordering::Relaxed)
            {
                merges.lock().unwrap().push(inputs.len());
            }
        }))
        .l0_stop_trigger(100)
        .memtable_bytes(1 << 20)
}

/// Returns the value of a key after a number of flushes.
fn expected(flushes: &[Keys], through: usize, key: &str) -> Option<usize> {
    (0..through).rev().find(|at| flushes[*at].contains(&key))
}

fn assert_reads(db: &Db, flushes: &[Keys], snapshots: &[Snapshot]) {
    let keyspace = db.default_keyspace();
    for key in flushes.iter().copied().flatten() {
        let value = |found: Option<Vec<u8>>| found.map(|value| usize::from(value[0]));
        let found = value(keyspace.get(key.as_bytes()).unwrap());
        assert_eq!(found, expected(flushes, flushes.len(), key), "{key}");
        for (through, snapshot) in (1..).zip(snapshots) {
            let found = value(snapshot.get(&keyspace, key.as_bytes()).unwrap());
            assert_eq!(found, expected(flushes, through, key), "{key} after {through}");
        }
    }
}

/// Flushes these keys, each flush into a run of its own, the oldest first, and then follows the rules; the
/// first merge is of `tables` tables.
fn merges_and_reads(flushes: &[Keys], cuts: Cuts, tables: usize) {
    for kind in KINDS {
        let rig = Rig::new(kind);
        let (follows_rules, merges) = (Arc::default(), Merges::default());
        let db = rig.open(options(&follows_rules, cuts, &merges), 7).unwrap();
        let keyspace = db.default_keyspace();
        let mut all = vec![&["~"][..]];
        all.extend(flushes);
        all.push(&["}"]);
        let mut snapshots = Vec::new();
        for (value, keys) in (0u8..).zip(&all) {
            follows_rules.store(usize::from(value) + 1 == all.len(), Ordering::Relaxed);
            for key in *keys {
                keyspace.put(key.as_bytes(), [value], Durability::Buffered).unwrap();
            }
            snapshots.push(db.snapshot());
            db.flush().unwrap();
            db.wait_until_idle().unwrap();
        }
        assert_eq!(merges.lock().unwrap().first(), Some(&tables), "{kind:?}");
        assert_reads(&db, &all, &snapshots);
        assert_eq!(db.check().unwrap().damage, []);
        drop((snapshots, keyspace));
        db.close().unwrap();
        let db = rig.open(options(&follows_rules, cuts, &merges), 8).unwrap();
        assert_reads(&db, &all, &[]);
    }
}

#[test]
fn an_old_version_does_not_pass_a_table_that_stands_between() {
    merges_and_reads(&[&["a0", "b0"], &["b0", "b1"], &["a0", "c0"], &["a0", "d0"]], &[], 4);
}

#[test]
fn an_old_version_of_the_second_input_passes_no_table() {
    // Ages 3, 5, 6 and 9, oldest first.
    let flushes: [Keys; 4] = [&["5", "70", "71"], &["1", "5"], &["70", "71"], &["4", "5", "9"]];
    merges_and_reads(&flushes, &[], 4);
}

#[test]
fn an_output_does_not_land_on_a_table_of_its_run() {
    let flushes: [Keys; 2] = [&["a01", "b05", "d18", "e22"], &["b04", "d20", "e21", "e30"]];
    merges_and_reads(&flushes, &[("a01", "d18"), ("b04", "e21")], 4);
}
