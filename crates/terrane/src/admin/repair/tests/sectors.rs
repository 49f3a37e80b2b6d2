//! A sector that cannot be read costs what it held, as if it were zeros.

use super::model::sound;
use super::*;
use crate::storage::salvage::tests::bad_sectors::BadSectors;

const SECTOR: u64 = 4096;

/// Returns the struck sectors: file names and offsets.
fn places(store: &Store) -> Vec<(String, u64)> {
    let mut places = Vec::new();
    for (name, bytes) in contents(&store.vfs) {
        let sectors = (0..).step_by(SECTOR as usize).zip(bytes.chunks(SECTOR as usize));
        let used: Vec<_> = sectors.filter(|(_, sector)| sector.iter().any(|b| *b != 0)).collect();
        places.extend(used.iter().step_by(used.len() / 15 + 1).map(|(at, _)| (name.clone(), *at)));
    }
    let (manifest, base, len) = store.manifest();
    places.extend([base, base + len / 2].map(|at| (manifest.name().to_owned(), at)));
    places
}

#[test]
fn a_sector_that_cannot_be_read_costs_no_more_than_one_of_zeros() {
    for layout in LAYOUTS {
        let store = sound(layout, 1).store;
        for (name, at) in places(&store) {
            let zeroed = store.copy();
            let file = zeroed.vfs.open(&name).unwrap();
            let len = (file.len().unwrap() - at).min(SECTOR);
            write_all_at(&*file, &vec![0; len as usize], at).unwrap();
            let (expected, told) = zeroed.repair();
            let bad = at..at + SECTOR;
            let vfs = BadSectors { vfs: store.vfs.clone(), name: name.clone(), bad };
            let remains = match layout {
                Layout::Directory => salvage::directory(&vfs).unwrap(),
                Layout::Volume => salvage::volume(&vfs.open(BACKING).unwrap()).unwrap(),
            };
            let (target, report) = repaired(remains);
            assert!(all_rows(&target) == all_rows(&expected), "{name} {at} {report:#?}");
            let figures =
                |report: &Salvaged| format!("{:?}", (&report.files, &report.rows, report.complete));
            assert_eq!(figures(&report), figures(&told), "{name} {at}");
            if FileId::parse(&name).is_some() {
                let note =
                    format!("{name}: 1 of its sectors cannot be read, the first at byte {at}: ");
                assert!(report.notes.iter().any(|told| told.starts_with(&note)), "{report:#?}");
            }
        }
    }
}
