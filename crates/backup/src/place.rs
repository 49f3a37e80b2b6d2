//! The place of backups in an object store: requests to it, and counts of uploads.

use crate::base::blocking;
use crate::error::{Error, Result};
use crate::format::{Claim, Manifest, VERSION};
use crate::names::{self, Name};
use crate::rules::Rule;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{
    GetOptions, GetResult, GetResultPayload, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMode, PutPayload,
};
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a file that are read at once.
const PIECE_BYTES: u64 = 1 << 20;

/// A folder of an object store.
#[derive(Clone)]
pub(crate) struct Place {
    objects: Arc<dyn ObjectStore>,
    prefix: Path,
    counts: Arc<Counts>,
}

/// Uploads of a backup since its start.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub uploads: AtomicU64,
    pub bytes: AtomicU64,
}

/// An object of a lineage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Object {
    pub lineage: u64,
    pub name: Name,
}

/// A listed object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed {
    pub name: Name,
    pub bytes: u64,
    /// Time at which it was written, by the object store's clock, in milliseconds since the epoch.
    pub modified: i64,
}

impl std::fmt::Display for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", names::folder(self.lineage), self.name)
    }
}

/// The object store and the folder, by which a store's record knows the place.
impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.objects, self.prefix)
    }
}

impl Place {
    pub fn new(objects: Arc<dyn ObjectStore>, prefix: Path) -> Self {
        Place { objects, prefix, counts: Arc::default() }
    }

    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    fn path(&self, of: impl std::fmt::Display) -> Path {
        let names = of.to_string();
        names.split('/').fold(self.prefix.clone(), |path, part| path.join(part))
    }

    fn count(&self, bytes: u64) {
        self.counts.uploads.fetch_add(1, Ordering::Relaxed);
        self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Writes an object that is named after its content.
    pub async fn put(&self, object: Object, bytes: Bytes) -> Result<()> {
        let len = bytes.len() as u64;
        let put = self.objects.put(&self.path(object), PutPayload::from_bytes(bytes)).await;
        put.map_err(|e| Error::objects("write", object, &e))?;
        self.count(len);
        Ok(())
    }

    /// Writes an object if there is none of its name; returns whether it did.
    pub async fn create(&self, object: impl std::fmt::Display, bytes: Bytes) -> Result<bool> {
        let len = bytes.len() as u64;
        let payload = PutPayload::from_bytes(bytes);
        let mode = if Rule::CreateOnce.holds() { PutMode::Create } else { PutMode::Overwrite };
        match self.objects.put_opts(&self.path(&object), payload, mode.into()).await {
            Ok(_) => {
                self.count(len);
                Ok(true)
            }
            Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
            Err(e) => Err(Error::objects("create", object, &e)),
        }
    }

    /// Starts to write an object in parts.
    pub async fn begin_parts(&self, object: Object) -> Result<Box<dyn MultipartUpload>> {
        let begun = self.objects.put_multipart(&self.path(object)).await;
        begun.map_err(|e| Error::objects("write", object, &e))
    }

    /// Counts a part that was written.
    pub fn count_part(&self, bytes: u64) {
        self.count(bytes);
    }

    /// Returns the content of an object, or `None` if there is none.
    pub async fn get(&self, object: impl std::fmt::Display) -> Result<Option<Bytes>> {
        let failed = |e| Error::objects("read", &object, &e);
        match self.objects.get(&self.path(&object)).await {
            Ok(found) => Ok(Some(found.bytes().await.map_err(failed)?)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(e) => Err(failed(e)),
        }
    }

    /// Passes the content of an object to `take` as it arrives; returns whether there is one.
    pub async fn stream<F>(&self, object: Object, mut take: impl FnMut(Bytes) -> F) -> Result<bool>
    where
        F: Future<Output = Result<()>>,
    {
        let failed = |e| Error::objects("read", object, &e);
        let found = self.objects.get_opts(&self.path(object), GetOptions::default()).await;
        let mut pieces = match found {
            Ok(GetResult { payload: GetResultPayload::File(file, path), .. }) => {
                read_file(file, path).boxed()
            }
            Ok(found) => found.into_stream().map_err(failed).boxed(),
            Err(object_store::Error::NotFound { .. }) => return Ok(false),
            Err(e) => return Err(failed(e)),
        };
        while let Some(piece) = pieces.next().await {
            take(piece?).await?;
        }
        Ok(true)
    }

    /// Returns the name of a claim.
    pub fn claim_name(number: u64) -> String {
        format!("{}/{number:020}", names::CLAIM)
    }

    /// Returns the numbers of the claims, in their order, with the times at which they were written.
    pub async fn claims(&self) -> Result<Vec<(u64, i64)>> {
        let claim = |meta: ObjectMeta| {
            let number = meta.location.filename()?.parse().ok()?;
            let is_claim = meta.location == self.path(Place::claim_name(number));
            is_claim.then(|| (number, meta.last_modified.timestamp_millis()))
        };
        let all = self.objects.list(Some(&self.path(names::CLAIM))).map_ok(claim);
        let all: Result<Vec<_>, _> =
            all.try_filter_map(async |claim| Ok(claim)).try_collect().await;
        let mut all = all.map_err(|e| Error::objects("list", names::CLAIM, &e))?;
        all.sort_unstable();
        Ok(all)
    }

    /// Returns the number of the newest claim, if there is one, and the claim unless it is damaged.
    pub async fn newest_claim(&self) -> Result<Option<(u64, Option<Claim>)>> {
        let Some(&(number, _)) = self.claims().await?.last() else { return Ok(None) };
        match self.claim(number).await {
            Ok(claim) => Ok(Some((number, claim))),
            Err(Error::Damaged { .. }) => Ok(Some((number, None))),
            Err(e) => Err(e),
        }
    }

    /// Creates a claim if there is none of its number; returns whether it did.
    pub async fn create_claim(&self, claim: &Claim) -> Result<bool> {
        self.create(Place::claim_name(claim.number), claim.encode().into()).await
    }

    /// Returns a claim, or `None` if there is none of that number.
    pub async fn claim(&self, number: u64) -> Result<Option<Claim>> {
        let name = Place::claim_name(number);
        let bytes = self.get(&name).await?;
        bytes.map(|bytes| Claim::decode(&bytes, &name, number)).transpose()
    }

    /// Returns the lineages.
    pub async fn lineages(&self) -> Result<Vec<u64>> {
        let listed = self.objects.list_with_delimiter(Some(&self.prefix)).await;
        let listed = listed.map_err(|e| Error::objects("list", &self.prefix, &e))?;
        let folders = listed.common_prefixes.iter();
        let mut lineages: Vec<_> =
            folders.filter_map(|path| names::hex64(path.filename()?)).collect();
        lineages.sort_unstable();
        Ok(lineages)
    }

    /// Returns the objects in a folder of a lineage, by name.
    pub async fn list(&self, lineage: u64, folder: &str) -> Result<Vec<Listed>> {
        let place = format!("{}/{folder}", names::folder(lineage));
        let listed = |meta: ObjectMeta| {
            let name = Name::parse(&format!("{folder}/{}", meta.location.filename()?))?;
            Some(Listed { name, bytes: meta.size, modified: meta.last_modified.timestamp_millis() })
        };
        let all = self.objects.list(Some(&self.path(&place))).map_ok(listed);
        let all: Result<Vec<_>, _> =
            all.try_filter_map(async |listed| Ok(listed)).try_collect().await;
        let mut all = all.map_err(|e| Error::objects("list", &place, &e))?;
        all.sort_unstable_by_key(|listed| listed.name);
        Ok(all)
    }

    /// Returns the numbers of the manifests of a lineage, in their order.
    pub async fn manifests(&self, lineage: u64) -> Result<Vec<u64>> {
        let listed = self.list(lineage, names::MANIFEST).await?;
        let number = |listed: &Listed| match listed.name {
            Name::Manifest(number) => Some(number),
            _ => None,
        };
        Ok(listed.iter().filter_map(number).collect())
    }

    /// Returns a manifest.
    pub async fn manifest(&self, lineage: u64, number: u64) -> Result<Manifest> {
        let object = Object { lineage, name: Name::Manifest(number) };
        let bytes = self.get(object).await?;
        let expected = || format!("a manifest of format {VERSION}");
        let bytes = bytes.ok_or_else(|| Error::damaged(object, expected(), "no object"))?;
        Manifest::decode(&bytes, &object.to_string(), lineage, number)
    }

    /// Removes objects. A missing one is no failure.
    pub async fn remove(&self, objects: Vec<impl std::fmt::Display>) -> Result<()> {
        let paths: Vec<_> = objects.iter().map(|object| Ok(self.path(object))).collect();
        let mut removed = self.objects.delete_stream(stream::iter(paths).boxed());
        while let Some(result) = removed.next().await {
            match result {
                Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                Err(e) => return Err(Error::objects("remove", &self.prefix, &e)),
            }
        }
        Ok(())
    }
}

/// Reads a file. The stream that `object_store` makes of one has pieces of 8 KiB, each read on another thread.
fn read_file(file: File, path: PathBuf) -> impl Stream<Item = Result<Bytes>> {
    stream::try_unfold((file, path), |(file, path)| {
        blocking(move || {
            let mut piece = Vec::with_capacity(PIECE_BYTES as usize);
            match (&file).take(PIECE_BYTES).read_to_end(&mut piece) {
                Ok(0) => Ok(None),
                Ok(_) => Ok(Some((piece.into(), (file, path)))),
                Err(e) => Err(Error::file(format!("read {}", path.display()), &e)),
            }
        })
    })
}
