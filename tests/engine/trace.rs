//! The simulator's events are the engine's: both serialise alike.

use serde_json::{Value, to_value};
use terrane::error::Stall;
use terrane::event::Event;
use terrane::keyspace::KeyspaceId;
use terrane_policy::{LevelChange, Observed, Order, RunId, TableId, TableInfo};

fn table() -> TableInfo {
    TableInfo {
        id: TableId(7),
        bytes: 100,
        entries: 3,
        tombstones: 1,
        smallest: vec![0, 1],
        largest: vec![9],
        first_seq: 4,
        last_seq: 6,
        salt: 0,
        histogram: Default::default(),
    }
}

fn observed() -> Observed {
    Observed {
        updates: 5,
        point_reads: 2,
        range_reads: 1,
        table_reads: [(TableId(7), 2)].into_iter().collect(),
    }
}

/// The events that both can write. A macro, since the types are not one.
macro_rules! events {
    ($event:ty, $stall:ty, $keyspace:expr) => {{
        type E = $event;
        let (keyspace, reason) = ($keyspace, String::from("because"));
        let (inputs, outputs) = (vec![TableId(1), TableId(2)], vec![table()]);
        let tables = vec![table()];
        let (groups, order, run) = (2, Order::Sequential, RunId(3));
        let (compaction, level, moved) = (8, 2, true);
        [
            E::MemtableSealed { keyspace, bytes: 10, through: 6 },
            E::Flushed { keyspace, run, tables, reason: reason.clone(), through: 6 },
            E::CompactionBegun {
                keyspace,
                compaction,
                groups,
                order,
                reason: reason.clone(),
                observed: observed(),
            },
            E::LevelChanged {
                keyspace,
                change: LevelChange::Add(2),
                reason: reason.clone(),
                observed: observed(),
            },
            E::MergeProgress { compaction, read_bytes: 3, total_bytes: 9 },
            E::GroupInstalled { keyspace, compaction, inputs, level, run, outputs, moved },
            E::CompactionEnded { compaction },
            E::PlanRefused { keyspace, why: reason },
            E::Stalled { reason: <$stall>::Memtables },
            E::Stalled { reason: <$stall>::Level0 },
        ]
        .map(|event| to_value(event).unwrap())
    }};
}

#[test]
fn the_simulator_spells_events_as_the_engine_does() {
    let engine: [Value; 10] = events!(Event, Stall, KeyspaceId(0));
    let simulator: [Value; 10] = events!(terrane_sim::Event, terrane_sim::Stall, 0);
    for (engine, simulator) in engine.into_iter().zip(simulator) {
        assert_eq!(engine, simulator);
    }
}
