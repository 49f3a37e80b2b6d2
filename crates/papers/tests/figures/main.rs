//! The papers' figures at the small scale.

#[cfg(test)]
mod bucketlsm;
#[cfg(test)]
mod ecotune;
#[cfg(test)]
mod fluid;
#[cfg(test)]
mod numbers;
#[cfg(test)]
mod page;
#[cfg(test)]
mod partitioning;
#[cfg(test)]
mod ptierdb;
#[cfg(test)]
mod spooky;
#[cfg(test)]
mod vertiorizon;

#[cfg(test)]
use terrane_papers::partitioning::Design;
#[cfg(test)]
use terrane_papers::{Figure, Row};

#[cfg(test)]
fn row<'a>(figure: &'a Figure, case: &str, measure: &str) -> &'a Row {
    let mut rows = figure.rows.iter();
    rows.find(|r| r.case == case && r.measure == measure)
        .unwrap_or_else(|| panic!("no {measure} of {case}"))
}

#[cfg(test)]
fn number(figure: &Figure, case: &str, measure: &str) -> f64 {
    row(figure, case, measure).ours
}
