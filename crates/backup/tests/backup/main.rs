//! Backups of stores, and what is restored of them.

#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod careless;
#[cfg(test)]
mod cost;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod faulty;
#[cfg(test)]
mod fencing;
#[cfg(test)]
mod moments;
#[cfg(test)]
mod outage;
#[cfg(test)]
mod retention;
#[cfg(test)]
mod stores;
#[cfg(test)]
mod take_over;
