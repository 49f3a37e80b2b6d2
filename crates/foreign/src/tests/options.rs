//! Policies by the OPTIONS files that RocksDB and Pebble write.

use crate::policy;
use terrane_policy::{Leveled, Universal};

const ROCKSDB: &str = "[Version]\n  rocksdb_version=9.8.4\n\n[CFOptions \"default\"]\n  \
    compaction_style=kCompactionStyleLevel\n  max_bytes_for_level_base=268435456\n  \
    max_bytes_for_level_multiplier=8.000000\n  target_file_size_base=67108864\n  \
    level0_file_num_compaction_trigger=2\n  level_compaction_dynamic_level_bytes=false\n  \n\
    [CFOptions \"logs\"]\n  compaction_style=kCompactionStyleUniversal\n  \
    target_file_size_base=67108864\n  level0_file_num_compaction_trigger=5\n  \
    compaction_options_universal={allow_trivial_move=false;max_size_amplification_percent=150;\
    max_merge_width=20;min_merge_width=3;size_ratio=2;}\n\n\
    [CFOptions \"queue\"]\n  compaction_style=kCompactionStyleFIFO\n  target_file_size_base=1\n  \
    level0_file_num_compaction_trigger=5\n";

#[test]
fn policies_are_those_of_the_options() {
    let leveled = Leveled {
        size_ratio: 8,
        level_base_bytes: 256 << 20,
        target_file_bytes: 64 << 20,
        l0_compaction_trigger: 2,
        dynamic_level_bytes: false,
        ..Leveled::default()
    };
    assert_eq!(policy(ROCKSDB, "default"), Some(leveled.into()));
    let universal = Universal {
        run_trigger: 5,
        size_ratio_percent: 2,
        min_merge_width: 3,
        max_merge_width: 20,
        space_percent: 150,
        target_file_bytes: 64 << 20,
        ..Universal::default()
    };
    assert_eq!(policy(ROCKSDB, "logs"), Some(universal.into()));
    let pebble = "[Version]\n  pebble_version=0.1\n[Options]\n  lbase_max_bytes=67108864\n  \
                  l0_compaction_threshold=4\n[Level \"0\"]\n  target_file_size=2097152\n";
    let leveled = Leveled {
        level_base_bytes: 64 << 20,
        target_file_bytes: 2 << 20,
        l0_compaction_trigger: 4,
        ..Leveled::default()
    };
    assert_eq!(policy(pebble, "default"), Some(leveled.into()));
    for (options, family) in [(ROCKSDB, "queue"), (ROCKSDB, "none"), ("", "default")] {
        assert_eq!(policy(options, family), None, "{family}");
    }
    let refused = ROCKSDB.replace("multiplier=8.0", "multiplier=0.0");
    assert_eq!(policy(&refused, "default"), None, "a parameter outside its range");
}
