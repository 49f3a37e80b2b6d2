//! Recorders of a tracer's steps.

use super::Step;

/// The steps of a read, if recorded.
pub(super) struct Recorder(Option<Vec<Step>>);

impl Recorder {
    pub const IDLE: Self = Recorder(None);

    pub fn recording() -> Self {
        Recorder(Some(Vec::new()))
    }

    #[inline]
    pub fn is_recording(&self) -> bool {
        self.0.is_some()
    }

    /// Adds a step, if steps are recorded.
    #[inline]
    pub fn step(&mut self, step: impl FnOnce() -> Step) {
        if let Some(steps) = &mut self.0 {
            steps.push(step());
        }
    }

    pub fn take(&mut self) -> Vec<Step> {
        self.0.take().unwrap_or_default()
    }
}
