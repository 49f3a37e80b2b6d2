//! Ranks of designs, as the paper's tables have them: 1 is the best, and equals share the better rank.

use super::designs::RANKED;
use crate::figure::{Figure, Source};

/// Numbers that differ by less than this share are equal: the paper's tables have ties.
const EQUAL: f64 = 0.01;

/// Direction of a ranking.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Better {
    More,
    Less,
}

/// The rank of each number.
pub(super) fn ranks(values: &[Option<f64>], better: Better) -> Vec<Option<f64>> {
    let rank = |value: f64| {
        let beats = |other: &&f64| {
            let is_better = if better == Better::More { **other > value } else { **other < value };
            is_better && (*other - value).abs() > EQUAL * other.abs().max(value.abs())
        };
        values.iter().flatten().filter(beats).count() as f64 + 1.0
    };
    values.iter().map(|value| value.map(rank)).collect()
}

/// Adds the rank of each design in a measure, beside the paper's; returns ours. `case` is that of a
/// design.
pub(super) fn add_ranks(
    figure: &mut Figure,
    case: impl Fn(&str) -> String,
    (measure, rank): (&str, &'static str),
    better: Better,
    paper: [f64; 9],
) -> Vec<f64> {
    let values = RANKED.map(|design| figure.number(&case(design), measure));
    let ranks: Vec<_> = ranks(&values, better).into_iter().map(Option::unwrap_or_default).collect();
    for ((design, ours), paper) in RANKED.iter().zip(&ranks).zip(paper) {
        figure.beside(&case(design), rank, *ours, (Source::Measured, paper));
    }
    ranks
}
