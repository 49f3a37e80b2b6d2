use super::*;
use std::cell::{Cell, RefCell};
use terrane_table::error::ErrorKind;

#[test]
fn the_end_of_a_hole_of_a_terabyte_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let vfs = NativeVfs::open(dir.path(), true).unwrap();
    let file = vfs.create("log").unwrap();
    file.write_at(&[1; 5000], 0).unwrap();
    // Some file systems do not support files of this length, or finding holes.
    if file.set_len(1 << 40).is_err() || file.next_data(1 << 30).unwrap() == 1 << 30 {
        return;
    }
    assert_eq!(file.next_data(10).unwrap(), 10);
    assert_eq!(file.next_data(1 << 30).unwrap(), 1 << 40);
    file.write_at(&[1], 1 << 35).unwrap();
    let next = file.next_data(1 << 30).unwrap();
    assert!(next <= 1 << 35 && next > (1 << 35) - (1 << 20), "{next}");
}

#[test]
fn a_directory_holds_named_files_and_says_why_it_cannot() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("store");
    assert!(matches!(
        NativeVfs::open(&dir, false).map_err(Error::into_kind),
        Err(ErrorKind::NoStore(_))
    ));
    let vfs = NativeVfs::open(&dir, true).unwrap();
    let file = vfs.create("a").unwrap();
    assert_eq!(file.write_at(b"hello", 2).unwrap(), 5);
    file.sync().unwrap();
    vfs.rename("a", "b").unwrap();
    vfs.create("c").unwrap();
    vfs.sync_names().unwrap();
    assert_eq!(vfs.list().unwrap(), ["b", "c"]);
    let mut buf = [0; 10];
    assert_eq!(vfs.open("b").unwrap().read_at(&mut buf, 3).unwrap(), 4);
    assert_eq!(&buf[..4], b"ello");
    vfs.create("b").unwrap();
    assert_eq!(file.len().unwrap(), 7, "the old file lives on behind its handle");
    assert!(
        matches!(vfs.open("a").map_err(Error::into_kind), Err(ErrorKind::Io(io)) if io.action == "open")
    );
    assert!(matches!(
        NativeVfs::open(dir.join("b"), false).map_err(Error::into_kind),
        Err(ErrorKind::NoStore(_))
    ));
}

#[cfg(unix)]
#[test]
fn files_report_name_length_and_space_and_link_elsewhere() {
    use std::os::unix::fs::MetadataExt;
    let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let vfs = NativeVfs::open(place.path(), true).unwrap();
    assert_eq!(vfs.place(), place.path().display().to_string());
    let file = vfs.create("a").unwrap();
    file.write_at(&[1; 100_000], 0).unwrap();
    file.sync().unwrap();
    let found = || fs::metadata(place.path().join("a")).unwrap();
    assert!(file.name().ends_with('a'), "{}", file.name());
    assert!(found().blocks() > 0);
    assert_eq!(file.allocated().unwrap(), found().blocks() * 512);
    file.set_len(10).unwrap();
    assert_eq!((file.len().unwrap(), found().len()), (10, 10));
    let taken = found().blocks() * 512;
    assert_eq!(vfs.sizes().unwrap(), [Listed { name: "a".to_owned(), len: 10, taken }]);

    let path = vfs.path_of("a").unwrap();
    assert_eq!(path, place.path().join("a"));
    let copies = NativeVfs::open(other.path(), true).unwrap();
    assert!(copies.link(&path, "b").unwrap());
    assert_eq!(fs::read(other.path().join("b")).unwrap(), [1; 10]);
    let (one, two) = (vfs.draw_id().unwrap(), vfs.draw_id().unwrap());
    assert!(!one.is_none() && one != two);
}

/// This process's file descriptors in `dir`.
#[cfg(target_os = "linux")]
fn open_in(dir: &Path) -> usize {
    let all = fs::read_dir("/proc/self/fd").unwrap();
    let links = all.filter_map(|fd| fs::read_link(fd.unwrap().path()).ok());
    links.filter(|path| path.starts_with(dir)).count()
}

/// A file system with at most two open files, and its directory.
fn two_at_once() -> (tempfile::TempDir, NativeVfs) {
    let place = tempfile::tempdir().unwrap();
    let vfs = NativeVfs::open(place.path(), true).unwrap().open_at_most(2);
    (place, vfs)
}

fn holds(file: &dyn File, content: &[u8]) -> bool {
    let mut found = [0; 16];
    let n = file.read_at(&mut found, 0).unwrap();
    &found[..n] == content
}

/// Uses enough other files that all closable descriptors are closed.
fn close_others(vfs: &NativeVfs) {
    for n in 0..4 {
        vfs.create(&format!("other {n}")).unwrap().len().unwrap();
    }
    let others: Vec<_> = (0..4).map(|n| vfs.open(&format!("other {n}")).unwrap()).collect();
    others.iter().for_each(|other| assert_eq!(other.len().unwrap(), 0));
}

#[test]
fn more_files_are_held_than_are_open() {
    let (place, vfs) = two_at_once();
    let names: Vec<_> = (0..2000).map(|n| format!("{n}")).collect();
    let mut files = Vec::new();
    for name in &names {
        fs::write(place.path().join(name), name).unwrap();
        files.push(vfs.open(name).unwrap());
    }
    std::thread::scope(|scope| {
        for skip in 0..4 {
            let mut used = files.iter().zip(&names).cycle().skip(skip * 100).step_by(7).take(500);
            scope.spawn(move || assert!(used.all(|(f, n)| holds(&**f, n.as_bytes()))));
        }
    });
    for (file, name) in files.iter().zip(&names).step_by(100) {
        file.write_at(b"!", name.len() as u64).unwrap();
        file.sync().unwrap();
    }
    #[cfg(target_os = "linux")]
    assert_eq!(open_in(&place.path().canonicalize().unwrap()), 2);
    for (n, (file, name)) in files.iter().zip(&names).enumerate() {
        let content = if n % 100 == 0 { format!("{name}!") } else { name.clone() };
        assert!(holds(&**file, content.as_bytes()));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_stays_open_until_its_writes_are_synced() {
    let (place, vfs) = two_at_once();
    let dir = place.path().canonicalize().unwrap();
    let written = ["a", "b", "c"].map(|name| vfs.create(name).unwrap());
    written.iter().for_each(|file| assert_eq!(file.write_at(b"x", 0).unwrap(), 1));
    close_others(&vfs);
    assert_eq!(open_in(&dir), 3);
    written.iter().for_each(|file| file.sync().unwrap());
    close_others(&vfs);
    assert!(open_in(&dir) <= 2);
    drop(written);
    assert_eq!(open_in(&dir), 0);
}

#[test]
fn a_closed_descriptor_keeps_its_removed_or_renamed_file() {
    let (_place, vfs) = two_at_once();
    let names = ["removed", "replaced", "renamed", "renamed over"];
    let held = names.map(|name| {
        let file = vfs.create(name).unwrap();
        file.write_at(name.as_bytes(), 0).unwrap();
        file.sync().unwrap();
        file
    });
    close_others(&vfs);
    vfs.remove("removed").unwrap();
    vfs.create("replaced").unwrap().write_at(b"new", 0).unwrap();
    vfs.rename("renamed", "renamed over").unwrap();
    vfs.create("renamed").unwrap();
    close_others(&vfs);
    for (file, name) in held.iter().zip(names) {
        assert!(holds(&**file, name.as_bytes()), "{name}");
    }
    assert!(holds(&*vfs.open("replaced").unwrap(), b"new"));
    assert!(holds(&*vfs.open("renamed over").unwrap(), b"renamed"));
}

#[test]
fn a_created_directory_is_durable_before_it_is_used() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    let dir = root.join("a/b/store");
    let synced = RefCell::new(Vec::new());
    let failing = Cell::new(true);
    let sync = |parent: &Path| {
        let children = fs::read_dir(parent).unwrap().map(|child| child.unwrap().path());
        for child in children.filter(|child| child.is_dir()) {
            assert_eq!(fs::read_dir(child).unwrap().count(), 0);
        }
        synced.borrow_mut().push(parent.strip_prefix(root).unwrap().to_owned());
        if failing.take() { Err(io::Error::other("no power")) } else { Ok(()) }
    };

    fs::write(root.join("file"), b"").unwrap();
    assert!(create_directory(&dir, &sync).is_err());
    assert_eq!(synced.take(), [Path::new("")]);
    assert!(!root.join("a/b").exists(), "a may be lost");
    create_directory(&dir, &sync).unwrap();
    assert_eq!(synced.take(), ["", "a", "a/b"].map(Path::new));
    create_directory(&dir, &sync).unwrap();
    assert_eq!(synced.take(), [Path::new("a/b")], "an earlier sync may have failed");
    fs::write(dir.join("file"), b"").unwrap();
    create_directory(&dir, &sync).unwrap();
    assert!(synced.take().is_empty());
    assert!(matches!(
        NativeVfs::open(dir.join("file"), true).map_err(Error::into_kind),
        Err(ErrorKind::NoStore(_))
    ));
}

#[test]
fn a_second_opener_learns_who_holds_the_store() {
    let place = tempfile::tempdir().unwrap();
    let vfs = NativeVfs::open(place.path(), true).unwrap();
    let held = vfs.lock("terrane load").unwrap();
    match vfs.lock("terrane get").map_err(Error::into_kind) {
        Err(ErrorKind::Busy(busy)) => {
            assert_eq!(busy.holder, format!("process {} (terrane load)", std::process::id()));
        }
        _ => panic!("a lock that is held must refuse"),
    }
    drop(held);
    vfs.lock("terrane get").unwrap();
}

/// Whether an error says that somebody else replaced or removed a file.
#[cfg(unix)]
fn replaced(synced: Result<()>) -> bool {
    matches!(synced, Err(e) if e.to_string().contains("leads to another file"))
}

#[test]
#[cfg(unix)]
fn a_directory_is_held_though_its_lock_file_is_deleted() {
    let place = tempfile::tempdir().unwrap();
    let vfs = NativeVfs::open(place.path(), true).unwrap();
    let held = vfs.lock("one").unwrap();
    fs::remove_file(place.path().join("LOCK")).unwrap();
    assert!(matches!(vfs.lock("two").map_err(Error::into_kind), Err(ErrorKind::Busy(_))));
    fs::write(place.path().join("LOCK"), "another").unwrap();
    assert!(matches!(vfs.lock("two").map_err(Error::into_kind), Err(ErrorKind::Busy(_))));
    drop(held);
    vfs.lock("two").unwrap();
}

#[test]
#[cfg(unix)]
fn a_sync_notices_that_its_file_was_replaced_by_somebody_else() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("store");
    let vfs = NativeVfs::open(&dir, true).unwrap();
    let [one, two, three, four] = ["1", "2", "3", "4"].map(|name| vfs.create(name).unwrap());
    for file in [&one, &two, &three, &four] {
        file.write_at(b"x", 0).unwrap();
    }
    fs::remove_file(dir.join("1")).unwrap();
    fs::rename(dir.join("2"), dir.join("3")).unwrap();
    assert!(replaced(one.sync()) && replaced(two.sync()) && replaced(three.sync()));
    four.sync().unwrap();
    vfs.rename("4", "5").unwrap();
    four.sync().expect("the store renamed it itself");
    vfs.remove("5").unwrap();
    four.sync().expect("the store removed it itself");
    let six = vfs.create("6").unwrap();
    fs::rename(&dir, place.path().join("elsewhere")).unwrap();
    fs::create_dir(&dir).unwrap();
    assert!(replaced(six.sync()));
}

#[test]
fn a_directory_to_be_read_is_shared_and_not_changed() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("a"), b"hello").unwrap();
    let vfs = NativeVfs::read_only(place.path()).unwrap();
    let held = [vfs.lock("one").unwrap(), vfs.lock("two").unwrap()];
    let writer = NativeVfs::open(place.path(), false).unwrap();
    #[cfg(unix)]
    assert!(
        matches!(writer.lock("three").map_err(Error::into_kind), Err(ErrorKind::Busy(_))),
        "it is read"
    );
    assert!(holds(&*vfs.open("a").unwrap(), b"hello"));
    assert!(vfs.open("a").unwrap().write_at(b"x", 0).is_err());
    assert!(vfs.create("b").is_err() && vfs.remove("a").is_err());
    assert!(vfs.rename("a", "b").is_err() && vfs.sync_names().is_err());
    #[cfg(unix)]
    assert_eq!(vfs.list().unwrap(), ["a"], "not so much as a lock file");
    drop(held);
    let held = writer.lock("three").unwrap();
    assert!(
        matches!(vfs.lock("one").map_err(Error::into_kind), Err(ErrorKind::Busy(b)) if b.holder.contains("three"))
    );
    drop(held);
}

#[test]
fn a_place_that_cannot_be_read_is_an_error_not_a_missing_store() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("file"), b"").unwrap();
    let below = place.path().join("file/below");
    for create in [false, true] {
        assert!(matches!(
            NativeVfs::open(&below, create).map_err(Error::into_kind),
            Err(ErrorKind::Io(_))
        ));
    }
    let synced = Cell::new(false);
    let sync = |_: &Path| {
        synced.set(true);
        Ok(())
    };
    create_directory(&place.path().join("file"), &sync).unwrap();
    create_directory(&below, &sync).unwrap();
    assert!(!synced.get(), "nothing was created");
}

#[test]
fn interference_with_the_creation_of_a_directory_is_noticed() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    let dir = root.join("a/b");
    // When the name of its parent is made durable.
    let meanwhile = |change: &dyn Fn() -> io::Result<()>| {
        create_directory(&dir, &|synced| if synced == root { change() } else { Ok(()) })
    };
    let removed = meanwhile(&|| fs::remove_dir(root.join("a")));
    assert_eq!(removed.unwrap_err().kind(), io::ErrorKind::NotFound);
    meanwhile(&|| fs::create_dir(&dir)).expect("it is there");
    assert!(dir.is_dir());
}

#[test]
fn an_unreadable_parent_is_fine_but_one_that_cannot_sync_is_not() {
    let place = tempfile::tempdir().unwrap();
    let created = |found: io::ErrorKind| create_directory(place.path(), &|_| Err(found.into()));
    created(io::ErrorKind::PermissionDenied).expect("someone else created it");
    assert_eq!(created(io::ErrorKind::Other).unwrap_err().kind(), io::ErrorKind::Other);
}

#[test]
fn files_that_go_while_a_directory_is_listed_are_left_out() {
    let place = tempfile::tempdir().unwrap();
    for name in ["b", "a", "c"] {
        fs::write(place.path().join(name), name).unwrap();
    }
    let entries: Vec<_> = fs::read_dir(place.path()).unwrap().collect();
    fs::remove_file(place.path().join("b")).unwrap();
    let found = measured(entries.into_iter()).unwrap();
    let found: Vec<_> = found.iter().map(|file| (&*file.name, file.len)).collect();
    assert_eq!(found, [("a", 1), ("c", 1)]);
    let failing = [Err(io::ErrorKind::Other.into())];
    assert!(measured(failing.into_iter()).is_err());
}

#[cfg(unix)]
#[test]
fn a_link_that_cannot_be_made_is_an_error_unless_a_copy_may_do() {
    let place = tempfile::tempdir().unwrap();
    let vfs = NativeVfs::open(place.path(), true).unwrap();
    for name in ["a", "b"] {
        vfs.create(name).unwrap();
    }
    let path = vfs.path_of("a").unwrap();
    let Err(ErrorKind::Io(refused)) = vfs.link(&path, "b").map_err(Error::into_kind) else {
        panic!("b is there")
    };
    assert_eq!((refused.action, refused.source.kind()), ("link", io::ErrorKind::AlreadyExists));
    assert!(vfs.link(&place.path().join("missing"), "c").is_err());
    // The system permits no links of directories.
    #[cfg(target_os = "linux")]
    assert!(!vfs.link(place.path(), "c").unwrap());
    assert_eq!(vfs.list().unwrap(), ["a", "b"]);
}

#[cfg(unix)]
#[test]
fn a_closed_file_that_was_replaced_does_not_block_its_name() {
    let (place, vfs) = two_at_once();
    let held = ["removed", "replaced", "kept"].map(|name| vfs.create(name).unwrap());
    close_others(&vfs);
    let path = |name| place.path().join(name);
    fs::remove_file(path("removed")).unwrap();
    vfs.create("removed").expect("there is no file to keep").write_at(b"new", 0).unwrap();
    fs::remove_file(path("replaced")).unwrap();
    fs::create_dir(path("replaced")).unwrap();
    assert!(vfs.rename("replaced", "elsewhere").is_err(), "it cannot be opened");
    fs::create_dir(path("directory")).unwrap();
    let Err(ErrorKind::Io(refused)) = vfs.create("directory").map_err(Error::into_kind) else {
        panic!("it is replaced")
    };
    assert_eq!(refused.action, "replace");
    drop(held);
}

/// As the kernel has it.
#[cfg(target_os = "linux")]
#[test]
fn at_most_half_of_the_process_limit_of_files_is_open() {
    let limits = fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let soft = line.split_whitespace().nth(3).unwrap();
    let Ok(soft) = soft.parse::<usize>() else { return };
    assert_eq!([0, 1, 5, usize::MAX].map(bounded), [1, 1, 5, soft / 2]);
}
