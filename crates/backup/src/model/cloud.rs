//! An object store that loses, delays, doubles and reorders requests and replies.

use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use std::fmt;
use std::sync::{Arc, Mutex};
use terrane_workload::Random;

/// A put whose request is still under way although its sender has given up.
type Late = (Path, PutPayload, PutOptions);

/// An object store, as one process reaches it.
#[derive(Clone, Debug)]
pub struct Cloud {
    objects: Arc<InMemory>,
    late: Arc<Mutex<Vec<Late>>>,
    random: Arc<Mutex<Random>>,
    /// The number of requests of which one fails; 0 for none.
    faults: u64,
}

impl Cloud {
    pub fn new(seed: u64) -> Self {
        let (objects, late) = (Arc::default(), Arc::default());
        Cloud { objects, late, random: Arc::new(Mutex::new(Random(seed))), faults: 0 }
    }

    /// Returns the same objects, reached with faults.
    pub fn faulty(&self, faults: u64) -> Self {
        Cloud { faults, ..self.clone() }
    }

    fn below(&self, bound: u64) -> u64 {
        self.random.lock().unwrap().below(bound)
    }

    /// Lets one of the late puts take effect.
    pub async fn deliver(&self) {
        let late = {
            let at = self.below(8) as usize;
            let mut late = self.late.lock().unwrap();
            if at < late.len() { Some(late.swap_remove(at)) } else { None }
        };
        if let Some((location, payload, options)) = late {
            // Nobody waits for the reply.
            let _ = self.objects.put_opts(&location, payload, options).await;
        }
    }

    /// Lets others go first, and returns whether the request fails.
    async fn fails(&self) -> bool {
        for _ in 0..self.below(3) {
            tokio::task::yield_now().await;
        }
        self.faults > 0 && self.below(self.faults) == 0
    }

    async fn run<T>(&self, request: impl Future<Output = Result<T>>) -> Result<T> {
        if self.fails().await { Err(failed()) } else { request.await }
    }
}

fn failed() -> Error {
    Error::Generic { store: "cloud", source: "the request failed".into() }
}

impl fmt::Display for Cloud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cloud")
    }
}

#[async_trait::async_trait]
impl ObjectStore for Cloud {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        if !self.fails().await {
            return self.objects.put_opts(location, payload, options).await;
        }
        match self.below(4) {
            0 => Err(failed()),
            1 => {
                let _ = self.objects.put_opts(location, payload, options).await;
                Err(failed())
            }
            2 => {
                self.late.lock().unwrap().push((location.clone(), payload, options));
                Err(failed())
            }
            _ => {
                // The client has sent it again, since the reply to the first was lost.
                let _ = self.objects.put_opts(location, payload.clone(), options.clone()).await;
                self.objects.put_opts(location, payload, options).await
            }
        }
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.run(self.objects.put_multipart_opts(location, options)).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.run(self.objects.get_opts(location, options)).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.objects.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (own, prefix) = (self.clone(), prefix.cloned());
        let listed = async move {
            match own.fails().await {
                true => futures_util::stream::iter([Err(failed())]).boxed(),
                false => own.objects.list(prefix.as_ref()),
            }
        };
        listed.flatten_stream().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.run(self.objects.list_with_delimiter(prefix)).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.run(self.objects.copy_opts(from, to, options)).await
    }
}
