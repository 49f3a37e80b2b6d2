//! The writer of a backup.
//!
//! 1. A base is made of a pin, in the background: its tables are uploaded while the writer continues.
//! 2. Meanwhile, and from then on, each interval: the batches since the last upload are synced and read from the change
//!    feed, and uploaded as a log.
//! 3. Once a base is complete and logs reach the moment of its pin, a manifest names both. From then on a manifest
//!    follows each log. A log counts as uploaded once a manifest names it.
//! 4. After a while a fresh base replaces the older logs. Memtables are flushed before its pin, so that it needs few.
//! 5. If the change feed no longer has the next batch, since uploads failed for long, the former base stays as it is,
//!    and a fresh one is made. If the store starts a lineage, the writer claims it, and makes a base there.
//! 6. A log or a manifest that could not be uploaded is uploaded again as it was, until that succeeds or another writer
//!    has taken over. A manifest whose request failed may exist: it counts as created if the object has its bytes and
//!    no other writer's follows it.
//! 7. After a manifest was created, and before a fresh base is made, the writer's claim must still be there. A claim of
//!    its number with another mark is that of another writer, as where another disk is mounted. Without any claim
//!    the place was emptied, or its disk is no longer mounted and the uploads are somewhere else: nothing counts as
//!    uploaded until the claim is back, and then a fresh base is made.

use crate::base::{Built, Known, blocking, build};
use crate::claim::{continue_lineage, create, number_after, take};
use crate::error::{Error, Result};
use crate::format::{Base, BaseInfo, Content, LogBuilder, LogInfo, Manifest, TableRef};
use crate::names::Name;
use crate::options::Options;
use crate::place::{Object, Place};
use crate::progress::Progress;
use crate::retention::collect;
use crate::rules::Rule;
use crate::time::now_after;
use bytes::Bytes;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use terrane::entry::{Millis, Seq};
use terrane::{
    Changes, CursorProblem, Db, ErrorKind, FeedCursor, KeyspaceId, Lineage, NamedKeyspace, Pin,
    VersionSetCopy,
};
use tokio::task::JoinHandle;

/// Bytes at which a log ends: few in the model, so that bases are complete before the logs.
const LOG_BYTES: usize = if cfg!(test) { 256 } else { 8 << 20 };
/// Logs after which a fresh base is made.
const LOGS_MAX: usize = 3600;
/// Time between two checks whether a base is complete.
const LOOK: Duration = Duration::from_millis(100);
/// Time after which an idle writer creates a manifest, and looks for what can be removed.
const IDLE: Duration = Duration::from_secs(3600);

/// The state of a writer.
pub(crate) struct Writer {
    pub db: Db,
    pub place: Place,
    pub options: Options,
    pub progress: Arc<Progress>,
    pub epoch: u64,
    /// The mark of this writer's claim.
    mark: u64,
    /// The newest manifest, which is this writer's.
    newest: Manifest,
    /// The manifest that is being created.
    pending: Option<Manifest>,
    published: Instant,
    known: Known,
    /// Tables of the base that manifests name.
    tables: HashSet<TableRef>,
    feed: Option<Feed>,
    /// The base that manifests name, with its version set.
    base: Option<(BaseInfo, Arc<VersionSetCopy>)>,
    building: Option<Building>,
    built: Option<(Built, Arc<VersionSetCopy>)>,
    /// Whether objects may be there that retention does not keep.
    is_collection_due: bool,
}

/// The next batches, and the uploaded logs.
struct Feed {
    changes: Option<Changes>,
    logs: Vec<LogInfo>,
    /// The keyspaces that the batches name, which may have been dropped since.
    named: Named,
    /// The next batch.
    next: Seq,
    /// A log that is not uploaded yet.
    unsent: Option<(LogInfo, Bytes)>,
    /// A time at which the store had no batch from `next` on, if one is known.
    current: Option<Instant>,
}

/// Keyspaces as the last batch that names each did, with the number of that batch.
type Named = BTreeMap<KeyspaceId, (Seq, NamedKeyspace)>;

/// A base that is being uploaded.
struct Building {
    task: JoinHandle<Result<Built>>,
    version_set: Arc<VersionSetCopy>,
}

impl Drop for Building {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Writer {
    /// Claims the place, and continues the store's lineage.
    pub async fn start(
        db: Db,
        place: Place,
        options: Options,
        progress: Arc<Progress>,
    ) -> Result<Self> {
        let (claim, newest) = take(&place, &db, options.take_over).await?;
        let known = Known::named(tables(&place, &newest).await?);
        Ok(Writer {
            db,
            place,
            options,
            progress,
            epoch: claim.number,
            mark: claim.mark,
            newest,
            pending: None,
            published: Instant::now(),
            known,
            tables: HashSet::new(),
            feed: None,
            base: None,
            building: None,
            built: None,
            is_collection_due: false,
        })
    }

    /// Uploads at most about one log, and what else is due. Returns whether there may be more.
    ///
    /// # Errors
    /// [`Error::Fenced`], which is final; failures of requests and of the store.
    pub async fn step(&mut self) -> Result<bool> {
        if self.pending.is_some() {
            self.publish_pending().await?;
        }
        self.follow_lineage().await?;
        self.begin_base().await?;
        let more = self.send_log().await?;
        self.finish_base().await?;
        self.publish().await?;
        Ok(more)
    }

    /// Whether manifests name a base.
    pub fn has_base(&self) -> bool {
        self.base.is_some()
    }

    /// Returns the time until the next step.
    pub fn pause(&self) -> Duration {
        match self.building {
            Some(_) => LOOK.min(self.options.interval),
            None => self.options.interval,
        }
    }

    /// Continues the store's lineage if the store has started another.
    async fn follow_lineage(&mut self) -> Result<()> {
        let lineage = self.db.feed_cursor().lineage.0;
        if lineage == self.newest.lineage {
            return Ok(());
        }
        if self.newest.successor != lineage {
            // If another writer has taken over meanwhile, this one must not do so by another lineage.
            let time = now_after(self.newest.time);
            self.pending = Some(Manifest { successor: lineage, ..self.next(time)? });
            self.publish_pending().await?;
        }
        let last = self.db.latest_sequence();
        let continued = continue_lineage(&self.place, lineage, self.epoch, last).await?;
        let Some(manifest) = continued else {
            let object = format!("lineage {lineage:016x}");
            return Err(Error::damaged(object, format!("batches up to {last}"), "later ones"));
        };
        self.newest = manifest;
        self.known = Known::default();
        self.restart();
        Ok(())
    }

    /// Returns the manifest after the newest one, with the same content.
    fn next(&self, time: Millis) -> Result<Manifest> {
        let (number, epoch) = (number_after(&self.newest)?, self.epoch);
        Ok(Manifest { number, epoch, time, ..self.newest.clone() })
    }

    /// Forgets the feed and the base, so that a fresh one is made.
    fn restart(&mut self) {
        (self.feed, self.base, self.building, self.built) = (None, None, None, None);
    }

    fn lineage(&self) -> Lineage {
        Lineage(self.newest.lineage)
    }

    /// Starts to make a base if one is due.
    async fn begin_base(&mut self) -> Result<()> {
        if self.building.is_some() || self.built.is_some() || !self.is_base_due() {
            return Ok(());
        }
        let (db, is_fresh) = (self.db.clone(), self.base.is_none());
        if is_fresh {
            self.check_place().await?;
        }
        let pin = blocking(move || {
            if !is_fresh {
                db.flush()?;
            }
            let pin = Pin::take(&db)?;
            if pin.start() > db.oldest_feed_cursor().sequence {
                return Ok(pin);
            }
            // The logs have batches of a former lineage, which are not in the feed.
            db.flush()?;
            Pin::take(&db)
        })
        .await?;
        if pin.lineage() != self.lineage() {
            return Ok(());
        }
        if self.feed.is_none() {
            self.feed = Some(Feed::from(pin.start()));
        }
        let (version_set, pin) = (Arc::new(pin.version_set()), Arc::new(pin));
        let (place, known) = (self.place.clone(), self.known.clone());
        let time = now_after(self.newest.time);
        let task = tokio::spawn(build(place, pin, time, known, self.progress.clone()));
        self.building = Some(Building { task, version_set });
        Ok(())
    }

    fn is_base_due(&self) -> bool {
        let (Some((base, _)), Some(feed)) = (&self.base, &self.feed) else { return true };
        let since = feed.logs.iter().filter(|log| log.first > base.last);
        let bytes: u64 = since.clone().map(|log| log.bytes).sum();
        bytes >= self.options.base_bytes || since.count() >= LOGS_MAX
    }

    /// Uploads the next log; returns whether there may be another.
    async fn send_log(&mut self) -> Result<bool> {
        let lineage = self.lineage();
        let Some(feed) = &mut self.feed else { return Ok(false) };
        if feed.unsent.is_none() {
            match feed.read(&self.db, lineage.0, self.newest.time).await {
                Ok(()) => {}
                Err(e) if is_cursor_refused(&e) => {
                    self.restart();
                    return Ok(false);
                }
                Err(e) => return Err(e),
            }
        }
        let Some((log, bytes)) = feed.unsent.clone() else { return Ok(false) };
        let LogInfo { first, last, checksum, .. } = log;
        let name = Name::Log { first, last, checksum };
        self.place.put(Object { lineage: lineage.0, name }, bytes).await?;
        feed.unsent = None;
        feed.logs.push(log);
        if !Rule::NamedFirst.holds() {
            self.progress.uploaded(last, None);
        }
        Ok(feed.current.is_none())
    }

    /// Takes over a base once it is uploaded.
    async fn finish_base(&mut self) -> Result<()> {
        if self.building.as_ref().is_none_or(|building| !building.task.is_finished()) {
            return Ok(());
        }
        let Some(mut building) = self.building.take() else { return Ok(()) };
        let panicked = |_| Error::File {
            action: "upload a base".to_owned(),
            reason: "its task panicked".to_owned(),
        };
        let built = (&mut building.task).await.map_err(panicked)??;
        self.built = Some((built, building.version_set.clone()));
        Ok(())
    }

    /// Creates a manifest that names the uploaded objects, if there are new ones.
    async fn publish(&mut self) -> Result<()> {
        let Some(feed) = &mut self.feed else { return Ok(()) };
        let (through, since) = (feed.next - 1, number_after(&self.newest)?);
        let is_whole = |built: &Built| built.info.last <= through || !Rule::WholeBase.holds();
        if let Some((built, version_set)) = self.built.take_if(|(built, _)| is_whole(built)) {
            let info = BaseInfo { since, ..built.info };
            feed.logs.retain(|log| log.last >= info.start);
            feed.named.retain(|_, (last, _)| *last >= info.start);
            self.tables = built.tables;
            self.base = Some((info, version_set));
        }
        let Some((base, version_set)) = &self.base else { return Ok(()) };
        let named = self.newest.content.as_ref().filter(|content| content.base == *base);
        let is_idle = self.published.elapsed() >= IDLE.min(self.options.removal_age);
        if named.is_some_and(|content| content.through() == through) && !is_idle {
            self.progress.uploaded(through, feed.current);
            return Ok(());
        }
        let named = feed.named.values().map(|(_, keyspace)| keyspace);
        let Some(additions) = version_set.additions(&self.db, named)? else { return Ok(()) };
        let content = Content { base: *base, additions, logs: feed.logs.clone() };
        let logged = feed.logs.last().map_or(0, |log| log.time);
        let time = now_after(self.newest.time.max(base.time).max(logged));
        self.pending = Some(Manifest { content: Some(content), ..self.next(time)? });
        self.publish_pending().await?;
        self.is_collection_due |= is_idle;
        if self.is_collection_due && self.building.is_none() && self.built.is_none() {
            // Tables of abandoned bases may be removed.
            self.known.keep(&self.tables);
            collect(&self.place, &self.options).await?;
            self.is_collection_due = false;
        }
        Ok(())
    }

    /// Continues after a manifest that this writer created before its claim was gone, with a fresh base. Any other
    /// manifest is that of another writer.
    fn adopt(&mut self, object: Object, found: &[u8]) -> Result<()> {
        let Manifest { lineage, number, .. } = self.next(0)?;
        match Manifest::decode(found, &object.to_string(), lineage, number) {
            Ok(own) if own.epoch == self.epoch => {
                (self.newest, self.pending) = (own, None);
                self.restart();
                Ok(())
            }
            _ => Err(self.fenced(object)),
        }
    }

    /// Verifies that this writer's claim is there. If it is not, the uploads may be elsewhere, and count no more.
    async fn check_place(&mut self) -> Result<()> {
        let found = self.place.claim(self.epoch).await?.map(|claim| claim.mark);
        if found == Some(self.mark) {
            return Ok(());
        }
        let newest = self.place.newest_claim().await?.map_or(0, |(number, _)| number);
        if found.is_some() || newest > self.epoch {
            return Err(self.fenced(Place::claim_name(newest.max(self.epoch))));
        }
        (self.pending, self.known) = (None, Known::default());
        self.restart();
        let found = "no object, as if a disk is no longer mounted";
        Err(Error::damaged(Place::claim_name(self.epoch), "the claim of this writer", found))
    }

    /// Fences this writer if there is a manifest after its own, whose request had no reply.
    async fn refuse_later(&self, own: &Manifest) -> Result<()> {
        let (lineage, name) = (own.lineage, Name::Manifest(number_after(own)?));
        let object = Object { lineage, name };
        let is_there = self.place.get(object).await?.is_some();
        if is_there && Rule::OwnManifest.holds() { Err(self.fenced(object)) } else { Ok(()) }
    }

    fn fenced(&self, object: impl ToString) -> Error {
        let last = self.newest.content.as_ref().map_or(0, Content::through);
        Error::Fenced { object: object.to_string(), last }
    }

    /// Creates the pending manifest.
    async fn publish_pending(&mut self) -> Result<()> {
        let Some(manifest) = self.pending.clone() else { return Ok(()) };
        if !create(&self.place, &manifest).await? {
            let name = Name::Manifest(manifest.number);
            let object = Object { lineage: manifest.lineage, name };
            let found = self.place.get(object).await?;
            let is_own = found.as_ref().is_some_and(|found| **found == *manifest.encode());
            if !is_own && Rule::OwnManifest.holds() {
                return self.adopt(object, &found.unwrap_or_default());
            }
            self.refuse_later(&manifest).await?;
        }
        self.check_place().await?;
        self.pending = None;
        self.published = Instant::now();
        // Nobody adds a manifest to a lineage that has ended. Another writer may have taken over since, and is met only
        // where this one continues.
        if manifest.successor == 0 {
            let through = manifest.content.as_ref().map_or(0, Content::through);
            let current = self.feed.as_ref().filter(|feed| feed.next == through + 1);
            self.progress.uploaded(through, current.and_then(|feed| feed.current));
        }
        let base = |manifest: &Manifest| manifest.content.as_ref().map(|content| content.base);
        if base(&manifest) != base(&self.newest) {
            self.progress.bases.fetch_add(1, Ordering::Relaxed);
            self.is_collection_due = true;
        }
        self.newest = manifest;
        Ok(())
    }
}

impl Feed {
    /// Returns the feed from a batch on.
    fn from(next: Seq) -> Self {
        let (logs, named) = (Vec::new(), Named::new());
        Feed { changes: None, logs, named, next, unsent: None, current: None }
    }

    /// Reads the next log, if there are batches. Its time is not before `after`.
    async fn read(&mut self, db: &Db, lineage: u64, after: Millis) -> Result<()> {
        let (own, next, changes) = (db.clone(), self.next, self.changes.take());
        let started = Instant::now();
        // After an error the reader may be past batches that are in no log, and is made again.
        let read = blocking(move || {
            let cursor = FeedCursor { lineage: Lineage(lineage), sequence: next - 1 };
            let mut changes = changes.map_or_else(|| own.changes(cursor), Ok)?;
            let mut named = Named::new();
            let (log, is_all) = read(&own, &mut changes, lineage, next, &mut named)?;
            Ok::<_, Error>((changes, log, named, is_all))
        });
        let (changes, log, named, is_all) = read.await?;
        self.named.extend(named);
        self.changes = Some(changes);
        self.current = is_all.then_some(started);
        let after = self.logs.last().map_or(after, |log| log.time.max(after));
        if let Some((info, bytes)) = log.finish(now_after(after)) {
            self.next = info.last + 1;
            self.unsent = Some((info, bytes.into()));
        }
        Ok(())
    }
}

/// Syncs, and reads batches from `next` on. Returns them, and whether they are all. Adds the keyspaces that they name.
fn read(
    db: &Db,
    changes: &mut Changes,
    lineage: u64,
    next: Seq,
    named: &mut Named,
) -> Result<(LogBuilder, bool)> {
    if db.latest_sequence() >= next {
        db.sync()?;
    }
    let mut log = LogBuilder::new(lineage, next);
    while log.bytes() < LOG_BYTES {
        match changes.try_next()? {
            Some(batch) => {
                let last = batch.cursor().sequence;
                named.extend(batch.keyspaces().map(|named| (named.id, (last, named))));
                log.push(batch.encoded());
            }
            None => return Ok((log, true)),
        }
    }
    Ok((log, false))
}

fn is_cursor_refused(error: &Error) -> bool {
    let Error::Store(error) = error else { return false };
    match error.kind() {
        ErrorKind::Cursor(refused) => refused.problem != CursorProblem::TooNew,
        _ => false,
    }
}

/// Returns the tables that a manifest names; none if its base is damaged.
async fn tables(place: &Place, manifest: &Manifest) -> Result<HashSet<TableRef>> {
    let Some(Content { base, .. }) = &manifest.content else { return Ok(HashSet::new()) };
    match read_base(place, manifest.lineage, base).await {
        Ok(base) => Ok(base.tables.into_iter().collect()),
        Err(Error::Damaged { .. }) => Ok(HashSet::new()),
        Err(e) => Err(e),
    }
}

/// Reads the base that a manifest names.
pub(crate) async fn read_base(place: &Place, lineage: u64, info: &BaseInfo) -> Result<Base> {
    let BaseInfo { last, checksum, bytes, .. } = *info;
    let object = Object { lineage, name: Name::Base { last, checksum } };
    let expected = || format!("{bytes} bytes with checksum {checksum:016x}");
    let found = place.get(object).await?;
    let found = found.ok_or_else(|| Error::damaged(object, expected(), "no object"))?;
    let sum = terrane::coding::checksum(&found, 0);
    if sum != checksum || found.len() as u64 != bytes {
        let found = format!("{} bytes with checksum {sum:016x}", found.len());
        return Err(Error::damaged(object, expected(), found));
    }
    Base::decode(&found, &object.to_string(), lineage)
}
