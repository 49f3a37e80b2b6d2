//! An object store whose requests are counted, slow, refused or cut off.

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
    UploadPart,
};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use tokio::sync::{Notify, Semaphore};

/// A request that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It has no effect.
    Refused,
    /// It takes effect, and its reply is lost.
    Unanswered,
}

/// Faults of requests.
#[derive(Debug, Default)]
pub struct Plan {
    /// Requests so far.
    pub requests: AtomicU64,
    /// Number of the first request that fails, from 1; 0 for none.
    pub from: AtomicU64,
    /// Number of the last request that fails.
    pub through: AtomicU64,
    /// Whether failing requests take effect.
    pub unanswered: AtomicU64,
    /// Objects written, and their bytes.
    pub puts: AtomicU64,
    /// Tables among them.
    pub tables: AtomicU64,
    pub bytes: AtomicU64,
}

impl Plan {
    /// Fails `count` requests from number `from` on.
    pub fn fail(&self, from: u64, count: u64, fault: Fault) {
        self.unanswered.store(u64::from(fault == Fault::Unanswered), SeqCst);
        self.through.store(from.saturating_add(count - 1), SeqCst);
        self.from.store(from, SeqCst);
    }

    /// Fails every request from now on.
    pub fn cut(&self) {
        self.fail(self.requests.load(SeqCst) + 1, u64::MAX, Fault::Refused);
    }

    /// Fails no request any longer.
    pub fn repair(&self) {
        self.from.store(0, SeqCst);
    }

    fn next(&self) -> Option<Fault> {
        let request = self.requests.fetch_add(1, SeqCst) + 1;
        let from = self.from.load(SeqCst);
        let fails = from > 0 && request >= from && request <= self.through.load(SeqCst);
        let fault = match self.unanswered.load(SeqCst) {
            0 => Fault::Refused,
            _ => Fault::Unanswered,
        };
        fails.then_some(fault)
    }
}

/// Puts of objects whose paths have a text, which wait until they are released.
#[derive(Debug)]
struct Hold {
    text: &'static str,
    arrived: Notify,
    released: Semaphore,
}

/// An object store in memory with a plan of faults.
#[derive(Clone, Debug)]
pub struct Faulty {
    pub inner: Arc<InMemory>,
    pub plan: Arc<Plan>,
    hold: Option<Arc<Hold>>,
}

impl Faulty {
    pub fn new() -> Self {
        Faulty { inner: Arc::new(InMemory::new()), plan: Arc::default(), hold: None }
    }

    /// Returns the same objects, with a plan of its own.
    pub fn sound(&self) -> Self {
        Faulty { inner: self.inner.clone(), plan: Arc::default(), hold: None }
    }

    /// Returns the same objects, with a plan of its own, where puts of paths with `text` wait until they are released.
    pub fn holding(&self, text: &'static str) -> Self {
        let hold = Hold { text, arrived: Notify::new(), released: Semaphore::new(0) };
        Faulty { hold: Some(Arc::new(hold)), ..self.sound() }
    }

    /// Waits until a put is held.
    pub async fn held(&self) {
        self.hold.as_ref().unwrap().arrived.notified().await;
    }

    /// Releases puts, also those that follow.
    pub fn release(&self) {
        self.hold.as_ref().unwrap().released.close();
    }

    async fn run<T>(&self, request: impl Future<Output = Result<T>>) -> Result<T> {
        let failed = || Error::Generic { store: "faulty", source: "the request failed".into() };
        match self.plan.next() {
            None => request.await,
            Some(Fault::Refused) => Err(failed()),
            Some(Fault::Unanswered) => {
                let _ = request.await;
                Err(failed())
            }
        }
    }
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("faulty")
    }
}

#[async_trait::async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.plan.puts.fetch_add(1, SeqCst);
        let is_table = location.as_ref().contains("/table/");
        self.plan.tables.fetch_add(u64::from(is_table), SeqCst);
        self.plan.bytes.fetch_add(payload.content_length() as u64, SeqCst);
        if let Some(hold) = self.hold.as_ref().filter(|hold| location.as_ref().contains(hold.text))
        {
            hold.arrived.notify_one();
            // It has no permits, and is closed on release.
            let _ = hold.released.acquire().await;
        }
        self.run(self.inner.put_opts(location, payload, options)).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let upload = self.run(self.inner.put_multipart_opts(location, options)).await?;
        Ok(Box::new(Parts { upload, of: self.clone() }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.run(self.inner.get_opts(location, options)).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.run(self.inner.get_ranges(location, ranges)).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let own = self.clone();
        let delete = move |location: Result<Path>| {
            let own = own.clone();
            async move {
                let location = location?;
                let one = futures_util::stream::iter([Ok(location)]).boxed();
                let mut deleted = own.inner.delete_stream(one);
                let deleted = async { deleted.next().await.unwrap() };
                own.run(deleted).await
            }
        };
        locations.then(delete).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let own = self.clone();
        let listed = self.inner.list(prefix);
        let first = async move { own.run(async { Ok(()) }).await };
        first
            .into_stream()
            .flat_map(move |allowed| match allowed {
                Ok(()) => futures_util::stream::empty().boxed(),
                Err(e) => futures_util::stream::iter([Err(e)]).boxed(),
            })
            .chain(listed)
            .boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.run(self.inner.list_with_delimiter(prefix)).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.run(self.inner.copy_opts(from, to, options)).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.run(self.inner.rename_opts(from, to, options)).await
    }
}

/// An upload in parts.
#[derive(Debug)]
struct Parts {
    upload: Box<dyn MultipartUpload>,
    of: Faulty,
}

#[async_trait::async_trait]
impl MultipartUpload for Parts {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let (own, put) = (self.of.clone(), self.upload.put_part(data));
        Box::pin(async move { own.run(put).await })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.of.clone().run(self.upload.complete()).await
    }

    async fn abort(&mut self) -> Result<()> {
        self.upload.abort().await
    }
}
