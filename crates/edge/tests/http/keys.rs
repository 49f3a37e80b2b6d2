//! Keys: values, entity tags, preconditions, expiry.

use crate::served::Served;
use serde_json::json;

#[test]
fn a_precondition_of_another_route_is_refused() {
    let served = Served::start();
    served.put("/v1/default/keys/a", "1");
    for header in ["If-Match: \"7\"\r\n", "If-None-Match: *\r\n"] {
        for (line, body) in [
            ("GET /v1/default/range", ""),
            ("DELETE /v1/default/range?gte=", ""),
            ("GET /v1/default/trace?key=a", ""),
            ("POST /v1/default/get", r#"{"keys":["a"]}"#),
            ("POST /v1/batch", r#"{"do":[{"op":"delete","key":"a"}]}"#),
        ] {
            let name = if header.starts_with("If-Match") { "if-match" } else { "if-none-match" };
            let words = ["/v1/KEYSPACE/keys/KEY", "body", name];
            served.request(line, header, body).is_problem(400, "malformed-request", &words);
        }
    }
    assert_eq!(served.get("/v1/default/keys/a").text(), "1");
}

#[test]
fn a_trace_has_the_steps_of_a_get() {
    let served = Served::start();
    served.put("/v1/users/keys/a%00", "1");
    let steps = |key: &str| {
        let reply = served.get(&format!("/v1/users/trace?key={key}"));
        assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
        let steps = reply.json()["steps"].as_array().unwrap().clone();
        steps.iter().map(|step| step["step"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(steps("a%00"), ["memtable", "value"]);
    served.shared.db.inner().flush().unwrap();
    let flushed = steps("a%00");
    assert!(flushed.contains(&"block".to_owned()), "{flushed:?}");
    assert_eq!(flushed.last().unwrap(), "value");
    assert!(!steps("").contains(&"value".to_owned()));
    served.get("/v1/users/trace").is_problem(400, "malformed-request", &["?key=", "no key"]);
    served.get("/v1/users/trace?key=a&b=1").is_problem(400, "malformed-request", &["key"]);
    served.get("/v1/none/trace?key=a").is_problem(404, "not-found", &["none"]);
}

#[test]
fn an_empty_key_in_a_path_is_refused() {
    let served = Served::start();
    for method in ["GET", "PUT", "DELETE"] {
        let reply = served.request(&format!("{method} /v1/default/keys/"), "", "");
        let words = ["POST /v1/batch", "POST /v1/KEYSPACE/get", "an empty key"];
        reply.is_problem(400, "malformed-request", &words);
    }
    let puts = ["", ".", ".."].map(|key| json!({"op": "put", "key": key, "value": key}));
    let written = served.request("POST /v1/batch", "", json!({"do": puts}).to_string());
    assert_eq!(written.status, 200, "{}", written.text());
    let read = served.request("POST /v1/default/get", "", r#"{"keys":["",".",".."]}"#);
    assert_eq!(read.text().lines().filter(|line| line.contains("version")).count(), 3);
}

#[test]
fn a_value_is_put_read_and_deleted_as_it_is() {
    let served = Served::start();
    let value = [0, 255, b'\r', b'\n'];
    let tag = served.put("/v1/users/keys/ann", value);
    let reply = served.get("/v1/users/keys/ann");
    assert_eq!((reply.status, &reply.body[..]), (200, &value[..]));
    assert_eq!(reply.header("etag"), Some(&*tag));
    assert_eq!(reply.header("content-type"), Some("application/octet-stream"));
    assert_eq!(reply.header("cache-control"), Some("no-cache"));
    let head = served.request("HEAD /v1/users/keys/ann", "", "");
    assert_eq!((head.status, head.header("content-length")), (200, Some("4")));
    assert_eq!(served.request("DELETE /v1/users/keys/ann", "", "").status, 204);
    served.get("/v1/users/keys/ann").is_problem(404, "not-found", &["key"]);
    assert_eq!(served.request("DELETE /v1/users/keys/ann", "", "").status, 204);
}

#[test]
fn keys_are_any_bytes_percent_encoded() {
    let served = Served::start();
    for (path, key) in [
        ("a%2Fb", &b"a/b"[..]),
        ("a/c", b"a/c"),
        ("%00%ff%25", b"\x00\xff%"),
        ("a+b%20c", b"a+b c"),
    ] {
        served.put(&format!("/v1/default/keys/{path}"), path);
        let keyspace = served.shared.db.default_keyspace();
        assert_eq!(keyspace.inner().get(key).unwrap().as_deref(), Some(path.as_bytes()));
        assert_eq!(served.get(&format!("/v1/default/keys/{path}")).text(), path);
    }
}

#[test]
fn the_first_write_creates_a_keyspace() {
    let served = Served::start();
    served.get("/v1/new/keys/a").is_problem(404, "not-found", &["keyspace"]);
    assert_eq!(served.request("DELETE /v1/new/keys/a", "", "").status, 204);
    assert_eq!(served.shared.db.inner().keyspaces(), ["default"]);
    served.put("/v1/new/keys/a", "1");
    assert_eq!(served.shared.db.inner().keyspaces(), ["default", "new"]);
    let name = "k".repeat(1025);
    let refused = served.request(&format!("PUT /v1/{name}/keys/a"), "", "1");
    refused.is_problem(400, "malformed-request", &["name of a keyspace"]);
    served.request("PUT /v1/%ff/keys/a", "", "1").is_problem(400, "malformed-request", &["UTF-8"]);
}

#[test]
fn a_write_happens_if_its_precondition_holds() {
    let served = Served::start();
    let put = |headers: &str, value: &str| {
        served.request("PUT /v1/default/keys/a", &format!("{headers}\r\n"), value)
    };
    put("If-Match: *", "0").is_problem(412, "precondition-failed", &["no value"]);
    assert_eq!(put("If-None-Match: *", "1").status, 204);
    let first = served.get("/v1/default/keys/a").header("etag").unwrap().to_owned();
    let refused = put("If-None-Match: *", "2");
    refused.is_problem(412, "precondition-failed", &[&first.replace('"', "\\\"")]);
    assert_eq!(refused.header("etag"), Some(&*first));
    assert_eq!(put(&format!("If-Match: {first}"), "3").status, 204);
    put(&format!("If-Match: {first}"), "4").is_problem(412, "precondition-failed", &[]);
    let second = served.get("/v1/default/keys/a").header("etag").unwrap().to_owned();
    assert_eq!(put(&format!("If-None-Match: {first}"), "5").status, 204);
    put(&format!("If-Match: {first}, {second}"), "6").is_problem(412, "precondition-failed", &[]);
    assert_eq!(put("If-Match: *", "7").status, 204);
    put("If-Match: 7", "8").is_problem(400, "malformed-request", &["if-match"]);
    assert_eq!(served.get("/v1/default/keys/a").text(), "7");
    let delete = |tag: &str| {
        served.request("DELETE /v1/default/keys/a", &format!("If-Match: {tag}\r\n"), "").status
    };
    assert_eq!(delete(&second), 412);
    assert_eq!(delete("*"), 204);
    assert_eq!(delete("*"), 412);
}

#[test]
fn a_reader_that_has_the_version_gets_no_value() {
    let served = Served::start();
    let tag = served.put("/v1/default/keys/a", "1");
    let get = |headers: String| served.request("GET /v1/default/keys/a", &headers, "");
    let same = get(format!("If-None-Match: {tag}\r\n"));
    assert_eq!((same.status, same.header("etag")), (304, Some(&*tag)));
    assert_eq!(get("If-None-Match: \"0\"\r\n".to_owned()).status, 200);
    assert_eq!(get("If-Match: \"0\"\r\n".to_owned()).status, 412);
    assert_eq!(get(format!("If-Match: {tag}\r\n")).status, 200);
}

#[test]
fn a_value_is_kept_for_its_time_to_live() {
    let served = Served::start();
    let before = served.shared.db.inner().expires_in(std::time::Duration::ZERO).unwrap();
    served.put("/v1/default/keys/long?ttl=3600000", "1");
    let reply = served.get("/v1/default/keys/long");
    let expires: u64 = reply.header("terrane-expires").unwrap().parse().unwrap();
    assert!(expires >= before + 3_600_000);
    served.put("/v1/default/keys/short?ttl=1", "1");
    while served.get("/v1/default/keys/short").status != 404 {}
    for ttl in ["0", "-1", "1s", "99999999999999999999", ""] {
        let refused = served.request(&format!("PUT /v1/default/keys/a?ttl={ttl}"), "", "1");
        refused.is_problem(400, "malformed-request", &["ttl", "a number from 1 on"]);
    }
    // The greatest time to live does not overflow.
    served.put("/v1/default/keys/forever?ttl=18446744073709551615", "1");
    assert_eq!(served.get("/v1/default/keys/forever").text(), "1");
}

#[test]
fn a_write_asks_for_its_durability() {
    let served = Served::start();
    let syncs = || served.shared.db.inner().stats().unwrap().waits.sync.count;
    let before = syncs();
    served.put("/v1/default/keys/a?durability=sync", "1");
    assert!(syncs() > before);
    served.put("/v1/default/keys/a?durability=buffered", "2");
    let refused = served.request("PUT /v1/default/keys/a?durability=none", "", "3");
    refused.is_problem(400, "malformed-request", &["buffered or sync", "none"]);
    let refused = served.request("PUT /v1/default/keys/a?sync", "", "3");
    refused.is_problem(400, "malformed-request", &["durability and ttl", "sync"]);
    let refused = served.request("PUT /v1/default/keys/a?ttl=1&ttl=2", "", "3");
    refused.is_problem(400, "malformed-request", &["ttl twice"]);
    assert_eq!(served.get("/v1/default/keys/a").text(), "2");
}

#[test]
fn other_routes_and_methods_are_problems() {
    let served = Served::start();
    served.get("/").is_problem(404, "no-such-route", &["/v1/KEYSPACE/keys/KEY"]);
    served.get("/v1/default/key/a").is_problem(404, "no-such-route", &["/v1/default/key/a"]);
    let refused = served.request("PATCH /v1/default/keys/a", "", "");
    refused.is_problem(405, "no-such-method", &["PATCH"]);
    assert!(refused.header("allow").unwrap().contains("PUT"));
}

#[test]
fn an_acknowledged_write_survives_a_restart() {
    let served = Served::start();
    served.put("/v1/users/keys/a", "1");
    let tag = served.put("/v1/users/keys/b?ttl=3600000", "2");
    let expires = served.get("/v1/users/keys/b").header("terrane-expires").unwrap().to_owned();
    let served = Served::on(served.stop(), |_| {});
    assert_eq!(served.get("/v1/users/keys/a").text(), "1");
    let reply = served.get("/v1/users/keys/b");
    assert_eq!((reply.text(), reply.header("etag")), ("2", Some(&*tag)));
    assert_eq!(reply.header("terrane-expires"), Some(&*expires));
}
