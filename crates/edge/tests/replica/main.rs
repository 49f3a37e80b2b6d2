//! Read replicas, and the servers that they follow.

#[cfg(test)]
#[path = "../http/client.rs"]
#[allow(dead_code)]
mod client;
#[cfg(test)]
mod follow;
#[cfg(test)]
mod refuse;
#[cfg(test)]
#[allow(dead_code)]
#[path = "../served/mod.rs"]
mod served;
#[cfg(test)]
mod tls;
