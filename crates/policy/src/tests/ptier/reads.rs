//! Tables of the deepest level that are read over the limit.

use super::*;

/// Returns the plan of a policy that observed these reads of tables.
fn after_reads(model: &Model, reads: &[(TableId, u64)]) -> Option<Compaction> {
    beside(&Running::default(), model, reads)
}

/// The same while groups run.
fn beside(running: &Running, model: &Model, reads: &[(TableId, u64)]) -> Option<Compaction> {
    let observed = Observed { table_reads: reads.iter().copied().collect(), ..Observed::default() };
    let policy = PTier { size_ratio: 10, level_base_bytes: 1000, ..PTIER };
    let plan = policy.plan(&PlanContext {
        shape: &model.shape,
        state: &[],
        running,
        observed: &observed,
        filter_bits: FilterBits::whole(10),
        workers: 1,
        l0_stop_trigger: LEVEL0_RUNS_MAX,
        oldest_snapshot: u64::MAX,
        fresh: RunId(99),
    })?;
    let Plan::Compact(plan) = plan else { panic!("{plan:?}") };
    validate(&model.shape, running, &plan).unwrap();
    assert!(model.all_sound(&plan.groups));
    Some(plan)
}

#[test]
fn a_deepest_table_read_over_the_limit_merges_with_overlaps() {
    let mut model = Model::default();
    let a = model.write_known(2, 1, &[key(b'a', 0), key(b'b', 0)]);
    let far = model.write_known(2, 1, &[key(b'y', 0), key(b'z', 0)]);
    let b = model.write_known(2, 2, &[key(b'b', 0), key(b'c', 0)]);
    let c = model.write_known(2, 3, &[key(b'c', 0)]);
    let above = model.write_known(1, 4, &[key(b'b', 0)]);
    assert_eq!(after_reads(&model, &[(a, 5)]), None, "at the limit");
    assert_eq!(after_reads(&model, &[(far, 60), (above, 60)]), None, "nothing to merge");
    let plan = after_reads(&model, &[(a, 6), (far, 60)]).unwrap();
    assert_eq!(merged(&plan), [[a, b]]);
    assert_eq!(plan.groups[0].destination, Destination { level: 2, run: RunId(2) });
    let plan = after_reads(&model, &[(a, 6), (b, 7)]).unwrap();
    assert_eq!(merged(&plan), [[a, b, c]], "of those read often, that read most");
}

#[test]
fn read_tables_wait_while_a_group_writes_the_deepest_level() {
    let mut model = Model::default();
    let a = model.write_known(2, 1, &[key(b'a', 0), key(b'b', 0)]);
    model.write_known(2, 2, &[key(b'b', 0), key(b'c', 0)]);
    let above = [3, 4].map(|run| model.write_known(1, run, &[key(b'x', run as u8)]));
    for (level, waits) in [(1, false), (2, true)] {
        let running = Running { compactions: vec![plan(vec![merge(&above, level, 4)])] };
        assert_eq!(beside(&running, &model, &[(a, 6)]).is_none(), waits, "{level}");
    }
}

#[test]
fn a_merge_of_what_was_read_takes_in_what_stands_between() {
    let mut model = Model::default();
    let a = model.write_known(2, 1, &[key(b'a', 0), key(b'e', 0)]);
    let b = model.write_known(2, 2, &[key(b'd', 0), key(b'e', 0)]);
    let c = model.write_known(2, 3, &[key(b'a', 0), key(b'b', 0)]);
    // It overlaps the older one, which lies in part below it, and the output reaches over it.
    let plan = after_reads(&model, &[(c, 6)]).unwrap();
    assert_eq!(merged(&plan), [[a, b, c]]);
}
