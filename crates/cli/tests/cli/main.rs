//! The built `terrane`, run as its users run it.

#[cfg(test)]
mod commands;
#[cfg(test)]
mod load;
#[cfg(test)]
mod place;
