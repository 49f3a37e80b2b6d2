//! The door for Redis's protocol of a server in this process, over sockets.

#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod client;
#[cfg(test)]
mod connections;
#[cfg(test)]
mod durability;
#[cfg(test)]
mod expiry;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod long_values;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod pipelines;
#[cfg(test)]
mod rights;
#[cfg(test)]
#[allow(dead_code)]
#[path = "../served/mod.rs"]
mod served;
#[cfg(test)]
mod strings;
#[cfg(test)]
mod transactions;
