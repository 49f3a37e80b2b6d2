//! Histograms and prefix sets of a tree's tables, for policies that read them.

use super::Tree;
use std::sync::Arc;
use terrane_policy::{Destination, RunId, Sequence, TableInfo};

/// The runs of whose tables both are known.
#[derive(Default)]
pub(crate) struct Histograms {
    runs: Vec<(RunId, Sequence<Arc<TableInfo>>, Sequence<()>)>,
}

impl Histograms {
    /// Reads the properties of the tables that joined the tree since the last call.
    pub fn learn(&mut self, tree: &Tree) {
        let runs = tree.shape().runs().into_iter().map(|(Destination { run: id, .. }, run)| {
            let before = self.runs.iter().find(|(before, ..)| *before == id);
            let before = before.map(|(_, tables, told)| (tables, told));
            let told = Sequence::made_of(run.tables(), before, |info| {
                if !info.histogram.is_known()
                    && let Some(live) = tree.table(info.id)
                {
                    // Without: cuts are less even, and whoever reads the table says what is wrong.
                    let found = live.table().properties().unwrap_or_default();
                    info.histogram.learn(found.histogram);
                    info.prefixes.learn(found.prefixes);
                }
                Some(())
            });
            (id, run.tables().clone(), told)
        });
        self.runs = runs.collect();
    }
}
