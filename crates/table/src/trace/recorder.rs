//! Where a tracer keeps its steps. The browser's small module records none: it would carry code that
//! explains reads in every read.

use super::Step;

/// The steps of a read, if they are to be recorded.
#[cfg(any(feature = "all", not(target_arch = "wasm32")))]
pub(super) struct Recorder(Option<Vec<Step>>);

#[cfg(any(feature = "all", not(target_arch = "wasm32")))]
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

/// Records nothing.
#[cfg(not(any(feature = "all", not(target_arch = "wasm32"))))]
pub(super) struct Recorder;

#[cfg(not(any(feature = "all", not(target_arch = "wasm32"))))]
impl Recorder {
    pub const IDLE: Self = Recorder;

    pub fn recording() -> Self {
        Recorder
    }

    pub fn is_recording(&self) -> bool {
        false
    }

    pub fn step(&mut self, _: impl FnOnce() -> Step) {}

    pub fn take(&mut self) -> Vec<Step> {
        Vec::new()
    }
}
