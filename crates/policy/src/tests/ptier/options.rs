//! Parameters of PTier: those that do not go together, and those that follow from others.

use super::*;

#[test]
fn options_that_do_not_go_together_are_refused_by_name() {
    for (given, why) in [
        (
            r#""prefix-length": 0"#,
            "ptier: `prefix-length` is 0, expected 1 to 1024, or 0 with a `prefix-delimiter`",
        ),
        (
            r#""prefix-length": 4, "prefix-delimiter": "2f""#,
            "ptier: `prefix-delimiter` is 2f, expected none, or `prefix-length` 0 instead of 4",
        ),
        (
            r#""prefix-length": 0, "prefix-delimiter": "2f2f""#,
            "ptier: `prefix-delimiter` is 2f2f, expected one byte",
        ),
        (
            r#""split-bytes": 4097, "target-file-bytes": 4096"#,
            "ptier: `split-bytes` is 4097, expected at most `target-file-bytes`: 4096",
        ),
        (r#""read-limit": 0"#, "ptier: `read-limit` is 0, expected 1 to 1125899906842624"),
    ] {
        let options: PolicyOptions = format!(r#"{{"policy": "ptier", {given}}}"#).parse().unwrap();
        assert_eq!(options.build().err().unwrap().to_string(), why);
    }
}

#[test]
fn a_table_may_be_split_at_the_size_at_which_it_is_closed() {
    let given = r#"{"policy": "ptier", "split-bytes": 4096, "target-file-bytes": 4096}"#;
    assert!(given.parse::<PolicyOptions>().unwrap().build().is_ok());
}

#[test]
fn a_delimiter_replaces_a_missing_prefix_length() {
    let delimited = PolicyOptions::PTier(PTier::with_delimiter(b'/'));
    assert!(delimited.build().is_ok());
    for given in [r#""prefix-delimiter": "2f""#, r#""prefix-delimiter": "2f", "prefix-length": 0"#]
    {
        let options: PolicyOptions = format!(r#"{{"policy": "ptier", {given}}}"#).parse().unwrap();
        assert_eq!(options, delimited, "{given}");
    }
    let none = r#"{"policy": "ptier", "prefix-delimiter": ""}"#.parse::<PolicyOptions>().unwrap();
    assert_eq!(none, PolicyOptions::PTier(PTier::default()));
}

#[test]
fn the_split_shrinks_with_the_size_of_tables() {
    let options = PolicyOptions::PTier(PTier::default());
    let PolicyOptions::PTier(small) = options.clone().sized(12 << 10, 16 << 10) else { panic!() };
    assert_eq!((small.target_file_bytes, small.split_bytes), (16 << 10, 1 << 10));
    for table in [64 << 20, 128 << 20] {
        let PolicyOptions::PTier(large) = options.clone().sized(1 << 20, table) else { panic!() };
        assert_eq!(large.split_bytes, PTier::default().split_bytes);
    }
    // What is refused is not put right on the way.
    let wrong = PolicyOptions::PTier(PTier { split_bytes: 65 << 20, ..PTier::default() });
    assert!(wrong.sized(1 << 20, 64 << 20).build().is_err());
}
