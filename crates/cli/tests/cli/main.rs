//! The built `terrane`, run as its users run it.

mod commands;
mod load;
mod place;
