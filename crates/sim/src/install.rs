//! The outcome of a job takes effect.

use crate::background::log_file;
use crate::clock::{Time, micros};
use crate::config::SimulationError;
use crate::job::{Job, Work};
use crate::meter::Merged;
use crate::schedule::Task;
use crate::simulation::Simulation;
use crate::trace::KEYSPACE;
use crate::tree::Table;
use std::sync::Arc;
use terrane_policy::event::Event;
use terrane_policy::{Action, FlushPlan, Group, Reason, RunId, ShapeEdit, TableInfo};

impl Simulation {
    /// A job is done.
    pub(crate) fn end(&mut self, job: Job, now: Time) -> Result<(), SimulationError> {
        match job.work {
            Work::Flush(plan) => {
                self.flushing = false;
                self.half_written -= job.outputs.len();
                self.install_flush(plan, job.outputs, now)?;
            }
            Work::Part(merge, index) => {
                self.merging -= 1;
                self.end_part(merge, index, job.outputs, now)?;
            }
        }
        self.observe(now);
        self.dispatch(now)
    }

    /// A part of a merge is done; with the last one the merge takes effect.
    fn end_part(
        &mut self,
        number: u64,
        index: usize,
        outputs: Vec<Table>,
        now: Time,
    ) -> Result<(), SimulationError> {
        let Some(merge) = self.merges.get_mut(&number) else { return Ok(()) };
        merge.open -= 1;
        if let Some(part) = merge.outputs.get_mut(index) {
            *part = outputs;
        }
        if merge.open > 0 {
            return Ok(());
        }
        let Some(merge) = self.merges.remove(&number) else { return Ok(()) };
        let outputs: Vec<Table> = merge.outputs.into_iter().flatten().collect();
        self.half_written -= outputs.len();
        let (read, level) = (merge.reads, merge.task.group.destination.level);
        let written = outputs.iter().map(|t| t.info.bytes).sum::<u64>();
        self.meters.add(|sums| {
            sums.merge_read_bytes += read;
            sums.merge_written_bytes += written;
            sums.level(level, |level| level.written_bytes += written);
        });
        self.meters.merged(Merged {
            level: merge.from,
            tables: merge.task.group.inputs.len() as u64,
            bytes: read,
            time: now - merge.begun,
        });
        self.store_bytes -= read;
        for input in self.tree.inputs(&merge.task.group) {
            self.page_cache.remove(&input.info);
        }
        for input in &merge.task.group.inputs {
            self.remove_file(input.0);
        }
        self.install_group(&merge.task, outputs, now)
    }

    fn install_flush(
        &mut self,
        plan: FlushPlan,
        tables: Vec<Table>,
        now: Time,
    ) -> Result<(), SimulationError> {
        let Some(memtable) = self.memory.sealed.pop_front() else { return Ok(()) };
        if !self.config.separates_values() {
            self.remove_file(log_file(self.logs.0));
        }
        self.logs.0 += 1;
        self.last_id += 1;
        let run = RunId(self.last_id);
        let added = tables.iter().map(|t| (0, run, Arc::clone(&t.info))).collect();
        let bytes = tables.iter().map(|t| t.info.bytes).sum::<u64>();
        let infos: Vec<_> = tables.iter().map(|t| TableInfo::clone(&t.info)).collect();
        let before = self.tree.edit(&ShapeEdit { added, dropped: Vec::new() }, tables)?;
        self.scheduler.flushed(&before, &plan, &infos);
        self.meters.add(|sums| {
            sums.flushes += 1;
            sums.flushed_bytes += bytes;
        });
        let through = memtable.entries.last().map_or(0, |e| e.seq());
        let (tables, Reason { text: reason, terms }, keyspace) = (infos, plan.reason, KEYSPACE);
        self.emit(now, || Event::Flushed { keyspace, run, tables, reason, terms, through });
        self.report_policy(now);
        Ok(())
    }

    pub(crate) fn install_group(
        &mut self,
        task: &Task,
        outputs: Vec<Table>,
        now: Time,
    ) -> Result<(), SimulationError> {
        let Task { compaction, group, .. } = task;
        let Group { inputs, destination, action, .. } = &**group;
        let moved = *action == Action::Move;
        let infos: Vec<Arc<TableInfo>> = if moved {
            self.tree.inputs(group).iter().map(|t| Arc::clone(&t.info)).collect()
        } else {
            outputs.iter().map(|t| Arc::clone(&t.info)).collect()
        };
        let (level, run) = (destination.level, destination.run);
        let added = infos.iter().map(|t| (level, run, Arc::clone(t))).collect();
        let before = self.tree.edit(&ShapeEdit { added, dropped: inputs.clone() }, outputs)?;
        let outputs: Vec<_> = infos.iter().map(|t| TableInfo::clone(t)).collect();
        let shapes = (&before, self.tree.shape());
        let ended = self.scheduler.installed(*compaction, group, shapes, &outputs);
        let (compaction, inputs) = (*compaction, inputs.clone());
        self.emit(now, || Event::GroupInstalled {
            keyspace: KEYSPACE,
            compaction,
            inputs,
            level,
            run,
            outputs,
            moved,
        });
        if ended {
            let grouped = self.grouped.remove(&compaction).unwrap_or_default();
            self.meters.compacted(grouped);
            self.emit(now, || Event::CompactionEnded { compaction });
        }
        self.report_policy(now);
        self.observe(now);
        Ok(())
    }

    /// After a step: how much waits in level 0 and to be compacted, what the policy decided, and its status if that has
    /// changed.
    pub(crate) fn report_policy(&mut self, now: Time) {
        self.level0_waiting = self.scheduler.level0_waiting(self.tree.shape());
        if self.config.counts_pending_bytes() {
            self.pending_bytes = self.scheduler.pending_bytes(self.tree.shape());
        }
        let Some(listener) = &mut self.listener else { return };
        let mut emit = |event: Event| listener(micros(now), &event);
        self.scheduler.report_policy(self.tree.shape(), &mut emit);
    }
}
