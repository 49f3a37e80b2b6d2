//! The HTTP door of a server in this process, over sockets.

#[cfg(test)]
mod bounds;
#[cfg(test)]
mod client;
#[cfg(test)]
mod drain;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod served;
