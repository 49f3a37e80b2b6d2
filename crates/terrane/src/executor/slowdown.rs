//! A slowdown of writes, as a listener is told of it.

use crate::engine::Engine;
use crate::error::Stall;
use crate::event::Event;

/// The slowdown that the listener was told of, and when.
#[derive(Default)]
pub(super) struct Slowdown(Option<(Stall, u64)>);

impl Slowdown {
    /// The reason of the slowdown that was last told of.
    pub fn reason(&self) -> Option<Stall> {
        self.0.map(|(reason, _)| reason)
    }

    /// Tells the listener where a slowdown begins or ends, or has another reason.
    pub fn tell(&mut self, engine: &Engine, reason: Option<Stall>) {
        if self.reason() == reason {
            return;
        }
        let now = engine.jobs.events.micros();
        if let Some((reason, began)) = self.0.take() {
            let lasted_micros = now.saturating_sub(began);
            engine.emit(|| Event::SlowdownEnded { reason, lasted_micros });
        }
        if let Some(reason) = reason {
            engine.emit(|| Event::SlowdownBegun { reason });
            self.0 = Some((reason, now));
        }
    }
}
