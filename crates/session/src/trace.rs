//! Events as lines of JSON.

use terrane::event::Event;
use terrane_types::json;

/// Returns an event and its time, as [`TraceLine`](terrane::event::TraceLine) has them, whose own code for that
/// is larger.
#[must_use]
pub fn line(micros: u64, event: &Event) -> String {
    json::object_with("micros", micros, event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrane::event::TraceLine;
    use terrane_types::{KeyspaceId, Stall};

    #[test]
    fn a_line_is_that_of_a_trace() {
        let created = Event::KeyspaceCreated { keyspace: KeyspaceId(3), name: "{\"é".to_owned() };
        for (micros, event) in [(0, created), (u64::MAX, Event::Stalled { reason: Stall::Memory })]
        {
            let expected = serde_json::to_string(&TraceLine { micros, event: &event }).unwrap();
            assert_eq!(line(micros, &event), expected);
        }
    }
}
