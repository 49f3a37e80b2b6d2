//! Strings, numbers and parts of values.

use crate::served::Served;

#[test]
fn values_are_set_and_read() {
    let served = Served::start();
    served.connect().check(&[
        ("GET a", "nil"),
        ("SET a 1", "OK"),
        ("get a", "\"1\""),
        ("GETSET a 2", "\"1\""),
        ("STRLEN a", ":1"),
        ("APPEND a 34", ":3"),
        ("GETDEL a", "\"234\""),
        ("GETDEL a", "nil"),
        ("MSET a 1 b 2", "OK"),
        ("MGET a c b", "[\"1\" nil \"2\"]"),
        ("MSETNX b 3 c 3", ":0"),
        ("MSETNX c 3 d 3", ":1"),
        ("MSET a", "-ERR wrong number of arguments for 'mset' command"),
        ("MSET a 1 b", "-ERR wrong number of arguments for 'mset' command"),
        ("SETNX a 9", ":0"),
        ("SETNX e 9", ":1"),
    ]);
}

#[test]
fn set_keeps_its_conditions() {
    let served = Served::start();
    served.connect().check(&[
        ("SET a 1 XX", "nil"),
        ("SET a 1 NX", "OK"),
        ("SET a 2 NX", "nil"),
        ("SET a 2 NX GET", "\"1\""),
        ("SET a 2 XX GET", "\"1\""),
        ("SET a 3 IFEQ 1", "nil"),
        ("SET a 3 IFEQ 2", "OK"),
        ("SET a 4 IFNE 3", "nil"),
        ("SET a 4 IFNE 2 GET", "\"3\""),
        ("SET b 1 IFEQ 1", "nil"),
        ("SET b 1 IFNE 1", "OK"),
        ("GET a", "\"4\""),
        ("SET a 1 NX XX", "-ERR syntax error"),
        ("SET a 1 EX 1 KEEPTTL", "-ERR syntax error"),
        ("SET a 1 EX", "-ERR syntax error"),
        ("SET a 1 EX x", "-ERR value is not an integer or out of range"),
        ("SET a 1 EX 0", "-ERR invalid expire time in 'set' command"),
        ("DELIFEQ a 3", ":0"),
        ("DELIFEQ a 4", ":1"),
        ("DELEX b IFNE 1", ":0"),
        ("DELEX b IFEQ 1", ":1"),
        ("DELEX b", ":0"),
        ("DELEX b IFEQ", "-ERR syntax error"),
    ]);
}

#[test]
fn numbers_count_and_refuse_what_is_none() {
    let served = Served::start();
    served.connect().check(&[
        ("INCR n", ":1"),
        ("INCRBY n 41", ":42"),
        ("DECR n", ":41"),
        ("DECRBY n 50", ":-9"),
        ("SET n x", "OK"),
        ("INCR n", "-ERR value is not an integer or out of range"),
        ("INCRBY n y", "-ERR value is not an integer or out of range"),
        ("SET n 9223372036854775807", "OK"),
        ("INCR n", "-ERR increment or decrement would overflow"),
        ("DECRBY n -9223372036854775808", "-ERR decrement would overflow"),
        ("INCRBYFLOAT f 0.1", "\"0.1\""),
        ("INCRBYFLOAT f 0.2", "\"0.3\""),
        ("INCRBYFLOAT f x", "-ERR value is not a valid float"),
        ("INCRBYFLOAT f inf", "-ERR increment would produce NaN or Infinity"),
        ("GET f", "\"0.3\""),
    ]);
}

#[test]
fn parts_of_values_are_read_and_written() {
    let served = Served::start();
    served.connect().check(&[
        ("SET a Hello", "OK"),
        ("GETRANGE a 1 -2", "\"ell\""),
        ("SUBSTR a 0 0", "\"H\""),
        ("SETRANGE a 6 World", ":11"),
        ("GET a", "\"Hello\\0World\""),
        ("SETRANGE b 3 x", ":4"),
        ("SETRANGE a -1 x", "-ERR offset is out of range"),
        (
            "SETRANGE a 9223372036854775807 x",
            "-ERR string exceeds maximum allowed size (proto-max-bulk-len)",
        ),
    ]);
}

#[test]
fn updates_of_many_connections_lose_nothing() {
    let served = Served::start();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = served.connect();
                for _ in 0..200 {
                    client.run("INCR n");
                    client.run("APPEND a x");
                    // Another write of the same key, which no update may undo.
                    client.run("SET other 1");
                }
            });
        }
    });
    served.connect().check(&[("GET n", "\"800\""), ("STRLEN a", ":800")]);
}
