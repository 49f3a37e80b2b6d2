//! Redis's own test suite, unchanged, on a server in this process.
//!
//! The suite is in the source of Redis 7.0.15, whose folder `TERRANE_REDIS_SOURCE` names, and needs `tclsh`. Debian's
//! package `redis` of release 12 has that version: `cargo xtask test --full` fetches it, and later runs find it.

#[cfg(test)]
mod suite {
    use std::net::Ipv4Addr;
    use std::process::Command;
    use terrane::{Db, Options};
    use terrane_edge::{Config, Server};
    use tokio::runtime::Builder;

    /// The units of the suite that concern the server.
    const UNITS: [&str; 8] = [
        "unit/type/string",
        "unit/type/incr",
        "unit/expire",
        "unit/scan",
        "unit/keyspace",
        "unit/protocol",
        "unit/quit",
        "unit/multi",
    ];
    /// Number of tests that pass: those that pass on Redis itself, without those in `skip.txt`.
    const PASSED: usize = 206;
    /// Tags of tests that are left out: slow ones, and those that inspect Redis's internals.
    const TAGS: &str =
        "-slow -needs:debug -needs:repl -needs:config-maxmemory -needs:save -needs:reset";

    #[test]
    #[ignore = "needs the source of Redis 7.0.15 at TERRANE_REDIS_SOURCE, and tclsh"]
    fn redis_passes_its_own_suite() {
        let source = std::env::var("TERRANE_REDIS_SOURCE").expect("TERRANE_REDIS_SOURCE is set");
        let dir = tempfile::tempdir().unwrap();
        let db = Db::open(dir.path().join("db"), Options::default()).unwrap();
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let mut config = Config::default();
        config.http = None;
        config.resp = Some((Ipv4Addr::LOCALHOST, 0).into());
        let server = runtime.block_on(Server::start(db, config)).unwrap();
        let port = server.resp().unwrap().port().to_string();
        let skip = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/redis/skip.txt");
        let mut command = Command::new("tclsh");
        command.current_dir(source).args(["tests/test_helper.tcl", "--host", "127.0.0.1"]);
        command.args(["--port", &port, "--singledb", "--ignore-encoding", "--ignore-digest"]);
        command.args(["--clients", "1", "--tags", TAGS, "--skipfile", skip]);
        for unit in UNITS {
            command.args(["--single", unit]);
        }
        let output = command.output().expect("tclsh runs");
        let text = String::from_utf8_lossy(&output.stdout);
        runtime.block_on(server.shutdown()).unwrap();
        assert!(output.status.success(), "{text}");
        let passed = text.lines().filter(|line| line.contains("[ok]") || line.contains("ok\u{1b}"));
        assert_eq!(passed.count(), PASSED, "{text}");
    }
}
