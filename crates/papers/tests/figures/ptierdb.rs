//! The figures of PTierDB at the small scale: orders, no values.

use super::number;
use terrane_papers::Scale;
use terrane_papers::ptierdb::{hot, sweeps};

#[test]
fn reads_bring_the_tables_over_a_hot_key_down_and_without_them_none_merge() {
    let figure = hot::figure(Scale::Ci, &mut |_| ()).unwrap();
    let [(counted, _), (never, _)] = hot::CASES;
    let of = |name, tenth, measure| number(&figure, &hot::case(name, tenth), measure);
    let last = hot::PHASES - 1;
    assert!(of(counted, last, hot::TABLES) < of(counted, 0, hot::TABLES));
    assert!(of(counted, last, hot::TABLES) < of(never, last, hot::TABLES));
    for tenth in 0..hot::PHASES {
        assert_eq!(of(never, tenth, hot::MERGED), 0.0);
    }
}

#[test]
fn keys_of_one_prefix_are_rewritten_less_where_tables_are_split_between_prefixes() {
    let figure = sweeps::uneven(Scale::Ci, &mut |_| ()).unwrap();
    let [with, without] = sweeps::SPLITS.map(|name| number(&figure, name, sweeps::WRITES));
    assert!(with < without, "{with} {without}");
}
