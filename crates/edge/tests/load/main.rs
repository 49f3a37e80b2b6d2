//! Clients of both doors that write without a pause, while the server or its disk fails, drains, is copied, or has
//! subscribers.

#[cfg(test)]
mod checkpoint;
#[cfg(test)]
mod drain;
#[cfg(test)]
mod full_disk;
#[cfg(test)]
mod power_cut;
#[cfg(test)]
#[allow(dead_code)]
#[path = "../served/mod.rs"]
mod served;
#[cfg(test)]
mod subscribers;
#[cfg(test)]
mod tokens;
#[cfg(test)]
mod writers;
