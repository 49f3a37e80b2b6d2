//! Operations that a policy tunes itself to: a sliding window of counts, and measured costs.
//!
//! The window is divided into parts, and the oldest leaves as a whole. Encoded as numbers: for each part, the
//! oldest first, updates, point reads and range reads, then the nanoseconds of a block that is read and of a page that
//! is merged, which earlier states do not have.

use crate::context::Observed;
use terrane_types::Shape;

/// Number of parts of the window.
const PARTS: u64 = 16;

/// Filter bits where no table says more.
pub(crate) const BITS: f64 = 10.0;

/// A page of the cost models, in bytes.
pub(crate) const PAGE: f64 = 4096.0;

/// Updates, point reads and range reads.
pub(crate) type Operations = [u64; 3];

/// Knowledge of the operations, independent of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Observations {
    /// The window, oldest part first.
    pub(crate) window: Vec<Operations>,
    /// Nanoseconds of a block that is read at random, and of a page that is merged; 0 if they are not known.
    pub(crate) costs: [u64; 2],
}

impl Observations {
    /// Decodes numbers.
    pub(crate) fn read(numbers: &[u64]) -> Option<Self> {
        let (window, costs) = numbers.as_chunks();
        let costs = match *costs {
            [] => [0; 2],
            [block, page] => [block, page],
            _ => return None,
        };
        Some(Observations { window: window.to_vec(), costs })
    }

    /// Appends the encoded numbers.
    pub(crate) fn write(&self, numbers: &mut Vec<u64>) {
        numbers.extend(self.window.as_flattened());
        numbers.extend(self.costs);
    }

    /// Adds operations to a window of `window` operations.
    pub(crate) fn observe(&mut self, observed: &Observed, window: u64) {
        for (known, found) in self.costs.iter_mut().zip([observed.block_nanos, observed.page_nanos])
        {
            *known = if found > 0 { found } else { *known };
        }
        let more = [observed.updates, observed.point_reads, observed.range_reads];
        if more == [0; 3] {
            return;
        }
        let total = |part: &Operations| part.iter().copied().fold(0, u64::saturating_add);
        let part = (window / PARTS).max(1);
        match self.window.last_mut().filter(|last| total(last) < part) {
            Some(last) => {
                last.iter_mut().zip(more).for_each(|(n, more)| *n = n.saturating_add(more))
            }
            None => self.window.push(more),
        }
        let mut all = self.window.iter().map(total).fold(0, u64::saturating_add);
        while let Some(first) = self.window.first().map(total)
            && self.window.len() > 1
            && all.saturating_sub(first) >= window
        {
            all = all.saturating_sub(first);
            self.window.remove(0);
        }
    }

    /// Time of a page that is merged over that of a block that is read at random, if both are known.
    pub(crate) fn page(&self) -> Option<f64> {
        let [block, page] = self.costs;
        (block > 0 && page > 0).then(|| page as f64 / block as f64)
    }

    /// The operations of the window.
    pub(crate) fn operations(&self) -> Operations {
        let mut sum = [0u64; 3];
        for part in &self.window {
            sum.iter_mut().zip(part).for_each(|(n, more)| *n = n.saturating_add(*more));
        }
        sum
    }

    /// The shares of updates, point reads and range reads; half updates and half point reads if nothing is known.
    pub(crate) fn shares(operations: Operations) -> [f64; 3] {
        let total: f64 = operations.iter().map(|n| *n as f64).sum();
        match total > 0.0 {
            true => operations.map(|n| n as f64 / total),
            false => [0.5, 0.5, 0.0],
        }
    }
}

/// Returns the entries of a page of a tree's tables, at least 1, and the rate of false positives of its filters.
pub(crate) fn pages_and_filters(shape: &Shape) -> (f64, f64) {
    let totals = shape.totals();
    let entry = totals.bytes() as f64 / totals.entries().max(1) as f64;
    let entries_of_a_page = if entry > 0.0 { (PAGE / entry).max(1.0) } else { 1.0 };
    let bits = match totals.filter_bytes() {
        0 => BITS,
        bytes => bytes as f64 * 8.0 / totals.entries().max(1) as f64,
    };
    (entries_of_a_page, (-bits * std::f64::consts::LN_2.powi(2)).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_has_sixteen_parts_and_drops_the_oldest() {
        let mut learned = Observations::default();
        let one = Observed { updates: 1, ..Observed::default() };
        for n in 1..4000usize {
            learned.observe(&one, 1600);
            // A whole window is there besides the part that fills.
            let parts = if n < 1700 { n.div_ceil(100) } else { 16 + usize::from(n % 100 > 0) };
            assert_eq!(learned.window.len(), parts, "{n}");
        }
        for window in [1, 0] {
            let mut short = Observations::default();
            for point_reads in [5, 7] {
                short.observe(&Observed { point_reads, ..Observed::default() }, window);
                assert_eq!(short.operations(), [0, point_reads, 0], "the last are always there");
            }
        }
        learned.observe(&Observed::default(), 1600);
        assert!((1600..=1700).contains(&learned.operations()[0]), "nothing changes it");
    }

    #[test]
    fn measured_costs_stay_until_others_are_measured() {
        let mut learned = Observations::default();
        let observed =
            |block_nanos, page_nanos| Observed { block_nanos, page_nanos, ..Observed::default() };
        for (found, known) in
            [((0, 0), [0, 0]), ((7, 0), [7, 0]), ((0, 5), [7, 5]), ((9, 4), [9, 4])]
        {
            learned.observe(&observed(found.0, found.1), 1600);
            assert_eq!(learned.costs, known);
        }
        assert_eq!(learned.page(), Some(4.0 / 9.0));
    }
}
