//! Limits of the system: output that nobody takes, the size of files, room; and of messages.

use crate::place::Place;

#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_is_a_failure() {
    let place = Place::new();
    place.run(&["put", "db", "k", "v"]).ok();
    for args in [
        &["--help"][..],
        &["-h"],
        &["--version"],
        &["help", "scan"],
        &["scan", "--help"],
        &["scan", "db"],
        &["count", "db"],
        &["get", "db", "k"],
        &["stats", "db"],
        &["man"],
        &["completions", "bash"],
        &["policies"],
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ended = place.terrane(args).stdout(full).output().unwrap();
        let err = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(7), "{args:?}: {err}");
        assert!(err.contains("could not write to standard output"), "{err}");
    }
}

#[test]
#[cfg(unix)]
fn a_limit_on_the_size_of_files_is_an_error() {
    let place = Place::new();
    let script = "ulimit -c 0; ulimit -f 64; \"$0\" put db k v; echo $?";
    let ended = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_terrane")])
        .current_dir(place.path("."))
        .output()
        .unwrap();
    let err = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.stdout, b"7\n", "{err}");
    assert!(
        err.contains("may not write files of more than ") && err.contains("ulimit -f"),
        "{err}"
    );
    place.run(&["put", "db", "k", "v"]).ok();
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_names_the_growth_of_a_single_file() {
    let place = Place::new();
    let policy = r#"{"policy":"leveled","target-file-bytes":1048576}"#;
    let load = ["load", "db", "--format", "tsv", "--policy", policy];
    let mut word = 0x9e37_79b9_7f4a_7c15_u64;
    // Tables of a MiB, of values that do not compress.
    for table in 0..6 {
        let mut rows = String::new();
        for n in 0..1000 {
            rows.push_str(&format!("{table}{n:06}\t"));
            for _ in 0..64 {
                word ^= word << 13;
                word ^= word >> 7;
                word ^= word << 17;
                rows.push_str(&format!("{word:016x}"));
            }
            rows.push('\n');
        }
        place.run_with_input(&load, rows.as_bytes()).ok();
        place.flush("db");
    }
    let script = "mkdir small && mount -t tmpfs -o size=5m tmpfs small 2>/dev/null || exit 99
        $0 export db small/f; echo $?";
    let ended = std::process::Command::new("unshare")
        .args(["-rm", "sh", "-c", script, env!("CARGO_BIN_EXE_terrane")])
        .current_dir(place.path("."))
        .output();
    let ended = match ended {
        Ok(ended) if ended.status.success() => ended,
        _ => {
            println!("no small disk can be mounted here: nothing to see");
            return;
        }
    };
    let err = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.stdout, b"7\n", "{err}");
    let (_, needed) = err.split_once("/small/f.unfinished: ").expect(&err);
    let (bytes, _) = needed.split_once(" more bytes").expect(&err);
    // The file was as large as the disk, nearly: more than it is asked to grow by at a time.
    assert!(bytes.parse::<u64>().unwrap() < 4 << 20, "{err}");
}

#[test]
fn a_message_about_long_words_is_short() {
    let place = Place::new();
    let word = "x".repeat(1 << 20);
    let line = format!("{word}\n");
    let ended = place.run_with_input(&["shell", "db", "--create"], line.as_bytes());
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.len() < 10_000, "{} bytes", ended.err.len());
    place.file("rows.csv", "id,name\n1,x\n");
    for key in ["3000000", "20210101", "18446744073709551615", "99999999999999999999999"] {
        let load = place.run(&["load", "db", "rows.csv", "--key", key]);
        assert!(matches!(load.code, Some(2 | 3)), "{}", load.err);
        assert!(load.err.len() < 1000 && load.err.contains("for example: "), "{}", load.err);
    }
}
