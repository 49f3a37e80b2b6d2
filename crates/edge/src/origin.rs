//! Hosts and pages from which requests may arrive.
//!
//! 1. Requests with a foreign `Host` are rejected, against DNS rebinding: this machine is an address, `localhost`, or a
//!    name that was allowed.
//! 2. Requests of pages of another origin are rejected unless that origin was allowed.

use std::net::IpAddr;

/// Any port of this machine, among the origins that are allowed.
const LOCALHOST: &str = "localhost";

/// Names of this server, and the origins of pages that may use it.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    /// Names that requests may have for this server, beside `localhost` and addresses, as [`parse_host`] returns them.
    pub hosts: Vec<String>,
    /// Origins of pages, as [`parse_origin`] returns them.
    pub origins: Vec<String>,
}

impl Allowed {
    /// Returns whether a `Host` names this server.
    #[must_use]
    pub fn host(&self, host: &str) -> bool {
        let name = name_in(host);
        is_this_machine(name) || self.hosts.iter().any(|one| one.eq_ignore_ascii_case(name))
    }

    /// Returns whether pages of an origin may send requests.
    #[must_use]
    pub fn origin(&self, origin: &str) -> bool {
        let local = || {
            let host = origin.split_once("://").map(|(_, host)| host);
            host.is_some_and(|host| is_localhost(name_in(host)))
        };
        self.origins.iter().any(|one| one == origin || (one == LOCALHOST && local()))
    }
}

/// Returns an origin as browsers write it, or `localhost`.
///
/// # Errors
/// A sentence about any other text, which would never match.
pub fn parse_origin(text: &str) -> Result<String, String> {
    let host = text.split_once("://").map(|(_, host)| host);
    let names_host = host.is_some_and(|host| !host.is_empty() && !host.contains('/'));
    match names_host || [LOCALHOST, "null"].contains(&text) {
        true => Ok(text.to_owned()),
        false => Err("expected localhost, or an origin without a path; for example: \
                      http://localhost:8080"
            .to_owned()),
    }
}

/// Returns a name of this server as it is without a port.
///
/// # Errors
/// A sentence about any other text, which would never match.
pub fn parse_host(text: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => Ok(text.to_owned()),
        false => Err("expected a name without a scheme, a port and a path; for example: \
                      db.example.org"
            .to_owned()),
    }
}

/// Returns whether a name is an address, or one that every machine has for itself.
fn is_this_machine(name: &str) -> bool {
    is_localhost(name) || name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
}

/// Returns whether a name is `localhost`, or below that.
fn is_localhost(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    name.strip_suffix(LOCALHOST)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.') && rest.bytes().all(is_plain))
}

/// Returns a host without its port.
fn name_in(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_this_machine_are_addresses_and_localhost() {
        let allowed = Allowed { hosts: vec!["db.example.org".to_owned()], ..Allowed::default() };
        for host in [
            "localhost",
            "localhost:4540",
            "LOCALHOST",
            "127.0.0.1:4540",
            "[::1]:4540",
            "a.localhost",
            "DB.example.org:443",
        ] {
            assert!(allowed.host(host), "{host}");
        }
        for host in [
            "example.org",
            "example.org:4540",
            "localhost.example.org",
            "notlocalhost",
            "example.org/.localhost",
            "example.org@localhost",
            "",
        ] {
            assert!(!allowed.host(host), "{host}");
        }
    }

    #[test]
    fn a_host_is_a_name_alone() {
        assert_eq!(parse_host("db.example.org"), Ok("db.example.org".to_owned()));
        for text in ["foo.com:80", "http://foo.com", "foo.com/a", "a b", ""] {
            assert!(parse_host(text).unwrap_err().contains("db.example.org"), "{text}");
        }
    }

    #[test]
    fn origins_are_allowed_by_name_or_on_any_local_port() {
        let allowed = |origins: &[&str]| Allowed {
            origins: origins.iter().map(|origin| (*origin).to_owned()).collect(),
            ..Allowed::default()
        };
        assert!(allowed(&["https://a.example"]).origin("https://a.example"));
        assert!(!allowed(&["https://a.example"]).origin("http://a.example"));
        assert!(allowed(&["localhost"]).origin("http://localhost:8080"));
        assert!(!allowed(&["localhost"]).origin("http://localhost.example.org"));
        assert!(!allowed(&[]).origin("http://localhost:8080"));
    }
}
