//! Ranks of designs, as the paper's tables have them: 1 is the best, and equals share the better rank.

use super::designs::RANKED;
use crate::figure::{Figure, Source};

/// Numbers that differ by less than this share are equal: the paper's tables have ties, too.
const EQUAL: f64 = 0.01;

/// Adds the rank of each design in a measure, beside the paper's; returns ours. `case` is that of a
/// design.
pub(super) fn add_ranks(
    figure: &mut Figure,
    case: impl Fn(&str) -> String,
    (measure, rank): (&str, &'static str),
    is_better: fn(f64, f64) -> bool,
    paper: Option<[f64; 9]>,
) -> Vec<f64> {
    let values = RANKED.map(|design| figure.number(&case(design), measure));
    let mut ranks = Vec::new();
    for (at, (design, value)) in RANKED.iter().zip(values).enumerate() {
        let Some(value) = value else { continue };
        let beats = |other: f64| {
            is_better(other, value) && (other - value).abs() > EQUAL * other.abs().max(value.abs())
        };
        let better = values.iter().flatten().filter(|other| beats(**other)).count();
        let ours = better as f64 + 1.0;
        match paper.and_then(|ranks| ranks.get(at).copied()) {
            Some(paper) => figure.beside(&case(design), rank, ours, (Source::Measured, paper)),
            None => figure.found(&case(design), rank, ours),
        }
        ranks.push(ours);
    }
    ranks
}
