//! Both doors at once: whatever clients do to few keys, one order of their operations explains every reply.

#[cfg(test)]
#[allow(dead_code)]
#[path = "../http/client.rs"]
mod client;
#[cfg(test)]
mod history;
#[cfg(test)]
mod linearizable;
#[cfg(test)]
mod map;
#[cfg(test)]
mod peers;
#[cfg(test)]
#[allow(dead_code)]
#[path = "../served/mod.rs"]
mod served;
