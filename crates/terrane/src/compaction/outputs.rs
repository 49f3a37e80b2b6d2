//! The tables that a job builds.

use crate::db::Engine;
use crate::entry::Tag;
use crate::error::Result;
use crate::rules::Rule;
use crate::storage::{File, FileId};
use crate::table::{Table, TableWriter};
use crate::version::LiveTable;
use std::sync::Arc;
use terrane_policy::TableId;

struct Building {
    id: TableId,
    file: Arc<dyn File>,
    writer: TableWriter,
}

/// Tables under construction: one open at a time, the others finished, synced and open for reading.
#[derive(Default)]
pub(crate) struct Outputs {
    building: Option<Building>,
    finished: Vec<Arc<LiveTable>>,
}

impl Outputs {
    /// Appends an entry to the open table, beginning one if there is none.
    pub fn add(&mut self, engine: &Engine, key: &[u8], tag: Tag, value: &[u8]) -> Result<()> {
        let building = match &mut self.building {
            Some(building) => building,
            None => {
                let id = TableId(engine.fresh_id());
                let file = engine.storage().create(FileId::table(id.0), 0)?;
                let writer = TableWriter::new(file.clone(), id, &engine.options().table);
                self.building.insert(Building { id, file, writer })
            }
        };
        building.writer.add(key, tag, value)
    }

    /// Bytes of the open table so far.
    pub fn open_bytes(&self) -> u64 {
        self.building.as_ref().map_or(0, |b| b.writer.bytes_written())
    }

    /// Ends the open table: its data is on the medium and it can be read.
    pub fn cut(&mut self, engine: &Engine) -> Result<()> {
        let Some(Building { id, file, writer }) = self.building.take() else { return Ok(()) };
        let done = writer.finish().and_then(|info| {
            if Rule::DataBeforeEdit.holds() {
                file.sync()?;
            }
            let table = Table::open(file, Arc::new(info), engine.cache().clone())?;
            Ok(LiveTable::new(table, engine.graveyard().clone()))
        });
        match done {
            Ok(table) => {
                self.finished.push(table);
                Ok(())
            }
            Err(e) => {
                engine.bury(FileId::table(id.0));
                Err(e)
            }
        }
    }

    /// The finished tables, in key order.
    pub fn finished(&self) -> &[Arc<LiveTable>] {
        &self.finished
    }

    /// Throws everything away: no edit has named it. Where one may have, since its commit failed
    /// half-way, the files stay: the next recovery knows.
    pub fn discard(&mut self, engine: &Engine) {
        if engine.in_doubt() {
            self.building = None;
            self.finished.clear();
            return;
        }
        if let Some(building) = self.building.take() {
            engine.bury(FileId::table(building.id.0));
        }
        self.finished.drain(..).for_each(|table| table.mark_dropped());
    }
}
