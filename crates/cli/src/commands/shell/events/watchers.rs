//! Those who watch a keyspace: each gets its tree, the merges that are under way, and then every event.
//!
//! 1. The listener makes an event a message, and gives it to every watcher's queue.
//! 2. A watcher whose queue is full is dropped, and comes again: nobody waits for it, nor does it miss an
//!    event unknowingly.

use hyper::body::Bytes;
use serde::Serialize;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use terrane::event::{Event, Listener, TraceLine};
use terrane::{Keyspace, KeyspaceId, Result};
use terrane_policy::{Level, PolicyOptions, PolicyStatus};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Messages that wait for a watcher, at most.
const QUEUE: usize = 8192;

/// The watchers of a keyspace.
pub struct Watchers {
    keyspace: Keyspace,
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    queues: Vec<Sender<Bytes>>,
    /// Starts of compactions and groups that have not ended.
    begun: Vec<Event>,
}

/// The first message: a keyspace as the events after it find it.
#[derive(Serialize)]
#[serde(tag = "type", rename = "shape")]
struct Tree<'a> {
    micros: u64,
    keyspace: KeyspaceId,
    policy: PolicyOptions,
    levels: &'a [Level],
    #[serde(flatten)]
    status: PolicyStatus,
}

impl Watchers {
    pub fn new(keyspace: Keyspace) -> Arc<Self> {
        Arc::new(Watchers { keyspace, now: Mutex::default() })
    }

    /// Passes events on, after `first` had them.
    pub fn listener(self: Arc<Self>, first: Listener) -> Listener {
        Arc::new(move |micros, event| {
            first(micros, event);
            if keyspace_of(event).is_none_or(|keyspace| keyspace == self.keyspace.id()) {
                self.tell(micros, event);
            }
        })
    }

    /// Watches from now on: what there is, and where the rest comes.
    pub fn watch(&self) -> Result<(Bytes, Receiver<Bytes>)> {
        let policy = self.keyspace.policy()?;
        self.keyspace.with_events_paused(|moment| {
            let (keyspace, micros) = (self.keyspace.id(), moment.micros);
            let (levels, status) = (moment.shape.levels(), moment.status);
            let mut first = message(&Tree { micros, keyspace, policy, levels, status }).to_vec();
            let mut now = self.now();
            for event in &now.begun {
                first.extend_from_slice(&message(&TraceLine { micros, event }));
            }
            let (queue, messages) = channel(QUEUE);
            now.queues.push(queue);
            (first.into(), messages)
        })
    }

    fn tell(&self, micros: u64, event: &Event) {
        let mut now = self.now();
        now.begin_or_end(event);
        if now.queues.is_empty() {
            return;
        }
        let told = message(&TraceLine { micros, event });
        now.queues.retain(|queue| queue.try_send(told.clone()).is_ok());
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Now {
    /// Notes what is under way.
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
        let goes_on = |event: &Event| match event {
            Event::CompactionBegun { compaction, .. } => *compaction != ended || group.is_some(),
            Event::GroupBegun { compaction, inputs, .. } => {
                *compaction != ended || group.is_some_and(|group| inputs.first() != Some(group))
            }
            _ => true,
        };
        self.begun = begun.into_iter().filter(goes_on).collect();
    }
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
