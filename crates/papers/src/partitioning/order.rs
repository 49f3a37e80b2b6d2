//! Section VI: keys in order.

use super::loads::{GROUPS, MOVED, TABLES, WRITES, measure};
use super::{Design, GLOBAL, LOCAL, NONE, SIZE, setting, store};
use crate::figure::Figure;
use crate::scaled::simulate;
use crate::{PapersError, Scale};
use terrane_sim::{Choice, Clients, KeyOrder, Mix, Workload};

/// The designs.
pub const DESIGNS: [Design; 4] = [NONE, SIZE, LOCAL, GLOBAL];

/// The orders of keys.
pub const ORDERS: [&str; 3] = ["in order", "nearly in order", "random"];

/// The name of a case.
#[must_use]
pub fn case(order: &str, design: Design) -> String {
    format!("{order}, {}", design.name)
}

/// Moves that keys in order allow.
///
/// # Errors
/// A simulation that failed.
pub fn figure(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let (store, flushes) = store(scale);
    let load = flushes / 2 * store.buffer_entries;
    let mut figure = Figure::new(
        "order",
        "Keys in order and nearly in order",
        "\"For sequential or semi-sequential key workloads, size partitioning is recommended\" (section VI).",
        format!(
            "{} Nearly in order: one write in twenty is of a key that was written before, recent ones \
             more often.",
            setting(store, flushes / 2)
        ),
    );
    let clients = Clients {
        mix: Mix { insert: 0.95, update: 0.05, ..Mix::default() },
        choice: Choice::Latest { exponent: 0.99 },
        ..Clients::default()
    };
    for order in ORDERS {
        let workload = match order {
            "in order" => Workload { load, order: KeyOrder::Ascending, ..Workload::default() },
            "random" => Workload { load, ..Workload::default() },
            _ => {
                Workload { order: KeyOrder::Ascending, ..Workload::then(1, load, clients.clone()) }
            }
        };
        for design in DESIGNS {
            let case = case(order, design);
            progress(&format!("order, {case}"));
            let report = simulate(&case, design.config(scale, workload.clone(), 16))?;
            measure(&mut figure, &case, &report, store.factor(), store.buffer());
            figure.rows.retain(|row| {
                row.case != case || [GROUPS, MOVED, TABLES, WRITES].contains(&row.measure)
            });
        }
    }
    Ok(figure)
}
