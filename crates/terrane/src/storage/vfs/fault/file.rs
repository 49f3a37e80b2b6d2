//! Files of the fault-injecting file system: what faults do to reads, writes and syncs.

use super::crash::{Random, Survivors};
use super::state::{Fault, Outcome, Shared, What, failure, index, no_power};
use crate::error::Result;
use crate::storage::{File, MappedFile, lock};
use std::sync::Arc;

/// A file, by its node.
#[derive(Clone)]
pub(super) struct FaultFile {
    pub(super) name: String,
    pub(super) node: usize,
    pub(super) shared: Arc<Shared>,
}

impl File for FaultFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let mut state = lock(&self.shared.state);
        state.powered("read", &self.name)?;
        state.reads += 1;
        if state.failing_read.is_some_and(|failing| failing + 1 == state.reads) {
            return Err(failure(Fault::Io, "read", &self.name, 0));
        }
        let seen = state.nodes.get(self.node).map_or(&[][..], |n| &n.seen);
        let rest = seen.get(index(offset)..).unwrap_or(&[]);
        let n = rest.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..n), rest.get(..n)) {
            to.copy_from_slice(from);
        }
        Ok(n)
    }

    fn write_at(&self, buf: &[u8], mut offset: u64) -> Result<usize> {
        let mut state = lock(&self.shared.state);
        let (operation, outcome) = state.begin("write", &self.name)?;
        let wanted = buf.len() as u64;
        if matches!(outcome, Outcome::Fails(Fault::Lost | Fault::Misdirected(_))) {
            state.struck = Some(self.node);
        } else if state.struck == Some(self.node) {
            state.struck = None;
        }
        let (count, power) = match outcome {
            Outcome::Cut => (wanted, false),
            Outcome::Fails(Fault::Short) => (wanted / 2, true),
            Outcome::Fails(Fault::Lost) => {
                // The file grows all the same.
                if let Some(node) = state.nodes.get_mut(self.node) {
                    let end = offset + wanted;
                    if end > node.seen.len() as u64 {
                        node.change(operation, What::SetLen(end), true);
                    }
                }
                return Ok(buf.len());
            }
            Outcome::Fails(Fault::Misdirected(by)) => {
                offset += by;
                (wanted, true)
            }
            Outcome::Fails(fault) => return Err(failure(fault, "write", &self.name, wanted)),
            Outcome::Done => match state.room(self.node, offset, offset.saturating_add(wanted)) {
                None => (wanted, true),
                Some((fits, Fault::Short)) => (fits.min(wanted), true),
                Some((_, fault)) => return Err(failure(fault, "write", &self.name, wanted)),
            },
        };
        let done = buf.get(..index(count)).unwrap_or(buf);
        if let Some(node) = state.nodes.get_mut(self.node) {
            node.change(operation, What::Write { offset, bytes: done.to_vec() }, power);
        }
        if power { Ok(done.len()) } else { Err(no_power("write", &self.name)) }
    }

    fn sync(&self) -> Result<()> {
        let mut state = lock(&self.shared.state);
        let (operation, outcome) = state.begin("sync", &self.name)?;
        let sector = state.sector;
        let Some(node) = state.nodes.get_mut(self.node) else { return Ok(()) };
        match outcome {
            Outcome::Done => node.sync(),
            Outcome::Cut => return Err(no_power("sync", &self.name)),
            Outcome::Fails(Fault::Reverted) => {
                let survivors = Survivors::Random(operation);
                node.synced = node.surviving(sector, survivors, &mut Random(operation));
                node.seen.clone_from(&node.synced);
                node.changes.clear();
                return Err(failure(Fault::Reverted, "sync", &self.name, 0));
            }
            Outcome::Fails(fault) => {
                let harmed = fault != Fault::Killed;
                node.changes.iter_mut().for_each(|c| c.in_doubt |= harmed);
                return Err(failure(fault, "sync", &self.name, 0));
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<()> {
        let mut state = lock(&self.shared.state);
        let (operation, done) = state.begin_whole("resize", &self.name)?;
        if done.is_ok()
            && let Some((_, fault)) = state.room(self.node, 0, len)
        {
            let fault = if fault == Fault::Short { Fault::NoSpace } else { fault };
            return Err(failure(fault, "resize", &self.name, len));
        }
        if let Some(node) = state.nodes.get_mut(self.node) {
            node.change(operation, What::SetLen(len), done.is_ok());
        }
        done
    }

    fn map(&self, _: u64, len: u64) -> Option<Box<dyn MappedFile>> {
        let maps = lock(&self.shared.state).maps && self.len().is_ok_and(|found| found >= len);
        maps.then(|| Box::new(Mapped { file: self.clone(), len }) as Box<dyn MappedFile>)
    }

    fn len(&self) -> Result<u64> {
        let state = lock(&self.shared.state);
        state.powered("measure", &self.name)?;
        Ok(state.nodes.get(self.node).map_or(0, |n| n.seen.len() as u64))
    }
}

/// The first bytes of a file, mapped.
struct Mapped {
    file: FaultFile,
    len: u64,
}

impl MappedFile for Mapped {
    fn append(&mut self, head: &[u8], rest: &[u8], offset: u64) -> bool {
        let after = offset.saturating_add(head.len() as u64);
        // After a fault part of the bytes may be written; the caller writes all of them again.
        let write = |bytes: &[u8], at: u64| {
            let is_within = at.checked_add(bytes.len() as u64).is_some_and(|end| end <= self.len);
            is_within && self.file.write_at(bytes, at).is_ok_and(|done| done == bytes.len())
        };
        write(rest, after) && write(head, offset)
    }
}
