//! The HTTP door of a server in this process, over sockets.

#[cfg(test)]
mod admin;
#[cfg(test)]
mod batch;
#[cfg(test)]
mod bounds;
#[cfg(test)]
mod changes;
#[cfg(test)]
mod client;
#[cfg(test)]
mod drain;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod range;
#[cfg(test)]
#[allow(dead_code)]
#[path = "../served/mod.rs"]
mod served;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod tokens;
