//! wasm-pack without a network: no request is sent.

use serde::de::DeserializeOwned;
use std::io::{Error, ErrorKind};

/// A client that sends no request, and its builder.
pub struct Client;

/// Builder of a client.
#[must_use]
pub fn builder() -> Client {
    Client
}

impl Client {
    /// Takes no proxy.
    #[must_use]
    pub fn try_proxy_from_env(self, _: bool) -> Client {
        self
    }

    /// Ignores the name.
    #[must_use]
    pub fn user_agent(self, _: &str) -> Client {
        self
    }

    /// The client.
    #[must_use]
    pub fn build(self) -> Client {
        self
    }

    /// A request.
    #[must_use]
    pub fn get(&self, _: &str) -> Request {
        Request
    }
}

/// A request that is not sent.
pub struct Request;

impl Request {
    /// With a header.
    #[must_use]
    pub fn set(self, _: &str, _: &str) -> Request {
        self
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn call(self) -> Result<Response, Error> {
        Err(ErrorKind::Unsupported.into())
    }
}

/// There is none.
pub enum Response {}

impl Response {
    /// Its status.
    #[must_use]
    pub fn status(&self) -> u16 {
        match *self {}
    }

    /// Its body.
    ///
    /// # Errors
    /// None: there is no response.
    pub fn into_json<T: DeserializeOwned>(self) -> Result<T, Error> {
        match self {}
    }
}
