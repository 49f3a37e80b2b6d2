//! Bytes that wait to be compacted, by the capacities of levels.

use super::Model;
use crate::{Capacity, pending_compaction_bytes};

#[test]
fn excess_goes_down_with_its_share_of_the_next_level() {
    let mut model = Model::default();
    let pending = |model: &Model, bounds: [Option<u64>; 3]| {
        let capacities = bounds.map(|bytes| Capacity { bytes, runs: None });
        pending_compaction_bytes(&model.shape, &capacities)
    };
    model.write(2, 3, 0..1000);
    model.write(1, 2, 0..200);
    // Nothing of an empty level; half of level 1, and of level 2.
    assert_eq!(pending(&model, [Some(50), Some(100), None]), 100 + 500);
    model.write(0, 1, 0..100);
    let pending = |bounds| pending(&model, bounds);
    assert_eq!(pending([None; 3]), 0);
    assert_eq!(pending([Some(100), Some(200), Some(1)]), 0, "below the last level there is none");
    // Half of level 0, and twice as much of level 1 with it.
    assert_eq!(pending([Some(50), None, None]), 50 + 100);
    // Level 1 has 250 then, of which 50 go down, and of level 2 four times as much.
    assert_eq!(pending([Some(50), Some(200), None]), 150 + 50 + 200);
}
