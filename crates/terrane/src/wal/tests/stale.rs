use super::*;

/// A crash loses record 1 of a log and leaves record 2. Sequence number 1 is used again, in a log in
/// the same file: the old record 2 is right after it, with the next sequence number.
fn next_after_a_lost_record_in_a_recycled_file() -> Seq {
    let disk = Disk::holding("log", Vec::new());
    let mut old = LogWriter::begin(disk.clone(), id(1), CAPACITY).unwrap();
    let lost = batch(1, 1, 10);
    old.append(1, 0, &[lost.bytes()]).unwrap();
    old.append(2, 0, &[batch(2, 1, 10).bytes()]).unwrap();
    let size = record_bytes(payload(&[lost.bytes()]));
    disk.write_at(&vec![0; size as usize], 0).unwrap();
    assert_eq!(replay(&[(id(1), disk.clone())], 1, 0, &mut |_, _| Ok(())).unwrap().next, 1);

    let mut new = LogWriter::begin(disk.clone(), id(2), CAPACITY).unwrap();
    let stale = disk.state().bytes.split_off(size as usize);
    new.append(1, 0, &[batch(1, 1, 10).bytes()]).unwrap();
    // The next crash loses the zeros after the record.
    disk.write_at(&stale, size).unwrap();
    replay(&[(id(2), disk)], 1, 0, &mut |_, _| Ok(())).unwrap().next
}

#[test]
fn a_stale_record_in_a_recycled_file_does_not_replay() {
    assert_eq!(next_after_a_lost_record_in_a_recycled_file(), 2);
}

#[test]
#[cfg(feature = "testing")]
fn without_numbered_checksums_a_stale_record_would_replay() {
    let next = Rule::NumberedChecksums.broken(next_after_a_lost_record_in_a_recycled_file);
    assert_eq!(next, 3);
}
