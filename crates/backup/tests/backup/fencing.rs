//! One writer continues a backup; all others end.

use crate::faulty::Faulty;
use crate::stores::{folder, prefix, restored, rows, small, start, write, write_all};
use object_store::memory::InMemory;
use object_store::path::Path;
use std::fs;
use std::sync::Arc;
use terrane::{Db, Durability};
use terrane_backup::{At, Error, list};

/// Copies the files of a closed store.
fn copy(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_the_store_fences_the_former_writer() {
    let ((dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    write_all(&db, 1..20);
    db.close().unwrap();
    let other = dir.path().join("other");
    copy(&path, &other);
    let (db, other) = (Db::open(&path, small()).unwrap(), Db::open(&other, small()).unwrap());
    let former = start(&db, &objects).await.unwrap();
    let acknowledged = write(&db, 20);
    former.wait(acknowledged).await.unwrap();
    write_all(&other, 50..60);
    let later = start(&other, &objects).await.unwrap();
    let refused = former.wait(write(&db, 21)).await.unwrap_err();
    assert!(matches!(refused, Error::Fenced { last, .. } if last == acknowledged), "{refused}");
    let status = former.status();
    assert!(status.fenced.unwrap().contains("another writer") && status.sequence == acknowledged);
    later.wait(write(&other, 60)).await.unwrap();
    later.stop().await;
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&other));
    for range in list(Arc::new(objects.clone()), prefix()).await.unwrap() {
        assert!(range.damage.is_empty(), "{range:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_store_in_the_same_place_fences_the_former_writer() {
    let ((_dir, path), (_other_dir, other_path), objects) = (folder(), folder(), Faulty::new());
    let (db, other) = (Db::open(&path, small()).unwrap(), Db::open(&other_path, small()).unwrap());
    let former = start(&db, &objects).await.unwrap();
    former.wait(write(&db, 1)).await.unwrap();
    // A store that should have been restored first would be the newest moment, without a row.
    let refused = start(&other, &objects).await.err().unwrap().to_string();
    assert!(refused.contains("found an empty one"), "{refused}");
    write(&other, 1);
    let later = start(&other, &objects).await.unwrap();
    let refused = former.wait(write(&db, 2)).await.unwrap_err();
    assert!(matches!(refused, Error::Fenced { .. }), "{refused}");
    later.wait(write(&other, 3)).await.unwrap();
    later.stop().await;
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&other));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fenced_writer_does_not_return_by_another_lineage() {
    let ((_dir, path), (_other_dir, other_path), objects) = (folder(), folder(), Faulty::new());
    let (db, other) = (Db::open(&path, small()).unwrap(), Db::open(&other_path, small()).unwrap());
    let former = start(&db, &objects).await.unwrap();
    former.wait(write(&db, 1)).await.unwrap();
    write(&other, 1);
    let later = start(&other, &objects).await.unwrap();
    assert!(db.drop_keyspace("keyspace-0").unwrap());
    let written = db.default_keyspace().put("a", "1", Durability::Buffered).unwrap();
    let refused = former.wait(written).await.unwrap_err();
    assert!(matches!(refused, Error::Fenced { .. }), "{refused}");
    later.wait(write(&other, 2)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_copy_of_the_store_continues_in_its_own_lineage() {
    let ((dir, path), objects) = (folder(), Faulty::new());
    let db = Db::open(&path, small()).unwrap();
    write_all(&db, 1..20);
    db.close().unwrap();
    let old = dir.path().join("old");
    copy(&path, &old);
    let db = Db::open(&path, small()).unwrap();
    let backup = start(&db, &objects).await.unwrap();
    let last = write(&db, 20);
    backup.wait(last).await.unwrap();
    backup.stop().await;
    let expected = rows(&db);
    let old = Db::open(&old, small()).unwrap();
    let backup = start(&old, &objects).await.unwrap();
    backup.stop().await;
    assert_eq!(restored(&objects, At::Newest).await.1, rows(&old));
    assert_eq!(restored(&objects, At::Sequence(last)).await.1, expected);
}

/// An object store that creates an object twice.
#[derive(Debug)]
struct Careless(InMemory);

impl std::fmt::Display for Careless {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("careless")
    }
}

#[async_trait::async_trait]
impl object_store::ObjectStore for Careless {
    async fn put_opts(
        &self,
        location: &Path,
        payload: object_store::PutPayload,
        _: object_store::PutOptions,
    ) -> object_store::Result<object_store::PutResult> {
        self.0.put_opts(location, payload, Default::default()).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: object_store::PutMultipartOptions,
    ) -> object_store::Result<Box<dyn object_store::MultipartUpload>> {
        self.0.put_multipart_opts(location, options).await
    }

    async fn get_opts(
        &self,
        location: &Path,
        options: object_store::GetOptions,
    ) -> object_store::Result<object_store::GetResult> {
        self.0.get_opts(location, options).await
    }

    fn delete_stream(
        &self,
        locations: futures_util::stream::BoxStream<'static, object_store::Result<Path>>,
    ) -> futures_util::stream::BoxStream<'static, object_store::Result<Path>> {
        self.0.delete_stream(locations)
    }

    fn list(
        &self,
        prefix: Option<&Path>,
    ) -> futures_util::stream::BoxStream<'static, object_store::Result<object_store::ObjectMeta>>
    {
        self.0.list(prefix)
    }

    async fn list_with_delimiter(
        &self,
        prefix: Option<&Path>,
    ) -> object_store::Result<object_store::ListResult> {
        self.0.list_with_delimiter(prefix).await
    }

    async fn copy_opts(
        &self,
        from: &Path,
        to: &Path,
        options: object_store::CopyOptions,
    ) -> object_store::Result<()> {
        self.0.copy_opts(from, to, options).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_store_without_conditions_is_refused() {
    let (_dir, path) = folder();
    let db = Db::open(&path, small()).unwrap();
    let objects = Arc::new(Careless(InMemory::new()));
    let started = terrane_backup::Backup::start(&db, objects, prefix(), Default::default()).await;
    let refused = started.err().unwrap().to_string();
    assert!(refused.contains("expected one that refuses to create an object twice"), "{refused}");
}
