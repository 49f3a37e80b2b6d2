//! Reading around bad sectors.

use super::bad_sectors::BadSectors;
use super::*;

const SECTOR: usize = 4096;
const LEN: usize = 7 * SECTOR + 100;

/// A file of which the third and fourth sector cannot be read, and its bytes where these are zeros.
fn file() -> (Arc<dyn File>, Arc<Unreadable>, Vec<u8>) {
    let vfs = MemoryVfs::new();
    let mut bytes: Vec<u8> = (0..LEN).map(|n| n as u8 | 1).collect();
    write_all_at(&*vfs.create("name").unwrap(), &bytes, 0).unwrap();
    bytes[2 * SECTOR..4 * SECTOR].fill(0);
    let bad = 2 * SECTOR as u64..4 * SECTOR as u64;
    let file = BadSectors { vfs, name: "name".to_owned(), bad }.open("name").unwrap();
    let unreadable = Arc::<Unreadable>::default();
    (Arc::new(Readable { file, unreadable: unreadable.clone() }), unreadable, bytes)
}

#[test]
fn bad_sectors_read_as_zeros_and_all_others_as_they_are() {
    let (file, unreadable, expected) = file();
    let places =
        [0, 1, 2 * SECTOR - 1, 2 * SECTOR, 3 * SECTOR + 5, 4 * SECTOR, LEN - 1, LEN, LEN + 9];
    for from in places {
        for to in places.into_iter().filter(|to| *to >= from) {
            let mut found = vec![0xff; to - from];
            let n = file.read_at(&mut found, from as u64).unwrap();
            assert_eq!(n, to.min(LEN).saturating_sub(from), "{from} {to}");
            assert!(n == 0 || found[..n] == expected[from..from + n], "{from} {to}");
        }
    }
    let [note] = &unreadable.notes()[..] else { panic!("{:?}", unreadable.notes()) };
    assert!(
        note.starts_with("name: 2 of its sectors cannot be read, the first at byte 8192: "),
        "{note}"
    );
}

#[test]
fn what_can_be_read_is_no_note_and_writes_are_refused() {
    let (file, unreadable, _) = file();
    assert_eq!((file.name(), file.len().unwrap()), ("name", LEN as u64));
    assert_eq!(file.next_data(5000).unwrap(), 5000);
    file.read_at(&mut [0; SECTOR], 4 * SECTOR as u64).unwrap();
    assert_eq!(unreadable.notes(), [""; 0]);
    for refused in [file.write_at(b"x", 0).map(drop), file.sync(), file.set_len(0)] {
        assert!(refused.unwrap_err().to_string().contains("name"));
    }
    assert_eq!(file.len().unwrap(), LEN as u64);
}
