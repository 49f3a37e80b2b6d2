//! The event stream: everything the engine does, as typed values.

use std::sync::Arc;

pub use terrane_policy::event::Event;

/// Receives events, in order, on the thread that caused them. It must not call the store.
pub type Listener = Arc<dyn Fn(&Event) + Send + Sync>;
