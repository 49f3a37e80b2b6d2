//! The tree: a shape, and the entries of its tables.

use crate::entry::{Entry, Sizes};
use std::collections::{HashMap, HashSet};
use std::f64::consts::LN_2;
use std::sync::Arc;
use terrane_policy::{
    EditError, FilterBits, Group, Histogram, HistogramPoint, Kept, LevelChange, PrefixBuilder,
    PrefixRule, Prefixes, Shape, ShapeEdit, TableId, TableInfo, apply, reshape,
};

/// A table: what planners know of it, and its entries.
#[derive(Clone)]
pub(crate) struct Table {
    pub(crate) info: Arc<TableInfo>,
    pub(crate) entries: Arc<[Entry]>,
    /// f: the false-positive rate of its filter.
    pub(crate) false_positives: f64,
}

impl Table {
    /// A table of entries in order, with the set of its prefixes by a rule; `None` if there are none.
    pub(crate) fn new(
        id: TableId,
        entries: Arc<[Entry]>,
        sizes: Sizes,
        filter_bits: FilterBits,
        prefixes: Option<PrefixRule>,
    ) -> Option<Self> {
        let key = |e: &Entry| e.key().to_be_bytes().to_vec();
        let info = TableInfo {
            id,
            bytes: entries.iter().map(|e| sizes.of(*e)).sum(),
            entries: entries.len() as u64,
            tombstones: entries.iter().filter(|e| e.is_delete()).count() as u64,
            smallest: key(entries.first()?),
            largest: key(entries.last()?),
            first_seq: entries.iter().map(|e| e.seq()).min()?,
            last_seq: entries.iter().map(|e| e.seq()).max()?,
            filter_bits,
            filter_bytes: (entries.len() as f64 * filter_bits.bits() / 8.0) as u64,
            kept: Some(Kept::default()),
            cleared: 0,
            expires_by: 0,
            salt: 0,
            histogram: histogram(&entries, sizes),
            prefixes: prefixes.map_or_else(Prefixes::default, |rule| {
                let mut builder = PrefixBuilder::new(rule);
                entries.iter().for_each(|e| builder.add(&e.key().to_be_bytes()));
                builder.finish()
            }),
        };
        Some(Table { info: Arc::new(info), entries, false_positives: rate(filter_bits.bits()) })
    }
}

/// The most points of a table's histogram.
const HISTOGRAM_POINTS: usize = 64;

fn histogram(entries: &[Entry], sizes: Sizes) -> Histogram {
    let mut bytes = 0;
    let points = entries.chunks(entries.len().div_ceil(HISTOGRAM_POINTS).max(1)).map(|chunk| {
        bytes += chunk.iter().map(|e| sizes.of(*e)).sum::<u64>();
        let key = chunk.last().map(|e| e.key().to_be_bytes().to_vec()).unwrap_or_default();
        HistogramPoint { key, bytes }
    });
    points.collect::<Vec<_>>().into()
}

/// The false-positive rate of a Bloom filter with the optimal number of probes: `2^(-bits * ln 2)`.
fn rate(bits_per_key: f64) -> f64 {
    libm::exp(-bits_per_key * LN_2 * LN_2)
}

/// The tree of the store.
#[derive(Default)]
pub(crate) struct Tree {
    shape: Shape,
    tables: HashMap<TableId, Table>,
}

impl Tree {
    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(crate) fn table(&self, id: TableId) -> Option<&Table> {
        self.tables.get(&id)
    }

    /// A group's inputs, in its order.
    pub(crate) fn inputs(&self, group: &Group) -> Vec<&Table> {
        group.inputs.iter().filter_map(|id| self.table(*id)).collect()
    }

    /// Applies an edit; `tables` are the new ones that it adds. Returns the shape before.
    pub(crate) fn edit(
        &mut self,
        edit: &ShapeEdit,
        tables: Vec<Table>,
    ) -> Result<Shape, EditError> {
        let next = apply(&self.shape, edit)?;
        let kept: HashSet<TableId> = edit.added.iter().map(|(_, _, t)| t.id).collect();
        for id in edit.dropped.iter().filter(|id| !kept.contains(id)) {
            self.tables.remove(id);
        }
        self.tables.extend(tables.into_iter().map(|t| (t.info.id, t)));
        Ok(std::mem::replace(&mut self.shape, next))
    }

    /// Adds or drops a level; returns the shape before.
    pub(crate) fn reshape(&mut self, change: LevelChange) -> Result<Shape, EditError> {
        let next = reshape(&self.shape, change)?;
        Ok(std::mem::replace(&mut self.shape, next))
    }

    /// The number of runs.
    pub(crate) fn runs(&self) -> usize {
        self.shape.levels().iter().map(|level| level.runs.len()).sum()
    }

    /// The number of tables.
    pub(crate) fn len(&self) -> usize {
        self.tables.len()
    }
}
