//! The superblock slots after operations that failed, in one process after another.

use super::*;

/// Opens a volume; returns the edits that it finds.
fn edits(vfs: &FaultVfs) -> Result<Vec<Vec<u8>>> {
    let volume = open(vfs, 1);
    let found = volume.recover()?.map_or_else(Vec::new, |recovered| recovered.edits);
    volume.resume()?;
    Ok(found)
}

/// Starts a new manifest, of which operation `first` fails, and opens the store, of which `second` fails; then
/// opens it again and commits. Returns the edits after a power cut, and whether both failed.
fn committed_after_two_failures(first: u64, second: u64) -> (Vec<Vec<u8>>, bool) {
    let inner = Arc::new(MemoryVfs::new());
    let vfs = FaultVfs::new(inner.clone()).unwrap();
    let volume = new(&vfs, 1);
    vfs.sync_names().unwrap();
    commit(&volume, b"one", &[], &[]).unwrap();
    lock(&volume.commit_state).needs_rollover = true;
    vfs.fail_at(vfs.operations() + first, Fault::Io);
    let mut failed = commit(&volume, b"two", &[], &[]).is_err();
    drop(volume);
    vfs.heal();
    vfs.fail_at(vfs.operations() + second, Fault::Io);
    failed &= edits(&vfs).is_err();
    vfs.heal();
    let volume = open(&vfs, 1);
    volume.recover().unwrap().unwrap();
    volume.resume().unwrap();
    commit(&volume, b"three", &[], &[]).unwrap();
    vfs.crash(Survivors::Synced).unwrap();
    drop(volume);
    (edits(&FaultVfs::new(inner).unwrap()).unwrap(), failed)
}

#[test]
fn a_commit_survives_though_syncs_of_both_slots_failed() {
    let mut both = 0;
    for first in 0..12 {
        for second in 0..8 {
            let (found, failed) = committed_after_two_failures(first, second);
            let last = found.last().map(Vec::as_slice);
            assert_eq!(last, Some(&b"three"[..]), "operations {first} and {second} failed");
            both += usize::from(failed);
        }
    }
    assert!(both > 20, "both failed {both} times");
}
