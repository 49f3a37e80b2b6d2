//! Each store behind the trait [`Engine`](crate::engine::Engine).

#[cfg(feature = "fjall")]
pub mod fjall;
#[cfg(feature = "lmdb")]
pub mod lmdb;
#[cfg(feature = "redb")]
pub mod redb;
#[cfg(feature = "regolith")]
pub mod regolith;
#[cfg(feature = "rocksdb")]
pub mod rocksdb;
#[cfg(feature = "sqlite")]
pub mod sqlite;
pub mod terrane;
#[cfg(feature = "tidesdb")]
pub mod tidesdb;
