//! A slowdown of writes, as reported to a listener.

use crate::error::Stall;
use crate::event::{Event, EventStream};

/// The reported slowdown, and its start.
#[derive(Default)]
pub(super) struct Slowdown(Option<(Stall, u64)>);

impl Slowdown {
    /// Returns the reason of the reported slowdown.
    pub fn reason(&self) -> Option<Stall> {
        self.0.map(|(reason, _)| reason)
    }

    /// Reports a slowdown that starts, ends or changes its reason.
    pub fn report(&mut self, events: &EventStream, reason: Option<Stall>) {
        if self.reason() == reason {
            return;
        }
        let now = events.micros();
        if let Some((reason, began)) = self.0.take() {
            let lasted_micros = now.saturating_sub(began);
            events.emit(|| Event::SlowdownEnded { reason, lasted_micros });
        }
        if let Some(reason) = reason {
            events.emit(|| Event::SlowdownBegun { reason });
            self.0 = Some((reason, now));
        }
    }
}
