//! Tokens over HTTP: rights on keyspaces and keys, and a reload.

use crate::client::Reply;
use crate::served::Served;
use std::fs;
use std::sync::Arc;
use tempfile::TempDir;

const READER: &str = "3d0941964aa3ebdcb00ccef58b1bb399f9f898465e9886d5aec7f31090a0fb30";
const WRITER: &str = "b93006774cbdd4b299389a03ac3d88c3a76b460d538795bc12718011a909fba5";
const ADMIN: &str = "8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918";

/// Starts a server with the tokens `reader`, `writer` and `admin`.
fn served() -> (Served, Arc<TempDir>) {
    let dir = Arc::new(tempfile::tempdir().unwrap());
    let tokens =
        format!("ann {READER} read *\nbob {WRITER} write users user%3A\nroot {ADMIN} admin *\n");
    fs::write(dir.path().join("tokens"), tokens).unwrap();
    let served = Served::on(dir.clone(), |config| {
        config.tokens = Some(dir.path().join("tokens"));
        config.checkpoints = Some(dir.path().to_owned());
    });
    (served, dir)
}

fn request(served: &Served, token: &str, line: &str, body: &str) -> Reply {
    served.request(line, &format!("Authorization: Bearer {token}\r\n"), body)
}

#[test]
fn a_request_without_a_known_token_is_unauthorized() {
    let (served, _dir) = served();
    let refused = served.get("/v1/default/keys/a");
    refused.is_problem(401, "unauthorized", &["Authorization: Bearer TOKEN", "none"]);
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    for token in ["", "other", "Reader"] {
        request(&served, token, "GET /v1/default/keys/a", "").is_problem(
            401,
            "unauthorized",
            &["an unknown one"],
        );
    }
    let basic = served.request("GET /metrics", "Authorization: Basic cmVhZGVy\r\n", "");
    basic.is_problem(401, "unauthorized", &[]);
    assert_eq!(served.get("/health/live").status, 200);
    assert_eq!(served.get("/health/ready").status, 200);
}

#[test]
fn a_token_allows_what_its_line_says() {
    let (served, _dir) = served();
    let status = |token: &str, line: &str, body: &str| request(&served, token, line, body).status;
    assert_eq!(status("writer", "PUT /v1/users/keys/user:1", "1"), 204);
    assert_eq!(status("writer", "GET /v1/users/keys/user:1", ""), 200);
    assert_eq!(status("writer", "GET /v1/users/range?prefix=user:", ""), 200);
    assert_eq!(status("writer", "DELETE /v1/users/range?gte=user:2&lt=user:3", ""), 204);
    assert_eq!(status("reader", "GET /v1/users/keys/user:1", ""), 200);
    assert_eq!(status("reader", "GET /v1/users/trace?key=other", ""), 200);
    assert_eq!(status("writer", "GET /v1/users/trace?key=user:1", ""), 200);
    assert_eq!(status("reader", "GET /v1/stats", ""), 200);
    assert_eq!(status("reader", "GET /metrics", ""), 200);
    assert_eq!(status("reader", "GET /v1/snapshot", ""), 200);
    let gone = "?since=0123456789abcdef-0";
    assert_eq!(status("reader", &format!("GET /v1/changes{gone}"), ""), 410);
    let own = format!("GET /v1/changes{gone}&keyspace=users&prefix=user:");
    assert_eq!(status("writer", &own, ""), 410);
    assert_eq!(status("admin", "POST /v1/checkpoint?name=copy", ""), 201);
    for (token, line, body) in [
        ("reader", "PUT /v1/users/keys/user:1", "1"),
        ("reader", "DELETE /v1/users/range?gte=", ""),
        ("reader", "POST /v1/checkpoint?name=b", ""),
        ("writer", "PUT /v1/users/keys/other", "1"),
        ("writer", "GET /v1/default/keys/user:1", ""),
        ("writer", "GET /v1/users/range", ""),
        ("writer", "GET /v1/users/events", ""),
        ("writer", "GET /v1/users/trace?key=other", ""),
        ("writer", "GET /v1/users/trace", ""),
        ("writer", "DELETE /v1/users/range?gte=user:", ""),
        ("writer", "POST /v1/users/get", r#"{"keys":["user:1","other"]}"#),
        ("writer", "GET /v1/changes", ""),
        ("writer", "GET /v1/snapshot", ""),
        ("writer", "GET /v1/changes?keyspace=users", ""),
        ("writer", "GET /v1/stats", ""),
        ("writer", "GET /metrics", ""),
    ] {
        request(&served, token, line, body).is_problem(403, "forbidden", &["a token that allows"]);
    }
    let batch = r#"{"do":[{"op":"put","keyspace":"users","key":"user:2","value":"1"},
        {"op":"delete","keyspace":"users","key":"other"}]}"#;
    request(&served, "writer", "POST /v1/batch", batch).is_problem(403, "forbidden", &["bob"]);
    assert_eq!(status("reader", "GET /v1/users/keys/user:2", ""), 404);
    assert_eq!(status("reader", "GET /v1/users/keys/user:1", ""), 200);
}

#[test]
fn a_reload_ends_the_events_of_revoked_tokens() {
    let (served, dir) = served();
    let mut client = served.connect();
    client.send("GET /events HTTP/1.1\r\nHost: localhost\r\n");
    client.send("Authorization: Bearer reader\r\n\r\n");
    assert_eq!(client.head().0, 200);
    client.chunk().unwrap();
    fs::write(dir.path().join("tokens"), format!("root {ADMIN} admin *\n")).unwrap();
    served.reload().unwrap();
    // The next event is the end.
    request(&served, "admin", "PUT /v1/default/keys/a", "1");
    served.shared.db.inner().flush().unwrap();
    assert!(client.chunk().is_none());
}

#[test]
fn a_reload_changes_the_tokens_of_open_connections() {
    let (served, dir) = served();
    let mut client = served.connect();
    let mut get = |token: &str| {
        let headers = format!("Authorization: Bearer {token}\r\n");
        client.request("GET /v1/stats", &headers, b"").status
    };
    assert_eq!((get("reader"), get("admin")), (200, 200));
    fs::write(dir.path().join("tokens"), format!("root {ADMIN} admin *\n")).unwrap();
    served.reload().unwrap();
    assert_eq!((get("reader"), get("admin")), (401, 200));
    fs::write(dir.path().join("tokens"), "root admin\n").unwrap();
    assert!(served.reload().unwrap_err().to_string().contains("line 1"));
    assert_eq!(get("admin"), 200);
}
