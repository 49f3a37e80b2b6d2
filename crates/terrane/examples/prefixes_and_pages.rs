//! Lists the files of a folder a page at a time: keys that share a prefix, each page from where the last one ended.
//! `cargo run --example prefixes_and_pages`.

use std::error::Error;
use std::ops::Bound;
use terrane::{Db, Durability, KeyRange, Keyspace, Options, Result};

const PAGE: usize = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let db = Db::open(dir.path().join("files"), Options::default())?;
    let files = db.default_keyspace();
    for name in ["a.txt", "photos/1", "photos/2", "photos/3", "photos/4", "photos/5", "readme"] {
        files.put(name, "contents", Durability::Buffered)?;
    }

    let photos = KeyRange::prefix("photos/");
    let mut pages = Vec::new();
    let mut after = None;
    while let Some(page) = page(&files, &photos, after.take())? {
        println!("{page:?}");
        after = page.last().cloned();
        pages.push(page);
    }
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [4, 1]);

    // The newest first, and no more than one.
    let newest = files.scan(&photos)?.next_back().transpose()?;
    assert_eq!(newest.map(|(key, _)| key), Some(b"photos/5".to_vec()));
    db.close()?;
    Ok(())
}

/// Returns the keys of a range that follow `after`, at most a page, or `None` after the last page. The caller keeps
/// the last key, not a cursor: pages may be minutes apart.
fn page(files: &Keyspace, range: &KeyRange, after: Option<String>) -> Result<Option<Vec<String>>> {
    let from = after.map_or_else(|| range.from.clone(), |key| Bound::Excluded(key.into_bytes()));
    let rest = KeyRange { from, to: range.to.clone() };
    let keys = files.scan(rest)?.take(PAGE).map(|row| {
        let (key, _) = row?;
        Ok(String::from_utf8_lossy(&key).into_owned())
    });
    let keys = keys.collect::<Result<Vec<_>>>()?;
    Ok((!keys.is_empty()).then_some(keys))
}
