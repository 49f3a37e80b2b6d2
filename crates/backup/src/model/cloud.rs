//! An object store that loses, delays, doubles and reorders requests and replies, with a clock of its own.

use crate::format::Claim;
use crate::names::CLAIM;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use terrane_workload::Random;

/// Age at which a request that is under way is lost.
const LATE_MAX: Duration = Duration::from_secs(1800);

/// The fate of a put that fails.
#[derive(Clone, Copy)]
pub enum Fate {
    /// The request is lost.
    Lost,
    /// The reply is lost.
    Unanswered,
    /// The request arrives later.
    Late,
    /// The client has sent it again, since the reply to the first was lost.
    Doubled,
}

/// A put whose request is still under way although its sender has given up.
struct Late {
    sent: Duration,
    location: Path,
    payload: PutPayload,
    options: PutOptions,
}

/// The clock, and the times at which objects were written.
#[derive(Default)]
struct Times {
    now: Duration,
    written: BTreeMap<Path, Duration>,
}

/// An object store, as one process reaches it.
#[derive(Clone)]
pub struct Cloud {
    objects: Arc<InMemory>,
    late: Arc<Mutex<Vec<Late>>>,
    times: Arc<Mutex<Times>>,
    random: Arc<Mutex<Random>>,
    /// The number of requests of which one fails; 0 for none.
    faults: u64,
    /// The fate of all puts of claims.
    claims: Option<Fate>,
}

impl Cloud {
    pub fn new(seed: u64) -> Self {
        let (objects, late, times) = (Arc::default(), Arc::default(), Arc::default());
        let random = Arc::new(Mutex::new(Random(seed)));
        Cloud { objects, late, times, random, faults: 0, claims: None }
    }

    /// Returns the same objects, reached with faults.
    pub fn faulty(&self, faults: u64) -> Self {
        Cloud { faults, ..self.clone() }
    }

    /// Returns the same objects, where all puts of claims have a fate.
    pub fn with_claims(&self, fate: Fate) -> Self {
        Cloud { claims: Some(fate), ..self.clone() }
    }

    /// Returns the objects that were ever written, and when each was last.
    pub fn written(&self) -> BTreeMap<Path, Duration> {
        self.times.lock().unwrap().written.clone()
    }

    fn below(&self, bound: u64) -> u64 {
        self.random.lock().unwrap().below(bound)
    }

    /// Lets time pass.
    pub fn pass(&self, time: Duration) {
        self.times.lock().unwrap().now += time;
    }

    fn now(&self) -> Duration {
        self.times.lock().unwrap().now
    }

    /// Returns the marks of the claims whose puts are late.
    pub fn late_claims(&self) -> Vec<u64> {
        let mark = |late: &Late| {
            let number = late.location.filename()?.parse().ok()?;
            let bytes = Bytes::from(late.payload.clone());
            Some(Claim::decode(&bytes, late.location.as_ref(), number).ok()?.mark)
        };
        self.late.lock().unwrap().iter().filter_map(mark).collect()
    }

    /// Lets one of the late puts take effect.
    pub async fn deliver(&self) {
        let late = {
            let (mut late, now) = (self.late.lock().unwrap(), self.now());
            late.retain(|late| now - late.sent < LATE_MAX);
            let at = self.below(late.len() as u64 + 1) as usize;
            if at < late.len() { Some(late.swap_remove(at)) } else { None }
        };
        if let Some(Late { location, payload, options, .. }) = late {
            // Nobody waits for the reply.
            let _ = self.put(&location, payload, options).await;
        }
    }

    async fn put(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let put = self.objects.put_opts(location, payload, options).await;
        if put.is_ok() {
            let mut times = self.times.lock().unwrap();
            let now = times.now;
            times.written.insert(location.clone(), now);
        }
        put
    }

    /// Returns an object as a list has it, with the time at which it was written.
    fn dated(&self, mut meta: ObjectMeta) -> ObjectMeta {
        let written = self.times.lock().unwrap().written.get(&meta.location).copied();
        meta.last_modified = Default::default();
        meta.last_modified += written.unwrap_or_default();
        meta
    }

    /// Lets others run first, at times for long.
    async fn wait(&self) {
        let most = if self.below(16) == 0 { 40 } else { 3 };
        for _ in 0..self.below(most) {
            tokio::task::yield_now().await;
        }
    }

    /// Lets others run first, and returns whether the request fails.
    async fn fails(&self) -> bool {
        self.wait().await;
        self.faults > 0 && self.below(self.faults) == 0
    }

    fn draw_fate(&self) -> Fate {
        match self.below(4) {
            0 => Fate::Lost,
            1 => Fate::Unanswered,
            2 => Fate::Late,
            _ => Fate::Doubled,
        }
    }

    async fn run<T>(&self, request: impl Future<Output = Result<T>>) -> Result<T> {
        if self.fails().await {
            return Err(failed());
        }
        let reply = request.await;
        self.wait().await;
        reply
    }
}

fn failed() -> Error {
    Error::Generic { store: "cloud", source: "the request failed".into() }
}

impl fmt::Debug for Cloud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cloud")
    }
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
        let drawn = self.fails().await.then(|| self.draw_fate());
        let is_claim = location.parts().any(|part| part.as_ref() == CLAIM);
        match self.claims.filter(|_| is_claim).or(drawn) {
            None => {
                let reply = self.put(location, payload, options).await;
                self.wait().await;
                reply
            }
            Some(Fate::Lost) => Err(failed()),
            Some(Fate::Unanswered) => {
                let _ = self.put(location, payload, options).await;
                Err(failed())
            }
            Some(Fate::Late) => {
                let (sent, location) = (self.now(), location.clone());
                self.late.lock().unwrap().push(Late { sent, location, payload, options });
                Err(failed())
            }
            Some(Fate::Doubled) => {
                let _ = self.put(location, payload.clone(), options.clone()).await;
                self.put(location, payload, options).await
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
                false => {
                    let listed = own.objects.list(prefix.as_ref());
                    listed.map_ok(move |meta| own.dated(meta)).boxed()
                }
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
