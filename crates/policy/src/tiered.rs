//! Tiering.
/// Tiering.
pub struct Tiered;
