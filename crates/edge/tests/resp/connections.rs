//! Commands of the connection and the server.

use crate::served::Served;

#[test]
fn hello_chooses_the_protocol() {
    let served = Served::start();
    let mut client = served.connect();
    client.check(&[("PING hi", "\"hi\""), ("ECHO hi", "\"hi\""), ("CLIENT GETNAME", "nil")]);
    client.send(b"HELLO 3 SETNAME me\r\n");
    let greeting = client.read();
    assert!(greeting.starts_with("[\"server\" \"redis\" \"version\""), "{greeting}");
    assert!(greeting.contains("\"proto\" :3"), "{greeting}");
    client.check(&[
        ("GET a", "nil"),
        ("CLIENT GETNAME", "\"me\""),
        ("HELLO 4", "-NOPROTO unsupported protocol version"),
        ("HELLO x", "-ERR Protocol version is not an integer or out of range"),
        ("RESET", "RESET"),
        ("CLIENT GETNAME", "nil"),
        ("QUIT", "OK"),
    ]);
}

#[test]
fn the_table_of_commands_is_shown() {
    let served = Served::start();
    let mut client = served.connect();
    client.check(&[
        ("COMMAND INFO nosuch", "[nil]"),
        ("COMMAND LIST FILTERBY PATTERN mset*", "[\"mset\" \"msetnx\"]"),
        ("COMMAND GETKEYS MSET a 1 b 2", "[\"a\" \"b\"]"),
        ("COMMAND GETKEYS COPY a b DB 3", "[\"a\" \"b\"]"),
        ("COMMAND GETKEYS PING", "-ERR The command has no key arguments"),
    ]);
    let count: usize = client.run("COMMAND COUNT")[1..].parse().unwrap();
    assert_eq!(client.run("COMMAND").matches(" []]").count(), count);
    assert_eq!(client.run("COMMAND DOCS").matches("\"summary\"").count(), count);
}

#[test]
fn command_info_says_where_commands_have_their_keys() {
    let served = Served::start();
    let mut client = served.connect();
    let spec = |first: &str, flag: &str, last: &str, step: &str| {
        format!(
            "[\"flags\" [{flag}] \"begin_search\" [\"type\" \"index\" \"spec\" [\"index\" {first}]] \
             \"find_keys\" [\"type\" \"range\" \"spec\" [\"lastkey\" {last} \"keystep\" {step} \"limit\" :0]]]"
        )
    };
    for hello in ["HELLO 2", "HELLO 3"] {
        client.run(hello);
        for (command, row) in [
            ("ping", "[\"ping\" :-1 [no_auth] :0 :0 :0 [] [] [] []]".to_owned()),
            (
                "get",
                format!(
                    "[\"get\" :2 [readonly] :1 :1 :1 [] [] [{}] []]",
                    spec(":1", "RO", ":0", ":1")
                ),
            ),
            (
                "mset",
                format!(
                    "[\"mset\" :-3 [write] :1 :-1 :2 [] [] [{}] []]",
                    spec(":1", "OW", ":-1", ":2")
                ),
            ),
            (
                "copy",
                format!(
                    "[\"copy\" :-3 [write] :1 :2 :1 [] [] [{}] []]",
                    spec(":1", "RW", ":1", ":1")
                ),
            ),
        ] {
            assert_eq!(client.run(&format!("COMMAND INFO {command}")), format!("[{row}]"));
        }
    }
}

#[test]
fn client_info_has_the_fields_that_clients_read() {
    let served = Served::start();
    let mut client = served.connect();
    client.check(&[
        ("CLIENT SETNAME me", "OK"),
        ("CLIENT SETINFO lib-name my-redis(a_v1)", "OK"),
        ("CLIENT SETINFO LIB-VER 1.2", "OK"),
        ("CLIENT SETINFO LIB-OTHER 1.2", "-ERR Unrecognized option 'LIB-OTHER'"),
    ]);
    let spaced = client.run_bytes(&[b"CLIENT", b"SETINFO", b"LIB-NAME", b"a b"]);
    assert!(spaced.starts_with("-ERR lib-name cannot contain spaces"), "{spaced}");
    for subject in ["SETNAME", "SETINFO LIB-VER"] {
        let refused = client.run(&format!("CLIENT {subject} {}", "n".repeat(1025)));
        assert!(refused.contains("expected at most 1024 bytes, found 1025"), "{refused}");
    }
    let info = client.run("CLIENT INFO");
    let known = [
        "name=me",
        "cmd=client|info",
        "user=default",
        "lib-name=my-redis(a_v1)",
        "lib-ver=1.2",
        "resp=2",
    ];
    for field in known {
        assert!(info.contains(field), "{info}");
    }
    // Fields that clients read as numbers.
    for name in
        ["id", "fd", "age", "idle", "db", "sub", "psub", "multi", "qbuf", "qbuf-free", "argv-mem"]
            .into_iter()
            .chain(["obl", "oll", "omem", "tot-mem", "redir", "watch"])
    {
        let value =
            info.split([' ', '"']).find_map(|field| field.strip_prefix(&format!("{name}=")));
        assert!(value.is_some_and(|value| value.parse::<i64>().is_ok()), "{name} in {info}");
    }
    assert!(client.run("CLIENT LIST").contains("cmd=client|list"));
    assert_eq!(client.run("RESET"), "RESET");
    let reset = client.run("CLIENT INFO");
    assert!(reset.contains(" name= ") && reset.contains("lib-ver=1.2"), "{reset}");
}

#[test]
fn the_server_describes_itself() {
    let served = Served::start();
    let mut client = served.connect();
    client.run("SET a 1");
    let info = client.run("INFO");
    for part in ["redis_version:7.0.15", "connected_clients:1", "role:master", "db0:keys=1"] {
        assert!(info.contains(part), "{info}");
    }
    assert!(!client.run("INFO clients").contains("role"));
    client.check(&[
        ("CONFIG GET appendfsync", "[\"appendfsync\" \"everysec\"]"),
        ("CONFIG GET d*s", "[\"databases\" \"16\"]"),
        ("CONFIG SET databases 16", "OK"),
        ("WAIT 0 0", ":0"),
        ("FUNCTION FLUSH", "OK"),
    ]);
    assert!(client.run("CLIENT INFO").contains("db=0"));
    assert!(client.run("TIME").starts_with("[\"1"));
}

#[test]
fn shutdown_drains_the_server() {
    let served = Served::start();
    let mut client = served.connect();
    client.send(b"SET a 1\r\nSHUTDOWN\r\n");
    assert_eq!([client.read(), client.read()], ["OK", "closed"]);
    assert!(served.shared.shutdown.is_cancelled());
}

#[test]
fn requests_that_were_read_are_answered_at_the_stop() {
    let served = Served::start();
    let mut idle = served.connect();
    idle.check(&[("SET a 1", "OK")]);
    let dir = served.stop();
    assert_eq!(idle.read(), "closed");
    Served::on(dir, |_| {}).connect().check(&[("GET a", "\"1\"")]);
}
