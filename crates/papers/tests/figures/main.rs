//! The papers' figures at the small scale.

#[cfg(test)]
mod page;
#[cfg(test)]
mod spooky;
