//! The tables that a job builds.

use super::{JobContext, Reservation};
use crate::entry::{Kind, Seq, Tag};
use crate::error::Result;
use crate::keyspace::KeyspaceId;
use crate::rules::Rule;
use crate::storage::{File, FileId};
use crate::table::{TableOptions, TableWriter};
use crate::version::LiveTable;
use std::sync::Arc;
use terrane_policy::{FilterBits, Histogram, PrefixSplit, Prefixes, TableId, TableInfo};
use terrane_table::read::{Fate, Judgement};

struct Building {
    id: TableId,
    file: Arc<dyn File>,
    writer: TableWriter,
    /// Range deletes through this number are applied to it.
    cleared: Seq,
}

/// Tables under construction: one open at a time, the others finished, synced and open for reading.
pub(crate) struct TableSetWriter {
    context: Arc<JobContext>,
    /// Whose they are, and its name.
    keyspace: KeyspaceId,
    name: Option<String>,
    /// User keys at which a new table starts, ascending.
    cuts: Vec<Vec<u8>>,
    next_cut: usize,
    target_file_bytes: u64,
    split: Option<PrefixSplit>,
    /// The number of the newest range delete that is applied.
    newest_delete: Seq,
    /// Bytes of the merge's inputs that are left from the next entry on, if it is split.
    left: u64,
    options: TableOptions,
    building: Option<Building>,
    /// The memory of the writer.
    buffers: Reservation,
    finished: Vec<Arc<LiveTable>>,
}

impl TableSetWriter {
    /// Tables that start again at each key of `cuts` (ascending) and close at `target_file_bytes`, with
    /// `filter_bits` for each key, or as many as the store's tables have.
    pub fn new(
        context: &Arc<JobContext>,
        keyspace: KeyspaceId,
        name: Option<String>,
        cuts: Vec<Vec<u8>>,
        target_file_bytes: u64,
        filter_bits: Option<FilterBits>,
    ) -> Self {
        let mut options = context.table;
        if let Some(bits) = filter_bits {
            options.filter_bits_per_key = bits;
        }
        TableSetWriter {
            context: context.clone(),
            keyspace,
            name,
            cuts,
            next_cut: 0,
            target_file_bytes,
            split: None,
            newest_delete: 0,
            left: 0,
            options,
            building: None,
            buffers: context.memory.reserve(),
            finished: Vec::new(),
        }
    }

    /// Ends tables between prefixes, if there is a rule, and records the prefixes of each.
    pub fn splitting(mut self, split: Option<PrefixSplit>) -> Self {
        self.split = split;
        self
    }

    /// Records with each table that range deletes through this number are applied to it.
    pub fn applying(mut self, newest_delete: Seq) -> Self {
        self.newest_delete = newest_delete;
        self
    }

    /// Notes how much of the inputs is left from the next entry on, for the split.
    pub fn note_left(&mut self, bytes: impl FnOnce() -> u64) {
        if self.split.is_some() {
            self.left = bytes();
        }
    }

    /// Bytes written so far, into all tables.
    pub fn bytes_written(&self) -> u64 {
        let finished: u64 = self.finished.iter().map(|t| t.table().info().bytes).sum();
        finished + self.building.as_ref().map_or(0, |b| b.writer.bytes_written())
    }

    /// Reserves the memory that the open table takes.
    pub fn count_memory(&mut self) {
        self.buffers.set(self.building.as_ref().map_or(0, |building| building.writer.memory()));
    }

    /// Appends an entry to the open table, or to the next one where a cut falls: only between user
    /// keys, so that all versions of a key lie in one table.
    pub fn add(&mut self, key: &[u8], tag: Tag, value: &[u8]) -> Result<()> {
        let same_key = self.building.as_ref().is_some_and(|b| b.writer.last_key() == key);
        if !same_key && self.cuts_before(key) {
            self.cut()?;
        }
        let building = match &mut self.building {
            Some(building) => building,
            None => {
                let JobContext { storage, cache, ids, .. } = &*self.context;
                let id = TableId(ids.fresh());
                let file = storage.create(FileId::table(id.0), 0)?;
                let writer = TableWriter::new(file.clone(), id, &self.options);
                let writer = writer.of_store(storage.id().salt(), storage.commits());
                let writer = writer.of_keyspace(self.keyspace.0, self.name.clone());
                let writer = writer.of_prefixes(self.split.map(|split| split.rule));
                let writer = writer.caching(cache.clone());
                self.buffers.set(writer.memory());
                self.building.insert(Building { id, file, writer, cleared: self.newest_delete })
            }
        };
        building.writer.add(key, tag, value)
    }

    /// Appends what is kept of an entry.
    pub fn take(
        &mut self,
        key: &[u8],
        tag: Tag,
        value: &[u8],
        Judgement { fate, hidden_by, is_removed }: Judgement,
    ) -> Result<()> {
        if fate == Fate::Dropped {
            return Ok(());
        }
        let (tag, value) =
            if is_removed { (Tag::new(tag.seq(), Kind::Delete), &[][..]) } else { (tag, value) };
        self.add(key, tag, value)?;
        if let (Some(deleted), Some(building)) = (hidden_by, &mut self.building) {
            building.cleared = building.cleared.min(deleted - 1);
        }
        if let (Fate::KeptUntil(until), Some(building)) = (fate, &mut self.building) {
            building.writer.note_kept(value.len(), until);
        }
        Ok(())
    }

    /// Whether a new table starts at `key`.
    fn cuts_before(&mut self, key: &[u8]) -> bool {
        let (open_bytes, last) = self
            .building
            .as_ref()
            .map_or((0, None), |b| (b.writer.bytes_written(), Some(b.writer.last_key())));
        let is_split = self
            .split
            .zip(last)
            .is_some_and(|(split, last)| split.is_between(last, key, open_bytes, self.left));
        let mut cut = is_split || open_bytes >= self.target_file_bytes;
        while self.cuts.get(self.next_cut).is_some_and(|c| c.as_slice() <= key) {
            cut = true;
            self.next_cut += 1;
        }
        cut
    }

    /// Finishes the open table: it is durable, and open for reading.
    pub fn cut(&mut self) -> Result<()> {
        let Some(Building { id, file, writer, cleared }) = self.building.take() else {
            return Ok(());
        };
        let done = writer.finish().and_then(|info| {
            if Rule::DataBeforeEdit.holds() {
                file.sync()?;
            }
            // Its own properties keep these two.
            let (histogram, prefixes) = (Histogram::default(), Prefixes::default());
            let info = TableInfo { histogram, prefixes, cleared, ..info };
            let live = self.context.live_table(Arc::new(info));
            live.table().open_in(file)?;
            Ok(live)
        });
        self.count_memory();
        match done {
            Ok(table) => {
                self.finished.push(table);
                Ok(())
            }
            Err(e) => {
                self.context.mark_obsolete(FileId::table(id.0));
                Err(e)
            }
        }
    }

    /// The finished tables, in key order.
    pub fn finished(&self) -> &[Arc<LiveTable>] {
        &self.finished
    }

    /// Throws everything away. Where an edit may have named it, since its commit failed half-way, the
    /// files stay: the next recovery knows.
    pub fn discard(&mut self, named: bool) {
        if named {
            self.building = None;
            self.finished.clear();
            return;
        }
        if let Some(building) = self.building.take() {
            self.context.mark_obsolete(FileId::table(building.id.0));
        }
        self.count_memory();
        self.finished.drain(..).for_each(|table| table.mark_dropped());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Directory;
    use crate::storage::Storage;
    use crate::storage::vfs::MemoryVfs;
    use terrane_policy::PrefixRule;
    use terrane_table::read::ReadTracer;

    /// Three versions of each of 100 keys.
    fn write(outputs: &mut TableSetWriter) {
        for n in 0..100u8 {
            for seq in (1..=3).rev() {
                outputs.add(&[n], Tag::new(seq, Kind::Put), &[n; 20]).unwrap();
            }
        }
        outputs.cut().unwrap();
    }

    fn context() -> Arc<JobContext> {
        let storage = Arc::new(Directory::open(Arc::new(MemoryVfs::new())).unwrap());
        assert!(storage.recover().unwrap().is_none());
        JobContext::new(storage, Arc::default(), Arc::default(), &Arc::default())
    }

    #[test]
    fn tables_are_cut_at_keys_and_sizes_with_all_versions_of_a_key() {
        let context = context();
        let cuts = vec![vec![10], vec![10, 0], vec![90, 5]];
        let mut by_key = TableSetWriter::new(&context, KeyspaceId(0), None, cuts, u64::MAX, None);
        write(&mut by_key);
        let bounds = |outputs: &TableSetWriter| {
            let infos = outputs.finished().iter().map(|t| t.table().info().clone());
            infos.map(|i| (i.smallest[0], i.largest[0], i.entries)).collect::<Vec<_>>()
        };
        assert_eq!(bounds(&by_key), [(0, 9, 30), (10, 10, 3), (11, 90, 240), (91, 99, 27)]);
        let mut by_size = TableSetWriter::new(&context, KeyspaceId(0), None, Vec::new(), 500, None);
        write(&mut by_size);
        let sizes = bounds(&by_size);
        assert!(sizes.len() > 10 && sizes.iter().all(|(.., n)| n % 3 == 0), "{sizes:?}");
    }

    #[test]
    fn tables_end_between_prefixes_and_no_small_one_is_left() {
        let context = context();
        let write = |least_bytes: u64, target: u64| {
            let rule = PrefixRule::Length(1);
            let mut outputs =
                TableSetWriter::new(&context, KeyspaceId(0), None, Vec::new(), target, None)
                    .splitting(Some(PrefixSplit { rule, least_bytes }));
            // 30 kB that do not compress, of which a prefix is 3 kB.
            for n in 0..100u8 {
                outputs.note_left(|| 300 * u64::from(100 - n));
                let value: Vec<u8> = (0..300u32).map(|at| ((at * at) >> 3) as u8 ^ n).collect();
                outputs.add(&[n / 10, n], Tag::new(1, Kind::Put), &value).unwrap();
            }
            outputs.cut().unwrap();
            let tables = outputs.finished().iter().map(|t| t.table().clone());
            let prefixes = tables.map(|table| {
                let properties = table.properties().unwrap();
                assert_eq!(table.check().unwrap(), []);
                let info = table.info();
                assert!(
                    !info.histogram.is_known() && !info.prefixes.is_known(),
                    "both take memory"
                );
                properties.prefixes.by(rule).unwrap().iter().map(|p| p[0]).collect::<Vec<_>>()
            });
            prefixes.collect::<Vec<_>>()
        };
        let each: Vec<_> = (0..10).map(|prefix| vec![prefix]).collect();
        assert_eq!(write(1, u64::MAX), each);
        // Two prefixes have 5 kB; the last two tables would be smaller alone.
        assert_eq!(
            write(5_000, u64::MAX),
            [&[0, 1][..], &[2, 3], &[4, 5], &[6, 7], &[8, 9]].map(<[u8]>::to_vec),
        );
        assert_eq!(write(7_000, u64::MAX), [&[0, 1, 2][..], &[3, 4, 5], &[6, 7, 8, 9]]);
        // The size of a table cuts within a prefix.
        let small = write(1, 1_000);
        assert!(small.len() > 20 && small.iter().all(|prefixes| prefixes.len() == 1), "{small:?}");
    }

    #[test]
    fn the_memory_of_a_writer_is_reserved_until_its_table_is_cut() {
        let context = context();
        let mut outputs =
            TableSetWriter::new(&context, KeyspaceId(0), None, Vec::new(), u64::MAX, None);
        let reserved = || context.memory.reserved();
        for n in 0..20_000u32 {
            outputs.add(&n.to_be_bytes(), Tag::new(1, Kind::Put), &[1; 20]).unwrap();
            outputs.count_memory();
            let memory = outputs.building.as_ref().unwrap().writer.memory();
            assert!((memory..memory + (64 << 10)).contains(&reserved()));
        }
        let bytes = outputs.bytes_written();
        outputs.cut().unwrap();
        assert_eq!(reserved(), 0);
        assert!(outputs.bytes_written() >= bytes && bytes > 20_000);
        outputs.add(b"z", Tag::new(1, Kind::Put), &[1; 20]).unwrap();
        assert!(reserved() > 0);
        outputs.discard(false);
        assert_eq!((reserved(), outputs.bytes_written()), (0, 0));
    }

    #[test]
    fn filters_have_the_bits_that_the_plan_says() {
        let context = context();
        let with = |bits: Option<u32>| {
            let bits = bits.map(FilterBits::whole);
            let mut outputs =
                TableSetWriter::new(&context, KeyspaceId(0), None, Vec::new(), u64::MAX, bits);
            write(&mut outputs);
            let table = outputs.finished()[0].table().clone();
            (1000..2000u64)
                .filter(|n| {
                    let key = n.to_le_bytes();
                    let hash = crate::table::key_hash(&key);
                    let (lend, tracer) = (&mut |_, _: &[u8]| (), &mut ReadTracer::default());
                    table.find(&key, hash, 1, lend, tracer).unwrap();
                    tracer.counts().filter_negatives == 0
                })
                .count()
        };
        assert_eq!(with(Some(0)), 1000, "no filter, all may be there");
        assert!(with(Some(2)) > with(Some(24)) + 100);
        assert_eq!(with(None), with(Some(10)));
    }
}
