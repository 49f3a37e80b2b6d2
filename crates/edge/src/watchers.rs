//! Watchers of keyspaces: each receives the keyspace's tree, the merges under way, and then every event.
//!
//! 1. The listener makes a message of an event, and puts it into the queues of the watchers of its keyspace.
//! 2. A watcher whose queue is full is dropped, and connects again: nobody waits for it, nor does it miss an
//!    event unknowingly.

use axum::body::Bytes;
use serde::Serialize;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use terrane::event::{Event, Listener, TraceLine};
use terrane::stats::WriteWaits;
use terrane::{Keyspace, KeyspaceId, Result};
use terrane_policy::{Level, PolicyOptions, PolicyStatus};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// The most messages that wait for a watcher.
const QUEUE: usize = 8192;
/// The most watchers of a store.
const WATCHERS_MAX: usize = 64;

/// The watchers of a store.
#[derive(Default)]
pub struct Watchers {
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    queues: Vec<Queue>,
    /// Starts of compactions and groups that have not ended.
    begun: Vec<Event>,
}

/// The messages for a watcher.
struct Queue {
    keyspace: KeyspaceId,
    messages: Sender<Bytes>,
}

/// A watcher's first message, and the queue of those after it.
pub(crate) struct Watch {
    pub first: Bytes,
    pub rest: Receiver<Bytes>,
}

/// The state of a keyspace before the events that follow.
#[derive(Serialize)]
#[serde(tag = "type", rename = "shape")]
struct Tree<'a> {
    micros: u64,
    /// Release of the process.
    release: &'static str,
    keyspace: KeyspaceId,
    /// Name of the keyspace.
    name: &'a str,
    policy: PolicyOptions,
    levels: &'a [Level],
    #[serde(flatten)]
    status: PolicyStatus,
    /// Waits of writes since the store was opened.
    waits: WriteWaits,
}

/// The waits of writes, where they have changed: events report only those for background work.
#[derive(Serialize)]
#[serde(tag = "type", rename = "waits")]
struct Waits {
    micros: u64,
    waits: WriteWaits,
}

impl Watchers {
    /// Returns a listener that passes events on, after `first` had them.
    #[must_use]
    pub fn listener(self: Arc<Self>, first: Option<Listener>) -> Listener {
        Arc::new(move |micros, event| {
            if let Some(first) = &first {
                first(micros, event);
            }
            self.pass_on(micros, event);
        })
    }

    /// Starts to watch a keyspace. Returns `None` if there are too many watchers.
    pub(crate) fn watch(&self, keyspace: &Keyspace) -> Result<Option<Watch>> {
        let policy = keyspace.policy()?;
        keyspace.with_events_paused(|moment| {
            let (id, micros) = (keyspace.id(), moment.micros);
            let (levels, status) = (moment.shape.levels(), moment.status);
            let mut now = self.now();
            now.queues.retain(|queue| !queue.messages.is_closed());
            if now.queues.len() >= WATCHERS_MAX {
                return None;
            }
            let (release, name) = (env!("CARGO_PKG_VERSION"), keyspace.name());
            let (_, waits) = keyspace.write_waits();
            let tree = Tree { micros, release, keyspace: id, name, policy, levels, status, waits };
            let mut first = message(&tree).to_vec();
            for event in now.begun.iter().filter(|event| keyspace_of(event) == Some(id)) {
                first.extend_from_slice(&message(&TraceLine { micros, event }));
            }
            let (messages, rest) = channel(QUEUE);
            now.queues.push(Queue { keyspace: id, messages });
            Some(Watch { first: first.into(), rest })
        })
    }

    fn pass_on(&self, micros: u64, event: &Event) {
        let mut now = self.now();
        now.begin_or_end(event);
        let of = keyspace_of(event);
        let is_watched = |queue: &Queue| of.is_none_or(|of| of == queue.keyspace);
        if !now.queues.iter().any(is_watched) {
            return;
        }
        let line = message(&TraceLine { micros, event });
        now.queues
            .retain(|queue| !is_watched(queue) || queue.messages.try_send(line.clone()).is_ok());
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Now {
    /// Notes the start or the end of a compaction or a group.
    fn begin_or_end(&mut self, event: &Event) {
        match event {
            Event::CompactionBegun { .. } | Event::GroupBegun { .. } => {
                self.begun.push(event.clone());
            }
            Event::GroupInstalled { compaction: of, inputs, .. } => self.end(*of, inputs.first()),
            Event::GroupAbandoned { compaction: of, group } => self.end(*of, Some(group)),
            Event::CompactionEnded { compaction } => self.end(*compaction, None),
            _ => {}
        }
    }

    /// Forgets a group by its first input, or a compaction with its groups.
    fn end(&mut self, ended: u64, group: Option<&terrane_policy::TableId>) {
        let begun = mem::take(&mut self.begun);
        let is_left = |event: &Event| match event {
            Event::CompactionBegun { compaction, .. } => *compaction != ended || group.is_some(),
            Event::GroupBegun { compaction, inputs, .. } => {
                *compaction != ended || group.is_some_and(|group| inputs.first() != Some(group))
            }
            _ => true,
        };
        self.begun = begun.into_iter().filter(is_left).collect();
    }
}

/// Returns a message with the waits of writes to a keyspace's store, unless they are those `reported` last.
pub(crate) fn waits_message(keyspace: &Keyspace, reported: &mut WriteWaits) -> Option<Bytes> {
    let (micros, waits) = keyspace.write_waits();
    let changed = waits != *reported;
    *reported = waits;
    changed.then(|| message(&Waits { micros, waits }))
}

/// A message of an event stream: a line of JSON.
fn message(of: &impl Serialize) -> Bytes {
    // Nothing in an event, or in a tree, fails to become JSON.
    let json = serde_json::to_string(of).unwrap_or_default();
    format!("data: {json}\n\n").into()
}

/// The keyspace that an event is about, if it is about one.
fn keyspace_of(event: &Event) -> Option<KeyspaceId> {
    match event {
        Event::KeyspaceCreated { keyspace, .. }
        | Event::KeyspaceDropped { keyspace, .. }
        | Event::PolicyChanged { keyspace, .. }
        | Event::PolicyAdjusted { keyspace, .. }
        | Event::MemtableSealed { keyspace, .. }
        | Event::Operations { keyspace, .. }
        | Event::Flushed { keyspace, .. }
        | Event::RangeDeletes { keyspace, .. }
        | Event::CompactionBegun { keyspace, .. }
        | Event::LevelChanged { keyspace, .. }
        | Event::GroupBegun { keyspace, .. }
        | Event::GroupInstalled { keyspace, .. }
        | Event::PlanRefused { keyspace, .. }
        | Event::PolicyStateRefused { keyspace, .. }
        | Event::PolicyStatus { keyspace, .. }
        | Event::Decided { keyspace, .. } => Some(*keyspace),
        _ => None,
    }
}
