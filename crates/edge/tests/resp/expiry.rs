//! Times of expiry.

use crate::served::Served;

#[test]
fn times_of_expiry_are_set_and_read() {
    let served = Served::start();
    served.connect().check(&[
        ("SET a 1", "OK"),
        ("TTL a", ":-1"),
        ("TTL x", ":-2"),
        ("EXPIRE x 10", ":0"),
        ("EXPIRE a 1000", ":1"),
        ("EXPIREAT a 4000000000", ":1"),
        ("EXPIRETIME a", ":4000000000"),
        ("PEXPIRETIME a", ":4000000000000"),
        ("SET a 2 KEEPTTL", "OK"),
        ("APPEND a 3", ":2"),
        ("EXPIRETIME a", ":4000000000"),
        ("RENAME a b", "OK"),
        ("EXPIRETIME b", ":4000000000"),
        ("PERSIST b", ":1"),
        ("PERSIST b", ":0"),
        ("GETEX b PXAT 4000000000123", "\"23\""),
        ("PEXPIRETIME b", ":4000000000123"),
        ("GETEX b PERSIST", "\"23\""),
        ("TTL b", ":-1"),
        ("PEXPIREAT b 1", ":1"),
        ("EXISTS b", ":0"),
        ("SETEX c 0 x", "-ERR invalid expire time in 'setex' command"),
        ("PSETEX c 1000000 x", "OK"),
        ("SET c x", "OK"),
        ("TTL c", ":-1"),
        ("EXPIRE c 9223372036854775807", "-ERR invalid expire time in 'expire' command"),
        ("EXPIRE c -1", ":1"),
        ("GET c", "nil"),
    ]);
}

#[test]
fn conditions_compare_times_of_expiry() {
    let served = Served::start();
    served.connect().check(&[
        ("SET a 1", "OK"),
        ("EXPIREAT a 4000000000 XX", ":0"),
        ("EXPIREAT a 4000000000 GT", ":0"),
        ("EXPIREAT a 4000000000 LT", ":1"),
        ("EXPIREAT a 4000000001 LT", ":0"),
        ("EXPIREAT a 4000000001 NX", ":0"),
        ("EXPIREAT a 4000000001 GT", ":1"),
        ("EXPIRETIME a", ":4000000001"),
        (
            "EXPIREAT a 1 NX GT",
            "-ERR NX and XX, GT or LT options at the same time are not compatible",
        ),
        ("EXPIREAT a 1 GT LT", "-ERR GT and LT options at the same time are not compatible"),
        ("EXPIREAT a 1 YY", "-ERR Unsupported option YY"),
    ]);
}

#[test]
fn a_value_is_gone_once_its_time_has_passed() {
    let served = Served::start();
    let mut client = served.connect();
    client.check(&[("SET a 1 PX 20", "OK"), ("SET b 1 PXAT 1", "OK"), ("GET b", "nil")]);
    while client.run("GET a") != "nil" {}
    client.check(&[("EXISTS a", ":0"), ("DBSIZE", ":0"), ("INCR a", ":1"), ("TTL a", ":-1")]);
}
