//! Promises of every file system, for every kind of file: random operations, compared with a model.

use super::fault::Random;
use super::*;
use crate::error::{Error, Result};
use crate::storage::volume::VolumeOptions;
use crate::storage::{File, FileId, Storage, StoreId, Volume};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;

fn content(file: &dyn File) -> Vec<u8> {
    let mut bytes = vec![0xaa; file.len().unwrap() as usize + 1];
    let n = file.read_at(&mut bytes, 0).unwrap();
    bytes.truncate(n);
    bytes
}

/// Writes, resizes and reads an empty file, and compares it with bytes in memory.
pub(in crate::storage) fn agrees_with_bytes(file: &dyn File) {
    let (mut random, mut bytes) = (Random(1), Vec::new());
    let extend = |bytes: &mut Vec<u8>, len: usize| bytes.resize(bytes.len().max(len), 0);
    for step in 0..200u8 {
        let (at, len) = (random.below(9000) as usize, random.below(9000) as usize);
        match random.below(6) {
            0 | 1 => {
                let chunk = vec![step; len];
                assert_eq!(file.write_at(&chunk, at as u64).unwrap(), len);
                extend(&mut bytes, at + len);
                bytes[at..at + len].copy_from_slice(&chunk);
            }
            2 => {
                file.set_len(len as u64).unwrap();
                bytes.resize(len, 0);
            }
            3 => {
                file.allocate(len as u64).unwrap();
                extend(&mut bytes, len);
            }
            4 => file.sync().unwrap(),
            _ => {
                let mut found = vec![0xaa; len];
                let n = file.read_at(&mut found, at as u64).unwrap();
                let expected = bytes.get(at..).unwrap_or_default();
                assert_eq!(found[..n], expected[..len.min(expected.len())]);
            }
        }
        assert_eq!(file.is_empty().unwrap(), bytes.is_empty());
        assert!(content(file) == bytes, "step {step} of {}", file.name());
        let from = random.below(bytes.len() as u64 + 1) as usize;
        let data = file.next_data(from as u64).unwrap() as usize;
        assert!(bytes[from..data].iter().all(|b| *b == 0), "{data} is after data");
    }
}

/// Files in memory, of which "lost" cannot be opened.
struct Losing(MemoryVfs, ErrorKind);

impl Vfs for Losing {
    fn place(&self) -> String {
        self.0.place()
    }
    fn draw_id(&self) -> Result<StoreId> {
        self.0.draw_id()
    }
    fn create(&self, name: &str) -> Result<Arc<dyn File>> {
        self.0.create(name)
    }
    fn open(&self, name: &str) -> Result<Arc<dyn File>> {
        if name == "lost" {
            return Err(Error::io("open", name, 0, self.1.into()));
        }
        self.0.open(name)
    }
    fn remove(&self, name: &str) -> Result<()> {
        self.0.remove(name)
    }
    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.0.rename(from, to)
    }
    fn list(&self) -> Result<Vec<String>> {
        self.0.list()
    }
    fn sync_names(&self) -> Result<()> {
        self.0.sync_names()
    }
}

#[test]
fn sizes_leave_out_a_vanished_file_and_no_other() {
    for (why, is_gone) in [(ErrorKind::NotFound, true), (ErrorKind::PermissionDenied, false)] {
        let vfs = Losing(MemoryVfs::new(), why);
        ["kept", "lost"].into_iter().for_each(|name| drop(vfs.create(name).unwrap()));
        let sizes = vfs.sizes().map_err(|e| e.io_kind());
        let names = sizes.map(|sizes| sizes.into_iter().map(|file| file.name).collect::<Vec<_>>());
        assert_eq!(names, if is_gone { Ok(vec!["kept".to_owned()]) } else { Err(Some(why)) });
    }
}

/// Calls `test` with every file system, each empty.
fn each_vfs(test: impl Fn(&dyn Vfs)) {
    let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    test(&MemoryVfs::new());
    test(&FaultVfs::new(Arc::new(MemoryVfs::new())).unwrap());
    test(&NativeVfs::open(place.path(), true).unwrap());
    test(&NativeVfs::open(other.path(), true).unwrap().open_at_most(1));
}

#[test]
fn every_file_has_the_bytes_that_were_written_to_it() {
    each_vfs(|vfs| agrees_with_bytes(&*vfs.create("file").unwrap()));
    let place = tempfile::tempdir().unwrap();
    agrees_with_bytes(&*open_locked(&place.path().join("locked"), true).unwrap());
    let backing = MemoryVfs::new().create("backing").unwrap();
    let new_id = StoreId::random().unwrap();
    let options = VolumeOptions { new_id, ..VolumeOptions::default() };
    let volume = Volume::open(vec![backing], options).unwrap();
    volume.recover().unwrap();
    // What was there before is not seen in new files.
    for n in 0..3 {
        let id = FileId::table(n);
        agrees_with_bytes(&*volume.create(id, 0).unwrap());
        volume.remove(id).unwrap();
    }
}

#[track_caller]
fn missing<T>(done: Result<T>) {
    let why = done.err().and_then(|e| e.io_kind());
    assert_eq!(why, Some(ErrorKind::NotFound));
}

/// Names of a file system, the files that they lead to, and open files.
fn agrees_with_names(vfs: &dyn Vfs, seed: u64) {
    let mut random = Random(seed);
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let mut files: Vec<Vec<u8>> = Vec::new();
    let mut held: Vec<(usize, Arc<dyn File>)> = Vec::new();
    for step in 0..150u8 {
        let pick = random.below(5);
        let (name, other) = (format!("{pick}"), format!("{}", (pick + 1 + random.below(4)) % 5));
        match random.below(8) {
            0 => {
                let file = vfs.create(&name).unwrap();
                assert!(file.name().ends_with(&name), "{}", file.name());
                names.insert(name, files.len());
                held.push((files.len(), file));
                files.push(Vec::new());
            }
            1 => match names.get(&name) {
                Some(n) => held.push((*n, vfs.open(&name).unwrap())),
                None => missing(vfs.open(&name)),
            },
            2 => match names.remove(&name) {
                Some(_) => vfs.remove(&name).unwrap(),
                None => missing(vfs.remove(&name)),
            },
            3 => match names.remove(&name) {
                Some(n) => {
                    vfs.rename(&name, &other).unwrap();
                    names.insert(other, n);
                }
                None => missing(vfs.rename(&name, &other)),
            },
            4 if !held.is_empty() => {
                held.swap_remove(random.below(held.len() as u64) as usize);
            }
            5 => vfs.sync_names().unwrap(),
            _ if !held.is_empty() => {
                let (n, file) = &held[random.below(held.len() as u64) as usize];
                let len = files[*n].len();
                files[*n].push(step);
                assert_eq!(file.write_at(&[step], len as u64).unwrap(), 1);
                file.sync().unwrap();
            }
            _ => {}
        }
        assert!(vfs.list().unwrap().iter().eq(names.keys()));
        let sizes = vfs.sizes().unwrap();
        let lens = names.iter().map(|(name, n)| (name, files[*n].len() as u64));
        assert!(sizes.iter().map(|file| (&file.name, file.len)).eq(lens));
        assert!(held.iter().all(|(n, file)| content(&**file) == files[*n]));
        assert!(names.iter().all(|(name, n)| content(&*vfs.open(name).unwrap()) == files[*n]));
    }
}

#[test]
fn every_vfs_leads_names_to_their_last_file_and_keeps_open_ones() {
    for seed in 0..3 {
        each_vfs(|vfs| agrees_with_names(vfs, seed));
    }
}

#[test]
fn files_that_are_not_native_have_no_path_and_are_not_linked() {
    let place = tempfile::tempdir().unwrap();
    let native = NativeVfs::open(place.path(), true).unwrap();
    native.create("a").unwrap();
    let path = native.path_of("a").unwrap();
    let memory = MemoryVfs::new();
    let faulty = FaultVfs::new(Arc::new(memory.clone())).unwrap();
    for vfs in [&memory as &dyn Vfs, &faulty] {
        vfs.create("a").unwrap();
        assert_eq!(vfs.path_of("a"), None);
        assert!(!vfs.link(&path, "b").unwrap());
        assert_eq!(vfs.list().unwrap(), ["a"]);
    }
}
