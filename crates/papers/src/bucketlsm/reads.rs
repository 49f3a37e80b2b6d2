//! Cost of a read: the measuring of [`gets`](super::gets) and [`scans`](super::scans), one thing changed at a
//! time.

use super::{BUSY, Design, RATE, STALLS, measure, run, workload};
use crate::PapersError;
use crate::figure::Figure;
use crate::scaled::Scaled;
use terrane_sim::{Clients, Config, Figures, Kind};

/// Time of a read for each block that it fetches.
pub const BLOCK: &str = "microseconds a block";

/// A change of a store, where an operation stands for a number of them.
pub type Change = fn(&mut Config, f64);

/// A case, its workload and what is changed.
pub type Case = (&'static str, &'static str, Change);

/// The name of a case under a design.
#[must_use]
pub fn case(name: &str, design: Design) -> String {
    format!("{name}, {}", design.name())
}

/// Changes the clients of all phases.
pub(super) fn clients(config: &mut Config, change: impl FnMut(&mut Clients)) {
    config.workload.phases.iter_mut().flat_map(|phase| &mut phase.clients).for_each(change);
}

/// A measure's name, and where it is found.
type Measure = (&'static str, fn(&Figures) -> f64);

/// Reads of one kind.
pub(super) struct Reads {
    pub kind: Kind,
    /// The key of their figure.
    pub figure: &'static str,
    pub tables: Measure,
    pub blocks: Measure,
    /// The name of the mean latency, in microseconds.
    pub latency: &'static str,
}

impl Reads {
    /// Adds what they cost under these designs in these cases. Of YCSB's workloads half are operations, after a
    /// load of the other half.
    pub fn add(
        &self,
        figure: &mut Figure,
        (cases, designs): (&[Case], &[Design]),
        (store, flushes): (Scaled, u64),
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), PapersError> {
        for (name, of, change) in cases {
            let flushes = if of.starts_with("ycsb") { flushes / 2 } else { flushes };
            for &design in designs {
                let case = case(name, design);
                progress(&format!("{}, {case}", self.figure));
                let mut config = design.config(store, workload(of, store, flushes));
                change(&mut config, store.factor());
                let (found, _) = run(&case, config)?;
                measure(figure, &case, &found, store);
                figure
                    .rows
                    .retain(|row| row.case != case || [RATE, STALLS, BUSY].contains(&row.measure));
                let Some(latency) = found.latencies.get(&self.kind) else { continue };
                let micros = latency.mean * 1e6 / store.factor();
                let [(tables, tables_of), (blocks, blocks_of)] = [self.tables, self.blocks];
                figure.found(&case, tables, tables_of(&found));
                figure.found(&case, blocks, blocks_of(&found));
                figure.found(&case, BLOCK, micros / blocks_of(&found));
                figure.found(&case, self.latency, micros);
            }
        }
        Ok(())
    }
}
