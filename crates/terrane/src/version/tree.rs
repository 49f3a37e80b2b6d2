//! One keyspace's shape with its tables, which are opened as they are used, and the range deletes that hide entries of
//! them: what readers hold.
//!
//! A tree is immutable; an edit makes the next one, which shares every table that stays. A table's
//! file becomes obsolete when the edit that dropped it is durable and no tree holds it: the
//! last holder adds it to the [`ObsoleteFiles`], from which the engine makes removal jobs.

use super::{FilterCounters, KeyspaceRecord};
use crate::entry::{Seq, Tag};
use crate::error::Result;
use crate::storage::FileId;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::lock;
use crate::sync::{Mutex, Pin};
use crate::table::{BlockCache, ReadPattern, RunCursor, RunTables, Table};
use crate::vec_map::VecMap;
use std::ops::Bound;
use std::sync::{Arc, OnceLock};
use terrane_policy::{
    Destination, Place, Placed, Policy, RunId, Sequence, Shape, TableId, TableInfo,
};
use terrane_table::read::{KeyRange, ReadCounts, ReadTracer};
use terrane_types::range_deletes::{End, RangeDeletes};

/// A file that nothing holds.
pub struct ObsoleteFile {
    file: FileId,
    /// The table in it, if there was one that has not left the cache, and others like it.
    tables: Vec<Arc<Table>>,
}

impl ObsoleteFile {
    /// The file to remove; its blocks leave the cache, and its handle is closed.
    pub fn clear(&mut self, cache: &BlockCache) -> FileId {
        cache.remove(self.tables.iter().map(|table| table.info().id).collect());
        self.tables.clear();
        self.file
    }
}

/// Files that nothing holds, waiting to be removed.
#[derive(Default)]
pub struct ObsoleteFiles {
    files: Mutex<Vec<ObsoleteFile>>,
    /// Files whose removal failed and is not yet tried again.
    failed: Mutex<Vec<ObsoleteFile>>,
    /// Says that there is work for a job; shared with the engine.
    work: Arc<AtomicBool>,
}

impl ObsoleteFiles {
    /// A list of obsolete files that raises `work` for each file.
    pub fn new(work: Arc<AtomicBool>) -> Self {
        ObsoleteFiles { work, ..ObsoleteFiles::default() }
    }

    /// Adds a file.
    pub fn mark_obsolete(&self, file: FileId) {
        self.lay_down(ObsoleteFile { file, tables: Vec::new() });
    }

    fn lay_down(&self, obsolete_file: ObsoleteFile) {
        lock(&self.files).push(obsolete_file);
        self.work.store(true, Ordering::Release);
    }

    /// Keeps a file whose removal failed for [`Self::retry`].
    pub fn keep_failed(&self, file: ObsoleteFile) {
        lock(&self.failed).push(file);
    }

    /// Queues the files whose removal failed again.
    pub fn retry(&self) {
        let failed = std::mem::take(&mut *lock(&self.failed));
        failed.into_iter().for_each(|file| self.lay_down(file));
    }

    /// Returns the number of files.
    pub fn count(&self) -> usize {
        lock(&self.files).len()
    }

    /// Takes one file out, to remove it. With it all tables leave the cache that lie here: an edit
    /// drops many at once, and the cache is walked once for them.
    pub fn take(&self) -> Option<ObsoleteFile> {
        let mut files = lock(&self.files);
        let mut obsolete_file = files.pop()?;
        if !obsolete_file.tables.is_empty() {
            obsolete_file.tables.extend(files.iter_mut().flat_map(|other| other.tables.drain(..)));
        }
        Some(obsolete_file)
    }
}

/// A table that knows whether an edit has dropped it.
pub struct LiveTable {
    table: Arc<Table>,
    dropped: AtomicBool,
    obsolete_files: Arc<ObsoleteFiles>,
}

impl LiveTable {
    /// Takes charge of a table.
    pub fn new(table: Table, obsolete_files: Arc<ObsoleteFiles>) -> Arc<Self> {
        let dropped = AtomicBool::new(false);
        Arc::new(LiveTable { table: Arc::new(table), dropped, obsolete_files })
    }

    /// Says that an edit has dropped the table, and is durable.
    pub fn mark_dropped(&self) {
        self.dropped.store(true, Ordering::Release);
    }

    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }
}

impl Drop for LiveTable {
    fn drop(&mut self) {
        if self.dropped.load(Ordering::Acquire) {
            let file = FileId::table(self.table.info().id.0);
            self.obsolete_files
                .lay_down(ObsoleteFile { file, tables: vec![Arc::clone(&self.table)] });
        }
    }
}

/// A sorted run with its tables, in key order.
struct LiveRun {
    level: usize,
    id: RunId,
    tables: RunTables,
    /// The same, with what is known of them.
    live: Sequence<Arc<LiveTable>>,
}

/// A shape with its tables.
#[derive(Default)]
pub struct Tree {
    shape: Arc<Shape>,
    range_deletes: RangeDeletes,
    /// Runs newest first, over all levels.
    runs: Vec<LiveRun>,
    /// Depth of level 0, once a policy that stalls by it was asked.
    level0_depth: OnceLock<usize>,
    /// Bytes that wait to be compacted.
    pending_bytes: AtomicU64,
}

impl Tree {
    /// The tree of a keyspace's record: every table is in `opened` or in this tree. Costs what the two shapes
    /// do not share.
    #[must_use]
    pub fn next(&self, record: &KeyspaceRecord, opened: &[Arc<LiveTable>]) -> Tree {
        let shape = record.shape.clone();
        let opened: VecMap<TableId, &Arc<LiveTable>> =
            opened.iter().map(|t| (t.table.info().id, t)).collect();
        let find = |info: &Arc<TableInfo>| {
            opened.get(&info.id).copied().or_else(|| self.table(info.id)).cloned()
        };
        let before = self.shape.runs();
        let mut runs: Vec<LiveRun> = Vec::new();
        for (Destination { level, run: id }, run) in shape.runs() {
            let old = self.runs.iter().zip(&before).find(|(live, _)| live.id == id);
            let made = old.map(|(live, (_, run))| (run.tables(), &live.live));
            let live = Sequence::made_of(run.tables(), made, find);
            debug_assert_eq!(live.len(), run.tables().len(), "every table of a shape is there");
            let before = old.map(|(old, _)| &old.tables);
            let made = old.map(|(old, _)| (&old.live, &*old.tables));
            let tables = Sequence::made_of(&live, made, |live| Some(live.table.clone()));
            let tables = RunTables::new(tables, before);
            runs.push(LiveRun { level, id, tables, live });
        }
        Tree {
            shape,
            range_deletes: record.range_deletes.clone(),
            runs,
            level0_depth: OnceLock::new(),
            pending_bytes: AtomicU64::new(0),
        }
    }

    /// The shape.
    #[must_use]
    pub fn shape(&self) -> &Arc<Shape> {
        &self.shape
    }

    /// The range deletes that hide entries of tables.
    #[must_use]
    pub fn range_deletes(&self) -> &RangeDeletes {
        &self.range_deletes
    }

    /// Runs that wait in level 0.
    #[must_use]
    pub fn level0_runs(&self) -> usize {
        self.shape.level0_runs()
    }

    /// Whether level 0 has half of the runs at which writes stall.
    pub(crate) fn is_crowded(&self, l0_stop_trigger: usize) -> bool {
        2 * self.level0_runs() >= l0_stop_trigger
    }

    /// Returns the level-0 count that stalls writes under this policy. The depth is found once a tree.
    pub fn level0_waiting(&self, policy: &dyn Policy) -> usize {
        if !policy.stalls_by_depth() {
            return self.level0_runs();
        }
        *self.level0_depth.get_or_init(|| self.shape.level0_depth())
    }

    /// About how many bytes wait to be compacted, as was estimated last.
    pub fn pending_bytes(&self) -> u64 {
        self.pending_bytes.load(Ordering::Relaxed)
    }

    /// Sets how many bytes wait to be compacted.
    pub fn set_pending_bytes(&self, bytes: u64) {
        self.pending_bytes.store(bytes, Ordering::Relaxed);
    }

    /// The live table of this id.
    #[must_use]
    pub fn table(&self, id: TableId) -> Option<&Arc<LiveTable>> {
        let Placed { table, place } = self.shape.table(id)?;
        let is_there = |run: &&LiveRun| (run.level, run.id) == (place.level, place.run);
        let run = self.runs.iter().find(is_there)?;
        run.live.get(run.tables.partition_point(|t| t.info().smallest < table.smallest))
    }

    /// Every live table.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<LiveTable>> {
        self.runs.iter().flat_map(|run| &run.live)
    }

    /// Returns the tag of the newest version of `key`, whose [`key_hash`](crate::table::key_hash) is `hash`, that a
    /// reader at `seq` sees, tombstones included, unless its number is below `least`, and the index of its run. Lends
    /// the value to `lend`. Runs before the `first` are left out. `counters` count what filters say, and blocks read.
    ///
    /// # Errors
    /// Damage or an I/O error.
    pub fn get(
        &self,
        (key, hash): (&[u8], u64),
        (least, seq): (Seq, Seq),
        first: usize,
        lend: &mut dyn FnMut(Tag, &[u8]),
        tracer: &mut ReadTracer,
        counters: &FilterCounters,
    ) -> Result<Option<(Tag, usize)>> {
        let mut pin = Pin::default();
        let counters = counters.own();
        let lend = &mut |tag: Tag, stored: &[u8]| {
            if tag.seq() >= least {
                lend(tag, stored);
            }
        };
        for (place, run) in self.runs.iter().enumerate().skip(first) {
            let table = run.tables.covering(key);
            tracer.run(run.level, run.id, table.map(|table| table.info().id));
            let Some(table) = table else { continue };
            if least > 0 && table.info().last_seq < least {
                continue;
            }
            let before = *tracer.counts();
            let found = table.find(key, hash, seq, lend, tracer, &mut pin)?;
            let ReadCounts { blocks, blocks_cached, .. } = tracer.counts();
            let (blocks, cached) = (blocks - before.blocks, blocks_cached - before.blocks_cached);
            counters.add(run.level, tracer.verdict(), blocks, blocks - cached);
            if let Some(tag) = found {
                return Ok(Some((tag, place)).filter(|(tag, _)| tag.seq() >= least));
            }
        }
        Ok(None)
    }

    /// About how many bytes of tables hold the keys of a range. In each run the tables at its bounds
    /// are searched for, and these alone are asked how their bytes spread.
    ///
    /// # Errors
    /// Damage or an I/O error.
    pub fn approximate_size(&self, range: &KeyRange) -> Result<u64> {
        let mut sum = 0;
        for (live, (_, run)) in self.runs.iter().zip(self.shape.runs()) {
            let tables = &live.tables;
            let from = tables.partition_point(|t| !range.above_start(&t.info().largest));
            let to = tables.partition_point(|t| range.below_end(&t.info().smallest));
            let last = tables.before(to);
            if from == Place::default() && to == tables.end() {
                sum += run.bytes();
            } else {
                sum += tables.range(from, to).map(|table| table.info().bytes).sum::<u64>();
            }
            // What the tables at the bounds have outside.
            if let Some(first) = tables.get(from).filter(|_| from < to) {
                let before = bytes_through(first, &range.from)?.unwrap_or(0);
                sum = sum.saturating_sub(before);
            }
            if let Some(last) = last.filter(|last| from <= *last).and_then(|at| tables.get(at)) {
                let all = last.info().bytes;
                let behind = bytes_through(last, &range.to)?.map_or(0, |within| all - within);
                sum = sum.saturating_sub(behind);
            }
            sum = sum.saturating_sub(self.hidden_bytes(live, range)?);
        }
        Ok(sum)
    }

    /// About how many bytes of a run in a range are hidden by range deletes, in tables that are older than these.
    fn hidden_bytes(&self, run: &LiveRun, range: &KeyRange) -> Result<u64> {
        let Some((from, to)) = range.half_open() else { return Ok(0) };
        let mut sum = 0;
        for part in self.range_deletes.slice(&from, &End::before(to.as_deref())).fragments() {
            let first = run.tables.partition_point(|t| *t.info().largest < *part.from);
            let end = run.tables.partition_point(|t| !part.to.is_at_most(&t.info().smallest));
            let older = run.tables.range(first, end).filter(|t| t.info().last_seq < part.newest());
            for table in older {
                let all = table.info().bytes;
                let through = |key: Option<&[u8]>| match key {
                    Some(key) => bytes_through(table, &Bound::Excluded(key.to_vec())),
                    None => Ok(None),
                };
                let within = through(part.to.key())?.unwrap_or(all);
                sum += within.saturating_sub(through(Some(&part.from))?.unwrap_or(0));
            }
        }
        Ok(sum)
    }

    /// A cursor for each run, newest first, with a tracer of its own.
    pub(crate) fn cursors(
        &self,
        pattern: ReadPattern,
        tracer: impl Fn() -> ReadTracer,
    ) -> impl ExactSizeIterator<Item = RunCursor> {
        self.runs.iter().map(move |run| {
            let mut tracer = tracer();
            tracer.run(run.level, run.id, None);
            RunCursor::with_tracer(run.tables.clone(), pattern, tracer)
        })
    }
}

/// About how many bytes of a table lie at or before a bound, if it is a key that the table spans.
fn bytes_through(table: &Table, bound: &Bound<Vec<u8>>) -> Result<Option<u64>> {
    let info = table.info();
    match bound {
        Bound::Included(key) | Bound::Excluded(key) if info.spans(key) => {
            Ok(Some(table.properties()?.bytes_through(key).min(info.bytes)))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Kind;
    use crate::jobs::{JobContext, TableSetWriter};
    use crate::keyspace::KeyspaceId;
    use crate::storage::vfs::MemoryVfs;
    use crate::storage::{Directory, FileKind, Storage};
    use crate::version::Histograms;
    use terrane_policy::ShapeEdit;

    /// A tree of three runs of nine tables, ten one-byte keys each, and the tables.
    fn of_three_runs(obsolete_files: Arc<ObsoleteFiles>) -> (Tree, Vec<Arc<LiveTable>>) {
        let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
        assert!(storage.recover().unwrap().is_none());
        let context = JobContext::new(storage, obsolete_files, Arc::default(), &Arc::default());
        let (mut opened, mut added) = (Vec::new(), Vec::new());
        for (level, run) in [(0, 3), (0, 2), (2, 1)] {
            let cuts = (1..9u8).map(|key| vec![key * 10]).collect();
            let mut tables =
                TableSetWriter::new(&context, KeyspaceId(0), None, cuts, u64::MAX, None);
            for key in 0..90u8 {
                tables.add(&[key], Tag::new(1, Kind::Put), b"value").unwrap();
            }
            tables.cut().unwrap();
            assert_eq!(tables.finished().len(), 9);
            for table in tables.finished() {
                added.push((level, RunId(run), table.table().info().clone()));
                opened.push(table.clone());
            }
        }
        let edit = ShapeEdit { added, dropped: Vec::new() };
        let shape = terrane_policy::apply(&Shape::default(), &edit).unwrap();
        let record = KeyspaceRecord { shape: Arc::new(shape), ..KeyspaceRecord::default() };
        (Tree::default().next(&record, &opened), opened)
    }

    #[test]
    fn each_table_of_each_run_is_found_by_its_id() {
        let (tree, opened) = of_three_runs(Arc::default());
        assert_eq!((tree.level0_runs(), Tree::default().level0_runs()), (2, 0));
        for table in &opened {
            let found = tree.table(table.table().info().id).unwrap();
            assert!(Arc::ptr_eq(found, table));
        }
        assert!(tree.table(TableId(1000)).is_none());
        // The tables' own properties have the histograms.
        let known = || tree.tables().filter(|t| t.table().info().histogram.is_known()).count();
        assert_eq!(known(), 0);
        Histograms::default().learn(&tree);
        assert_eq!(known(), 27);
        assert_eq!(tree.tables().count(), 27);
    }

    #[test]
    fn the_size_of_a_range_of_whole_tables_is_theirs() {
        let (tree, opened) = of_three_runs(Arc::default());
        let between = |n: usize| vec![(n * 10) as u8 - 1, 5];
        for (from, to) in [(0, 9), (0, 4), (2, 5), (2, 9), (3, 3)] {
            let range = KeyRange {
                from: if from == 0 { Bound::Unbounded } else { Bound::Included(between(from)) },
                to: if to == 9 { Bound::Unbounded } else { Bound::Excluded(between(to)) },
            };
            let bytes = |run: &[Arc<LiveTable>]| {
                run[from..to].iter().map(|table| table.table().info().bytes).sum::<u64>()
            };
            let expected: u64 = opened.chunks(9).map(bytes).sum();
            assert_eq!(tree.approximate_size(&range).unwrap(), expected, "{from} to {to}");
            assert_eq!(expected > 0, from < to);
        }
    }

    #[test]
    fn the_first_file_removed_evicts_all_dropped_tables() {
        let obsolete_files = Arc::new(ObsoleteFiles::default());
        obsolete_files.mark_obsolete(FileId::log(1000));
        let (tree, opened) = of_three_runs(obsolete_files.clone());
        opened[..3].iter().for_each(|table| table.mark_dropped());
        drop((tree, opened));
        assert_eq!(obsolete_files.count(), 4);
        let taken = || obsolete_files.take().map(|taken| (taken.file.kind, taken.tables.len()));
        let table = |tables| Some((FileKind::Table, tables));
        assert_eq!([taken(), taken(), taken()], [table(3), table(0), table(0)]);
        assert_eq!((taken(), taken()), (Some((FileKind::Log, 0)), None));
    }
}
