//! Batches: all of their operations, or none.

use crate::served::Served;
use serde_json::json;

fn post(served: &Served, body: &serde_json::Value) -> crate::client::Reply {
    served.request("POST /v1/batch", "", body.to_string())
}

#[test]
fn a_batch_writes_keys_of_several_keyspaces() {
    let served = Served::start();
    served.put("/v1/default/keys/old", "1");
    served.put("/v1/logs/keys/2025-01", "1");
    served.put("/v1/logs/keys/2026-01", "1");
    let reply = post(
        &served,
        &json!({"do": [
            {"op": "put", "key": "a", "value": "1"},
            {"op": "put", "keyspace": "users", "key_hex": "00ff", "value_hex": "ff00"},
            {"op": "put", "key": "b", "value": "2", "ttl": 3_600_000},
            {"op": "delete", "key": "old"},
            {"op": "delete-range", "keyspace": "logs", "lt": "2026"},
        ]}),
    );
    assert_eq!(reply.status, 200, "{}", reply.text());
    let tag = reply.header("etag").unwrap();
    assert_eq!(reply.json(), json!({"version": tag.trim_matches('"').parse::<u64>().unwrap()}));
    let a = served.get("/v1/default/keys/a");
    assert_eq!((a.text(), a.header("etag")), ("1", Some(tag)));
    assert_eq!(served.get("/v1/users/keys/%00%ff").body, [0xff, 0]);
    assert!(served.get("/v1/default/keys/b").header("terrane-expires").is_some());
    assert_eq!(served.get("/v1/default/keys/old").status, 404);
    assert_eq!(served.get("/v1/logs/keys/2025-01").status, 404);
    assert_eq!(served.get("/v1/logs/keys/2026-01").status, 200);
}

#[test]
fn deletes_and_conditions_create_no_keyspace() {
    let served = Served::start();
    let put = json!({"op": "put", "key": "a", "value": "1"});
    let written = post(
        &served,
        &json!({
            "if": [{"keyspace": "c", "key": "a", "absent": true}, {"key": "a", "absent": true}],
            "do": [
                put,
                {"op": "delete", "keyspace": "d", "key": "a"},
                {"op": "delete-range", "keyspace": "r", "gte": ""},
            ],
        }),
    );
    assert_eq!(written.status, 200, "{}", written.text());
    let version = &written.json()["version"];
    let refused = post(
        &served,
        &json!({
            "if": [
                {"keyspace": "c", "key": "a", "present": true},
                {"keyspace": "c", "key": "a", "absent": true},
                {"key": "a", "absent": true},
                {"keyspace": "p", "key": "a", "version": 7},
            ],
            "do": [{"op": "put", "keyspace": "p", "key": "a", "value": "1"}],
        }),
    );
    refused.is_problem(409, "condition-failed", &[]);
    assert_eq!(
        refused.json()["failed"],
        json!([
            {"condition": 0, "version": null},
            {"condition": 2, "version": version},
            {"condition": 3, "version": null},
        ])
    );
    let unmatched = served.request("PUT /v1/p/keys/a", "If-Match: \"7\"\r\n", "1");
    unmatched.is_problem(412, "precondition-failed", &[]);
    assert_eq!(served.shared.db.inner().keyspaces(), ["default"]);
    let created = post(
        &served,
        &json!({
            "if": [{"keyspace": "p", "key": "a", "absent": true}],
            "do": [
                {"op": "delete", "keyspace": "p", "key": "a"},
                {"op": "put", "keyspace": "p", "key": "a", "value": "1"},
                {"op": "put", "keyspace": "q", "key": "b", "value": "2"},
            ],
        }),
    );
    assert_eq!(created.status, 200, "{}", created.text());
    assert_eq!(served.shared.db.inner().keyspaces(), ["default", "p", "q"]);
    assert_eq!(served.get("/v1/p/keys/a").text(), "1");
    assert_eq!(served.get("/v1/q/keys/b").text(), "2");
}

#[test]
fn a_body_that_is_no_object_is_refused() {
    let served = Served::start();
    for (path, body) in [
        ("batch", "[]"),
        ("batch", ""),
        ("batch", r#"[[],[{"op":"put","key":"a","value":"1"}]]"#),
        ("batch", r#"{"do":[["put",null,"a",null,"1"]]}"#),
        ("batch", r#"{"if":[[null,"a",null,true]]}"#),
        ("batch", r#"{"do":[{"op":"put","key":"a","value":"1","ttl":"60"}]}"#),
        ("batch", r#"{"do":[{"op":"put","key":"a"}]}"#),
        ("batch", r#"{"do":[{"op":"delete-range"}]}"#),
        ("batch", r#"{"if":[{"key":"a"}]}"#),
        ("default/get", ""),
        ("default/get", r#"["a"]"#),
        ("default/get", r#"{"keys":[1]}"#),
        ("default/get", r#"{"keys":[["a"]]}"#),
        ("default/get", r#"{"keys":[{}]}"#),
    ] {
        let refused = served.request(&format!("POST /v1/{path}"), "", body);
        refused.is_problem(400, "malformed-request", &["\"expected\":", "\"found\":"]);
    }
    served.get("/v1/default/keys/a").is_problem(
        404,
        "not-found",
        &["there is no key", "in the keyspace"],
    );
}

#[test]
fn a_batch_is_written_if_all_of_its_conditions_hold() {
    let served = Served::start();
    let tag = served.put("/v1/default/keys/a", "1");
    let version: u64 = tag.trim_matches('"').parse().unwrap();
    let write = json!([{"op": "put", "key": "c", "value": "1"}]);
    let refused = post(
        &served,
        &json!({"do": write, "if": [
            {"key": "a", "version": version},
            {"key": "a", "absent": true},
            {"key": "b", "present": true},
            {"key": "a", "value": "2"},
        ]}),
    );
    refused.is_problem(409, "condition-failed", &[]);
    assert_eq!(
        refused.json()["failed"],
        json!([
            {"condition": 1, "version": version},
            {"condition": 2, "version": null},
            {"condition": 3, "version": version},
        ])
    );
    assert_eq!(served.get("/v1/default/keys/c").status, 404);
    let written = post(
        &served,
        &json!({"do": write, "if": [
            {"key": "a", "version": version},
            {"key": "a", "present": true},
            {"key": "a", "value": "1"},
            {"keyspace": "new", "key": "a", "absent": true},
        ]}),
    );
    assert_eq!(written.status, 200, "{}", written.text());
    assert_eq!(served.get("/v1/default/keys/c").status, 200);
}

#[test]
fn a_malformed_batch_writes_nothing() {
    let served = Served::start();
    let good = json!({"op": "put", "key": "a", "value": "1"});
    for (operation, words) in [
        (json!({"op": "put", "key": "b"}), &["do[1]", "value or value_hex"][..]),
        (json!({"op": "put", "value": "1"}), &["do[1]", "key or key_hex"]),
        (json!({"op": "put", "key": "b", "value": "1", "ttl": 0}), &["do[1]", "ttl"]),
        (json!({"op": "put", "key": "b", "value": "1", "lt": "c"}), &["do[1]", "bound"]),
        (json!({"op": "put", "key": "b", "key_hex": "ff", "value": "1"}), &["found both"]),
        (json!({"op": "delete", "key": "b", "value": "1"}), &["do[1]", "key alone"]),
        (json!({"op": "delete-range"}), &["do[1]", "gte or gt"]),
        (json!({"op": "delete-range", "lt": "a", "key": "b"}), &["do[1]", "more"]),
        (json!({"op": "merge", "key": "b"}), &["merge", "delete-range"]),
        (json!({"op": "put", "key": "b", "value": "1", "tll": 5}), &["tll", "ttl"]),
    ] {
        let refused = post(&served, &json!({"do": [good, operation]}));
        refused.is_problem(400, "malformed-request", words);
    }
    for (condition, words) in [
        (json!({"key": "a"}), &["if[0]", "absent, present, version and value"][..]),
        (json!({"key": "a", "absent": true, "present": true}), &["if[0]", "one of"]),
        (json!({"key": "a", "version": -1}), &["-1"]),
    ] {
        let refused = post(&served, &json!({"do": [good], "if": [condition]}));
        refused.is_problem(400, "malformed-request", words);
    }
    let long = "k".repeat(65_536);
    let refused = post(&served, &json!({"do": [good, {"op": "delete", "key": long}]}));
    refused.is_problem(413, "too-large", &["65535", "65536"]);
    served.request("POST /v1/batch", "", "{").is_problem(400, "malformed-request", &["line 1"]);
    assert_eq!(served.get("/v1/default/keys/a").status, 404);
    assert_eq!(served.shared.limits.held_bytes(), 0);
}

#[test]
fn a_batch_may_check_conditions_alone() {
    let served = Served::start();
    assert_eq!(post(&served, &json!({"if": [{"key": "a", "absent": true}]})).status, 200);
    post(&served, &json!({"if": [{"key": "a", "present": true}]})).is_problem(
        409,
        "condition-failed",
        &[],
    );
}
