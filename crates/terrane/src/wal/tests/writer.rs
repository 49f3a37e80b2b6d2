use super::*;
use crate::error::ErrorKind;

#[test]
fn a_short_write_is_an_error_and_closes_the_log() {
    let disk = Disk::holding("log", Vec::new());
    let mut log = LogWriter::begin(disk.clone(), id(1), CAPACITY).unwrap();
    let one = batch(1, 1, 10);
    log.append(1, 0, &[one.bytes()]).unwrap();
    disk.state.lock().unwrap().room = Some(20);
    assert!(matches!(
        log.append(2, 0, &[one.bytes()]).map_err(Error::into_kind),
        Err(ErrorKind::Short(_))
    ));
    disk.state.lock().unwrap().room = None;
    assert!(matches!(
        log.append(2, 0, &[one.bytes()]).map_err(Error::into_kind),
        Err(ErrorKind::Poisoned(_))
    ));
    assert!(matches!(log.claim(2, 1).map_err(Error::into_kind), Err(ErrorKind::Poisoned(_))));
}

#[test]
fn a_record_that_does_not_fit_is_refused_and_the_log_goes_on() {
    let one = batch(1, 1, 10);
    let size = record_bytes(payload(&[one.bytes()]));
    let disk = Disk::holding("log", Vec::new());
    let capacity = 2 * size + HEADER_BYTES as u64 + 8;
    let mut log = LogWriter::begin(disk.clone(), id(1), capacity).unwrap();
    log.append(1, 0, &[one.bytes()]).unwrap();
    assert!(log.append(2, 0, &[&one.bytes().repeat(3)]).is_err());
    assert!(log.append(2, 0, &[]).is_err());
    assert!(log.append(2, 0, &[&[]]).is_err());
    log.append(2, 0, &[one.bytes()]).unwrap();
    assert!(!log.fits(payload(&[one.bytes()])));
    assert_eq!((log.bytes(), disk.len().unwrap()), (2 * size, 2 * size + 8));
    log.claim(3, 2).unwrap();
    log.claim(3, 2).unwrap();
    assert_eq!(
        disk.len().unwrap(),
        capacity,
        "there is room for one claim, and no more is written"
    );
}

#[test]
fn the_claim_that_all_is_synced_finds_room_at_the_end_of_a_log() {
    let one = batch(1, 1, 10);
    let size = record_bytes(payload(&[one.bytes()]));
    let disk = Disk::holding("log", Vec::new());
    let mut log = LogWriter::begin(disk.clone(), id(1), 2 * size + HEADER_BYTES as u64).unwrap();
    log.append(1, 0, &[one.bytes()]).unwrap();
    log.append(2, 0, &[one.bytes()]).unwrap();
    // A sync that began before the second record and ends after it, then one that covers both.
    log.claim(3, 1).unwrap();
    log.claim(3, 2).unwrap();
    let replayed = replay(&[(id(1), disk)], 1, 0, &mut |_, _| Ok(())).unwrap();
    assert_eq!((replayed.next, replayed.claim), (3, 2));
}
