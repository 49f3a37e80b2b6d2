//! An object store without conditional puts.

use crate::stores::{folder, prefix, small};
use object_store::memory::InMemory;
use object_store::path::Path;
use std::sync::Arc;
use terrane::Db;

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
