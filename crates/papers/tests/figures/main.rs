//! The papers' figures at the small scale.

#[cfg(test)]
mod spooky;
